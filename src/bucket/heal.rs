//! Healing: a level that no call can have left starts again from full, and is counted. That is how
//! a bucket gets over a clock that was set back by more than clocks may differ.
//!
//! [`Terms::is_impossible`](super::terms::Terms) is the test for it.
//!
//! The other kinds heal in `heal` of `window/counter.rs`, `window/ring.rs` and
//! `window/log/entry_ring.rs`; a `Sharded` does as its root, which is a bucket. Keys of a
//! `Keyed` heal in `keyed/exact/store/heal.rs`. Those of a `KeyTable` heal in `catch_up` of
//! `keyed/table/lines.rs`, all at once, and one by one where that file's `count_healed` is called.

use crate::sync::Ordering::Relaxed;
use crate::time::clock::Clock;

use super::BucketCore;
use super::reserved::ReservedCapacity;

impl<C: Clock, L: ReservedCapacity> BucketCore<C, L> {
    /// Starts again from full if the level is further ahead of the clock than any call can have put
    /// it. Returns whether the caller should decide again.
    #[cold]
    #[inline(never)]
    pub(crate) fn heal(&self) -> bool {
        // Another call is changing the terms: the answer stands.
        let Some(_changing) = self.lock() else { return false };
        // The caller read the clock before the level, and may have been delayed in between, so what
        // it saw may be legal. `change_locked` reads the level first: in that order, a level that
        // is too far ahead is a fault.
        let healed = self.change_locked(|terms, holding, now_nanos| {
            terms.is_impossible(holding.balance, now_nanos).then(|| (*terms, holding.filled(terms)))
        });
        if healed.is_some() {
            // ORDERING: Relaxed, as in `healed`.
            // MODEL: `an_impossible_level_is_healed_once`.
            self.healed.fetch_add(1, Relaxed);
        }
        true
    }
}
