//! The calls, a step at a time.

use super::*;

impl UnitLog {
    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub(super) fn slot(&self, index: u8) -> usize {
        usize::from(index % self.slots)
    }

    pub(super) fn lap(&self, index: u8) -> u8 {
        (index / self.slots) & ((1 << self.lap_bits) - 1)
    }

    fn changes_limit(&self) -> bool {
        self.programs.iter().any(|ops| ops.iter().any(|op| matches!(op, Op::Limit(_))))
    }

    /// Notes which calls could be refused now.
    pub(super) fn add(
        &self,
        found: &mut Found<State>,
        who: usize,
        what: &'static str,
        mut next: State,
        fault: Option<String>,
    ) {
        let State { clock, limit, ledger, threads, .. } = &mut next;
        for (thread, ops) in threads.iter_mut().zip(self.programs) {
            let op = ops.get(usize::from(thread.next));
            if op == Some(&Op::Take) && thread.at != At::Idle {
                thread.limit = thread.limit.max(*limit);
                thread.was_full = thread.was_full
                    || ledger.was_full(thread.begun, *clock, self.window, 1, *limit);
            }
        }
        found.add(who, what, next, fault);
    }

    pub(super) fn step(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match state.threads[who].at {
            At::Idle => self.begin(state, who, op, found),
            At::Head { now } => go("loads the head", At::Slot { now, head: state.head }),
            At::Slot { now, head } => {
                let seen = state.ring[self.slot(head)];
                let at = if self.is(Mutant::HeadNotRechecked) {
                    self.after_head(now, head, seen)
                } else {
                    At::HeadAgain { now, head, seen }
                };
                go("loads the slot", at);
            }
            At::HeadAgain { now, head, seen } => {
                let at = if state.head == head {
                    self.after_head(now, head, seen)
                } else {
                    At::Head { now }
                };
                go("loads the head again", at);
            }
            At::Limit { now, head, seen } => {
                let limit = state.limit;
                let at = if limit == self.slots {
                    At::Last { now, head, seen, limit, oldest: seen.time }
                } else {
                    At::Oldest { now, head, seen, limit }
                };
                go("loads the limit", at);
            }
            At::Oldest { now, head, seen, limit } => {
                let oldest = state.ring[self.slot(head - limit)].time;
                go("loads the oldest that counts", At::Last { now, head, seen, limit, oldest });
            }
            At::Last { now, head, seen, limit, oldest } => {
                let last = state.ring[self.slot(head - 1)].time;
                go("loads the last", At::Start { now, head, seen, limit, oldest, last });
            }
            At::Start { now, head, seen, limit, oldest, last } => {
                let counts = |index: u8| index >= state.start;
                let time = if counts(head - 1) && !self.is(Mutant::TimesGoBack) {
                    now.max(last)
                } else {
                    now
                };
                let until = if self.is(Mutant::OwnTime) { now } else { time };
                let is_full = counts(head - limit) && oldest > until - self.window;
                if is_full && self.is(Mutant::DenyUnchecked) {
                    return self.deny(state, who, found);
                }
                let at = if is_full {
                    At::DenyHead { now, head, seen }
                } else if self.is(Mutant::HeadFirst) {
                    At::TakeIndex { now, head, seen, time }
                } else {
                    At::Write { now, head, seen, time }
                };
                go("loads the start", at);
            }
            At::DenyHead { now, head, seen } => {
                let is_same = state.head == head;
                let at = if is_same { At::DenySlot { now, head, seen } } else { At::Head { now } };
                go("looks at the head again", at);
            }
            At::DenySlot { now, head, seen } => {
                if state.ring[self.slot(head)] == seen {
                    return self.deny(state, who, found);
                }
                go("finds the slot changed", At::Head { now });
            }
            At::TakeIndex { now, head, seen, time } => {
                if state.head != head {
                    return go("fails to take the index", At::Head { now });
                }
                let next = state.move_to(who, At::Write { now, head, seen, time }).advance(head);
                self.add(found, who, "takes the index", next, None);
            }
            At::Write { now, head, seen, time } => {
                let found_it = state.ring[self.slot(head)] == seen;
                if found_it || self.is(Mutant::PlainStore) || self.is(Mutant::HeadFirst) {
                    self.write(state, who, head, time, found);
                } else {
                    go("fails to write", At::Head { now });
                }
            }
            At::Advance { head } => {
                let next = state.clone().advance(head).return_from(who);
                self.add(found, who, "advances the head", next, None);
            }
            At::Help { now, head } => {
                let next = state.move_to(who, At::Head { now }).advance(head);
                self.add(found, who, "helps to advance the head", next, None);
            }
            at => self.reset_step(state, who, at, found),
        }
    }

