//! The vote: which key is hot, and so gets a seat.
//!
//! Each seat has a candidate, as in Boyer and Moore's majority vote: a call for the candidate counts
//! for it, and a call for any other key that wants the seat counts against it.

use crate::sync::Ordering::Relaxed;

use super::seat::{Seat, estimate, put};
use super::seat_word::SeatWord;

/// Number of calls by which a key has to be ahead of all others that want the seat, to be hot.
const HOT: u64 = if cfg!(sluicegate_loom) { 2 } else { 64 };

impl Seat {
    /// Counts a call for a key that has no seat. Returns whether the key should have this one.
    #[inline(always)]
    pub(super) fn vote(&self, hash: u64, seen: SeatWord) -> bool {
        // ORDERING: Relaxed, all of them. An estimate of which key is used most; it does not matter
        // if threads overwrite each other's counts.
        // MODEL: none; which key has a seat has no part in the bound.
        let (candidate, votes) = (self.candidate.load(Relaxed), self.votes.load(Relaxed));
        let votes = match votes {
            0 => {
                // ORDERING: Relaxed, as above.
                // MODEL: none, as above.
                self.candidate.store(hash, Relaxed);
                1
            }
            votes if candidate == hash => votes + 1,
            votes => votes - 1,
        };
        // ORDERING: Relaxed, as above.
        // MODEL: none, as above.
        self.votes.store(if votes < HOT { votes } else { 0 }, Relaxed);
        votes >= HOT && self.is_little_used(seen)
    }

    /// Returns whether fewer permits were taken for the key that sits here than make a key hot,
    /// since another key last wanted the seat.
    #[cold]
    fn is_little_used(&self, seen: SeatWord) -> bool {
        let of_last = estimate(&self.drawn).wrapping_sub(seen.left());
        let used = estimate(&self.used_before).wrapping_add(of_last);
        put(&self.used_before, of_last.wrapping_neg());
        used < HOT
    }
}
