//! The results of a replay, for people and for programs.

mod html;
mod json;
mod levels;
mod seen;
mod suggest;
mod text;
mod warnings;

pub use self::html::Page;
pub use self::json::{
    DelayedSummary, KeySummary, LackingSummary, LimiterSummary, PartSummary, PlacesSummary,
    StampSummary, StampedSummary, StoreSummary, Summary, TallySummary, WaitSummary, WaitsSummary,
};
pub use self::levels::{HierarchySummary, LevelSummary};
pub use self::text::Heading;
