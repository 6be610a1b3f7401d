//! The calls that wait, and those that only try, a step at a time.

use super::settle::Settling;
use super::*;

impl Scene {
    pub(super) fn step(&self, state: &State, who: usize, found: &mut Found<State>) {
        let go = |what, at| (what, state.move_to(who, at));
        let (what, next) = match state.threads[who] {
            At::Done(_) => return,
            At::Idle => {
                let at = match self.ops[who] {
                    Op::Close => At::ChangeLock,
                    Op::Try(_) | Op::TryAndRefund(_) | Op::Acquire(_) => At::Load,
                    _ => At::ChangeLoad,
                };
                go("begins", at)
            }
            At::Load => return self.load(state, who, found),
            At::Clock { seen } => return self.decide(state, who, seen, found),
            At::Cas { seen, next, instant } => {
                let is_same = state.word == seen
                    || self.is(Mutant::CasIgnoresGate)
                        && (state.word.level, state.word.count) == (seen.level, seen.count);
                if is_same {
                    let next = Word { gate: state.word.gate, terms: state.word.terms, ..next };
                    return self.take(state, who, next, instant, found);
                }
                go("fails to charge", At::Load)
            }
            At::TryLock if state.is_free() => {
                ("locks the line", state.lock(who, At::Read(Why::Help)))
            }
            At::TryLock => {
                found.counts.denials += 1;
                go("is denied, as the line is locked", At::Done(End::Denied))
            }
            At::Read(why) => return self.read(state, who, why, found),
            At::Settle { why, now, wake } => {
                go("loads the word", At::SettleCas { why, now, wake, seen: state.word })
            }
            At::SettleCas { why, now, wake, seen } => {
                return self.settle(state, who, Settling { why, now, wake }, seen, found);
            }
            At::Unlock { wake, then } => self.unlock(state, who, wake, then, found),
            At::Wake { wake, then } => {
                let mut next = state.clone();
                let first = wake.first().expect("somebody is to be woken");
                next.nodes[first].is_woken = true;
                next.threads[who] = self.after(who, wake.behind_first(), then);
                ("wakes the next", next)
            }
            At::Registers => {
                let mut next = state.move_to(who, At::Parked);
                next.nodes[who].is_woken = false;
                ("sets its waker", next)
            }
            At::Parked => return self.parked(state, who, found),
            At::GiveBack => self.give_back(state, who, found),
            At::Refund { left, instant } => {
                return self.refund(state, who, (left, instant), found);
            }
            At::ChangeLoad => {
                let op = self.ops[who];
                let stops = op.reserves() && state.word.gate && !self.is(Mutant::ReservePassesGate);
                let at = if stops { At::Lock } else { At::ChangeClock { seen: state.word } };
                go("loads the word", at)
            }
            At::ChangeClock { seen } => return self.prepare(state, who, seen, found),
            At::ChangeCas { seen, next, cap, instant } => {
                return self.change(state, who, seen, (next, cap, instant), found);
            }
            at if state.is_free() => self.locks(state, who, at),
            _ => return,
        };
        self.add(found, who, what, next, None);
    }

    fn load(&self, state: &State, who: usize, found: &mut Found<State>) {
        let waits = matches!(self.ops[who], Op::Acquire(_));
        let mut fault = None;
        let at = if !state.word.gate || self.is(Mutant::TryIgnoresGate) {
            At::Clock { seen: state.word }
        } else if waits {
            At::Lock
        } else if self.is(Mutant::TryDoesNotHelp) {
            fault = self.denied_for_ever(state);
            At::Done(End::Denied)
        } else {
            At::TryLock
        };
        self.add(found, who, "loads the word", state.move_to(who, at), fault);
    }

    fn decide(&self, state: &State, who: usize, seen: Word, found: &mut Found<State>) {
        for now in self.readings(state) {
            let at = match self.charge(seen, state.cap, now, self.ops[who].permits()) {
                Some((next, instant)) => At::Cas { seen, next, instant },
                None if matches!(self.ops[who], Op::Acquire(_)) => At::Lock,
                None => At::Done(End::Denied),
            };
            found.counts.denials += usize::from(at == At::Done(End::Denied));
            self.add(found, who, "reads the clock", state.move_to(who, at), None);
        }
    }

    fn take(&self, state: &State, who: usize, left: Word, instant: i8, found: &mut Found<State>) {
        found.counts.grants += 1;
        let refunds = matches!(self.ops[who], Op::TryAndRefund(_));
        let then = if refunds { At::Refund { left, instant } } else { At::Done(End::Admitted) };
        let mut next = state.move_to(who, then);
        next.word = left;
        if refunds {
            next.nodes[who].before = (state.word.level, state.word.count);
        }
        let fault = self
            .admit(&mut next, instant, instant, self.ops[who].permits())
            .or_else(|| state.overtaking(who));
        self.add(found, who, "charges, and is admitted", next, fault);
    }

