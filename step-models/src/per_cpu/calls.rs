//! The calls, a step at a time, and the invariants.

use super::*;

impl Hold {
    fn is_empty(self) -> bool {
        self.room == 0
    }

    pub(super) fn with(self, more: Hold) -> Hold {
        Hold { room: self.room + more.room, tokens: self.tokens + more.tokens, ..self }
    }
}

impl Op {
    /// Returns the tokens that a call needs.
    pub(super) fn needs(self) -> i8 {
        match self {
            Op::Spend(permits) | Op::Lease(permits, _) => permits,
            Op::Close | Op::Change(_) | Op::Reset => 0,
        }
    }
}

impl State {
    fn fault(&self) -> Option<String> {
        let holds = (0..CPUS).map(|cpu| self.own(cpu)).chain([self.spill]);
        let holds = holds.chain(self.threads.iter().map(|thread| thread.hand));
        let (mut all, mut is_bare) = (Hold::default(), false);
        for hold in holds {
            is_bare |= hold.tokens > hold.room || hold.tokens < 0;
            all = all.with(hold);
        }
        if is_bare {
            Some("tokens are without capacity".to_owned())
        } else if all.room != self.reserved {
            Some("there is capacity that is not counted, or the other way round".to_owned())
        } else if self.root > 0.max(self.cap - self.reserved) || self.root < 0 {
            Some("the root has more than what is not reserved".to_owned())
        } else if self.root + all.tokens + self.admitted != self.made {
            Some("a token was made or lost".to_owned())
        } else {
            None
        }
    }

    fn end(&mut self, who: usize) {
        let thread = &mut self.threads[who];
        thread.next += 1;
        thread.at = At::Idle;
        thread.was_short = false;
    }

    fn admit(&mut self, who: usize, permits: i8) {
        self.threads[who].hand.tokens -= permits;
        self.admitted += permits;
    }
}

impl PerCpu {
    pub(super) fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    pub(super) fn has_ended(&self, state: &State, who: usize) -> bool {
        usize::from(state.threads[who].next) == self.programs[who].len()
    }

    pub(super) fn op(&self, state: &State, who: usize) -> Op {
        self.programs[who][usize::from(state.threads[who].next)]
    }

    /// Adds a step, and looks at the invariants.
    pub(super) fn add(
        &self,
        found: &mut Found<State>,
        who: usize,
        what: &'static str,
        mut next: State,
    ) {
        for who in 0..THREADS {
            if self.has_ended(&next, who) || next.threads[who].at == At::Idle {
                continue;
            }
            // What is not in memory yet is in transit.
            let in_open = |cpu: usize| match next.slots[cpu] {
                Slot { is_closed: true, .. } => 0,
                Slot { word, buffer, .. } => word.tokens.min(buffer.unwrap_or(word).tokens),
            };
            let there = next.root + next.spill.tokens + (0..CPUS).map(in_open).sum::<i8>();
            let is_short = there + next.threads[who].hand.tokens < self.op(&next, who).needs();
            let thread = &mut next.threads[who];
            thread.was_short = self.checks_denials && (thread.was_short || is_short);
        }
        let fault = next.fault();
        found.add(who, what, next, fault);
    }

    pub(super) fn begin(&self, state: &mut State, who: usize, sequence: Sequence) {
        let cpu = state.threads[who].cpu;
        let at =
            if self.is(Mutant::OldCpu) { At::Before(sequence, cpu) } else { At::Enter(sequence) };
        state.at(who, at);
    }

