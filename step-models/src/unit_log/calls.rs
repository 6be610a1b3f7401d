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
        (index / self.slots) & 1
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
                let call = (thread.begun, *clock);
                thread.was_full = thread.was_full
                    || ledger.log_was_full(call, self.window, 1, *limit, usize::MAX);
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
                let seen = Seen { now, head, slot: state.ring[self.slot(head)] };
                let at = if self.is(Mutant::HeadNotRechecked) {
                    self.after_head(seen)
                } else {
                    At::HeadAgain(seen)
                };
                go("loads the slot", at);
            }
            At::HeadAgain(seen) => {
                let is_same = state.head == seen.head;
                let at = if is_same { self.after_head(seen) } else { At::Head { now: seen.now } };
                go("loads the head again", at);
            }
            At::Last(seen) => {
                let last = state.ring[self.slot(seen.head - 1)].date;
                go("loads the last", At::Start { seen, last });
            }
            At::Start { seen, last } => {
                go("loads the start", At::Limit { seen, last, start: state.start });
            }
            At::Limit { seen, last, start } => {
                // The start may be that of a later head.
                let index = seen.head - state.limit;
                let at = if index >= start {
                    At::Oldest { seen, last, index }
                } else {
                    self.admitted(seen, last)
                };
                go("loads the limit", at);
            }
            At::Oldest { seen, last, index } => {
                let oldest = state.ring[self.slot(index)].date;
                let judged = if self.is(Mutant::OwnTime) { seen.now } else { seen.now.max(last) };
                let is_full = oldest > judged - self.window;
                if is_full && self.is(Mutant::DenyUnchecked) {
                    return self.deny(state, who, found);
                }
                let at = if is_full { At::DenySlot(seen) } else { self.admitted(seen, last) };
                go("loads the oldest that counts", at);
            }
            At::DenySlot(seen) if state.ring[self.slot(seen.head)] == seen.slot => {
                self.deny(state, who, found);
            }
            At::DenySlot(seen) => go("finds the slot changed", At::Head { now: seen.now }),
            At::TakeIndex { seen, date } if state.head == seen.head => {
                let next = state.move_to(who, At::Write { seen, date }).advance(seen.head);
                self.add(found, who, "takes the index", next, None);
            }
            At::TakeIndex { seen, .. } => go("fails to take the index", At::Head { now: seen.now }),
            At::Write { seen, date } => {
                let is_same = state.ring[self.slot(seen.head)] == seen.slot;
                if is_same || self.is(Mutant::PlainStore) || self.is(Mutant::HeadFirst) {
                    self.write(state, who, seen.head, date, found);
                } else {
                    go("fails to write", At::Head { now: seen.now });
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

    fn after_head(&self, seen: Seen) -> At {
        let Seen { now, head, slot } = seen;
        let is_filled = slot.lap == self.lap(head);
        if is_filled && !self.is(Mutant::NoParity) && !self.is(Mutant::HeadFirst) {
            At::Help { now, head }
        } else {
            At::Last(seen)
        }
    }

    fn admitted(&self, seen: Seen, last: i8) -> At {
        let mut date = seen.now;
        if !self.is(Mutant::TimesGoBack) {
            date = date.max(last);
        }
        if !self.is(Mutant::DateOfOverIgnored) {
            date = date.max(seen.slot.date + 1);
        }
        if self.is(Mutant::HeadFirst) {
            At::TakeIndex { seen, date }
        } else {
            At::Write { seen, date }
        }
    }

    /// Counts the resets that have begun.
    fn resets(&self, state: &State) -> usize {
        let begun = |(thread, ops): (&Thread, &&[Op])| {
            let count = usize::from(thread.next) + usize::from(thread.at != At::Idle);
            ops[..count].iter().filter(|&&op| op == Op::Reset).count()
        };
        state.threads.iter().zip(&self.programs).map(begun).sum()
    }

    fn deny(&self, state: &State, who: usize, found: &mut Found<State>) {
        found.counts.denials += 1;
        let is_wrong = self.judge == Judge::Dates && !state.threads[who].was_full;
        let fault =
            is_wrong.then(|| format!("thread {who} is denied, and there was room throughout"));
        self.add(found, who, "is denied", state.clone().return_from(who), fault);
    }

    fn write(&self, state: &State, who: usize, head: u8, date: i8, found: &mut Found<State>) {
        found.counts.grants += 1;
        let mut next = state.move_to(who, At::Advance { head });
        next.ring[self.slot(head)] = Entry { date, lap: self.lap(head) };
        next.written = next.written.max(head + 1);
        let time = if self.judge == Judge::Instants { date.min(state.clock) } else { date };
        next.ledger.add(Grant { time, permits: 1, index: head });
        if self.is(Mutant::HeadFirst) {
            next = next.return_from(who);
        }
        let (most, limit) = if self.changes_limit() {
            (next.ledger.between(time - self.window, time), state.threads[who].limit)
        } else {
            (next.ledger.most_in(self.window), self.limit)
        };
        let is_whole = self.mutant.is_none();
        let latest = state.clock + self.resets(state) as i8;
        let mut fault = None;
        if most > limit {
            fault = Some(format!("{most} of {limit} admitted in one window"));
        } else if date < state.threads[who].begun || is_whole && date > latest {
            fault = Some(format!("dated {date}, which is too early or too far ahead"));
        }
        self.add(found, who, "is admitted", next, fault);
    }
}
