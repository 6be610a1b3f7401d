//! The calls, a step at a time.

use super::*;

impl Ring {
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Whether the mutant fills boundaries with H open already.
    fn fills_late(&self, phase: Phase) -> bool {
        self.is(Mutant::OpenBeforeFilled) && phase == Phase::Open
            || self.is(Mutant::ResetAtOnce) && phase == Phase::Resetting
    }

    fn slot(&self, tick: u8) -> usize {
        usize::from(tick % self.slots)
    }

    /// Notes which calls could be refused now, and looks at the boundaries.
    pub(super) fn add(
        &self,
        found: &mut Found<State>,
        who: usize,
        what: &'static str,
        mut next: State,
        mut fault: Option<String>,
    ) {
        if self.judge == Judge::Ticks {
            let to = (next.clock / self.parts + next.shift) as i8;
            for who in 0..THREADS {
                let thread = &next.threads[who];
                let op = self.programs[who].get(usize::from(thread.next));
                let (Some(&Op::Take(permits)), Some(call)) = (op, thread.at.call()) else {
                    continue;
                };
                next.threads[who].was_full = thread.was_full
                    || next.ledger.was_full(
                        call.now as i8,
                        to,
                        self.slots as i8,
                        permits,
                        self.limit,
                    );
            }
            let is_whole = self.mutant.is_none() && self.reset != Reset::SameTotal;
            if is_whole && next.head.phase == Phase::Open {
                fault = fault.or_else(|| self.wrong_boundary(&next));
            }
        }
        found.add(who, what, next, fault);
    }

    /// The invariant: while H is open, every boundary that a window can begin at
    /// is the total at the end of its tick.
    fn wrong_boundary(&self, state: &State) -> Option<String> {
        let head = state.head;
        let is_wrong = |&tick: &u8| {
            let since = state.ledger.between(tick as i8, head.tick as i8);
            state.marks[self.slot(tick)] != Mark { tick, total: head.total - since }
        };
        let wrong = (head.tick - self.slots..head.tick).find(is_wrong)?;
        Some(format!("H is open, and the boundary of tick {wrong} is wrong"))
    }

    /// One step of one thread.
    pub(super) fn step(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match state.threads[who].at {
            At::Idle => self.begin(state, who, op, found),
            At::Clock { shift } => {
                let now = state.clock / self.parts + shift;
                // Which instant it was is told apart only if it matters.
                let instant = if self.judge == Judge::Instants { state.clock } else { 0 };
                let call = Call { instant, now, entered: false };
                if self.is(Mutant::BoundaryFirst) && op != Op::Reset {
                    let mark = state.marks[self.slot(state.head.tick)];
                    return go("reads the clock and a boundary", At::LoadAgain { call, mark });
                }
                go("reads the clock", At::Load(call));
            }
            At::Load(call) => {
                let at = self.decide(op, call, state.head, None);
                go("loads H", at);
            }
            At::LoadAgain { call, mark } => {
                let at = self.decide(op, call, state.head, Some(mark));
                go("loads H", at);
            }
            At::Boundary { call, head } => {
                let tick = head.tick.max(call.now) - self.slots;
                let base = state.marks[self.slot(tick)].total;
                let at = self.judge_take(op, call, head, base);
                if self.is(Mutant::DenyUnchecked) && matches!(at, At::Recheck { .. }) {
                    return self.deny(state, who, found);
                }
                go("loads the boundary", at);
            }
            At::Recheck { head, .. } if state.head == head => self.deny(state, who, found),
            At::Recheck { call, .. } => go("finds H changed", At::Load(call)),
            At::Rotate { call, head } => {
                if state.head != head {
                    return go("fails to rotate", At::Load(call));
                }
                let is_late = self.is(Mutant::OpenBeforeFilled);
                let phase = if is_late { Phase::Open } else { Phase::Rotating };
                let head = Head { tick: call.now, phase, ..head };
                let mut next = state.move_to(who, self.finish(call, head, true));
                next.head = head;
                next.origin = call.instant;
                self.add(found, who, "rotates", next, None);
            }
            At::Admit { call, head } => {
                if state.head == head || self.is(Mutant::StoreAdmission) {
                    return self.admit(state, who, op, call, head, found);
                }
                go("fails to admit", At::Load(call));
            }
            At::Enter { call, head } => {
                if state.head != head {
                    return go("fails to enter the reset", At::Load(call));
                }
                let mut entered = Head { phase: Phase::Resetting, ..head };
                match self.reset {
                    Reset::StepsTotal => entered.total += 1,
                    Reset::SameTotal => {}
                    Reset::ShiftsTicks => entered.tick = (head.tick + 1).max(call.now),
                }
                let call = Call { entered: true, ..call };
                let mut next = state.move_to(who, self.finish(call, entered, false));
                next.head = entered;
                if self.is(Mutant::ResetAtOnce) {
                    next.head.phase = Phase::Open;
                }
                if self.reset == Reset::ShiftsTicks {
                    next.origin = call.instant;
                }
                next.ledger.clear();
                self.add(found, who, "enters the reset", next, None);
            }
            at => self.finish_step(state, who, at, found),
        }
    }

