//! Settling, by the holder of the line: grants whoever is due, and leaves the gate closed if and
//! only if somebody stands in line.

use super::*;

/// The reason to settle, the reading to settle by, and those to wake afterwards.
#[derive(Clone, Copy)]
pub(super) struct Settling {
    pub(super) why: Why,
    pub(super) now: i8,
    pub(super) wake: Row,
}

impl Settling {
    pub(super) fn again(self) -> At {
        let Settling { why, now, wake } = self;
        At::Settle { why, now, wake }
    }

    pub(super) fn seen(self, seen: Word) -> At {
        let Settling { why, now, wake } = self;
        At::SettleCas { why, now, wake, seen }
    }

    fn wakes(self, who: usize) -> Settling {
        Settling { wake: self.wake.with(who), ..self }
    }
}

impl Scene {
    /// Reads the clock, under the lock.
    pub(super) fn read(&self, state: &State, who: usize, why: Why, found: &mut Found<State>) {
        for now in self.readings(state) {
            let mut next = state.clone();
            let mut wake = Row::default();
            let mut then = why;
            match why {
                Why::Push => wake = self.push(&mut next, who, now),
                Why::Book => wake = self.make_room(&mut next),
                Why::Poke => wake = self.poke(&mut next, now),
                Why::Cancel => {
                    if state.line.first() == Some(who) {
                        next.since = now;
                    }
                    next.unlink(who, Standing::Gone);
                    if self.reserves(who) {
                        next.admitted[state.nodes[who].armed as usize] -= self.ops[who].permits();
                    }
                    then = Why::Leave;
                }
                Why::Close => {
                    let refuses =
                        |who| !self.reserves(who) || self.is(Mutant::CloseDropsReservation);
                    wake = next.line.only(|who| !self.reserves(who));
                    next.is_closed = true;
                    for other in state.line.only(refuses).iter() {
                        next.unlink(other, Standing::Refused);
                    }
                    if self.is(Mutant::CloseDoesNotWake) {
                        wake = Row::default();
                    }
                    then = Why::Leave;
                }
                // Nobody is charged for what comes back as of an instant before.
                Why::Leave => next.since = now,
                Why::Poll | Why::Help => {}
            }
            let leaves = matches!(why, Why::Cancel | Why::Close);
            next.threads[who] = if leaves && self.is(Mutant::CancelDoesNotSettle) {
                At::Unlock { wake, then: End::Gone }
            } else {
                At::Settle { why: then, now, wake }
            };
            self.add(found, who, "reads the clock, with the line locked", next, None);
        }
    }

    /// Puts a caller at the end of the line. Whoever leaves for it is woken.
    fn push(&self, state: &mut State, who: usize, now: i8) -> Row {
        let wake = self.make_room(state);
        state.nodes[who].standing = Standing::Waiting;
        state.line = state.line.with(who);
        if state.line.len() == 1 {
            state.since = now;
        }
        wake
    }

    /// Evicts the oldest waiter from a line that is full. A reservation stays.
    fn make_room(&self, state: &mut State) -> Row {
        let may_leave = |who: &usize| !self.reserves(*who);
        let mut wake = Row::default();
        if state.line.len() >= self.longest {
            let oldest = state.line.iter().find(may_leave).expect("a waiter is at the front");
            state.unlink(oldest, Standing::Refused);
            wake = wake.with(oldest);
        }
        wake
    }

    /// After a change: the head's credit from before it is gone, and whoever wants more than the
    /// new burst is refused.
    fn poke(&self, state: &mut State, now: i8) -> Row {
        let (line, cap) = (state.line, state.cap);
        let is_large = |who: usize| {
            let may_refuse = !self.reserves(who) || self.is(Mutant::RefusesReservation);
            self.ops[who].permits() > cap && may_refuse
        };
        let refused = line.only(|who| is_large(who) && !self.is(Mutant::GrantsTooLarge));
        for who in refused.iter() {
            state.unlink(who, Standing::Refused);
        }
        state.since = now;
        refused
    }

