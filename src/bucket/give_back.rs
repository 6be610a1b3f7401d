//! Giving grants and leases back to the word they came from.

use crate::decision::lease::LeasedWord;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use crate::decision::lease::OwnedOrigin;
use crate::decision::receipt::{Slot, revert};
use crate::sync::{AtomicWord, Ordering::Relaxed, Word};

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use super::BucketCore;
use super::level::Level;

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
impl<C, R> BucketCore<C, R> {
    /// Takes the permits `left` in a lease back.
    pub(crate) fn take_back(&self, origin: OwnedOrigin, left: u64) {
        if let OwnedOrigin::Word { written, token } = origin
            && left > 0
        {
            self.line.word.give_back(written, left.saturating_mul(token));
        }
    }
}

impl Slot for AtomicWord<Level> {
    fn replace(&self, seen: u64, next: u64) -> bool {
        revert(self, Level::from_bits(seen), Level::from_bits(next))
    }
}

impl LeasedWord for AtomicWord<Level> {
    fn give_back(&self, written: u64, unspent: u64) {
        let written = Level::from_bits(written);
        // ORDERING: Relaxed, as in `revert`: the CAS turns the grant into a smaller one at the
        // same instant, and continues the release sequence that it finds.
        // MODEL: `a_lease_given_back_was_for_what_was_used`.
        let _ = self.compare_exchange(written, written.without(unspent), Relaxed, Relaxed);
    }
}
