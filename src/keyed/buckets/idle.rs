//! Whether a key could be forgotten, found for many of them at one time.

use crate::one_word::Level;

use super::Common;

impl Common {
    /// What the level of an idle key has in common with that of one that is not known.
    #[inline]
    pub(super) fn idleness(&self, now_nanos: u64) -> Idleness {
        let accrued = self.terms.accrued(now_nanos);
        let capacity = self.terms.capacity;
        Idleness { accrued, capacity, fresh: self.unknown.balance(accrued, capacity) }
    }
}

/// What has accrued by some time, and the balance of a key then that is not known.
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
