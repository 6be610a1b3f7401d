//! The counts of one key.

use jiff::Timestamp;
use serde::Serialize;
use sluicegate_replay::replay::{Profile, Tally};

use super::seen::stamp;

/// The counts of one key of one limiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeySummary {
    /// The key's fields, separated by a space.
    pub key: String,
    /// Lines with that key that were refused.
    pub denied: u64,
    /// Lines with that key that were admitted.
    pub allowed: u64,
    /// The stamp of the first line with that key, as far as it was counted.
    pub first_seen: Timestamp,
    /// The stamp of the last line with that key.
    pub last_seen: Timestamp,
    /// Refusals that may be missing from the count.
    #[serde(skip_serializing_if = "is_zero")]
    pub denied_error: u64,
    /// The user agents and paths of the requests that were denied.
    #[serde(rename = "mostly", skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
}

impl KeySummary {
    pub(super) fn of_tally(key: String, tally: &Tally) -> KeySummary {
        KeySummary {
            key,
            denied: tally.denied,
            allowed: tally.allowed,
            first_seen: stamp(tally.first_nanos),
            last_seen: stamp(tally.last_nanos),
            denied_error: tally.missed,
            profile: None,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}
