//! The counter behind a line: grants to the first in line, what is given back of them, and the gate.
//!
//! The first in line is due at the first instant at which its permits are within the limit, and is
//! counted in the window in which somebody comes to serve. A window forgets by itself, so nothing
//! is owed to a caller that is late: what the windows before would have granted is lost.
//!
//! **Theorem.** With waiting, too, no window grants more than the limit.
//!
//! *Proof.* A grant to a caller in line is a CAS of the word from which it was decided, as any
//! other; the theorem of [`counter`](super) asks no more of a grant. ∎
//!
//! **Theorem.** A grant is given back only if the counts are what they were after it; so they become
//! what they would be without it.
//!
//! *Proof.* The holder of the lock puts back the word from before the grant in a settlement, so from the
//! grant to the end of that no change replaces the word (see [`changes`](crate::window::changes)), and the
//! count of a window is what is kept of its grants, by the theorem of [`settle`](super::settle). So if the
//! word is the same, as much as was granted and taken since has been given back, and the CAS takes off
//! this grant; if that ends a window, nothing else is kept in it. ∎

use core::iter::once;

use crate::contention::HotWord;
use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::decision::undo::{Debit, Undo};
use crate::sync::Ordering::{AcqRel, Relaxed};
use crate::time::clock::Clock;
use crate::time::units::SKEW_NANOS;
use crate::wait::charged::{Booked, Charged};
use crate::wait::last_turn::LastTurn;
use crate::wait::line;
use crate::wait::line_lock::LineLock;
use crate::wait::place::Demand;
use crate::wait::turn::{DueReservation, Taken, TakesTurns, Turn};
use crate::window::gate::{is_gated, opened, with_gate};
use crate::window::revert::revert_beneath_the_gate;
use crate::window_counts::WindowCounts;

use super::beside::Beside;
use super::outcome::{AtTheGate, Granted, refused};
use super::{CounterCore, WindowCounter};

/// Windows that are looked at for one caller: as many as weekdays, and more.
pub(super) const MOST_WINDOWS: u32 = 32;

impl<T: WindowCounter, C: Clock> TakesTurns for CounterCore<T, C> {
    fn line_lock(&self) -> &LineLock {
        &self.word.companion().line_lock
    }

    fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    fn is_gated(&self) -> bool {
        is_gated(self.load())
    }

    fn word(&self) -> u64 {
        opened(self.load())
    }

    fn limit(&self) -> u64 {
        self.counter.most()
    }

