//! The calls, a step at a time.

use super::*;

impl Ring {
    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Returns whether the mutant fills boundaries with H open already.
    fn fills_late(&self, phase: Phase) -> bool {
        self.is(Mutant::OpenBeforeFilled) && phase == Phase::Open
            || self.is(Mutant::ResetAtOnce) && phase == Phase::Resetting
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
                let (Some(permits), Some(call)) = (op.and_then(|op| op.asks()), thread.at.call())
                else {
                    continue;
                };
                // Not all boundaries are raised yet.
                let permits = permits + self.settling(&next);
                next.threads[who].was_full = thread.was_full
                    || (call.now as i8..=to).any(|tick| self.is_full(&next.ledger, permits, tick));
            }
            let is_whole = self.mutant.is_none() && self.reset != Reset::SameTotal;
            if is_whole && next.head.phase == Phase::Open {
                fault = fault.or_else(|| self.wrong_boundary(&next));
            }
        }
        found.add(who, what, next, fault);
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
                    let mark = self.seen(state, Place { which: 0, slot: state.head.tick });
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
            At::Boundary { call, head, which } => {
                let slot = self.windows[which].oldest(call, head);
                let base = self.seen(state, Place { which, slot }).total;
                let at = self.judge_take(op, call, head, which, base);
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

    /// One step of the filling in, by any thread.
    fn finish_step(&self, state: &State, who: usize, at: At, found: &mut Found<State>) {
        let mut go = |what, at| self.add(found, who, what, state.move_to(who, at), None);
        match at {
            At::Scan { call, head, place } => {
                let at = if self.seen(state, place).slot == place.slot {
                    self.fill_next(call, head, place)
                } else if place.slot == self.windows[place.which].first(head) {
                    At::Fill { call, head, place }
                } else {
                    At::Scan { call, head, place: Place { slot: place.slot - 1, ..place } }
                };
                go("looks for a boundary that is there", at);
            }
            At::Fill { call, head, place } => {
                let seen = self.seen(state, place);
                let is_there = match head.phase {
                    Phase::Resetting => seen == Mark { slot: place.slot, total: head.total },
                    _ => seen.slot == place.slot && !self.is(Mutant::NoTags),
                };
                let at = if !is_there && self.is(Mutant::NoValidation) {
                    At::Write { call, head, place, seen }
                } else if !is_there {
                    At::Validate { call, head, place, seen }
                } else if self.is(Mutant::FillDownwards) {
                    At::Open { call, head }
                } else {
                    self.fill_next(call, head, place)
                };
                go("loads a boundary to fill", at);
            }
            At::Validate { call, head, place, seen } => {
                if state.head == head || self.fills_late(head.phase) {
                    go("looks at H again", At::Write { call, head, place, seen });
                } else {
                    let next = self.after_finish(state.clone(), who, call);
                    self.add(found, who, "finds H changed", next, None);
                }
            }
            At::Write { call, head, place, seen } => {
                let mut at = self.fill_next(call, head, place);
                if self.is(Mutant::FillDownwards) {
                    at = if place.slot == self.windows[place.which].first(head) {
                        At::Open { call, head }
                    } else {
                        At::Fill { call, head, place: Place { slot: place.slot - 1, ..place } }
                    };
                }
                let mut next = state.move_to(who, at);
                let mark = self.mark(&mut next, place);
                if *mark == seen || self.is(Mutant::PlainStore) {
                    *mark = Mark { slot: place.slot, total: head.total };
                } else if !self.is(Mutant::GoesOnAfterRaise) {
                    next.threads[who].at = At::Fill { call, head, place };
                }
                self.add(found, who, "fills a boundary", next, None);
            }
            At::Open { call, head } => {
                let mut next = state.clone();
                if state.head == head {
                    next.head.phase = Phase::Open;
                }
                self.add(found, who, "opens H", self.after_finish(next, who, call), None);
            }
            at => self.step_of_settling(state, who, at, found),
        }
    }

    /// A reset that was entered is over with that; all else begins anew.
    fn after_finish(&self, state: State, who: usize, call: Call) -> State {
        match (call.entered, self.has_notes()) {
            (false, _) => state.move_to(who, At::Load(call)),
            (true, false) => state.return_from(who),
            (true, true) => state.move_to(who, At::ChangeEnd),
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
            Op::Reset if self.has_notes() => self.begin_change(state, who, found),
            Op::Reset => {
                let next = state.move_to(who, self.decide(op, no_clock, state.head, None));
                self.add(found, who, "begins a reset: loads H", next, None);
            }
            Op::Estimate(_) if self.has_notes() => {
                let next = state.move_to(who, At::Note { done: state.done });
                self.add(found, who, "begins an estimate: loads the changes", next, None);
            }
            Op::Settle(_) => self.begin_settling(state, who, found),
            Op::Take(_) | Op::Estimate(_) | Op::Beyond(_) => {
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
    pub(super) fn decide(&self, op: Op, call: Call, head: Head, mark: Option<Mark>) -> At {
        if head.phase != Phase::Open {
            return self.finish(call, head, false);
        }
        if op == Op::Reset {
            return At::Enter { call, head };
        }
        if let Op::Beyond(_) = op {
            let is_there = call.now <= head.tick || self.is(Mutant::BeyondInPlace);
            return if is_there { At::Charge { call, head } } else { At::Rotate { call, head } };
        }
        match mark {
            Some(mark) => self.judge_take(op, call, head, 0, mark.total),
            None => self.judge_window(op, call, head, 0),
        }
    }

    fn judge_window(&self, op: Op, call: Call, head: Head, which: usize) -> At {
        let window = self.windows[which];
        // The window begins no earlier than H's slot: all before is the total.
        if window.oldest(call, head) >= head.tick >> window.exponent {
            return self.judge_take(op, call, head, which, head.total);
        }
        At::Boundary { call, head, which }
    }

    fn judge_take(&self, op: Op, call: Call, head: Head, which: usize, base: u8) -> At {
        let Some(permits) = op.asks() else { unreachable!("only a take looks at the boundary") };
        // It wraps, as the word's total does.
        if (head.total + permits).wrapping_sub(base) > self.windows[which].limit {
            At::Recheck { call, head }
        } else if which + 1 < self.windows.len() {
            self.judge_window(op, call, head, which + 1)
        } else if call.now > head.tick {
            At::Rotate { call, head }
        } else {
            At::Admit { call, head }
        }
    }

    fn finish(&self, call: Call, head: Head, is_rotator: bool) -> At {
        if head.phase == Phase::Open && !is_rotator {
            return At::Load(call);
        }
        self.finish_window(call, head, 0)
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
        let Some(permits) = op.asks() else { unreachable!("only a take is admitted") };
        found.counts.grants += 1;
        let mut next = state.clone();
        next.head = Head { total: head.total + permits, ..head };
        let time = match self.judge {
            Judge::Ticks => head.tick,
            Judge::Instants => call.instant.max(state.origin),
        };
        let note = state.threads[who].note;
        let index = if matches!(op, Op::Estimate(_)) { who as u8 + 1 } else { 0 };
        let grant = Held { left: next.head, permits, time, index, note };
        let gives_back = self.programs[who].get(usize::from(state.threads[who].next) + 1);
        next.threads[who].held =
            matches!(gives_back, Some(Op::GiveBack | Op::Settle(_))).then_some(grant);
        next.ledger.add(grant.grant());
        let is_over = match self.judge {
            // What is taken beyond estimates is beside the limit, until the next grant.
            Judge::Ticks if self.settles() => self.is_full(&next.ledger, 0, head.tick as i8),
            Judge::Ticks => (0..=state.clock as i8).any(|tick| self.is_full(&next.ledger, 0, tick)),
            Judge::Instants => next.ledger.most_in(self.span as i8) > self.windows[0].limit,
        };
        let mut fault = None;
        if is_over {
            fault = Some("more than the limit admitted in one window".to_owned());
        } else if head.tick < call.now || head.tick > state.clock / self.parts + state.shift {
            fault = Some(format!("counted in tick {}, which is not within the call", head.tick));
        }
        self.add(found, who, "is admitted", next.return_from(who), fault);
    }
}

impl Held {
    pub(super) fn grant(self) -> Grant {
        Grant { time: self.time as i8, permits: self.permits, index: self.index }
    }
}

impl Op {
    /// Returns the permits that it asks for, if it may be denied.
    fn asks(self) -> Option<u8> {
        match self {
            Op::Take(permits) | Op::Estimate(permits) => Some(permits),
            _ => None,
        }
    }
}

impl At {
    fn call(self) -> Option<Call> {
        match self {
            At::Idle
            | At::Clock { .. }
            | At::Note { .. }
            | At::GiveLook { .. }
            | At::GiveBegin { .. }
            | At::GiveHot { .. }
            | At::RaiseLoad { .. }
            | At::RaiseCas { .. }
            | At::GiveEnd
            | At::ChangeWait
            | At::ChangeEnd => None,
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
            | At::Open { call, .. }
            | At::Charge { call, .. } => Some(call),
        }
    }
}
