//! The calls, a step at a time.

use super::*;

impl Pair {
    /// The lock that a call takes next.
    fn next_lock(&self, who: usize, why: Why, held: u8) -> Option<usize> {
        let mut missing = lines_of(self.needs(who) & !held);
        let is_free =
            self.is(Flaw::LocksAsItLikes) || self.is(Flaw::JoinsOneByOne) && why == Why::Push;
        let backwards = is_free && who % 2 == 1;
        if backwards { missing.last() } else { missing.next() }
    }

    fn locked(&self, state: &mut State, who: usize, why: Why, held: u8) {
        let is_waiting = state.nodes[who] == Standing::Waiting;
        let unlocks = |then| At::Unlock { held, then };
        let joins_one = self.is(Flaw::JoinsOneByOne) && why == Why::Push;
        state.at[who] = match why {
            Why::Poll if !is_waiting => unlocks(End::Admitted),
            Why::Cancel if !is_waiting => unlocks(End::Spent),
            _ if joins_one || self.next_lock(who, why, held).is_none() => At::Read { why, held },
            _ => At::Lock { why, held },
        };
    }

    fn read(state: &mut State, who: usize, why: Why, held: u8) {
        let now = state.clock;
        match why {
            Why::Push => {
                state.nodes[who] = Standing::Waiting;
                for line in lines_of(held) {
                    if state.lines[line].is_empty() {
                        state.since[line] = now;
                    }
                    state.lines[line] = state.lines[line].with(who);
                }
            }
            Why::Cancel => {
                state.nodes[who] = Standing::Gone;
                for line in lines_of(held) {
                    state.lines[line] = state.lines[line].without(who);
                }
            }
            _ => {}
        }
        state.at[who] = At::Settle(Settling { why, now, held, todo: held });
    }

    pub(super) fn step(&self, state: &State, who: usize, found: &mut Found<State>) {
        let mut next = state.clone();
        let mut fault = None;
        let what = match state.at[who] {
            At::Done(_) => None,
            At::Idle | At::Load | At::Clock(_) | At::Cas { .. } | At::ForceCas { .. } => {
                Some(self.own_step(state, who, &mut next, &mut fault, found))
            }
            At::TryLock | At::Lock { .. } | At::Read { .. } | At::Unlock { .. } | At::Parked => {
                self.lock_step(state, who, &mut next, found)
            }
            At::Settle(_) | At::Reach { .. } | At::Gate { .. } | At::GrantOne { .. } => {
                self.settle_step(state, who, &mut next, &mut fault, found)
            }
            _ => Some(self.charge_step(state, who, &mut next, &mut fault, found)),
        };
        if let Some(what) = what {
            self.add(found, who, what, next, fault);
        }
    }

