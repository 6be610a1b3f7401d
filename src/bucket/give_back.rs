//! Giving grants and leases back to the word they came from. (Reservations, and grants of callers
//! in line: `undo` in `turns.rs`.)

use crate::decision::lease::LeasedWord;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use crate::decision::lease::OwnedOrigin;
use crate::decision::receipt::Slot;
use crate::sync::Ordering::{Relaxed, Release};
use crate::sync::Word;

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use super::BucketCore;
use super::ContendedLine;
use super::level::Level;
use super::reserved::ReservedCapacity;

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
impl<C, L: ReservedCapacity> BucketCore<C, L> {
    /// Takes the permits `left` in a lease back.
    pub(crate) fn take_back(&self, origin: OwnedOrigin, left: u64) {
        if let OwnedOrigin::Word { written, token } = origin
            && left > 0
        {
            self.line.give_back(written, left.saturating_mul(token));
        }
    }
}

impl<L: ReservedCapacity> Slot for ContendedLine<L> {
    fn replace(&self, seen: u64, next: u64) -> bool {
        self.fall(Level::from_bits(seen), Level::from_bits(next))
    }
}

impl<L: ReservedCapacity> LeasedWord for ContendedLine<L> {
    fn give_back(&self, written: u64, unspent: u64) {
        let written = Level::from_bits(written);
        self.fall(written, written.without(unspent));
    }
}

impl<L> ContendedLine<L> {
    /// Lowers the word as `lower` does, and lets those in line look again.
    ///
    /// If there are any, it is done under their lock: who is granted what came back is charged as of no
    /// instant before.
    pub(super) fn fall(&self, written: Level, next: Level) -> bool {
        #[cfg(feature = "wait")]
        {
            let written_in_line = written.with_gate(true);
            match self.replace_in_fall(written.with_gate(false), next.with_gate(false)) {
                // A line that has begun since then has found the level that this left.
                Ok(()) => true,
                Err(found) if found == written_in_line => {
                    self.queue.give_back(|| self.lower(written, next))
                }
                Err(_) => false,
            }
        }
        #[cfg(not(feature = "wait"))]
        self.lower(written, next)
    }

    /// Lowers the word, if it still is what was `written`, to a level from before that, or between.
    /// Returns whether it did. A gate that was closed since stays closed.
    pub(super) fn lower(&self, written: Level, next: Level) -> bool {
        let mut is_gated = false;
        loop {
            let (seen, next) = (written.with_gate(is_gated), next.with_gate(is_gated));
            match self.replace_in_fall(seen, next) {
                Ok(()) => return true,
                // Only the gate was moved.
                Err(found) if found.with_gate(is_gated) == seen => is_gated = !is_gated,
                Err(_) => return false,
            }
        }
    }

    /// Replaces the word by one that is lower, or returns the word found.
    fn replace_in_fall(&self, seen: Level, next: Level) -> Result<(), Level> {
        self.note_fall(seen.with_gate(true));
        // ORDERING: Release, so that a change that comes after this sees what was noted; pairs
        // with the load of the word in `change_locked`. No data is read through the word, so
        // not Acquire: a load that acquires an earlier value that was put back still
        // synchronizes with the CAS that first wrote it, as a read-modify-write continues the
        // release sequence that it finds.
        // MODEL: `a_lease_given_back_was_for_what_was_used`,
        // `a_grant_given_back_was_never_there`, `no_word_comes_back_after_two_changes`,
        // `a_word_that_falls_beside_two_changes_does_not_come_back`,
        // `a_grant_given_back_while_others_wait_is_theirs`.
        self.word.compare_exchange(seen, next, Release, Relaxed).map(drop)
    }

    /// Notes that the word may be about to fall from `level`.
    fn note_fall(&self, level: Level) {
        // ORDERING: Relaxed, here and below: the CAS of the word that follows is a Release.
        // MODEL: `no_word_comes_back_after_two_changes`.
        let mut highest = self.fell_from.load(Relaxed);
        while level.is_ahead_of(highest) {
            // ORDERING: Relaxed, as above.
            // MODEL: `no_word_comes_back_after_two_changes`.
            match self.fell_from.compare_exchange_weak(highest, level, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(found) => highest = found,
            }
        }
    }
}
