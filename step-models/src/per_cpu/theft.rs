//! The steps of a call that looks at all slots, and of a thief.

use super::*;

impl PerCpu {
    pub(super) fn rob(&self, mut next: State, who: usize, found: &mut Found<State>) {
        let Thread { at, hand, .. } = next.threads[who];
        let op = self.op(&next, who);
        let what = match at {
            At::Look(..) => return self.look(next, who, found),
            At::Steal(CPUS, _) => {
                // A call for permits asks the spill, too, and then the root again.
                next.at(who, if op.needs() > 0 { At::TakeSpill } else { At::Robbed });
                "has been at all slots"
            }
            At::Steal(cpu, seen) => {
                let is_enough =
                    matches!(op, Op::Spend(_) | Op::Lease(..)) && hand.tokens >= op.needs();
                let is_spare = next.slots[cpu].word.room > next.slots[cpu].word.tokens;
                let is_wanted = seen[cpu] && !is_enough && (op != Op::Close || is_spare);
                let slot = &mut next.slots[cpu];
                if is_wanted && (!slot.is_closed || self.is(Mutant::ClosesByStore)) {
                    slot.is_closed = true;
                    slot.word.is_closed = self.is(Mutant::FlagInTheWord);
                    if self.is(Mutant::FencesEmpty) && slot.word.room == 0 && next.on[cpu] < THREADS
                    {
                        return found.add(
                            who,
                            "closes",
                            next,
                            Some("an empty slot is fenced".to_owned()),
                        );
                    }
                    next.at(who, At::Fence(cpu, seen));
                } else {
                    next.at(who, At::Steal(cpu + 1, seen));
                }
                "closes a slot"
            }
            At::Fence(..) => return self.fence(next, who, found),
            At::Taken(cpu, seen) => {
                let word = next.slots[cpu].word;
                let opens = self.is(Mutant::OpensFirst);
                next.at(
                    who,
                    if opens {
                        At::OpenThenStore(cpu, word, seen)
                    } else {
                        At::TakenStore(cpu, word, seen)
                    },
                );
                "loads the word of a closed slot"
            }
            At::OpenThenStore(cpu, word, seen) => {
                next.slots[cpu].is_closed = false;
                next.at(who, At::TakenStore(cpu, word, seen));
                "opens a slot"
            }
            At::TakenStore(cpu, word, seen) => {
                let mut stays = op.leaves(word, hand);
                if self.is(Mutant::TokensAlone) {
                    stays.room = word.room;
                }
                let (room, tokens) = (word.room - stays.room, word.tokens - stays.tokens);
                next.slots[cpu].word = stays;
                next.threads[who].hand = hand.with(Hold { room, tokens, ..hand });
                let is_open = self.is(Mutant::OpensFirst);
                next.at(who, if is_open { At::Steal(cpu + 1, seen) } else { At::Open(cpu, seen) });
                "stores what stays"
            }
            At::Open(cpu, seen) => {
                next.slots[cpu].is_closed = false;
                next.slots[cpu].word.is_closed = false;
                next.at(who, At::Steal(cpu + 1, seen));
                "opens a slot"
            }
            At::Robbed => {
                if op != Op::Close {
                    next.change(who, op);
                }
                next.at(who, At::Release);
                "ends a change"
            }
            _ => unreachable!("not a step of a thief: {at:?}"),
        };
        self.add(found, who, what, next);
    }

    fn fence(&self, mut next: State, who: usize, found: &mut Found<State>) {
        let At::Fence(cpu, seen) = next.threads[who].at else { unreachable!("not a fence") };
        if self.fails {
            let mut failed = next.clone();
            failed.has_failed = true;
            let is_taken = self.is(Mutant::TakesUnfenced);
            failed.at(who, if is_taken { At::Taken(cpu, seen) } else { At::Steal(cpu + 1, seen) });
            self.add(found, who, "a fence fails", failed);
        }
        if !self.is(Mutant::NoFence) {
            next.drain(cpu);
            let running = next.on[cpu];
            if running < THREADS && next.threads[running].cpu == cpu && !self.is(Mutant::PlainFence)
            {
                next.abort(running);
            }
        }
        next.at(who, At::Taken(cpu, seen));
        self.add(found, who, "fences a CPU", next);
    }

    fn look(&self, mut next: State, who: usize, found: &mut Found<State>) {
        let Thread { at, cpu: own, was_short, .. } = next.threads[who];
        let At::Look(cpu, there, mut seen) = at else { unreachable!("not a look: {at:?}") };
        if cpu < CPUS {
            let slot = next.slots[cpu];
            let is_counted = !slot.is_closed || self.is(Mutant::CountsClosed);
            let word = if cpu == own { next.own(cpu) } else { slot.word };
            let tokens = if is_counted { word.tokens } else { 0 };
            seen[cpu] = tokens > 0 || self.is(Mutant::FencesEmpty);
            next.at(who, At::Look(cpu + 1, there + tokens, seen));
            return self.add(found, who, "looks at a slot", next);
        }
        let there = next.root + there + next.spill.tokens;
        if there >= self.op(&next, who).needs() || self.is(Mutant::FencesEmpty) {
            next.at(who, At::Steal(0, seen));
            return self.add(found, who, "has seen enough", next);
        }
        if self.checks_denials && !was_short {
            let fault = Some("denied, and had enough throughout".to_owned());
            return found.add(who, "is denied", next, fault);
        }
        found.counts.denials += 1;
        next.at(who, At::Release);
        self.add(found, who, "is denied", next);
    }
}

impl Op {
    /// Returns what a thief leaves of a word, with this in its hand.
    fn leaves(self, word: Hold, hand: Hold) -> Hold {
        match self {
            Op::Change(_) | Op::Reset => Hold::default(),
            Op::Close => Hold { room: word.tokens, ..word },
            // Half of what is there, or less if more is lacking.
            Op::Spend(_) | Op::Lease(..) => {
                let beyond = (word.tokens + hand.tokens - self.needs()).max(0);
                let tokens = (word.tokens / 2).min(beyond);
                Hold { room: tokens, tokens, ..word }
            }
        }
    }
}

impl State {
    /// Puts everything into the root as it is from now on.
    fn change(&mut self, who: usize, op: Op) {
        let taken = self.threads[who].hand.with(std::mem::take(&mut self.spill));
        self.cap = if let Op::Change(cap) = op { cap } else { self.cap };
        self.reserved -= taken.room;
        let all = if op == Op::Reset { self.cap } else { self.root + taken.tokens };
        let root = all.min(self.cap - self.reserved).max(0);
        self.made += root - self.root - taken.tokens;
        self.root = root;
        self.threads[who].hand = Hold::default();
    }
}
