//! Counts of the events of a time limiter.

use crate::sync::AtomicU64;
use crate::sync::Ordering::Relaxed;

use super::events::CallEvent;

/// Number of kinds of events.
const KINDS: usize = CallEvent::Lost as usize + 1;

/// The counts of a [`TimeLimiter`](crate::time_limit::TimeLimiter), by [`CallEvent`]. They only grow.
///
/// Calls that have begun and are in none of the first four counts are still running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CallCounts {
    /// Calls whose operation ended in time; see [`CallEvent::Succeeded`].
    pub succeeded: u64,
    /// Calls whose operation failed in time; see [`CallEvent::Failed`].
    pub failed: u64,
    /// Calls whose operation took too long; see [`CallEvent::TimedOut`].
    pub timed_out: u64,
    /// Calls that the caller dropped; see [`CallEvent::Dropped`].
    pub dropped: u64,
    /// Operations that ended without their caller; see [`CallEvent::FinishedLate`].
    pub finished_late: u64,
    /// Operations that failed without their caller; see [`CallEvent::FailedLate`].
    pub failed_late: u64,
    /// Operations that were dropped without their caller; see [`CallEvent::Lost`].
    pub lost: u64,
}

/// A count for each kind of event.
#[derive(Debug)]
pub(super) struct EventCounters([AtomicU64; KINDS]);

impl EventCounters {
    pub(super) fn new() -> EventCounters {
        EventCounters(std::array::from_fn(|_| AtomicU64::new(0)))
    }

    pub(super) fn add(&self, event: CallEvent) {
        // ORDERING: Relaxed. The counts are only reported, each for itself.
        // MODEL: none; no decision depends on it.
        self.0[event as usize].fetch_add(1, Relaxed);
    }

    pub(super) fn counts(&self) -> CallCounts {
        let count = |event: CallEvent| {
            // ORDERING: Relaxed. The counts are only reported, each for itself.
            // MODEL: none; no decision depends on it.
            self.0[event as usize].load(Relaxed)
        };
        CallCounts {
            succeeded: count(CallEvent::Succeeded),
            failed: count(CallEvent::Failed),
            timed_out: count(CallEvent::TimedOut),
            dropped: count(CallEvent::Dropped),
            finished_late: count(CallEvent::FinishedLate),
            failed_late: count(CallEvent::FailedLate),
            lost: count(CallEvent::Lost),
        }
    }
}