    fn own_step(
        &self,
        state: &State,
        who: usize,
        next: &mut State,
        fault: &mut Option<String>,
        found: &mut Found<State>,
    ) -> &'static str {
        let (own, permits) = (self.own(who), self.permits(who));
        let forces = matches!(self.visits[who], Visit::Force(..));
        let waits = matches!(self.visits[who], Visit::Both { .. } | Visit::One(..));
        match state.at[who] {
            At::Idle => {
                let is_pair = self.needs(who) == BOTH;
                next.at[who] =
                    if is_pair { At::Lock { why: Why::Push, held: 0 } } else { At::Load };
                "begins"
            }
            At::Load => {
                let seen = state.words[own];
                next.at[who] = match seen.gate && !forces {
                    false => At::Clock(seen),
                    true if waits => At::Lock { why: Why::Push, held: 0 },
                    true => At::TryLock,
                };
                "loads the word"
            }
            At::Clock(seen) => {
                let level = seen.level.max(state.clock - self.cap) + permits;
                let (next_word, instant) = (Bucket { level, ..seen }, state.clock);
                next.at[who] = if forces {
                    At::ForceCas { seen, next: next_word, instant }
                } else if level <= state.clock {
                    At::Cas { seen, next: next_word, instant }
                } else if waits {
                    At::Lock { why: Why::Push, held: 0 }
                } else {
                    found.counts.denials += 1;
                    At::Done(End::Denied)
                };
                "reads the clock"
            }
            At::Cas { seen, next: word, instant } | At::ForceCas { seen, next: word, instant } => {
                if state.words[own] == seen {
                    found.counts.grants += 1;
                    next.words[own] = word;
                    next.at[who] = At::Done(End::Admitted);
                    let passed = state.lines[own].iter().find(|&other| state.has_stood.has(other));
                    *fault = self.charge(next, own, instant, permits).or_else(|| {
                        let passed = passed.filter(|_| !forces)?;
                        Some(format!("thread {who} {OVERTAKES} thread {passed}"))
                    });
                } else {
                    next.at[who] = At::Load;
                }
                "charges, or fails to"
            }
            at => unreachable!("{at:?} is another's step"),
        }
    }

    fn lock_step(
        &self,
        state: &State,
        who: usize,
        next: &mut State,
        found: &mut Found<State>,
    ) -> Option<&'static str> {
        let own = self.own(who);
        let what = match state.at[who] {
            At::TryLock if state.holders[own].is_some() => {
                next.at[who] = At::Done(End::Denied);
                "is denied, as the line is locked"
            }
            At::TryLock => {
                next.holders[own] = Some(who as u8);
                next.at[who] = At::Read { why: Why::Help, held: 1 << own };
                "locks the line"
            }
            At::Lock { why, held } => {
                let lock = self.next_lock(who, why, held).expect("a lock is missing");
                if state.holders[lock].is_some() {
                    return None;
                }
                next.holders[lock] = Some(who as u8);
                // The mutant does not hold the lock of the line that it has joined.
                let joins_one = self.is(Flaw::JoinsOneByOne) && why == Why::Push;
                let held = if joins_one { 0 } else { held };
                self.locked(next, who, why, held | 1 << lock);
                "locks a line"
            }
            At::Read { why, held } => {
                Pair::read(next, who, why, held);
                "reads the clock, with the line locked"
            }
            At::Unlock { held, then } => {
                let lock = lines_of(held).last().expect("a lock is held");
                next.holders[lock] = None;
                let held = held & !(1 << lock);
                let joins = self.is(Flaw::JoinsOneByOne)
                    && then == End::Parked
                    && state.lines.iter().filter(|line| line.has(who)).count() == 1
                    && self.needs(who) == BOTH;
                next.at[who] = match then {
                    _ if held != 0 => At::Unlock { held, then },
                    _ if joins => {
                        let joined = if state.lines[0].has(who) { 0b01 } else { 0b10 };
                        At::Lock { why: Why::Push, held: joined }
                    }
                    End::Parked => {
                        if !state.has_stood.has(who) {
                            next.has_stood = state.has_stood.with(who);
                        }
                        At::Parked
                    }
                    End::Again => At::Load,
                    then => At::Done(then),
                };
                "unlocks a line"
            }
            At::Parked => {
                if self.drops {
                    let mut dropped = state.clone();
                    dropped.at[who] = At::Lock { why: Why::Cancel, held: 0 };
                    self.add(found, who, "is dropped", dropped, None);
                }
                if !self.is_polled(who) {
                    return None;
                }
                next.at[who] = At::Lock { why: Why::Poll, held: 0 };
                "looks"
            }
            at => unreachable!("{at:?} is another's step"),
        };
        Some(what)
    }

    pub(super) fn add(
        &self,
        found: &mut Found<State>,
        who: usize,
        what: &'static str,
        next: State,
        fault: Option<String>,
    ) {
        let fault = fault.or_else(|| {
            let mut free = (0..LIMITERS).filter(|&line| next.holders[line].is_none());
            let is_wrong = |line: usize| next.words[line].gate == next.lines[line].is_empty();
            if self.flaw.is_none() && free.clone().any(is_wrong) {
                return Some("a gate does not tell whether somebody stands in line".to_owned());
            }
            let line = free.find(|&line| next.words[line].level != next.replay[line])?;
            Some(format!("the level of {line} {LEVEL}, {}", next.replay[line]))
        });
        found.add(who, what, next, fault);
    }
}
