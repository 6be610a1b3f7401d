//! Waiting behind a gate: the limiter's line while the gate limits; an open gate grants to all that stand
//! in it, a closed one refuses them.
//!
//! A change of the mode settles for those in line. It does not know whether the limiter has a line, so the
//! first caller that comes to stand there leaves word how to settle.
//!
//! **Theorem.** When [`set`](Gate::set) has returned, all callers that are in line, and that come to stand
//! there, are decided by its mode or a later one. (As long as they ask through the gate, and so do all
//! others: calls of the limiter itself take no notice of the mode.)
//!
//! *Proof.* A caller first locks the word that it leaves, then the line, and is decided on there after a
//! load of the mode. The change stores the mode, then locks the word. If that lock is the earlier one, the
//! caller loads this mode or a later one. Otherwise the change finds the word, and locks the line: a
//! caller that has the line's lock before it is decided on anew now, and one that has it later loads this
//! mode, or a later one. ∎

use core::fmt;
use core::time::Duration;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::sync::Lock;
use crate::time::clock::Clock;
use crate::wait::charged::Charged;
use crate::wait::error::AcquireError;
use crate::wait::last_turn::LastTurn;
use crate::wait::line;
use crate::wait::line_handle::Line;
use crate::wait::line_lock::LineLock;
use crate::wait::place::Demand;
use crate::wait::reservation::Reservation;
use crate::wait::traits::{Reserve, Wait};
use crate::wait::turn::{DueReservation, Taken, TakesTurns, Turn};
use crate::wait::way_to_line::{Answered, CountsAnswers};

use super::{Gate, GateMode};

/// The way to settle for those in line, once anybody has stood there.
pub(super) struct SettleHook<L>(Lock<Option<SettleIt<L>>>);

type SettleIt<L> = fn(&Gate<L>);

impl<L> SettleHook<L> {
    pub(super) fn new() -> SettleHook<L> {
        SettleHook(Lock::new(None))
    }

    /// Settles for those in line, after a change of the mode.
    pub(super) fn settle(&self, gate: &Gate<L>) {
        let settle = *self.0.lock();
        if let Some(settle) = settle {
            settle(gate);
        }
    }
}

impl<L> fmt::Debug for SettleHook<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SettleHook").finish_non_exhaustive()
    }
}

/// The limiter's line, while the gate limits.
///
/// An open gate grants at once, and charges nothing; a closed one refuses, with
/// [`AcquireError::TooLarge`] and a limit of 0. So it does with those who stand in line when the mode is
/// set.
///
/// Those in line are decided on by the gate, also those that came to the line of the limiter by another
/// way. So a limiter is to have one gate, and callers are to wait for it through that.
impl<L: Wait> Wait for Gate<L> {
    fn line(&self) -> Line<'_> {
        Line::of(self).counted_by(self)
    }
}

/// The limiter's reservations, while the gate limits.
///
/// Those of an open gate are for now, and charge nothing; but the limiter is asked for one of 0 permits,
/// for its clock, which a `Counted` inside counts. A closed gate refuses, with
/// [`AcquireError::TooLarge`] and a limit of 0. A change of the mode leaves those that were made as they
/// are.
impl<L: Reserve> Reserve for Gate<L> {
    fn reserve_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<Reservation<'_>, AcquireError> {
        match self.mode() {
            GateMode::Limiting => self.limiter.reserve_within(permits, longest),
            GateMode::Closed if permits > 0 => Err(AcquireError::TooLarge { limit: 0 }),
            // It has the limiter's clock.
            GateMode::Open | GateMode::Closed => Ok(self.limiter.reserve(0)?.for_now(permits)),
        }
    }
}

impl<L: Wait> CountsAnswers for Gate<L> {
    /// Lets the limiter count what it has answered, and not what the gate has.
    fn count_answer(&self, answered: Answered<'_>) {
        let is_gates = match answered.answer {
            Ok(grant) => matches!(grant.limit(), 0 | u64::MAX),
            Err(error) => *error == AcquireError::TooLarge { limit: 0 },
        };
        if !is_gates {
            self.limiter.line().count_answer(answered);
        }
    }
}

impl<L: Wait> Gate<L> {
    /// Returns the limiter as its line calls it.
    fn behind(&self) -> &dyn TakesTurns {
        self.limiter.line().limiter()
    }
}

impl<L: Wait> TakesTurns for Gate<L> {
    fn line_lock(&self) -> &LineLock {
        self.behind().line_lock()
    }

    fn clock(&self) -> &dyn Clock {
        self.behind().clock()
    }

    fn is_gated(&self) -> bool {
        self.behind().is_gated()
    }

    fn word(&self) -> u64 {
        self.behind().word()
    }

    fn limit(&self) -> u64 {
        match self.mode() {
            GateMode::Limiting => self.behind().limit(),
            GateMode::Open => u64::MAX,
            GateMode::Closed => 0,
        }
    }

    fn try_now(&self, permits: u64) -> Result<Grant, Denied> {
        self.by_mode(permits).unwrap_or_else(|| self.behind().try_now(permits))
    }

    fn take_turn(&self, turn: Turn) -> Taken {
        match self.by_mode(turn.permits) {
            None => self.behind().take_turn(turn),
            Some(Ok(grant)) => Taken::Granted(grant, Charged::NOTHING),
            Some(Err(_)) => Taken::TooLarge { limit: 0 },
        }
    }

    fn open_gate(&self) {
        self.behind().open_gate();
    }

    fn due_nanos(&self, turn: Turn) -> u64 {
        self.behind().due_nanos(turn)
    }

    fn last_due(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        sizes: &mut dyn Iterator<Item = u64>,
    ) -> LastTurn {
        self.behind().last_due(turn, from, sizes)
    }

    fn last_due_among_reservations(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        demands: &mut dyn Iterator<Item = Demand>,
    ) -> LastTurn {
        self.behind().last_due_among_reservations(turn, from, demands)
    }

    /// Whatever the mode: the limiter made it when the gate limited.
    fn charge(&self, due: DueReservation) -> Charged {
        self.behind().charge(due)
    }

    fn is_missed(&self, turn: Turn, due_nanos: u64, deadline_nanos: u64) -> bool {
        self.behind().is_missed(turn, due_nanos, deadline_nanos)
    }

    /// Nothing was charged by an open gate.
    fn undo(&self, charged: Charged) -> bool {
        charged.before != charged.after && self.behind().undo(charged)
    }

    fn wake_first(&self) {
        self.behind().wake_first();
    }

    fn release(&self, charged: Charged) {
        self.behind().release(charged);
    }

    fn expect_caller(&self) {
        self.behind().expect_caller();
        *self.hook.0.lock() = Some(|gate| line::poke(gate));
    }

    fn mark(&self) -> usize {
        self.line_lock().address()
    }
}
