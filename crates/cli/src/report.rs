//! The results of a replay, for people and for programs.

mod json;
mod text;

pub use self::json::{
    KeySummary, LimiterSummary, PartSummary, PlacesSummary, StoreSummary, Summary,
};
pub use self::text::Heading;
