//! The calls, a step at a time.

use super::*;

impl Log {
    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// For as many entries as there may be; and if they have totals, for the one before them, and the one that is
    /// written next.
    pub(super) fn slots(&self) -> u8 {
        self.capacity + self.more_slots()
    }

    fn more_slots(&self) -> u8 {
        if self.is_single { 0 } else { 2 }
    }

    /// The difference of two totals, which have a bit more than the limit.
    fn wrap(&self, total: u8) -> u8 {
        total & (2 * (self.limit + 1).next_power_of_two() - 1)
    }

    pub(super) fn slot(&self, index: u8) -> usize {
        usize::from(index % self.slots())
    }

    pub(super) fn lap(&self, index: u8) -> u8 {
        (index / self.slots()) & 1
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
            if let Some(&Op::Take(permits)) = ops.get(usize::from(thread.next))
                && thread.at != At::Idle
            {
                thread.limit = thread.limit.max(*limit);
                let (call, capacity) = ((thread.begun, *clock), usize::from(self.capacity));
                thread.was_full = thread.was_full
                    || ledger.log_was_full(call, self.window, permits, *limit, capacity);
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
            At::Start(seen) => go("loads the start", At::Hint(self.look(seen, state.start))),
            At::Hint(look) => {
                go("finds no hint", Self::search(look));
                for middle in look.low + 1..look.high {
                    let at = if self.is(Mutant::HintTrusted) {
                        Self::search(Look { low: middle, ..look })
                    } else {
                        At::Search { look, middle }
                    };
                    go("loads a hint", at);
                }
            }
            At::Search { look, middle } => {
                let dated = state.ring[self.slot(middle)].date * self.parts;
                let is_gone = dated <= self.newest_gone(look.seen);
                let look = if is_gone {
                    Look { low: middle, ..look }
                } else {
                    Look { high: middle, ..look }
                };
                go("looks for the boundary", Self::search(look));
            }
            At::Boundary(look) => {
                let base = state.ring[self.slot(look.low)].total;
                let at = self.judge(look, permits, base, state.limit);
                if self.is(Mutant::DenyUnchecked) && matches!(at, At::DenySlot(_)) {
                    return self.deny(state, who, found);
                }
                go("loads the boundary", at);
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
            At::DenySlot(Seen { now, .. }) | At::TakeIndex(Seen { now, .. }) => {
                go("finds the log changed", At::Head { now });
            }
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
            _ if slot.lap == self.lap(head)
                && !self.is(Mutant::NoParity)
                && !self.is(Mutant::HeadFirst) =>
            {
                At::Help { now, head }
            }
            Some(last) => At::Start(Seen { now, head, slot, last }),
            None => At::Last { now, head, slot },
        }
    }

    /// The latest instant that has left the window.
    fn newest_gone(&self, seen: Seen) -> i8 {
        let is_rounded = self.parts > 1 && !self.is(Mutant::DateTakenAsTime);
        let last = (seen.last.date - i8::from(is_rounded)) * self.parts;
        let judged = if self.is(Mutant::OwnTime) { seen.now } else { seen.now.max(last) };
        judged - self.window
    }

    /// Returns the range in which to look for it. The start may be that of a later head.
    fn look(&self, seen: Seen, start: u8) -> Look {
        let oldest = seen.head + self.more_slots() - self.slots();
        let low = start.max(oldest).min(seen.head) - 1;
        let full = (start <= oldest && !self.is(Mutant::FullIgnored)).then_some(low);
        Look { seen, low, high: seen.head, full }
    }

    fn search(look: Look) -> At {
        if look.high - look.low == 1 {
            At::Boundary(look)
        } else {
            At::Search { look, middle: u8::midpoint(look.low, look.high) }
        }
    }

    fn judge(&self, look: Look, permits: u8, base: u8, limit: u8) -> At {
        let Look { seen, low, full, .. } = look;
        let used = if self.is_single {
            seen.head - 1 - low
        } else {
            self.wrap(seen.last.total.wrapping_sub(base))
        };
        if used + permits > limit || full == Some(low) {
            At::DenySlot(seen)
        } else if self.is(Mutant::HeadFirst) {
            At::TakeIndex(seen)
        } else {
            At::Write(seen)
        }
    }

    /// The date of the entry that comes next.
    fn dated(&self, seen: Seen) -> i8 {
        // Rounded up.
        let mut date = -(-seen.now).div_euclid(self.parts);
        if !self.is(Mutant::TimesGoBack) {
            date = date.max(seen.last.date);
        }
        if !self.is(Mutant::DateOfOverIgnored) {
            date = date.max(seen.slot.date + 1);
        }
        date
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

    fn write(&self, state: &State, who: usize, permits: u8, seen: Seen, found: &mut Found<State>) {
        found.counts.grants += 1;
        let (head, date) = (seen.head, self.dated(seen));
        let mut next = state.move_to(who, At::Advance { head });
        let total = if self.is_single { 0 } else { self.wrap(seen.last.total + permits) };
        next.ring[self.slot(head)] = Entry { date, total, lap: self.lap(head) };
        next.written = next.written.max(head + 1);
        let instant = (date * self.parts).min(state.clock);
        let time = match self.judge {
            Judge::Dates => date,
            Judge::Instants => instant,
        };
        next.ledger.add(Grant { time, permits, index: head });
        if self.is(Mutant::HeadFirst) {
            next = next.return_from(who);
        }
        let (most, limit) = if self.changes_limit() {
            (next.ledger.between(time - self.window, time), state.threads[who].limit)
        } else {
            (next.ledger.most_in(self.window), self.limit)
        };
        let latest = -(-state.clock).div_euclid(self.parts) + self.resets(state) as i8;
        let mut fault = None;
        if most > limit {
            fault = Some(format!("{most} of {limit} admitted in one window"));
        } else if self.mutant.is_none() && (instant < state.threads[who].begun || date > latest) {
            fault = Some(format!("dated {date}, which is too early or too far ahead"));
        }
        self.add(found, who, "is admitted", next, fault);
    }

    pub(super) fn reset(&self, state: &State, who: usize, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match state.threads[who].at {
            At::Idle => go("begins a reset", At::ResetHead { before: state.written }),
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
            at => unreachable!("a reset does not {at:?}"),
        }
    }
}