    /// One step of the filling in, by whoever does it.
    fn finish_step(&self, state: &State, who: usize, at: At, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match at {
            At::Scan { call, head, tick } => {
                let at = if state.marks[self.slot(tick)].tick == tick {
                    Self::fill_from(call, head, tick + 1)
                } else if tick == head.tick - self.slots {
                    At::Fill { call, head, tick }
                } else {
                    At::Scan { call, head, tick: tick - 1 }
                };
                go("looks for a boundary that is there", at);
            }
            At::Fill { call, head, tick } => {
                let seen = state.marks[self.slot(tick)];
                let is_there = match head.phase {
                    Phase::Resetting => seen == Mark { tick, total: head.total },
                    _ => seen.tick == tick && !self.is(Mutant::NoTags),
                };
                let at = if !is_there && self.is(Mutant::NoValidation) {
                    At::Write { call, head, tick, seen }
                } else if !is_there {
                    At::Validate { call, head, tick, seen }
                } else if self.is(Mutant::FillDownwards) {
                    At::Open { call, head }
                } else {
                    Self::fill_from(call, head, tick + 1)
                };
                go("loads a boundary to fill", at);
            }
            At::Validate { call, head, tick, seen } => {
                if state.head == head || self.fills_late(head.phase) {
                    go("looks at H again", At::Write { call, head, tick, seen });
                } else {
                    let next = after_finish(state.clone(), who, call);
                    self.add(found, who, "finds H changed", next, None);
                }
            }
            At::Write { call, head, tick, seen } => {
                let place = self.slot(tick);
                let mut at = Self::fill_from(call, head, tick + 1);
                if self.is(Mutant::FillDownwards) {
                    at = if tick == head.tick - self.slots {
                        At::Open { call, head }
                    } else {
                        At::Fill { call, head, tick: tick - 1 }
                    };
                }
                let mut next = state.move_to(who, at);
                if state.marks[place] == seen || self.is(Mutant::PlainStore) {
                    next.marks[place] = Mark { tick, total: head.total };
                }
                self.add(found, who, "fills a boundary", next, None);
            }
            At::Open { call, head } => {
                let mut next = state.clone();
                if state.head == head {
                    next.head.phase = Phase::Open;
                }
                self.add(found, who, "opens H", after_finish(next, who, call), None);
            }
            at => unreachable!("not a step of the filling in: {at:?}"),
        }
    }

    fn begin(&self, state: &State, who: usize, op: Op, found: &mut Found<State>) {
        let no_clock = Call { instant: 0, now: 0, entered: false };
        match op {
            Op::Reset if self.reset == Reset::ShiftsTicks => {
                let mut next = state.move_to(who, At::Clock { shift: state.shift + 1 });
                next.shift += 1;
                self.add(found, who, "shifts the ticks", next, None);
            }
            Op::Reset => {
                let next = state.move_to(who, self.decide(op, no_clock, state.head, None));
                self.add(found, who, "begins a reset: loads H", next, None);
            }
            Op::Take(_) => {
                let next = state.move_to(who, At::Clock { shift: state.shift });
                self.add(found, who, "begins a take: loads the shift", next, None);
            }
            Op::GiveBack => {
                let mut next = state.clone();
                if let Some(held) = next.threads[who].held.take() {
                    let as_left = state.head == held.left;
                    if as_left || self.is(Mutant::GiveBackAnyway) {
                        found.counts.given_back += 1;
                        next.head.total -= held.permits;
                        next.ledger.remove(held.grant());
                    }
                }
                self.add(found, who, "gives back", next.return_from(who), None);
            }
        }
    }

