//! The calls, a step at a time.

use super::*;

impl WeightedLog {
    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// One more than can be in a window, and one that is written over.
    pub(super) fn slots(&self) -> u8 {
        match self.mutant {
            Some(Mutant::SmallRing) => self.limit,
            Some(Mutant::OneSlotShort) => self.limit + 1,
            _ => self.limit + 2,
        }
    }

    pub(super) fn slot(&self, index: u8) -> usize {
        usize::from(index % self.slots())
    }

    pub(super) fn lap(&self, index: u8) -> u8 {
        (index / self.slots()) & 1
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
        let State { clock, ledger, threads, .. } = &mut next;
        for (thread, ops) in threads.iter_mut().zip(self.programs) {
            if let Some(&Op::Take(permits)) = ops.get(usize::from(thread.next))
                && thread.at != At::Idle
            {
                let (begun, limit) = (thread.begun, self.limit);
                thread.was_full =
                    thread.was_full || ledger.was_full(begun, *clock, self.window, permits, limit);
            }
        }
        found.add(who, what, next, fault);
    }

    pub(super) fn take(&self, state: &State, who: usize, permits: u8, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match state.threads[who].at {
            At::Idle => {
                let mut next = state.move_to(who, At::Head { now: state.clock });
                next.threads[who].begun = state.clock;
                self.add(found, who, "reads the clock", next, None);
            }
            At::Head { now } if self.is(Mutant::StaleTotal) => {
                go("loads the head", At::StaleLast { now, head: state.head });
            }
            At::Head { now } => {
                go("loads the head", At::Slot { now, head: state.head, last: None });
            }
            At::StaleLast { now, head } => {
                let last = state.ring[self.slot(head - 1)];
                go("loads the last", At::HeadLate { now, last });
            }
            At::HeadLate { now, last } => {
                go("loads the head", At::Slot { now, head: state.head, last: Some(last) });
            }
            At::Slot { now, head, last } => {
                let slot = state.ring[self.slot(head)];
                let at = if self.is(Mutant::HeadNotRechecked) {
                    self.after_head(now, head, slot, last)
                } else {
                    At::HeadAgain { now, head, slot, last }
                };
                go("loads the slot", at);
            }
            At::HeadAgain { now, head, slot, last } => {
                let at = if state.head == head {
                    self.after_head(now, head, slot, last)
                } else {
                    At::Head { now }
                };
                go("loads the head again", at);
            }
            At::Last { now, head, slot } => {
                let last = state.ring[self.slot(head - 1)];
                go("loads the last", At::Start(Seen { now, head, slot, last }));
            }
            At::Start(seen) => {
                let low = (state.start - 1).max(seen.head + 1 - self.slots());
                let newest = seen.head - 1;
                let at = if low > newest {
                    // A reset that was later than this head.
                    At::Head { now: seen.now }
                } else if low == newest || seen.last.time <= self.oldest(seen) {
                    self.judge(seen, permits, seen.last.total)
                } else {
                    Self::search(seen, low, newest)
                };
                go("loads the start", at);
            }
            At::Search { seen, low, high } => {
                let middle = u8::midpoint(low, high);
                let at = if state.ring[self.slot(middle)].time <= self.oldest(seen) {
                    Self::search(seen, middle, high)
                } else {
                    Self::search(seen, low, middle)
                };
                go("looks for the boundary", at);
            }
            At::Boundary { seen, index } => {
                let at = self.judge(seen, permits, state.ring[self.slot(index)].total);
                if self.is(Mutant::DenyUnchecked) && matches!(at, At::DenyHead(_)) {
                    return self.deny(state, who, found);
                }
                go("loads the boundary", at);
            }
            At::DenyHead(seen) if state.head == seen.head => {
                go("looks at the head again", At::DenySlot(seen));
            }
            At::DenySlot(seen) if state.ring[self.slot(seen.head)] == seen.slot => {
                self.deny(state, who, found);
            }
            At::TakeIndex(seen) if state.head == seen.head => {
                let next = state.move_to(who, At::Write(seen)).advance(seen.head);
                self.add(found, who, "takes the index", next, None);
            }
            At::Write(seen) => {
                let is_same = state.ring[self.slot(seen.head)] == seen.slot;
                if is_same || self.is(Mutant::PlainStore) || self.is(Mutant::HeadFirst) {
                    self.write(state, who, permits, seen, found);
                } else {
                    go("fails to write", At::Head { now: seen.now });
                }
            }
            At::DenyHead(Seen { now, .. })
            | At::DenySlot(Seen { now, .. })
            | At::TakeIndex(Seen { now, .. }) => go("finds the log changed", At::Head { now }),
            At::Advance { head } => {
                let next = state.clone().advance(head).return_from(who);
                self.add(found, who, "advances the head", next, None);
            }
            At::Help { now, head } => {
                let next = state.move_to(who, At::Head { now }).advance(head);
                self.add(found, who, "helps to advance the head", next, None);
            }
            at => unreachable!("a take does not {at:?}"),
        }
    }

