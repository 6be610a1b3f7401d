//! Idleness: which keys could be forgotten, found for many of them at one time.

use crate::bucket::level::Level;

use super::Common;

impl Common {
    /// By what an idle key is told: the balance of the keys that are not known.
    #[inline]
    pub(super) fn idleness(&self, now_nanos: u64) -> Idleness {
        let accrued = self.terms.accrued(now_nanos);
        let capacity = self.terms.capacity;
        Idleness { accrued, capacity, fresh: self.unknown.balance(accrued, capacity) }
    }
}

/// The units that have accrued by some time, and the balance of a key then that is not known.
#[derive(Clone, Copy)]
pub(super) struct Idleness {
    accrued: u64,
    capacity: u64,
    fresh: i64,
}

impl Idleness {
    #[inline(always)]
    pub(super) fn is_of(self, level: Level) -> bool {
        level.balance(self.accrued, self.capacity) == self.fresh
    }
}
