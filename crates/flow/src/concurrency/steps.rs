//! The steps of a concurrency limit: every atomic operation on its word, but for those by which a
//! line takes turns; see [`turns`](super::turns).

use crate::sync::Backoff;
use crate::sync::Ordering::{AcqRel, Relaxed, Release};

use super::denied::ConcurrencyDenied;
use super::word::{LimitWord, Tally};

impl LimitWord {
    #[inline]
    pub(super) fn load(&self) -> Tally {
        // ORDERING: Relaxed. An admission from a stale word fails in its CAS, a denial is the
        // answer of a moment at which the limit was reached, and both the limit and the count are
        // in the word. What else an admitted caller is to see, its CAS acquires.
        // MODEL: `no_more_are_in_flight_than_the_limit`.
        Tally::from_bits(self.word.load(Relaxed))
    }

    /// Counts `permits` as in flight and returns the word with them, to be followed by one
    /// [`end`](LimitWord::end) of as many.
    #[inline]
    pub(super) fn admit(&self, permits: u64) -> Result<Tally, ConcurrencyDenied> {
        let mut seen = self.load();
        if permits == 0 {
            return Ok(seen);
        }
        let backoff = Backoff::new();
        loop {
            let Some(next) = seen.admitted(permits) else {
                return Err(ConcurrencyDenied { permits, tally: seen });
            };
            if self.exchange(seen, next) {
                return Ok(next);
            }
            backoff.spin();
            seen = self.load();
        }
    }

    /// Replaces `seen` by `next`, which admits permits. Returns false if the word is another.
    #[inline]
    fn exchange(&self, seen: Tally, next: Tally) -> bool {
        // ORDERING: AcqRel on success. Acquire, so that what was done before the ends that made
        // room is seen; pairs with the `fetch_sub` in `end` and the CAS in `change_limit`. Release, so
        // that what was done before one admission is seen after the next; pairs with itself. The
        // bound needs neither: all changes of one word have one order. Relaxed on failure: the word
        // is loaded again.
        // MODEL: `no_more_are_in_flight_than_the_limit`,
        // `what_was_done_before_an_end_is_seen_after_the_next_admission`,
        // `what_was_done_before_an_admission_is_seen_after_the_next`,
        // `a_raised_limit_is_found_with_what_was_done_before_it`.
        self.word.compare_exchange_weak(seen.to_bits(), next.to_bits(), AcqRel, Relaxed).is_ok()
    }

    /// Ends `permits` that were admitted and have not ended. Returns whether callers stand in line, so that it
    /// has to be served.
    #[inline]
    pub(super) fn end(&self, permits: u64) -> bool {
        if permits == 0 {
            return false;
        }
        // ORDERING: Release, so that what a holder did is seen by those that take its permits;
        // pairs with the CAS in `exchange`. Not Acquire: a holder that ends looks at nothing of
        // others; and the line that it serves, if it finds the gate closed, has a lock of its own,
        // which it takes after whoever closed the gate.
        // MODEL: `what_was_done_before_an_end_is_seen_after_the_next_admission`,
        // `no_end_is_lost_beside_a_change_of_the_limit`,
        // `an_end_beside_a_caller_that_comes_to_stand_wakes_it`.
        let seen = self.word.fetch_sub(Tally::ended(permits), Release);
        // Asked of the result, which the processor's flags tell.
        Tally::from_bits(seen.wrapping_sub(Tally::ended(permits))).is_gated()
    }

    /// Changes the limit. Returns whether callers stand in line, so that they have to be told.
    pub(super) fn change_limit(&self, limit: u64) -> bool {
        let backoff = Backoff::new();
        loop {
            let seen = self.load();
            let next = seen.with_limit(limit);
            let (from, to) = (seen.to_bits(), next.to_bits());
            // ORDERING: Release on success, so that what was done before the change is seen by
            // those that are admitted under the new limit; pairs with the CAS in `exchange`. Not
            // Acquire: what was done before is not looked at here, and the ends before it stay in
            // the release sequence. Relaxed on failure: the word is loaded again.
            // MODEL: `a_raised_limit_is_found_with_what_was_done_before_it`,
            // `no_end_is_lost_beside_a_change_of_the_limit`.
            match self.word.compare_exchange_weak(from, to, Release, Relaxed) {
                Ok(_) => return seen.is_gated(),
                Err(_) => backoff.spin(),
            }
        }
    }
}
