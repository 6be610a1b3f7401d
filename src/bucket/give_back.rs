//! Giving grants and leases back to the word they came from. (Reservations, and grants of callers
//! in line: `undo` in `turns.rs`.)

use crate::decision::pieces::{Piece, Pieces};
use crate::decision::undo::{Debit, Undo};
use crate::sync::Ordering::{Relaxed, Release};
use crate::sync::Word;

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use super::BucketCore;
use super::ContendedLine;
use super::level::Level;
use super::reserved::ReservedCapacity;

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
impl<C, L: ReservedCapacity> BucketCore<C, L> {
    /// Returns the part of the bucket that takes debits back.
    pub(crate) fn line(&self) -> &dyn Undo {
        &*self.line
    }
}

impl<L: ReservedCapacity> Undo for ContendedLine<L> {
    fn undo(&self, debit: Debit<'_>) -> bool {
        match debit {
            Debit::Word { before, after } => {
                self.fall(Level::from_bits(after), Level::from_bits(before))
            }
            Debit::Units(pieces) => {
                let units = pieces.units();
                self.take_back(pieces) < units || units == 0
            }
            _ => false,
        }
    }
}

impl<L: ReservedCapacity> ContendedLine<L> {
    /// Takes the units of `pieces` back, into the lots if the word has changed since. Returns how many are
    /// lost: all of them then, where there are no lots.
    pub(super) fn take_back(&self, pieces: Pieces) -> u64 {
        let Pieces { of_word, of_lots } = pieces;
        let mut lost = 0;
        if of_word.units > 0 {
            let written = Level::from_bits(of_word.top);
            // Nobody has taken any unit after these: it is as if they had never been taken.
            if !self.fall(written, written.without(of_word.units)) {
                let top = written.units_spent();
                lost += self.reserved.put(Piece { top, ..of_word });
            }
        }
        for &piece in of_lots.iter().rev() {
            lost += self.reserved.put(piece);
        }
        lost
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
                    self.line_lock.give_back(|| self.lower(written, next))
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
