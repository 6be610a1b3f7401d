//! Reservations in the line of a counter: each is counted in the window whose instant it was told, before
//! anything else is granted in that window.
//!
//! ```text
//! charge n, told an instant in V   by CAS: (W, c) -> (V, n)        if V is after W
//!                                          (V, c) -> (V, c + n)
//!                                          nothing                 if V is before W
//! ```
//!
//! **Theorem.** The theorem of [`reserve`](super::reserve) holds with reservations that stand in line, as
//! long as the limit is not lowered, and nothing is used beyond an estimate, while they stand there.
//!
//! *Proof.* While others wait, only a settling grants permits, and it first charges the reservations whose
//! instants have come. That of a reservation in line is the beginning of its window V, as no caller
//! ahead of it is due before that. (Windows that begin with a grant shift if a caller is late: so those of
//! callers ahead of a reservation begin early enough to end by its instant, see
//! [`turn_before`](WindowCounter::turn_before).) So in V nothing is granted before it is charged; and when it was told V,
//! it was within the limit together with the reservations that had been told V before. If nobody waits ahead
//! of it any more, it is charged as one that has found no line: V is then the window of the word, or a
//! later one. ∎
//!
//! Use beyond an estimate may fill V, and windows after it, while a reservation in line has been
//! told V. The reservation keeps its instant, and V then has that much more than the limit. Where the limit is
//! lowered, V keeps what it was told, and grants nothing more.

use crate::time::clock::Clock;
use crate::wait::charged::Charged;
use crate::wait::last_turn::LastTurn;
use crate::wait::place::Demand;
use crate::wait::turn::{DueReservation, TakesTurns, Turn};
use crate::window::gate::{opened, with_gate};

use super::reserve::NEVER;
use super::{CounterCore, WindowCounter};

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    /// Returns the turn of the last of `demands`, which is to be reserved, or the time after which it can be.
    pub(super) fn book_in_line(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        demands: &mut dyn Iterator<Item = Demand>,
    ) -> Result<LastTurn, u64> {
        let end = self.last_due_among_reservations(turn, from, demands);
        if end.word.is_none() {
            // Nobody knows when all ahead of it have had their turns.
            return Err(u64::MAX);
        }
        let wait_nanos = end.due_nanos.saturating_sub(turn.now_nanos);
        match wait_nanos.saturating_sub(self.counter.reserves_nanos()) {
            0 => Ok(end),
            retry_nanos => Err(retry_nanos),
        }
    }

    pub(super) fn charge_in_line(&self, due: DueReservation) -> Charged {
        let DueReservation { permits, told_nanos, now_nanos, has_others, .. } = due;
        let changes = self.word.companion().changes().unwrap_or(NEVER);
        let then = self.counter.at_another_time(told_nanos);
        let now = self.counter.at_another_time(now_nanos);
        let mut seen = self.load();
        loop {
            let open = opened(seen);
            let is_near = |word: &u64| {
                let ahead = || self.counter.begins_in(*word, &now);
                self.counter.at(*word, &now).is_some() || ahead().is_some()
            };
            // It may be far ahead once the clock was set back, and would be healed.
            let charged = self.charged(open, permits, &then).filter(|(word, _)| is_near(word));
            let (charged, counted) = charged.unwrap_or((open, 0));
            // A count that ends its range has only a part, and does not tell how much.
            let changes = if counted < permits { NEVER } else { changes };
            match self.replace(seen, with_gate(charged, has_others)) {
                Ok(()) => return Charged { before: open, after: charged, changes },
                Err(found) => seen = found,
            }
        }
    }

    /// Returns `word` with `permits` more in the window of `then`, as far as the count goes, and how many
    /// more; `None` if it is past that window.
    pub(super) fn charged(&self, word: u64, permits: u64, then: &T::Now) -> Option<(u64, u64)> {
        let word = self.counter.at(word, then)?;
        Some(self.counter.fields().more(word, permits))
    }
}
