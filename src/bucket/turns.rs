//! The bucket behind a line: grants to the first in line, what is given back of them, and the gate.

use core::iter::empty;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::sync::Ordering::{AcqRel, Relaxed};
use crate::sync::Word;
use crate::time::clock::Clock;
use crate::wait::charged::{Booked, Charged};
use crate::wait::last_turn::LastTurn;
use crate::wait::line;
use crate::wait::line_lock::LineLock;
use crate::wait::place::Demand;
use crate::wait::turn::{DueReservation, Taken, TakesTurns, Turn};

use super::BucketCore;
use super::charge::{Refusal, Spend, all_of};
use super::foreseen::Foreseen;
use super::level::{Level, UNIT};
use super::reserved::ReservedCapacity;
use super::spend::NotSpent;
use super::terms::Terms;

impl<C: Clock, L: ReservedCapacity> TakesTurns for BucketCore<C, L> {
    fn line_lock(&self) -> &LineLock {
        &self.line.line_lock
    }

    fn clock(&self) -> &dyn Clock {
        &self.clock
    }

    fn is_gated(&self) -> bool {
        self.look_again().is_gated()
    }

    fn limit(&self) -> u64 {
        let (terms, _) = self.shown();
        terms.capacity / terms.token
    }

    fn try_now(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn take_turn(&self, turn: Turn) -> Taken {
        let mut seen = self.look_again();
        loop {
            let terms = self.slots.named_by(seen);
            let accrued = terms.accrued(turn.now_nanos);
            let capacity = self.capacity_since(&terms, turn);
            let open = seen.with_gate(false);
            let balance = open.balance(accrued, capacity);
            let (next, taken) = match all_of(turn.permits, &terms, balance) {
                Ok(Spend::Some { permits, cost, .. }) => {
                    let next = open.spend(cost, accrued, capacity).with_gate(turn.has_others);
                    // What the line was owed beyond a full bucket is for this caller alone.
                    let left = (balance - cost).min(self.capacity(&terms) as i64);
                    let forecast = terms.forecast(left, turn.now_nanos);
                    let charged =
                        Charged { before: seen.to_bits(), after: next.to_bits(), changes: 0 };
                    (next, Taken::Granted(Grant { permits, forecast }, charged))
                }
                Err(Refusal::TooLarge { limit }) => (seen, Taken::TooLarge { limit }),
                Ok(Spend::Nothing) | Err(Refusal::Wait { .. }) => {
                    let may_heal = turn.may_heal && terms.is_impossible(balance, turn.now_nanos);
                    if may_heal && self.heal() {
                        return Taken::Healed;
                    }
                    (seen.with_gate(true), Taken::NotYet)
                }
            };
            match self.replace(seen, next) {
                Ok(()) => return taken,
                Err(found) => seen = found,
            }
        }
    }

    fn open_gate(&self) {
        let mut seen = self.look_again();
        while let Err(found) = self.replace(seen, seen.with_gate(false)) {
            seen = found;
        }
    }

    fn due_nanos(&self, turn: Turn) -> u64 {
        self.foreseen(turn, None, &mut empty()).0.due_nanos(turn.permits)
    }

    /// The sum of what all want says enough, unless what is there beyond a turn overflows.
    fn last_due(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        sizes: &mut dyn Iterator<Item = u64>,
    ) -> LastTurn {
        // Terms that have changed since are only a reason to look anew.
        if !self.slots.named_by(self.look_again()).overflows_in_line() {
            return LastTurn { due_nanos: self.due_nanos(turn), word: None };
        }
        let demands = &mut sizes.map(|permits| Demand { permits, told_nanos: None });
        self.last_due_among_reservations(turn, from, demands)
    }

    fn word(&self) -> u64 {
        self.look_again().with_gate(false).to_bits()
    }

    fn last_due_among_reservations(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        demands: &mut dyn Iterator<Item = Demand>,
    ) -> LastTurn {
        let (foreseen, permits) = self.foreseen(turn, from, demands);
        foreseen.end(permits)
    }

    fn book(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        demands: &mut dyn Iterator<Item = Demand>,
    ) -> Result<LastTurn, u64> {
        let (foreseen, permits) = self.foreseen(turn, from, demands);
        match foreseen.reservable_in(permits) {
            0 => Ok(foreseen.end(permits)),
            wait_nanos => Err(wait_nanos),
        }
    }

    fn charge(&self, due: DueReservation) -> Charged {
        let mut seen = self.look_again();
        loop {
            let terms = self.slots.named_by(seen);
            let open = seen.with_gate(false);
            let next = terms.level_with(open, due, self.capacity(&terms));
            match self.replace(seen, next.with_gate(due.has_others)) {
                Ok(()) => {
                    let (before, after) = (open.to_bits(), next.to_bits());
                    return Charged { before, after, changes: 0 };
                }
                Err(found) => seen = found,
            }
        }
    }

    fn undo(&self, charged: Charged) -> bool {
        let level = |bits| Level::from_bits(bits).with_gate(false);
        self.line.lower(level(charged.after), level(charged.before))
    }

    fn cancel(&self, booked: Booked, _: u64) -> bool {
        let level = |bits| Level::from_bits(bits).with_gate(false);
        self.line.fall(level(booked.charged.after), level(booked.charged.before))
    }

    fn wake_first(&self) {
        if self.is_gated() {
            self.line.line_lock.wake_first();
        }
    }
}

impl<C: Clock, L: ReservedCapacity> BucketCore<C, L> {
    /// Returns the most that may be unspent at a turn: the capacity, and what was earned since the
    /// caller came to the front.
    fn capacity_since(&self, terms: &Terms, turn: Turn) -> u64 {
        // Whole units.
        const MOST: u64 = (i64::MAX as u64) & !(UNIT - 1);
        let since_nanos = turn.since_nanos.min(turn.now_nanos);
        let earned = terms.accrued(turn.now_nanos).wrapping_sub(terms.accrued(since_nanos));
        self.capacity(terms).saturating_add(earned).min(MOST)
    }

