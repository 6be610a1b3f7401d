//! The concurrency limit behind a line: grants to the first in line, their end, and the gate.
//!
//! The line is a [`ResourceLine`](sluicegate::wait::ResourceLine), whose gate is a bit of the word. There is no clock
//! here: a caller's turn comes when enough has ended, and nobody knows when that will be. So no
//! caller has an instant of its own; each sleeps until it is woken, or until its time is over by the
//! timer that it sleeps on. And every event that may bring a turn serves the line: an end, a change of the
//! limit, and a caller that leaves.
//!
//! **Theorem.** When all such calls have returned, nobody in line could be granted permits.
//!
//! *Proof.* The gate is closed by a CAS of the whole word, so on what was in flight at that moment:
//! an end before it has been counted, and the first in line still had to wait. An end, or a change,
//! after it finds the gate closed, because it is a read-modify-write; so it takes the lock, after
//! whoever closed the gate, and grants what there is. ∎

use sluicegate::wait::{Resource, ResourceTurn};

use crate::sync::Ordering::{AcqRel, Relaxed, Release};

use super::word::{LimitWord, Tally};

impl Resource for LimitWord {
    fn limit(&self) -> u64 {
        self.load().limit()
    }

    fn is_gated(&self) -> bool {
        self.load().is_gated()
    }

    /// A caller that is granted its permits is told the word with them.
    fn take_turn(&self, permits: u64, has_others: bool) -> ResourceTurn {
        loop {
            let seen = self.load();
            let (next, turn) = match seen.granted(permits, has_others) {
                Some(next) => (next, ResourceTurn::Granted(next.to_bits())),
                None if permits > seen.limit() => {
                    return ResourceTurn::TooLarge { limit: seen.limit() };
                }
                None => (seen.with_gate(true), ResourceTurn::NotYet),
            };
            // Closed already. Whoever has changed the word since it was closed found it so, and
            // serves after this.
            if next == seen {
                return turn;
            }
            let (from, to) = (seen.to_bits(), next.to_bits());
            // ORDERING: AcqRel, as in `exchange`: grants to callers in line are among those that
            // synchronize with each other, and with the ends before them; the lock passes that on
            // to the caller. The gate itself needs no ordering: it is in the word that every other
            // CAS compares, and that ends return. Relaxed on failure: the word is loaded again.
            // MODEL: `nobody_overtakes_a_caller_in_line_for_permits_in_flight`,
            // `an_end_beside_a_caller_that_comes_to_stand_wakes_it`,
            // `what_was_done_before_an_end_is_seen_by_the_caller_in_line_that_goes`,
            // `what_was_done_before_a_grant_in_line_is_seen_after_the_next_admission`.
            if self.word.compare_exchange(from, to, AcqRel, Relaxed).is_ok() {
                return turn;
            }
        }
    }

    fn open_gate(&self) {
        // Only the holder of the line's lock moves the gate, so it stays as it is found.
        if self.is_gated() {
            // ORDERING: Relaxed. It publishes nothing, and goes on with the release sequence that
            // it finds.
            // MODEL: `a_caller_that_leaves_opens_the_gate`.
            self.word.fetch_sub(Tally::OPENED, Relaxed);
        }
    }

    /// Ends what was granted. That is always possible, and exact.
    fn give_back(&self, permits: u64) {
        // ORDERING: Release, as in `end`; the line is served after it.
        // MODEL: `a_grant_that_was_not_seen_ends`,
        // `what_was_done_before_a_caller_left_its_grant_is_seen_after_the_next_admission`.
        self.word.fetch_sub(Tally::ended(permits), Release);
    }
}