    fn begin(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        match op {
            Op::Take => {
                let mut next = state.move_to(who, At::Head { now: state.clock });
                next.threads[who].begun = state.clock;
                self.add(found, who, "reads the clock", next, None);
            }
            Op::Reset => {
                let next = state.move_to(who, At::ResetHead { before: state.written });
                self.add(found, who, "begins a reset", next, None);
            }
            Op::Limit(limit) => {
                let mut next = state.clone();
                next.limit = limit;
                self.add(found, who, "changes the limit", next.return_from(who), None);
            }
        }
    }

    fn reset_step(&self, state: &State, who: usize, at: At, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match at {
            At::ResetHead { before } if self.is(Mutant::ResetDoesNotHelp) => {
                go("loads the head", At::ResetStart { before, head: state.head });
            }
            At::ResetHead { before } => {
                go("loads the head", At::ResetSlot { before, head: state.head });
            }
            At::ResetSlot { before, head } => {
                let is_filled = state.ring[self.slot(head)].lap == self.lap(head);
                let at = if is_filled {
                    At::ResetHelp { before, head }
                } else {
                    At::ResetStart { before, head }
                };
                go("loads the slot", at);
            }
            At::ResetHelp { before, head } => {
                let next = state.move_to(who, At::ResetHead { before }).advance(head);
                self.add(found, who, "helps to advance the head", next, None);
            }
            At::ResetStart { before, head } => {
                let mut next = state.clone();
                next.start =
                    if self.is(Mutant::ResetStoresHead) { head } else { head.max(state.start) };
                next.ledger.keep_from_index(next.start.max(before));
                self.add(found, who, "moves the start", next.return_from(who), None);
            }
            at => unreachable!("not a step of a reset: {at:?}"),
        }
    }

    fn after_head(&self, now: i8, head: u8, seen: Entry) -> At {
        let is_filled = seen.lap == self.lap(head);
        if is_filled && !self.is(Mutant::NoParity) && !self.is(Mutant::HeadFirst) {
            At::Help { now, head }
        } else {
            At::Limit { now, head, seen }
        }
    }

    fn deny(&self, state: &State, who: usize, found: &mut Found<State>) {
        found.counts.denials += 1;
        let is_wrong = !state.threads[who].was_full;
        let fault =
            is_wrong.then(|| format!("thread {who} is denied, and there was room throughout"));
        self.add(found, who, "is denied", state.clone().return_from(who), fault);
    }

    fn write(&self, state: &State, who: usize, head: u8, time: i8, found: &mut Found<State>) {
        found.counts.grants += 1;
        let mut next = state.move_to(who, At::Advance { head });
        next.ring[self.slot(head)] = Entry { time, lap: self.lap(head) };
        next.written = next.written.max(head + 1);
        next.ledger.add(Grant { time, permits: 1, index: head });
        if self.is(Mutant::HeadFirst) {
            next = next.return_from(who);
        }
        let (most, limit) = if self.changes_limit() {
            (next.ledger.between(time - self.window, time), state.threads[who].limit)
        } else {
            (next.ledger.most_in(self.window), self.limit)
        };
        let mut fault = None;
        if most > limit {
            fault = Some(format!("{most} of {limit} admitted in one window"));
        } else if time < state.threads[who].begun || time > state.clock {
            fault = Some(format!("counted at {time}, which is not within the call"));
        }
        self.add(found, who, "is admitted", next, fault);
    }
}
