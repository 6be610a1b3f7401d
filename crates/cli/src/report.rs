//! The results of a replay, for people and for programs.

mod json;
mod text;

pub use self::json::{
    DelayedSummary, KeySummary, LimiterSummary, PartSummary, PlacesSummary, StoreSummary, Summary,
    WaitSummary, WaitsSummary,
};
pub use self::text::Heading;
