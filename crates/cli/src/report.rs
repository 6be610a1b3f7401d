//! The results of a replay, for people and for programs.

mod html;
mod json;
mod lacking;
mod levels;
mod penalty;
mod seen;
mod suggest;
mod text;
mod warnings;

pub use self::html::Page;
pub use self::json::{
    DelayedSummary, KeySummary, LimiterSummary, PartSummary, PlacesSummary, StampSummary,
    StampedSummary, StoreSummary, Summary, TallySummary, WaitSummary, WaitsSummary,
};
pub use self::lacking::LackingSummary;
pub use self::levels::{HierarchySummary, LevelSummary};
pub use self::penalty::PenaltySummary;
pub use self::text::Heading;
pub(crate) use self::warnings::{absent, lacking};