    pub(super) fn settle(
        &self,
        state: &State,
        who: usize,
        settling: Settling,
        seen: Word,
        found: &mut Found<State>,
    ) {
        let Settling { now, .. } = settling;
        let mut settling = settling;
        let mut next = state.clone();
        while let Some(head) = next.line.first().filter(|&head| !self.reserves(head)) {
            let is_large = self.ops[head].permits() > next.cap && !self.is(Mutant::GrantsTooLarge);
            let is_over = self.refuses_late && self.is_out_of_time(&next, head, seen, now);
            if !is_large && !is_over {
                break;
            }
            next.unlink(head, Standing::Refused);
            settling = settling.wakes(head);
        }
        let is_same = state.word == seen || self.is(Mutant::GrantsByStore);
        if let Some(booked) = self.next_booked(&next, now) {
            return self.charge_booked(state, next, who, (settling, booked, seen), found);
        }
        let Some(head) = next.line.first() else {
            let opens = seen.gate && !self.is(Mutant::GateStaysClosed);
            if opens && !is_same {
                next.threads[who] = settling.again();
                return self.add(found, who, "fails to open the gate", next, None);
            }
            let mut left = seen;
            if opens {
                left.gate = false;
                next.word = left;
            }
            let fault = self.leave_settled(&mut next, who, settling, left);
            return self.add(found, who, "leaves the gate open", next, fault);
        };
        let turn = self.turn(&next, seen, head, now).filter(|_| !self.reserves(head));
        let Some((left, instant)) = turn else {
            let closes = !seen.gate && !self.is(Mutant::NobodyClosesGate);
            if closes && !is_same {
                next.threads[who] = settling.again();
                return self.add(found, who, "fails to close the gate", next, None);
            }
            let mut left = seen;
            if closes {
                left.gate = true;
                next.word = left;
            }
            let fault = self.leave_settled(&mut next, who, settling, left);
            return self.add(found, who, "leaves the gate closed", next, fault);
        };
        if !is_same {
            if self.is(Mutant::MarksBeforeCas) {
                next.unlink(head, Standing::Granted);
                settling = settling.wakes(head);
            }
            next.threads[who] = settling.again();
            return self.add(found, who, "fails to charge the head", next, None);
        }
        let mut behind = next.line.behind_first().iter();
        let has_others = if self.is(Mutant::GrantOpensToReservation) {
            behind.any(|other| !self.reserves(other))
        } else {
            behind.next().is_some()
        };
        let left = Word { gate: has_others && !self.is(Mutant::GrantOpensGate), ..left };
        let fault = self.grant(&mut next, head, now, left, instant);
        found.counts.grants += 1;
        if !self.is(Mutant::GrantDoesNotWake) {
            settling = settling.wakes(head);
        }
        next.threads[who] = settling.seen(left);
        self.add(found, who, "charges and grants the head", next, fault);
    }

    fn grant(
        &self,
        state: &mut State,
        head: usize,
        now: i8,
        left: Word,
        instant: i8,
    ) -> Option<String> {
        let is_late = self.is_late(state, head, left.level);
        let deadline = self.acquire(head).deadline.filter(|_| self.refuses_late);
        if deadline.is_some_and(|deadline| deadline < instant) {
            return Some(format!("thread {head} {AFTER_DEADLINE}"));
        }
        let before = (state.word.level, state.word.count);
        state.word = left;
        let permits = self.ops[head].permits();
        let fault = self.admit(state, instant, now, permits);
        state.unlink(head, Standing::Granted);
        if self.acquire(head).gives_back {
            state.nodes[head].grant = Some((left, instant));
            state.nodes[head].before = before;
        }
        if !self.is(Mutant::SinceNotRaised) {
            state.since = now;
        }
        if instant > state.clock + self.ahead {
            return Some(format!("thread {head} is admitted at {instant}, before its time"));
        }
        fault.or_else(|| is_late.then(|| format!("thread {head} {LATER}")))
    }

    /// Looks whom to wake besides, and what the holder does next.
    fn leave_settled(
        &self,
        state: &mut State,
        who: usize,
        settling: Settling,
        word: Word,
    ) -> Option<String> {
        let Settling { why, now, mut wake } = settling;
        let mut fault = None;
        let tells = !self.is(Mutant::HeadNotTold)
            && (why == Why::Leave || !self.is(Mutant::OnlyCancelTells));
        let is_late = |other: &usize| {
            *other != who && state.nodes[*other].armed > self.estimate(state, *other, word)
        };
        let head = state.line.first().filter(|&head| !self.reserves(head));
        if let Some(head) = head.filter(is_late).filter(|_| tells) {
            wake = wake.with(head);
        }
        let then = match (why, state.nodes[who].standing) {
            (Why::Help | Why::Book, _) if state.line.is_empty() => End::Again,
            (Why::Book, _) => {
                let (then, booked) = self.book(state, who, (now, word));
                fault = booked;
                then
            }
            (Why::Help, _) => End::Denied,
            (Why::Push | Why::Poll, Standing::Granted) => End::Admitted,
            (Why::Push | Why::Poll, Standing::Refused) => End::Refused,
            (Why::Push | Why::Poll, _) => {
                let turn = self.estimate(state, who, word);
                let deadline = self.acquire(who).deadline;
                let is_over = why == Why::Poll && deadline.is_some_and(|deadline| deadline <= now);
                let is_hopeless = why == Why::Push
                    && self.turns_away
                    && deadline.is_some_and(|deadline| deadline < turn);
                if is_over || is_hopeless {
                    state.unlink(who, Standing::Gone);
                    let wake = wake.without(who);
                    state.threads[who] = if self.is(Mutant::CancelDoesNotSettle) {
                        At::Unlock { wake, then: End::Gone }
                    } else {
                        At::Settle { why: Why::Leave, now, wake }
                    };
                    return None;
                }
                let is_head = state.line.first() == Some(who);
                let sleeps_on = self.is(Mutant::OnlyHeadArms) && !is_head;
                state.nodes[who].armed = if sleeps_on { NEVER } else { turn };
                // Or it would wake at once, and find nothing changed.
                if turn <= now && self.mutant.is_none() {
                    fault = Some(format!("thread {who} sets its timer to {turn} at {now}"));
                }
                End::Parked
            }
            _ => End::Gone,
        };
        // What it waits for itself it sees at once.
        if matches!(why, Why::Push | Why::Poll) {
            wake = wake.without(who);
        }
        state.threads[who] = At::Unlock { wake, then };
        fault
    }
}