    fn try_now(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn take_turn(&self, turn: Turn) -> Taken {
        let now = self.counter.now(turn.now_nanos);
        let changes = self.word.companion().changes();
        let mut seen = self.load();
        loop {
            let as_of = |told_nanos| self.counter.turn_before(told_nanos, opened(seen), &now);
            let as_of = turn.told_nanos.map_or(now, as_of);
            let (next, taken) = match self.counter.at(opened(seen), &as_of) {
                None if turn.may_heal && self.counter.begins_in(opened(seen), &now).is_none() => {
                    self.heal();
                    return Taken::Healed;
                }
                None => (with_gate(seen, true), Taken::NotYet),
                Some(word) => self.decide(seen, word, &now, turn, changes),
            };
            match self.replace(seen, next) {
                // A limit that was changed before the gate was closed is seen from here on.
                Ok(()) if matches!(taken, Taken::NotYet) && seen != next => seen = next,
                Ok(()) => return taken,
                Err(found) => seen = found,
            }
        }
    }

    fn open_gate(&self) {
        let mut seen = self.load();
        while let Err(found) = self.replace(seen, opened(seen)) {
            seen = found;
        }
    }

    fn due_nanos(&self, turn: Turn) -> u64 {
        self.last_due(turn, None, &mut once(turn.permits)).due_nanos
    }

    fn last_due(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        sizes: &mut dyn Iterator<Item = u64>,
    ) -> LastTurn {
        let mut demands = sizes.map(|permits| Demand { permits, told_nanos: None });
        self.last_due_among_reservations(turn, from, &mut demands)
    }

    fn last_due_among_reservations(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        demands: &mut dyn Iterator<Item = Demand>,
    ) -> LastTurn {
        let (seen, mut at_nanos) = match from {
            Some(LastTurn { due_nanos, word: Some(word) }) => (word, due_nanos.max(turn.now_nanos)),
            _ => (opened(self.load()), turn.now_nanos),
        };
        let mut now = self.counter.at_another_time(at_nanos);
        if let Some(wait_nanos) = self.counter.begins_in(seen, &now) {
            at_nanos = at_nanos.saturating_add(wait_nanos);
            now = self.counter.at_another_time(at_nanos);
        }
        let Some(mut word) = self.counter.at(seen, &now) else {
            // It is to be healed soon.
            return LastTurn { due_nanos: at_nanos.saturating_add(SKEW_NANOS), word: None };
        };
        let most = self.counter.most();
        let mut is_known = true;
        for Demand { permits, told_nanos } in demands {
            if let Some(told_nanos) = told_nanos {
                let then = self.counter.at_another_time(told_nanos);
                if let Some((charged, _)) = self.charged(word, permits, &then) {
                    word = charged;
                    at_nanos = at_nanos.max(told_nanos);
                    now = self.counter.at_another_time(at_nanos);
                    word = self.counter.at(word, &now).unwrap_or(word);
                }
                continue;
            }
            // It will be refused, and holds nobody up.
            if permits > most {
                continue;
            }
            let mut has_turn = false;
            for _ in 0..MOST_WINDOWS {
                let counted = self.counter.counted(word, &now);
                if counted.fits(permits) {
                    word = self.counter.plus(word, permits, &now);
                    has_turn = true;
                    break;
                }
                let wait_nanos = if permits > counted.limit {
                    counted.left_nanos
                } else {
                    counted.wait_nanos(permits)
                };
                at_nanos = at_nanos.saturating_add(wait_nanos);
                if at_nanos == u64::MAX {
                    return LastTurn { due_nanos: u64::MAX, word: None };
                }
                now = self.counter.at_another_time(at_nanos);
                word = self.counter.at(word, &now).unwrap_or(word);
            }
            is_known &= has_turn;
        }
        LastTurn { due_nanos: at_nanos, word: is_known.then_some(word) }
    }

    fn book(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        demands: &mut dyn Iterator<Item = Demand>,
    ) -> Result<LastTurn, u64> {
        self.book_in_line(turn, from, demands)
    }

    fn charge(&self, due: DueReservation) -> Charged {
        self.charge_in_line(due)
    }

    fn undo(&self, charged: Charged) -> bool {
        // The same where a change was going on.
        opened(charged.before) != opened(charged.after) && self.uncharge(charged)
    }

    fn cancel(&self, booked: Booked, permits: u64) -> bool {
        let is_back = self.cancel_reservation(booked, permits);
        if is_back {
            TakesTurns::wake_first(self);
        }
        is_back
    }

    fn wake_first(&self) {
        if TakesTurns::is_gated(self) {
            self.line_lock().wake_first();
        }
    }
}

impl<T: WindowCounter, C: Clock> CounterCore<T, C> {
    /// Decides on the turn of the first in line, from the word as it was `seen`, which is `word`
    /// brought forward. Returns the next word.
    fn decide(
        &self,
        seen: u64,
        word: u64,
        now: &T::Now,
        turn: Turn,
        changes: Option<u64>,
    ) -> (u64, Taken) {
        let counted = self.counter.counted(word, now);
        let limit = self.counter.most();
        if turn.permits > limit {
            return (seen, Taken::TooLarge { limit });
        }
        if !counted.fits(turn.permits) {
            return (with_gate(seen, true), Taken::NotYet);
        }
        let next = with_gate(self.counter.plus(word, turn.permits, now), turn.has_others);
        let current = counted.current.saturating_add(turn.permits);
        let forecast = Forecast::Window(WindowCounts { current, ..counted });
        // While a change goes on, nothing is known of what comes back.
        let before = if changes.is_some() { seen } else { next };
        let charged = Charged { before, after: next, changes: changes.unwrap_or(0) };
        (next, Taken::Granted(Grant { permits: turn.permits, forecast }, charged))
    }

