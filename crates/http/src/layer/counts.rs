//! Counts of the decisions of a layer.

use std::fmt;

use sluicegate::compose::StripedCounters;

use super::limit::Limit;
use super::refusal::RefusalReason;

const PASSED: usize = 0;
const REFUSED: usize = 1;
const WOULD_REFUSE: usize = 2;
const SKIPPED: usize = 3;
const SERVICE_TIMED_OUT: usize = 4;

/// The words of [`RefusalReason::name`], each of which has a counter.
const REASONS: [&str; 16] = [
    "rate",
    "too_large",
    "leased",
    "no_space",
    "timed_out",
    "line_full",
    "evicted",
    "closed",
    "in_flight",
    "unavailable",
    "service_timed_out",
    "penalized",
    "unknown_client",
    "missing_key",
    "unknown_cost",
    "other",
];

/// The decisions of a [`RateLimitLayer`](super::RateLimitLayer) so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayerCounts {
    /// Requests that passed all limits.
    pub passed: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Requests that a layer in [`shadow`](super::RateLimitLayer::shadow) would have refused.
    pub would_refuse: u64,
    /// Requests that were not limited, because a [`skip`](super::RateLimitLayer::skip) says so.
    pub skipped: u64,
    /// Requests that passed, and whose service then took longer than the
    /// [time limit](super::RateLimitLayer::time_limit).
    pub service_timed_out: u64,
    /// The refusals, by limit and reason. Those of 0 are left out.
    pub refusals: Vec<RefusalCount>,
}

/// The refusals by one limit for one reason, or what it would have refused in a shadow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RefusalCount {
    /// The name of the limit's policy, or its index among the limits of the layer.
    pub limit: String,
    /// The reason: see [`RefusalReason::name`].
    pub reason: &'static str,
    /// The number.
    pub count: u64,
}

/// The counters of a layer: for each decision, and for the reasons of each limit.
pub(super) struct LayerCounters {
    decisions: StripedCounters<5>,
    refusals: Box<[StripedCounters<{ REASONS.len() }>]>,
}

impl LayerCounters {
    pub(super) fn new(limits: usize) -> LayerCounters {
        let refusals = (0..limits).map(|_| StripedCounters::new()).collect();
        LayerCounters { decisions: StripedCounters::new(), refusals }
    }

    pub(super) fn skipped(&self) {
        self.decisions.add(SKIPPED, 1);
    }

    pub(super) fn passed(&self) {
        self.decisions.add(PASSED, 1);
    }

    pub(super) fn service_timed_out(&self) {
        self.decisions.add(SERVICE_TIMED_OUT, 1);
    }

    pub(super) fn refused(&self, which: Option<usize>, reason: RefusalReason, is_shadow: bool) {
        self.decisions.add(if is_shadow { WOULD_REFUSE } else { REFUSED }, 1);
        let name = reason.name();
        // The last one is that of all others.
        let reason = REASONS.iter().position(|own| *own == name).unwrap_or(REASONS.len() - 1);
        if let Some(refusals) = which.and_then(|which| self.refusals.get(which)) {
            refusals.add(reason, 1);
        }
    }

    pub(super) fn counts(&self, limits: &[Limit]) -> LayerCounts {
        let of_limit =
            |(which, (limit, counters)): (usize, (&Limit, &StripedCounters<{ REASONS.len() }>))| {
                let name = limit.name().map_or_else(|| which.to_string(), str::to_owned);
                let counts = REASONS.into_iter().zip(counters.sums());
                let counts = counts.filter(|(_, count)| *count > 0).map(move |(reason, count)| {
                    RefusalCount { limit: name.clone(), reason, count }
                });
                counts.collect::<Vec<_>>()
            };
        LayerCounts {
            passed: self.decisions.sum(PASSED),
            refused: self.decisions.sum(REFUSED),
            would_refuse: self.decisions.sum(WOULD_REFUSE),
            skipped: self.decisions.sum(SKIPPED),
            service_timed_out: self.decisions.sum(SERVICE_TIMED_OUT),
            refusals: limits.iter().zip(&self.refusals).enumerate().flat_map(of_limit).collect(),
        }
    }
}

/// Shows the counts of decisions.
impl fmt::Debug for LayerCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LayerCounters").field("decisions", &self.decisions).finish_non_exhaustive()
    }
}