    /// After H is loaded: finishes what it is in, or goes on with the call.
    fn decide(&self, op: Op, call: Call, head: Head, mark: Option<Mark>) -> At {
        if head.phase != Phase::Open {
            return self.finish(call, head, false);
        }
        if op == Op::Reset {
            return At::Enter { call, head };
        }
        if let Some(mark) = mark {
            return self.judge_take(op, call, head, mark.total);
        }
        // The window begins no earlier than H's tick: all before is the total.
        if head.tick.max(call.now) - self.slots >= head.tick {
            return self.judge_take(op, call, head, head.total);
        }
        At::Boundary { call, head }
    }

    fn judge_take(&self, op: Op, call: Call, head: Head, base: u8) -> At {
        let Op::Take(permits) = op else { unreachable!("only a take looks at the boundary") };
        // It wraps, as the word's total does.
        if (head.total + permits).wrapping_sub(base) > self.limit {
            At::Recheck { call, head }
        } else if call.now > head.tick {
            At::Rotate { call, head }
        } else {
            At::Admit { call, head }
        }
    }

    fn finish(&self, call: Call, head: Head, is_rotator: bool) -> At {
        let newest = head.tick - 1;
        match head.phase {
            Phase::Open if !is_rotator => At::Load(call),
            Phase::Resetting => At::Fill { call, head, tick: head.tick - self.slots },
            _ if self.is(Mutant::NoTags) => At::Fill { call, head, tick: head.tick - self.slots },
            _ if self.is(Mutant::FillDownwards) => At::Fill { call, head, tick: newest },
            _ => At::Scan { call, head, tick: newest },
        }
    }

    fn fill_from(call: Call, head: Head, tick: u8) -> At {
        if tick == head.tick { At::Open { call, head } } else { At::Fill { call, head, tick } }
    }

    fn deny(&self, state: &State, who: usize, found: &mut Found<State>) {
        found.counts.denials += 1;
        let is_wrong = self.judge == Judge::Ticks && !state.threads[who].was_full;
        let fault =
            is_wrong.then(|| format!("thread {who} is denied, and there was room throughout"));
        self.add(found, who, "is denied", state.clone().return_from(who), fault);
    }

    fn admit(
        &self,
        state: &State,
        who: usize,
        op: Op,
        call: Call,
        head: Head,
        found: &mut Found<State>,
    ) {
        let Op::Take(permits) = op else { unreachable!("only a take is admitted") };
        found.counts.grants += 1;
        let mut next = state.clone();
        next.head = Head { total: head.total + permits, ..head };
        let time = match self.judge {
            Judge::Ticks => head.tick,
            Judge::Instants => call.instant.max(state.origin),
        };
        let grant = Held { left: next.head, permits, time };
        let gives_back = self.programs[who].get(usize::from(state.threads[who].next) + 1);
        next.threads[who].held = (gives_back == Some(&Op::GiveBack)).then_some(grant);
        next.ledger.add(grant.grant());
        let most = next.ledger.most_in(self.span as i8);
        let mut fault = None;
        if most > self.limit {
            fault = Some(format!("{most} of {} admitted in one window", self.limit));
        } else if head.tick < call.now || head.tick > state.clock / self.parts + state.shift {
            fault = Some(format!("counted in tick {}, which is not within the call", head.tick));
        }
        self.add(found, who, "is admitted", next.return_from(who), fault);
    }
}

/// A reset that was entered is over with that; all else begins anew.
fn after_finish(state: State, who: usize, call: Call) -> State {
    if call.entered { state.return_from(who) } else { state.move_to(who, At::Load(call)) }
}

impl Held {
    fn grant(self) -> Grant {
        Grant { time: self.time as i8, permits: self.permits, index: 0 }
    }
}

impl At {
    fn call(self) -> Option<Call> {
        match self {
            At::Idle | At::Clock { .. } => None,
            At::Load(call)
            | At::LoadAgain { call, .. }
            | At::Boundary { call, .. }
            | At::Recheck { call, .. }
            | At::Rotate { call, .. }
            | At::Admit { call, .. }
            | At::Enter { call, .. }
            | At::Scan { call, .. }
            | At::Fill { call, .. }
            | At::Validate { call, .. }
            | At::Write { call, .. }
            | At::Open { call, .. } => Some(call),
        }
    }
}