    /// Moves the word from `seen` to `next`, and otherwise returns the word found.
    pub(super) fn replace(&self, seen: u64, next: u64) -> Result<(), u64> {
        if seen == next {
            return Ok(());
        }
        // ORDERING: AcqRel, as in `attempt`: grants to callers in line are among those that
        // synchronize with each other, and the lock passes that on to the caller. The gate needs
        // Acquire when it is closed, for a limit that was set before; pairs with the CAS in
        // `poke_after_change`. Relaxed on failure: the word is loaded again.
        // MODEL: `nobody_overtakes_a_caller_in_line_for_a_window`,
        // `a_raised_limit_is_seen_by_a_caller_in_line`.
        match self.word.compare_exchange(seen, next, AcqRel, Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.load()),
        }
    }

    /// Answers a caller that found the gate closed: serves those in line, and lets it try again
    /// if nobody is left.
    #[cold]
    #[inline(never)]
    pub(super) fn ask_at_the_gate(
        &self,
        (now_nanos, now): (u64, &T::Now),
        ask: &impl Fn(&WindowCounts) -> u64,
    ) -> AtTheGate {
        let (seen, counted) = self.counted_at_the_gate(now);
        // What there is belongs to those in line.
        let permits = ask(&WindowCounts { current: counted.limit, previous: 0, ..counted });
        if permits == 0 {
            let grant = Grant { permits, forecast: Forecast::Window(counted) };
            return AtTheGate::Answered(Ok(Granted { grant, seen, written: seen }));
        }
        if permits > self.counter.most() {
            return AtTheGate::Answered(Err(refused(permits, counted)));
        }
        if line::help(self, now_nanos) {
            return AtTheGate::Opened { now_nanos: self.clock.now_nanos() };
        }
        // The help may have granted those in line some of what there was.
        let (_, counted) = self.counted_at_the_gate(now);
        let retry_nanos = self.line_lock().wait_nanos(now_nanos);
        let forecast = Forecast::Known(KnownForecast {
            limit: counted.limit,
            used: counted.used(),
            reset_nanos: counted.wait_nanos(counted.limit).max(retry_nanos),
            retry_nanos,
        });
        let wanted = permits as i64;
        AtTheGate::Answered(Err(Denied::Wait(Shortfall { wanted, forecast, which: 0 })))
    }

    /// Returns the word as it is, but for the gate, and its counts.
    fn counted_at_the_gate(&self, now: &T::Now) -> (u64, WindowCounts) {
        let seen = opened(self.load());
        (seen, self.counted_at(seen, now))
    }

    /// Wakes the first in line, after permits have come back.
    pub(super) fn wake(&self) {
        self.line_lock().wake_first();
    }

    /// Returns whether anybody stands in line or has yet to be told an answer there, or the line is closed.
    pub(crate) fn has_line(&self) -> bool {
        !self.word.companion().line_lock.is_unused()
    }

    /// Lets those in line look again, after a change.
    pub(super) fn poke(&self) {
        if TakesTurns::is_gated(self) {
            line::poke(self);
        }
    }

    /// The same after a change of the limit.
    pub(super) fn poke_after_change(&self) {
        // ORDERING: AcqRel, although it changes nothing: in the order of the word either the CAS
        // that closes the gate comes after this, and the new limit is seen after that; or the gate
        // is found closed here. Acquire, so that it passes on an earlier change.
        // MODEL: `a_raised_limit_is_seen_by_a_caller_in_line`.
        if is_gated(self.word.fetch_add(0, AcqRel)) {
            line::poke(self);
        }
    }
}

impl Undo for HotWord<u64, Beside> {
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
