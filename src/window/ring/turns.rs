//! The ring behind a line: grants to the first in line, what is given back of them, and the gate.
//!
//! The holder of the line's lock rotates and admits as other callers do, with the gate as it has to
//! be. It closes the gate by a CAS of an open word, which vouches for the denial as the second look
//! does. A seal, the help and the opening leave the gate as it is. So from the CAS that closed the
//! gate until the line is empty each value of the word has it closed, whatever else goes on.

use alloc::vec::Vec;
use core::iter::once;

use crate::contention::HotWord;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::undo::{Debit, Undo};
use crate::sync::Ordering::{AcqRel, Acquire};
use crate::time::clock::Clock;
use crate::time::units::SKEW_NANOS;
use crate::wait::charged::Charged;
use crate::wait::last_turn::LastTurn;
use crate::wait::line_lock::LineLock;
use crate::wait::turn::{Taken, TakesTurns, Turn};
use crate::window::revert::revert_beneath_the_gate;

use super::ahead::Ahead;
use super::slots::WindowSlots;
use super::words::{State, is_gated, with_gate};
use super::{HotLine, LineBeside, Lined, Ring};

impl<L: Lined, W: AsRef<[WindowSlots]>, C: Clock> TakesTurns for Ring<L, W, C> {
    fn line_lock(&self) -> &LineLock {
        self.hot.line_lock()
    }

    fn clock(&self) -> &dyn Clock {
        &self.core.clock
    }

    fn is_gated(&self) -> bool {
        is_gated(self.load())
    }

    fn limit(&self) -> u64 {
        self.windows().iter().map(|window| window.limit().get()).min().unwrap_or(0)
    }

    fn try_now(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn take_turn(&self, turn: Turn) -> Taken {
        // Not the line's reading: it may be from before the shift.
        let mut now = self.now();
        let changes = self.hot.changes().changes().unwrap_or(0);
        let mut seen = self.load();
        loop {
            let (hot, state) = self.core.layout.read(seen);
            if state != State::Open {
                seen = self.help(seen);
                continue;
            }
            if self.is_behind(hot, now) {
                seen = self.heal(&mut now);
                continue;
            }
            let look = self.look(hot, now);
            if turn.permits > look.limit {
                return Taken::TooLarge { limit: look.limit };
            }
            if turn.permits > look.room() {
                let closed = with_gate(seen, true);
                let moved =
                    if closed == seen { self.still(seen) } else { self.replace(seen, closed) };
                match moved {
                    Ok(()) if closed == seen => return Taken::NotYet,
                    // A limit that was changed before the gate was closed is seen from here on.
                    Ok(()) => seen = closed,
                    Err(found) => seen = found,
                }
                continue;
            }
            if self.core.layout.tick.ahead(now.moment.tick, hot.tick) > 0 {
                seen = self.turn(seen, now.moment.tick);
                continue;
            }
            let next = with_gate(self.core.layout.plus(seen, turn.permits), turn.has_others);
            match self.replace(seen, next) {
                Ok(()) => {
                    let charged = Charged { before: seen, after: next, changes };
                    return Taken::Granted(self.granted(turn.permits, hot, look, now), charged);
                }
                Err(found) => seen = found,
            }
        }
    }

    fn open_gate(&self) {
        let mut seen = self.load();
        while is_gated(seen) {
            match self.replace(seen, with_gate(seen, false)) {
                Ok(()) => return,
                Err(found) => seen = found,
            }
        }
    }

    fn due_nanos(&self, turn: Turn) -> u64 {
        self.last_due(turn, None, &mut once(turn.permits)).due_nanos
    }

    fn last_due(
        &self,
        turn: Turn,
        _: Option<LastTurn>,
        sizes: &mut dyn Iterator<Item = u64>,
    ) -> LastTurn {
        let sizes: Vec<u64> = sizes.collect();
        // ORDERING: Acquire, as in `now`, and before a reading of the clock.
        // MODEL: `a_ring_adds_its_shift_to_no_earlier_reading`.
        let shift = self.core.shift.load(Acquire);
        // With the shift, the line's reading would be in the future if the clock went back since.
        let now_nanos = turn.now_nanos.min(self.core.clock.now_nanos());
        let now = self.core.moment_at(shift, now_nanos);
        let tick_nanos = self.core.ticks.length_nanos();
        let ahead = |hot, now| Ahead::new(self.windows(), hot, now, tick_nanos).wait_nanos(&sizes);
        // If the clock was set back, it is to be healed soon.
        let wait_nanos = self.read_at(now, ahead).unwrap_or(SKEW_NANOS);
        LastTurn { due_nanos: now_nanos.saturating_add(wait_nanos), word: None }
    }

    fn undo(&self, charged: Charged) -> bool {
        // In a settlement, so that no reset comes in between: the count may wrap to the same word.
        self.hot.changes().settlement(charged.changes).is_some_and(|_settlement| {
            let Charged { before, after, .. } = charged;
            revert_beneath_the_gate(self.hot.word(), with_gate, after, before).is_some()
        })
    }

    fn wake_first(&self) {
        if TakesTurns::is_gated(self) {
            self.hot.line_lock().wake_first();
        }
    }
}

impl<L: HotLine, W: AsRef<[WindowSlots]>, C: Clock> Ring<L, W, C> {
    /// Moves the word from `seen` to `next`, and otherwise returns the word found.
    fn replace(&self, seen: u64, next: u64) -> Result<(), u64> {
        // ORDERING: AcqRel, as in `admit`; Release also vouches for a denial, as it comes after the
        // loads of the boundaries, and Acquire is for a limit that was changed before: pairs with
        // `poke_after_change`. Acquire on failure, as in `load`.
        // MODEL: `nobody_overtakes_a_caller_in_line_for_a_ring`,
        // `a_raised_limit_of_a_ring_is_seen_by_a_caller_in_line`.
        self.hot.word().compare_exchange(seen, next, AcqRel, Acquire).map(drop)
    }
}

impl Undo for HotWord<u64, LineBeside> {
    fn undo(&self, debit: Debit<'_>) -> bool {
        let Debit::Word { before, after } = debit else { return false };
        let reverted = revert_beneath_the_gate(self, with_gate, after, before);
        if reverted == Some(true) {
            self.companion().line_lock.wake_first();
        }
        reverted.is_some()
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests;
