//! The results of a replay, for people and for programs.

mod common;
pub(crate) mod fold;
mod html;
mod json;
mod key_summary;
mod levels;
mod penalty;
mod profile;
mod seen;
mod suggest;
mod text;
mod verdict;
mod waits;

pub use self::common::{ClassSummary, SharesSummary, TenantSummary};
pub use self::html::{Page, SuggestPage};
pub use self::json::{
    LimiterSummary, PartSummary, PlacesSummary, StampSummary, StampedSummary, StoreSummary,
    Summary, TallySummary,
};
pub use self::key_summary::KeySummary;
pub use self::levels::{HierarchySummary, LevelSummary};
pub use self::penalty::PenaltySummary;
pub use self::suggest::{Next, write_findings};
pub use self::text::Heading;
pub use self::waits::{DelayedSummary, WaitSummary, WaitsSummary};
