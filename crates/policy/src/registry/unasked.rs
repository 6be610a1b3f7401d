//! Denials that no limiter is asked for.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use sluicegate::Quota;
use sluicegate::compose::{Counts, DenialCounts};

/// The denials that a limiter was not asked for, while its answers are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnaskedCounts {
    /// Calls that were denied by a penalty, or whose denial has begun one.
    pub penalized: u64,
    /// Requests without a value of the key, which the policy denies: see
    /// [`count_missing_key`](crate::KeyedHandle::count_missing_key).
    pub missing_key: u64,
}

/// The counters of denials that no limiter is asked for, which are beside those of its answers. All threads share them.
#[derive(Debug, Default)]
pub(super) struct Unasked {
    penalized: AtomicU64,
    missing_key: AtomicU64,
    permits: AtomicU64,
}

impl Unasked {
    /// Counts a denial by a penalty.
    pub(super) fn count_penalized(&self, permits: u64) {
        // ORDERING: Relaxed, here and below. Statistics; nothing is decided by them.
        // MODEL: none; no decision depends on them.
        self.penalized.fetch_add(1, Relaxed);
        self.count_permits(permits);
    }

    /// Counts a denial for lack of a key.
    pub(super) fn count_missing_key(&self, permits: u64) {
        // ORDERING: Relaxed, as in `count_penalized`.
        // MODEL: none, as there.
        self.missing_key.fetch_add(1, Relaxed);
        self.count_permits(permits);
    }

    fn count_permits(&self, permits: u64) {
        // ORDERING: Relaxed, as in `count_penalized`.
        // MODEL: none, as there.
        self.permits.fetch_add(permits.min(Quota::MAX_BURST), Relaxed);
    }

    pub(super) fn counts(&self) -> UnaskedCounts {
        UnaskedCounts {
            // ORDERING: Relaxed, here and below, as in `count_penalized`.
            // MODEL: none, as there.
            penalized: self.penalized.load(Relaxed),
            // ORDERING: Relaxed, as above.
            // MODEL: none, as above.
            missing_key: self.missing_key.load(Relaxed),
        }
    }

    /// Adds these denials to all that were counted.
    pub(super) fn added_to(&self, counts: Counts) -> Counts {
        let UnaskedCounts { penalized, missing_key } = self.counts();
        let mut own = Counts::default();
        own.denied = penalized.wrapping_add(missing_key);
        counts.merged(own)
    }

    /// Adds the permits that were asked for in vain to those of other denials.
    pub(super) fn permits_added_to(&self, denials: DenialCounts) -> DenialCounts {
        let mut own = DenialCounts::default();
        // ORDERING: Relaxed, as in `count_penalized`.
        // MODEL: none, as there.
        own.permits = self.permits.load(Relaxed);
        denials.merged(own)
    }
}
