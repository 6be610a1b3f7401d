//! The steps of what is taken beyond an estimate, of a healing and of a reset.

use crate::explore::Found;

use super::state::Then;
use super::{At, Counter, Mutant, Settle, Word};

impl Settle {
    pub(super) fn step_of_change(&self, state: &Counter, who: usize, found: &mut Found<Counter>) {
        let go = |found: &mut Found<Counter>, what, at| {
            self.add(found, who, what, state.go(who, at));
        };
        let waits = |mutant| state.settlements > 0 && !self.is(mutant);
        match state.threads[who] {
            At::BeyondClock(permits) => {
                go(found, "reads the clock", At::BeyondLoad { permits, now: state.clock });
            }
            At::BeyondLoad { permits, now } => {
                let seen = state.word;
                let at = self.at(seen, now).map_or(At::HealLoad(Then::Beyond(permits)), |word| {
                    let next = Word { current: word.current + permits, ..word };
                    At::BeyondCas { permits, now, seen, next }
                });
                go(found, "loads the word", at);
            }
            At::BeyondCas { permits, now, seen, next: word } => {
                let mut next = state.go(who, At::Done);
                if state.word == seen || self.is(Mutant::BeyondByStore) {
                    next.word = word;
                    next.charge[word.number as usize] += permits;
                    next.beyond[word.number as usize] += permits;
                } else {
                    next.threads[who] = At::BeyondLoad { permits, now };
                }
                self.add(found, who, "takes more", next);
            }
            At::HealLoad(then) => {
                go(found, "loads the word", At::HealClock { then, seen: state.word });
            }
            At::HealClock { then, seen } => {
                let now = state.clock;
                let at = if self.at(seen, now).is_some() {
                    then.goes_on(now)
                } else if self.is(Mutant::HealUncounted) {
                    At::HealCas { then, seen, now }
                } else {
                    At::HealBegin { then, seen, now }
                };
                go(found, "reads the clock", at);
            }
            At::HealBegin { then, seen, now } => {
                let mut next = state.go(who, At::HealCas { then, seen, now });
                next.begun += 1;
                self.add(found, who, "begins to heal", next);
            }
            At::HealCas { .. } if waits(Mutant::HealDoesNotWait) => {}
            At::HealCas { then, seen, now } => {
                let is_same = state.word == seen;
                let now = is_same.then_some(now);
                let mut next = state.go(who, At::HealEnd { then, now });
                if let Some(number) = now {
                    next.renew(Word { number, ..seen }, self.limit);
                }
                self.add(found, who, "moves the counts", next);
            }
            At::HealEnd { then, now } => {
                let at = now.map_or(At::HealLoad(then), |now| then.goes_on(now));
                let mut next = state.go(who, at);
                next.done += i8::from(!self.is(Mutant::HealUncounted));
                self.add(found, who, "ends its healing", next);
            }
            At::ResetClock => {
                go(found, "reads the clock", At::ResetBegin { now: state.clock });
            }
            At::ResetBegin { now } => {
                let mut next = state.go(who, At::ResetLoad { now });
                next.begun += 1;
                self.add(found, who, "begins to reset", next);
            }
            At::ResetLoad { .. } if waits(Mutant::ResetDoesNotWait) => {}
            At::ResetLoad { now } => {
                go(found, "loads the word", At::ResetCas { now, seen: state.word });
            }
            At::ResetCas { now, seen } => {
                let mut next = state.go(who, At::ResetEnd);
                if state.word == seen {
                    let word = Word { number: now, current: 0, previous: 0 };
                    next.renew(word, self.limit);
                } else {
                    next.threads[who] = At::ResetLoad { now };
                }
                self.add(found, who, "resets", next);
            }
            At::ResetEnd => {
                let mut next = state.go(who, At::Done);
                next.done += 1;
                self.add(found, who, "ends its reset", next);
            }
            at => unreachable!("{at:?} is a step of another kind"),
        }
    }
}

impl Then {
    fn goes_on(self, now: i8) -> At {
        match self {
            Then::Takes(note) => At::Load { note, now },
            Then::Beyond(permits) => At::BeyondLoad { permits, now },
        }
    }
}
