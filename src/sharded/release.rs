//! Released capacity: what the root has cut off for want of capacity is cut off for good, before capacity is
//! released to it.

use crate::bucket::BucketCore;
use crate::sync::Ordering::{AcqRel, Acquire};
use crate::time::clock::Clock;

use super::reserved::Reserved;

impl<C: Clock> BucketCore<C, Reserved> {
    /// Releases capacity for `permits` if at `now_nanos` it was empty, and held by this caller
    /// alone. Returns whether it did: it may not if the clock is behind, or if the terms are being
    /// changed.
    ///
    /// The word counts what it earns only when it is read, and cuts off what exceeds its capacity.
    /// With more capacity it would find some of that again, earned when there were still tokens in
    /// the capacity released; those units would be spent twice. So what the word has cut off until
    /// `now_nanos` is first cut off for good.
    ///
    /// If there is nothing to cut off, nothing is written, and so a change of terms in progress
    /// does not have to read the clock again. Its terms earn from its earlier reading on, and under
    /// them something may have been cut off. So while a change is in progress, the capacity stays
    /// reserved.
    pub(crate) fn release(&self, now_nanos: u64, permits: u64) -> bool {
        // ORDERING: Acquire, as in `spend`.
        // MODEL: `room_given_back_was_empty`.
        let mut seen = self.line.word.load(Acquire);
        loop {
            let terms = self.slots.named_by(seen);
            let (accrued, capacity) = (terms.accrued(now_nanos), self.capacity(&terms));
            let balance = seen.balance(accrued, capacity);
            let next = seen.spend(0, accrued, capacity);
            let cut = if balance < 0 || next == seen {
                // In this order: a change that has ended shows in the word. The model of both is
                // `room_given_back_beside_a_change_brings_nothing_back_that_the_new_terms_cut_off`.
                let is_cut = balance >= 0 && self.is_unchanging();
                self.still(seen).map(|()| is_cut)
            } else {
                // ORDERING: AcqRel, as for the CAS of `attempt`: this spends what exceeds the word's
                // capacity. On failure Acquire, unlike there: the word found is the next one to
                // decide by, and the terms that it names must be visible.
                // MODEL: `room_given_back_was_empty`.
                self.line.word.compare_exchange_weak(seen, next, AcqRel, Acquire).map(|_| true)
            };
            match cut {
                Ok(false) => return false,
                Ok(true) => {
                    self.line.reserved.release(permits);
                    return true;
                }
                Err(found) => seen = found,
            }
        }
    }
}
