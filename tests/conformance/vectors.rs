//! The vectors: cases of limiters, as a file of `tests/vectors` has them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::vector_file::Facts;

/// Calls on one limiter, in order.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The peer's file, or the end of its path.
    pub(crate) from: String,
    /// A note for the reader of a failure, such as how the case was changed so that it can be run
    /// at all.
    #[serde(default)]
    pub(crate) note: String,
    pub(crate) limiter: LimiterSpec,
    /// The field for which we refuse the set-up. Such a case has no steps.
    pub(crate) refused: Option<String>,
    /// The peer's results for a set-up that we refuse.
    pub(crate) peer: Option<Facts>,
    pub(crate) why: Option<String>,
    /// When the limiter is made.
    #[serde(default)]
    pub(crate) start_nanos: u64,
    /// Every time in the case is multiplied by each of these in turn.
    #[serde(default = "unscaled")]
    pub(crate) scales: Vec<u64>,
    pub(crate) steps: Vec<Step>,
}

fn unscaled() -> Vec<u64> {
    vec![1]
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LimiterSpec {
    Gcra(GcraSpec),
    Bucket(BucketSpec),
    /// A minimum interval, as a rate.
    Paced(RateSpec),
    FixedWindow(RateSpec),
    WindowFromFirst(RateSpec),
    SlidingCounter(RateSpec),
    /// Several buckets, all or nothing.
    AllBuckets(Vec<BucketSpec>),
    /// Several windows from the first request, all or nothing.
    AllWindows(Vec<RateSpec>),
    /// A bucket with a balance of permits beside it.
    TopUp(BucketSpec),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GcraSpec {
    pub(crate) interval_nanos: u64,
    /// Cells beyond the first that may pass at once.
    pub(crate) max_burst: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RateSpec {
    pub(crate) permits: u64,
    pub(crate) period_nanos: u64,
    /// For a fixed window: how far ahead it can be reserved.
    pub(crate) ahead_nanos: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BucketSpec {
    pub(crate) permits: u64,
    pub(crate) period_nanos: u64,
    pub(crate) burst: u64,
    #[serde(default)]
    pub(crate) refill: RefillSpec,
    pub(crate) initial: Option<u64>,
    pub(crate) max_debt: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RefillSpec {
    #[default]
    Smooth,
    Interval,
}

/// One call, and what must come of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    pub(crate) at_nanos: u64,
    #[serde(rename = "do")]
    pub(crate) verb: Verb,
    /// Permits asked for; all there are, if not given.
    #[serde(default = "all")]
    pub(crate) n: u64,
    /// Number of times that the call is made; the result must be the same each time.
    #[serde(default = "once")]
    pub(crate) times: u32,
    /// For `acquire` and `reserve`: the longest wait.
    pub(crate) within_nanos: Option<u64>,
    /// For `acquire`: the caller waits for one permit, and takes the others into debt.
    #[serde(default)]
    pub(crate) next_pays: bool,
    /// For `acquire`: the caller gives up once it would have to wait.
    #[serde(default)]
    pub(crate) gives_up: bool,
    /// For `reconfigure`.
    pub(crate) to: Option<BucketSpec>,
    /// For `reconfigure`.
    pub(crate) carry: Option<CarrySpec>,
    #[serde(default)]
    pub(crate) expect: Facts,
    /// The peer's results, where they differ.
    pub(crate) peer: Option<Facts>,
    /// The heading of `docs/conformance.md` that gives the reason.
    pub(crate) why: Option<String>,
}

fn all() -> u64 {
    u64::MAX
}

fn once() -> u32 {
    1
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verb {
    Take,
    /// Waits for the permits.
    Acquire,
    TakeUpTo,
    Peek,
    Force,
    /// Gives permits to a bucket, or to each of several.
    Credit,
    /// Adds permits to the balance beside a bucket.
    Add,
    Look,
    Reset,
    Reconfigure,
    /// Takes permits of windows to come.
    Reserve,
    SetLimit,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CarrySpec {
    Keep,
    Scale,
    Reset,
}

/// Threads that take from paced limiters for as long as they may.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Race {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) note: String,
    pub(crate) limiters: BTreeMap<String, Paced>,
    pub(crate) threads: Vec<Threads>,
    pub(crate) counts: Vec<Count>,
    /// When each take was let through, if that is asked for.
    pub(crate) admitted_at_nanos: Option<Vec<u64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paced {
    pub(crate) permits: u64,
    pub(crate) period_nanos: u64,
    /// The most intervals of idle time that may be made up for.
    pub(crate) slack: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Threads {
    pub(crate) from_nanos: u64,
    pub(crate) many: u32,
    /// The limiters to take from, one after the other, in every turn.
    pub(crate) takes: Vec<String>,
    /// Turns; no end if not given.
    pub(crate) times: Option<u32>,
}

/// Number of turns that had ended before a time.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Count {
    pub(crate) at_nanos: u64,
    pub(crate) taken: u64,
    pub(crate) peer: Option<u64>,
    pub(crate) why: Option<String>,
}