    pub(super) fn step(&self, mut next: State, who: usize, found: &mut Found<State>) {
        let op = self.op(&next, who);
        let Thread { at, cpu, hand, .. } = next.threads[who];
        let what = match at {
            At::Idle => {
                match op {
                    Op::Spend(_) => self.begin(&mut next, who, Sequence::Spend),
                    Op::Lease(..) => self.begin(&mut next, who, Sequence::Take),
                    Op::Close | Op::Change(_) | Op::Reset => {
                        next.at(who, At::Steal(0, [true; CPUS]));
                    }
                }
                "begins"
            }
            At::Before(sequence, cpu) => {
                next.at(who, At::Flag(sequence, cpu));
                "enters a sequence"
            }
            At::Enter(sequence) => {
                next.at(who, At::Flag(sequence, cpu));
                "reads its CPU in a sequence"
            }
            At::Flag(sequence, cpu) => {
                let is_closed = match self.mutant {
                    Some(Mutant::FlagInTheWord) => next.own(cpu).is_closed,
                    Some(Mutant::UncheckedFlag) => false,
                    _ => next.slots[cpu].is_closed,
                };
                if is_closed {
                    self.leave(&mut next, who, sequence);
                } else {
                    next.at(who, At::Load(sequence, cpu));
                }
                "loads the flag"
            }
            At::Load(sequence, cpu) => {
                let seen = next.own(cpu);
                let is_for_nothing = match sequence {
                    Sequence::Spend => seen.tokens < op.needs(),
                    Sequence::Take => seen.is_empty(),
                    Sequence::Put => false,
                };
                if is_for_nothing {
                    self.leave(&mut next, who, sequence);
                } else {
                    next.at(who, At::Store(sequence, cpu, seen));
                }
                "loads the word"
            }
            At::Store(sequence, cpu, seen) => {
                self.store(&mut next, who, (sequence, cpu, seen));
                "stores the word"
            }
            At::SpendSpill => {
                if next.spill.tokens >= op.needs() {
                    next.spill.tokens -= op.needs();
                    next.admitted += op.needs();
                    next.end(who);
                } else {
                    self.begin(&mut next, who, Sequence::Take);
                }
                "spends from the spill"
            }
            At::TakeSpill => {
                next.threads[who].hand = hand.with(std::mem::take(&mut next.spill));
                next.at(who, At::Draw);
                "takes the spill"
            }
            At::Draw => {
                self.draw(&mut next, who, op);
                "draws from the root"
            }
            At::Release => {
                next.reserved -= hand.room - hand.tokens;
                next.threads[who].hand.room = hand.tokens;
                self.put(&mut next, who);
                "releases empty capacity"
            }
            At::PutSpill => {
                next.spill = next.spill.with(std::mem::take(&mut next.threads[who].hand));
                next.end(who);
                "puts into the spill"
            }
            At::Return => {
                next.drain(cpu);
                next.end(who);
                "counts a return"
            }
            At::Leased => {
                let Op::Lease(_, spent) = op else { unreachable!("a lease is of a lease") };
                next.admit(who, spent);
                // What was spent leaves empty capacity, which is in transit.
                next.reserved -= next.threads[who].hand.room - next.threads[who].hand.tokens;
                next.threads[who].hand.room = next.threads[who].hand.tokens;
                next.at(who, At::PutSpill);
                "gives its lease back"
            }
            _ => return self.rob(next, who, found),
        };
        self.add(found, who, what, next);
    }

    /// Goes on after a sequence that has changed nothing.
    fn leave(&self, state: &mut State, who: usize, sequence: Sequence) {
        let Thread { cpu, .. } = state.threads[who];
        match sequence {
            Sequence::Spend if self.is(Mutant::SpillIntoTheSlot) && state.slots[cpu].is_closed => {
                let permits = self.op(state, who).needs();
                if state.own(cpu).tokens >= permits {
                    state.drain(cpu);
                    state.slots[cpu].word.tokens -= permits;
                    state.admitted += permits;
                    state.end(who);
                } else {
                    state.at(who, At::SpendSpill);
                }
            }
            Sequence::Spend => state.at(who, At::SpendSpill),
            Sequence::Take => state.at(who, At::TakeSpill),
            Sequence::Put => state.at(who, At::PutSpill),
        }
    }

    fn store(&self, state: &mut State, who: usize, (sequence, cpu, seen): (Sequence, usize, Hold)) {
        let permits = self.op(state, who).needs();
        let hand = state.threads[who].hand;
        let next = match sequence {
            Sequence::Spend => Hold { tokens: seen.tokens - permits, ..seen },
            Sequence::Take => Hold { is_closed: seen.is_closed, ..Hold::default() },
            Sequence::Put => seen.with(hand),
        };
        // A second store of the CPU; the first one is older.
        state.drain(cpu);
        state.slots[cpu].buffer = Some(next);
        match sequence {
            Sequence::Spend => {
                state.admitted += permits;
                state.end(who);
            }
            Sequence::Take => {
                state.threads[who].hand = hand.with(Hold { is_closed: false, ..seen });
                state.at(who, At::TakeSpill);
            }
            Sequence::Put => {
                state.threads[who].hand = Hold::default();
                state.at(who, At::Return);
            }
        }
    }

    fn draw(&self, state: &mut State, who: usize, op: Op) {
        let (permits, hand) = (op.needs(), state.threads[who].hand);
        let lacking = 0.max(permits - hand.tokens);
        if state.root < lacking {
            state.at(who, At::Look(0, hand.tokens, [false; CPUS]));
            return;
        }
        let drawn = if lacking > 0 { state.root.min(lacking + 1) } else { 0 };
        let fresh = 0.max(hand.tokens + drawn - hand.room);
        state.root -= drawn;
        state.reserved += fresh;
        state.threads[who].hand = hand.with(Hold { room: fresh, tokens: drawn, ..hand });
        if let Op::Lease(..) = op {
            state.at(who, At::Leased);
        } else {
            state.admit(who, permits);
            self.put(state, who);
        }
    }

    fn put(&self, state: &mut State, who: usize) {
        if state.threads[who].hand.is_empty() {
            state.end(who);
        } else {
            self.begin(state, who, Sequence::Put);
        }
    }
}
