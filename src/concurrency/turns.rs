//! The concurrency limit behind a line: grants to the first in line, their end, and the gate.
//!
//! The line is that of [`wait`](crate::wait), whose gate is a bit of the word. There is no clock
//! here: a caller's turn comes when enough has ended, and nobody knows when that will be. So no
//! caller has an instant of its own; each sleeps until it is woken, or until its time is over by the
//! timer that it sleeps on. And every event that may bring a turn settles: an end, a change of the
//! limit, and a caller that leaves.
//!
//! **Theorem.** When all such calls have returned, nobody in line could be granted permits.
//!
//! *Proof.* The gate is closed by a CAS of the whole word, so on what was in flight at that moment:
//! an end before it has been counted, and the first in line still had to wait. An end, or a change,
//! after it finds the gate closed, because it is a read-modify-write; so it takes the lock, after
//! whoever closed the gate, and grants what there is. ∎

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::sync::Ordering::{AcqRel, Relaxed, Release};
use crate::sync::Word;
use crate::wait::charged::Charged;
use crate::wait::line;
use crate::wait::queue::WaitQueue;
use crate::wait::turn::{Taken, TakesTurns, Turn};

use super::ConcurrencyLimit;
use super::word::Tally;

impl TakesTurns for ConcurrencyLimit {
    fn queue(&self) -> &WaitQueue {
        &self.hot.queue
    }

    /// Always the same instant.
    fn now_nanos(&self) -> u64 {
        0
    }

    fn is_gated(&self) -> bool {
        self.load().is_gated()
    }

    fn limit(&self) -> u64 {
        self.load().limit()
    }

    /// The permits that it grants are in flight, and end by an `end` of as many.
    fn try_now(&self, permits: u64) -> Result<Grant, Denied> {
        match self.admit(permits) {
            Ok(tally) => Ok(grant(permits, tally)),
            Err(denied) if denied.is_too_large() => {
                Err(Denied::TooLarge { limit: denied.limit(), which: 0 })
            }
            Err(denied) => {
                let forecast = forecast(denied.limit(), denied.in_flight());
                Err(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 }))
            }
        }
    }

    fn take_turn(&self, turn: Turn) -> Taken {
        loop {
            let seen = self.load();
            let (next, taken) = match seen.granted(turn.permits, turn.has_others) {
                Some(next) => {
                    let charged =
                        Charged { before: seen.to_bits(), after: next.to_bits(), changes: 0 };
                    (next, Taken::Granted(grant(turn.permits, next), charged))
                }
                None if turn.permits > seen.limit() => {
                    return Taken::TooLarge { limit: seen.limit() };
                }
                None => (seen.with_gate(true), Taken::NotYet),
            };
            // Closed already. Whoever has changed the word since it was closed found it so, and
            // settles after this.
            if next == seen {
                return taken;
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
            if self.hot.word.compare_exchange(from, to, AcqRel, Relaxed).is_ok() {
                return taken;
            }
        }
    }

    fn open_gate(&self) {
        // Only the holder of the line's lock moves the gate, so it stays as it is found.
        if self.is_gated() {
            // ORDERING: Relaxed. It publishes nothing, and goes on with the release sequence that
            // it finds.
            // MODEL: `a_caller_that_leaves_opens_the_gate`.
            self.hot.word.fetch_sub(Tally::OPENED, Relaxed);
        }
    }

    /// Never, as far as anybody knows.
    fn due_nanos(&self, _: Turn) -> u64 {
        u64::MAX
    }

    /// Ends what was granted. That is always possible, and exact.
    fn undo(&self, charged: Charged) -> bool {
        let [before, after] = [charged.before, charged.after].map(Tally::from_bits);
        let permits = after.in_flight() - before.in_flight();
        // ORDERING: Release, as in `end`; the caller goes on to settle.
        // MODEL: `a_grant_that_was_not_seen_ends`,
        // `what_was_done_before_a_caller_left_its_grant_is_seen_after_the_next_admission`.
        self.hot.word.fetch_sub(Tally::ended(permits), Release);
        true
    }

    fn wake_first(&self) {
        if self.is_gated() {
            self.hot.queue.wake_first();
        }
    }
}

impl ConcurrencyLimit {
    /// Grants those in line what has come back.
    #[cold]
    pub(super) fn settle(&self) {
        line::settle(self);
    }

    /// Lets those in line look again, after a change of the limit.
    #[cold]
    pub(super) fn poke(&self) {
        line::poke(self);
    }
}

/// Returns the grant of `permits` that has left the word at `tally`.
fn grant(permits: u64, tally: Tally) -> Grant {
    Grant { permits, forecast: forecast(tally.limit(), tally.in_flight()) }
}

/// Returns the forecast of a limit that does not know when anything ends.
fn forecast(limit: u64, in_flight: u64) -> Forecast {
    let unknown = u64::MAX;
    Forecast::Known(KnownForecast {
        limit,
        used: in_flight,
        reset_nanos: unknown,
        retry_nanos: unknown,
    })
}
