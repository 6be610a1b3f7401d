//! Reservations: what one takes when it finds no line, its place in the line, and its charge when
//! nobody waits ahead of it any more, or its instant has come.

use super::settle::Settling;
use super::*;

impl Scene {
    /// Decides where a reservation goes that has found the gate open.
    pub(super) fn reserve(
        &self,
        state: &State,
        who: usize,
        (seen, now): (Word, i8),
        found: &mut Found<State>,
    ) {
        let (permits, cap) = (self.ops[who].permits(), state.cap);
        let (next, instant, is_far) = match self.kind {
            Kind::Bucket => {
                let level = seen.level.max(now - cap) + permits;
                (Word { level, ..seen }, now.max(level), level > now + self.debt)
            }
            Kind::Window(length) => {
                let mut level = seen.level.max(now / length);
                let mut count = if level == seen.level { seen.count } else { 0 } + permits;
                if count > cap {
                    (level, count) = (level + 1, permits);
                }
                let instant = now.max(level * length);
                (Word { level, count, ..seen }, instant, instant > now + 2 * length)
            }
        };
        // One of more than the burst would never be earned at once.
        let at = if is_far || permits > cap {
            At::Done(End::Denied)
        } else {
            At::ChangeCas { seen, next, cap, instant }
        };
        self.add(found, who, "reads the clock", state.move_to(who, at), None);
    }

    /// Puts a reservation at the end of the line, with the instant that it is told, if that is not
    /// too far ahead.
    pub(super) fn book(
        &self,
        state: &mut State,
        who: usize,
        (now, word): (i8, Word),
    ) -> (End, Option<String>) {
        let permits = self.ops[who].permits();
        let line = state.line;
        state.line = line.with(who);
        let told = self.estimate(state, who, word);
        let ahead = match self.kind {
            Kind::Bucket => self.debt,
            Kind::Window(length) => 2 * length,
        };
        if told > now + ahead || permits > state.cap {
            state.line = line;
            return (End::Denied, None);
        }
        state.nodes[who].standing = Standing::Waiting;
        state.nodes[who].armed = told;
        let is_early = told <= now && self.mutant.is_none();
        let fault = is_early.then(|| format!("thread {who} is told {told} at {now}"));
        let fault = fault.or_else(|| self.count(state, told, permits));
        let cancels = matches!(self.ops[who], Op::ReserveAndCancel(_));
        (if cancels { End::Parked } else { End::Admitted }, fault)
    }

    /// The level and the count of a word once a reservation in line is charged, as it is foreseen.
    pub(super) fn behind(&self, state: &State, who: usize, (level, count): (i8, i8)) -> (i8, i8) {
        let (told, permits) = (state.nodes[who].armed, self.ops[who].permits());
        if self.is(Mutant::ForecastLeavesOut) {
            return (level, count);
        }
        match self.kind {
            Kind::Bucket if self.is(Mutant::ForecastIgnoresInstants) => (level + permits, count),
            Kind::Bucket => (level.max(told - state.cap) + permits, count),
            Kind::Window(length) if level < told / length => (told / length, permits),
            Kind::Window(_) => (level, count + permits),
        }
    }

    /// The reservation to be charged next: one whose instant has come, or else the one at the front.
    pub(super) fn next_booked(&self, state: &State, now: i8) -> Option<usize> {
        let has_come = |who: &usize| self.reserves(*who) && state.nodes[*who].armed <= now;
        let overdue = state.line.iter().find(has_come);
        let front = state.line.first().filter(|&head| self.reserves(head));
        match (overdue, front) {
            (_, front) if self.is(Mutant::ChargesInOrder) => front,
            (overdue, _) if self.is(Mutant::HoldsAtFront) => overdue,
            (overdue, front) => overdue.or(front),
        }
    }

    /// The head, if it is a waiter that came to the front before `told`: it counts as of its own turn, as if
    /// it had been charged before a reservation of that instant.
    fn early_head(&self, state: &State, told: i8) -> Option<usize> {
        state.line.first().filter(|&head| !self.reserves(head) && state.since < told)
    }

    /// The word after a reservation is charged as of its instant. It goes no deeper into debt than
    /// calls may; what that cannot hold is not charged.
    fn booked(&self, state: &State, word: Word, who: usize, now: i8) -> Word {
        let (told, permits) = (state.nodes[who].armed, self.ops[who].permits());
        match self.kind {
            Kind::Bucket => {
                let first = self.early_head(state, told);
                let clamp = told - state.cap - first.map_or(0, |first| self.ops[first].permits());
                let base = if self.is(Mutant::ChargesAsOfNow) {
                    word.level
                } else {
                    word.level.max(clamp)
                };
                let deepest = now + self.debt;
                let level = if base + permits <= deepest || self.is(Mutant::ChargesAnyDebt) {
                    base + permits
                } else {
                    (word.level + permits).min(deepest).max(word.level)
                };
                Word { level, ..word }
            }
            Kind::Window(length) => match told / length {
                window if window < word.level => word,
                window if window > word.level => Word { level: window, count: permits, ..word },
                _ => Word { count: word.count + permits, ..word },
            },
        }
    }

    pub(super) fn charge_booked(
        &self,
        state: &State,
        mut next: State,
        who: usize,
        (settling, booked, seen): (Settling, usize, Word),
        found: &mut Found<State>,
    ) {
        if state.word != seen {
            next.threads[who] = settling.again();
            return self.add(found, who, "fails to charge a reservation", next, None);
        }
        let now = settling.now;
        let left = self.booked(&next, seen, booked, now);
        let left = Word { gate: next.line.len() > 1, ..left };
        next.word = left;
        if self.kind == Kind::Bucket {
            let replayed = Word { level: next.replay, ..seen };
            next.replay = self.booked(&next, replayed, booked, now).level;
        }
        let is_front = next.line.first() == Some(booked);
        let told = next.nodes[booked].armed;
        if self.kind == Kind::Bucket && self.early_head(&next, told).is_some() {
            next.passed += left.level - seen.level;
        }
        next.unlink(booked, Standing::Granted);
        next.nodes[booked].grant = Some((left, next.nodes[booked].armed));
        next.nodes[booked].before = (seen.level, seen.count);
        if is_front {
            next.since = now;
        }
        next.threads[who] = settling.seen(left);
        self.add(found, who, "charges a reservation", next, None);
    }

    /// A reservation is used at its instant or later, with no look at the line; it may be cancelled
    /// before.
    pub(super) fn used_or_cancelled(&self, state: &State, who: usize, found: &mut Found<State>) {
        let node = state.nodes[who];
        if node.armed <= state.clock {
            let next = state.move_to(who, At::Done(End::Admitted));
            return self.add(found, who, "uses its reservation", next, None);
        }
        let at = match (node.standing, node.grant) {
            (Standing::Granted, Some((left, instant))) => At::Refund { left, instant },
            _ => At::Drops,
        };
        self.add(found, who, "is cancelled", state.move_to(who, at), None);
    }

    /// Counts what is promised to the reservations in line, after a change of what counts.
    pub(super) fn count_the_line(&self, state: &mut State) {
        for who in state.line.only(|who| self.reserves(who)).iter() {
            state.admitted[state.nodes[who].armed as usize] += self.ops[who].permits();
        }
    }
}