    fn after_head(&self, now: i8, head: u8, slot: Entry, last: Option<Entry>) -> At {
        match last {
            _ if slot.lap == self.lap(head) && !self.is(Mutant::HeadFirst) => {
                At::Help { now, head }
            }
            Some(last) => At::Start(Seen { now, head, slot, last }),
            None => At::Last { now, head, slot },
        }
    }

    /// The time of the newest entry that has left the window.
    fn oldest(&self, seen: Seen) -> i8 {
        let time = if self.is(Mutant::OwnTime) { seen.now } else { seen.now.max(seen.last.time) };
        time - self.window
    }

    fn search(seen: Seen, low: u8, high: u8) -> At {
        if low + 1 == high {
            At::Boundary { seen, index: low }
        } else {
            At::Search { seen, low, high }
        }
    }

    fn judge(&self, seen: Seen, permits: u8, base: u8) -> At {
        // It wraps, as the total does.
        if (seen.last.total + permits).wrapping_sub(base) > self.limit {
            At::DenyHead(seen)
        } else if self.is(Mutant::HeadFirst) {
            At::TakeIndex(seen)
        } else {
            At::Write(seen)
        }
    }

    fn deny(&self, state: &State, who: usize, found: &mut Found<State>) {
        found.counts.denials += 1;
        let is_wrong = !state.threads[who].was_full;
        let fault =
            is_wrong.then(|| format!("thread {who} is denied, and there was room throughout"));
        self.add(found, who, "is denied", state.clone().return_from(who), fault);
    }

    fn write(&self, state: &State, who: usize, permits: u8, seen: Seen, found: &mut Found<State>) {
        found.counts.grants += 1;
        let Seen { now, head, last, .. } = seen;
        let time = if self.is(Mutant::TimesGoBack) { now } else { now.max(last.time) };
        let mut next = state.move_to(who, At::Advance { head });
        next.ring[self.slot(head)] =
            Entry { time, total: last.total + permits, lap: self.lap(head) };
        next.written = next.written.max(head + 1);
        next.ledger.add(Grant { time, permits, index: head });
        if self.is(Mutant::HeadFirst) {
            next = next.return_from(who);
        }
        let (most, limit) = (next.ledger.most_in(self.window), self.limit);
        let mut fault = None;
        if most > limit {
            fault = Some(format!("{most} of {limit} admitted in one window"));
        } else if time < state.threads[who].begun || time > state.clock {
            fault = Some(format!("counted at {time}, which is not within the call"));
        }
        self.add(found, who, "is admitted", next, fault);
    }

    pub(super) fn reset(&self, state: &State, who: usize, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match state.threads[who].at {
            At::Idle => go("begins a reset", At::ResetHead { before: state.written }),
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
                next.start = head.max(state.start);
                next.ledger.keep_from_index(next.start.max(before));
                self.add(found, who, "moves the start", next.return_from(who), None);
            }
            at => unreachable!("a reset does not {at:?}"),
        }
    }
}