    fn unlock(
        &self,
        state: &State,
        who: usize,
        wake: Row,
        then: End,
        found: &mut Found<State>,
    ) -> (&'static str, State) {
        found.counts.denials += usize::from(then == End::Denied);
        let mut next = state.clone();
        next.holder = None;
        if next.is_waiting(who) {
            next.nodes[who].has_stood = true;
        }
        next.threads[who] = self.after(who, wake, then);
        if then == End::Denied && !state.line.is_empty() && self.is(Mutant::HelperTries) {
            next.threads[who] = At::Clock { seen: state.word };
        }
        ("unlocks the line", next)
    }

    /// Wakers are called with nothing locked.
    fn after(&self, who: usize, wake: Row, then: End) -> At {
        match then {
            _ if !wake.is_empty() => At::Wake { wake, then },
            End::Parked if self.is(Mutant::RegistersLate) => At::Registers,
            End::Parked => At::Parked,
            // Nobody that stood in line when the call began stands there any more.
            End::Again if self.reserves(who) => At::ChangeLoad,
            End::Again => At::Load,
            then => At::Done(then),
        }
    }

    fn parked(&self, state: &State, who: usize, found: &mut Found<State>) {
        if self.reserves(who) {
            return self.used_or_cancelled(state, who, found);
        }
        let (acquire, node) = (self.acquire(who), state.nodes[who]);
        let is_over = acquire.deadline.is_some_and(|deadline| deadline <= state.clock);
        if self.is_polled(who) && (is_over || node.is_woken || node.armed <= state.clock) {
            let is_told = node.is_woken && node.standing == Standing::Granted;
            let at = if is_over && self.is(Mutant::TimesOutUnseen) && !is_told {
                At::TimesOut
            } else {
                At::Polls
            };
            self.add(found, who, "wakes up", state.move_to(who, at), None);
        }
        if acquire.may_drop {
            self.add(found, who, "is dropped", state.move_to(who, At::Drops), None);
        }
    }

    /// The first step of those that wait for the lock, once they have it.
    fn locks(&self, state: &State, who: usize, at: At) -> (&'static str, State) {
        use Standing::{Granted, Refused};
        let standing = state.nodes[who].standing;
        let ends = |then| At::Unlock { wake: Row::default(), then };
        let takes_off = |mutant| (self.is(mutant)).then(|| self.ops[who].permits());
        let mut lowers = None;
        let then = match at {
            At::Lock if state.is_closed && !self.reserves(who) => ends(End::Refused),
            At::Lock
                if state.line.len() >= self.longest
                    && self.when_long == WhenLong::RefusesNewest =>
            {
                ends(End::Refused)
            }
            At::Lock if self.reserves(who) => At::Read(Why::Book),
            At::Lock => At::Read(Why::Push),
            At::Polls if standing == Granted => ends(End::Admitted),
            At::Polls if standing == Refused => ends(End::Refused),
            At::Polls => At::Read(Why::Poll),
            // It looks again, and gives back what was charged.
            At::Drops if standing == Granted && self.reserves(who) => ends(End::Parked),
            At::Drops if standing == Granted => {
                lowers = takes_off(Mutant::DropTakesOff);
                if self.acquire(who).gives_back { At::GiveBack } else { ends(End::Spent) }
            }
            At::Drops if standing == Refused => ends(End::Refused),
            At::Drops => {
                lowers = takes_off(Mutant::CancelTakesOff);
                At::Read(Why::Cancel)
            }
            At::TimesOut => At::Read(Why::Cancel),
            At::ChangeLock => At::Read(match self.ops[who] {
                Op::Close => Why::Close,
                Op::TryAndRefund(_) | Op::ReserveAndCancel(_) => Why::Leave,
                _ => Why::Poke,
            }),
            at => unreachable!("{at:?} does not lock"),
        };
        let mut next = state.lock(who, then);
        next.word.level -= lowers.unwrap_or(0);
        if at == At::Polls {
            next.nodes[who].is_woken = false;
        }
        ("locks the line", next)
    }

    /// Gives a grant back that its caller has not seen, if nobody has moved the level since.
    fn give_back(
        &self,
        state: &State,
        who: usize,
        found: &mut Found<State>,
    ) -> (&'static str, State) {
        let (left, instant) = state.nodes[who].grant.expect("was granted");
        let is_moved = !state.word.is_as_left(left) && !self.is(Mutant::GivesBackBlindly);
        let is_changed = state.word.terms != left.terms && !self.is(Mutant::GivesBackOverAChange);
        if is_moved || is_changed {
            let spent = At::Unlock { wake: Row::default(), then: End::Spent };
            return ("finds the level moved", state.move_to(who, spent));
        }
        found.counts.given_back += 1;
        let mut next = state.move_to(who, At::Read(Why::Leave));
        self.take_off(&mut next, who, (left, instant));
        next.nodes[who].standing = Standing::Gone;
        ("gives its grant back", next)
    }
}
