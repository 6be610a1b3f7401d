//! Idleness: tells which keys can be evicted, for many of them at one time.

use crate::bucket::level::Level;

use super::Common;

impl Common {
    /// Returns the test for idle keys at `now_nanos`: their balance is that of an unknown
    /// key.
    #[inline]
    pub(super) fn idleness(&self, now_nanos: u64) -> Idleness {
        let accrued = self.terms.accrued(now_nanos);
        let capacity = self.terms.capacity;
        Idleness { accrued, capacity, fresh: self.unknown.balance(accrued, capacity) }
    }
}

/// The units accrued by some time, and the balance that an unknown key has then.
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
