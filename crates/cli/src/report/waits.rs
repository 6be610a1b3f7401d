//! The waits of requests that are delayed instead of being refused, as the JSON report has them.

use std::cmp::Reverse;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use sluicegate_replay::replay::Judge;

use super::seen::stamp;

/// The waits of one limiter. Percentiles are of all lines that were admitted, and are at most 0.8 %
/// too long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitsSummary {
    /// The distribution.
    pub waits: WaitSummary,
    /// The keys of which the most lines were delayed, by falling count and then by name.
    pub top_delayed: Vec<DelayedSummary>,
}

/// A distribution of waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WaitSummary {
    /// Lines that had to wait at all.
    pub delayed: u64,
    /// Wait that half of the lines did not exceed.
    pub p50_nanos: u64,
    /// Wait that nine of ten lines did not exceed.
    pub p90_nanos: u64,
    /// Wait that 99 of 100 lines did not exceed.
    pub p99_nanos: u64,
    /// The longest wait.
    pub max_nanos: u64,
    /// Lines that waited for longer than was asked for, if that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longer: Option<u64>,
}

/// The delayed lines of one key of one limiter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DelayedSummary {
    /// The key's fields, separated by a space.
    pub key: String,
    /// Lines with that key that had to wait.
    pub delayed: u64,
    /// Lines with that key that were admitted, at once or later.
    pub allowed: u64,
    /// The longest wait of any of them.
    pub max_nanos: u64,
    /// The stamp of the first line with that key, as far as it was counted.
    pub first_seen: Timestamp,
    /// The stamp of the last line with that key.
    pub last_seen: Timestamp,
}

impl WaitsSummary {
    /// Returns the waits, if lines were delayed instead of being refused.
    pub(super) fn of_judge(judge: &Judge, top: usize) -> Option<WaitsSummary> {
        let found = judge.waits()?;
        let nanos = |wait: Duration| u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        let waits = WaitSummary {
            delayed: found.delayed(),
            p50_nanos: nanos(found.percentile(50)),
            p90_nanos: nanos(found.percentile(90)),
            p99_nanos: nanos(found.percentile(99)),
            max_nanos: nanos(found.longest()),
            longer: found.longer().map(|(_, longer)| longer),
        };
        let keys = judge.tallies().filter(|(_, tally)| tally.delayed > 0);
        let mut top_delayed: Vec<DelayedSummary> = keys
            .map(|(key, tally)| DelayedSummary {
                key,
                delayed: tally.delayed,
                allowed: tally.allowed,
                max_nanos: tally.longest_nanos,
                first_seen: stamp(tally.first_nanos),
                last_seen: stamp(tally.last_nanos),
            })
            .collect();
        top_delayed.sort_by(|a, b| (Reverse(a.delayed), &a.key).cmp(&(Reverse(b.delayed), &b.key)));
        if top > 0 {
            top_delayed.truncate(top);
        }
        Some(WaitsSummary { waits, top_delayed })
    }
}