    /// Returns what can be foreseen of a line with reservations among its `demands`, if any, and the permits
    /// that they want. Those of `demands` come behind the line that ends `from` there.
    fn foreseen(
        &self,
        turn: Turn,
        from: Option<LastTurn>,
        demands: &mut dyn Iterator<Item = Demand>,
    ) -> (Foreseen, u64) {
        let capacity = |terms: &Terms| self.capacity_since(terms, turn);
        let now_nanos = turn.now_nanos;
        let (terms, balance) = self.balance_at(now_nanos, capacity);
        if let Some(LastTurn { due_nanos, word: Some(word) }) = from {
            let balance = terms.accrued(now_nanos).wrapping_sub(word) as i64;
            let permits = demands.fold(0, |sum: u64, it| sum.saturating_add(it.permits));
            let foreseen = Foreseen::new(terms, balance, now_nanos);
            return (foreseen.from(due_nanos, self.capacity(&terms)), permits);
        }
        let foreseen = Foreseen::new(terms, balance, now_nanos);
        (foreseen.beneath(demands, self.capacity(&terms)), turn.permits)
    }

    /// Returns the terms in force and the balance under them, of which there is at most `capacity`.
    fn balance_at(&self, now_nanos: u64, capacity: impl Fn(&Terms) -> u64) -> (Terms, i64) {
        let mut seen = self.look_again();
        loop {
            let terms = self.slots.named_by(seen);
            let open = seen.with_gate(false);
            let balance = open.balance(terms.accrued(now_nanos), capacity(&terms));
            match self.still(seen) {
                Ok(()) => return (terms, balance),
                Err(found) => seen = found,
            }
        }
    }

    /// Moves the word from `seen` to `next`, and otherwise returns the word found.
    fn replace(&self, seen: Level, next: Level) -> Result<(), Level> {
        if seen == next {
            return self.still(seen);
        }
        // ORDERING: AcqRel, as in `attempt`: grants to callers in line are among those that
        // synchronize with each other, and the lock passes that on to the caller. The gate itself
        // needs no ordering: it is in the word that every other CAS compares. Relaxed on failure:
        // the word is loaded again.
        // MODEL: `nobody_overtakes_a_caller_in_line`, `a_caller_in_line_is_seen_by_those_after_it`.
        match self.line.word.compare_exchange(seen, next, AcqRel, Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.look_again()),
        }
    }

    /// Answers a caller that found the gate closed and needs `wanted`: serves those in line,
    /// and returns the word to try again from, with a reading of the clock, if nobody is left.
    #[cold]
    #[inline(never)]
    pub(super) fn ask_at_the_gate(
        &self,
        wanted: i64,
        now_nanos: u64,
    ) -> Result<(Level, u64), NotSpent> {
        if line::help(self, now_nanos) {
            return Ok((self.look_again(), self.clock.now_nanos()));
        }
        let (terms, balance) = self.balance_at(now_nanos, |terms| self.capacity(terms));
        let ahead = terms.cost(self.line.line_lock.permits()).unwrap_or(i64::MAX);
        let permits = u64::try_from(wanted).unwrap_or(0).div_ceil(terms.token);
        let mut wanted = ahead.saturating_add(wanted);
        if terms.overflows_in_line()
            && let Some(due_nanos) = line::due_behind(self, permits, now_nanos)
        {
            // More is earned until then, as some of it overflows.
            let earned = terms.earned_until(due_nanos, now_nanos);
            wanted = wanted.max(balance.saturating_add(earned));
        }
        let refusal = Refusal::Wait { wanted };
        Err(NotSpent { refusal, forecast: terms.forecast(balance, now_nanos) })
    }

    /// Returns whether anybody stands in line or has yet to be told an answer there, or the line is closed.
    pub(crate) fn has_line(&self) -> bool {
        !self.line.line_lock.is_unused()
    }

    /// Lets those in line look again, after a change.
    pub(super) fn poke(&self) {
        if self.is_gated() {
            line::poke(self);
        }
    }
}
