//! The steps of a reservation that is cancelled: the word is put back, or else the count lowered.

use crate::explore::Found;

use super::{At, Charged, Mutant, Reserve, State, Word};

impl Reserve {
    pub(super) fn step_of_cancelling(&self, state: &State, who: usize, found: &mut Found<State>) {
        let go = |found: &mut Found<State>, what, at| {
            self.add(found, who, what, state.go(who, at));
        };
        match state.threads[who] {
            At::BackLook(charged) => {
                let is_same = self.is_noted(state, charged);
                let at = if is_same { At::BackBegin(charged) } else { At::LowerClock(charged) };
                go(found, "looks at the changes", at);
            }
            At::BackBegin(charged) => {
                let is_same = self.is_noted(state, charged) || self.is(Mutant::LooksFirst);
                let ends = At::BackEnd { charged, is_back: false };
                let at = if is_same { At::BackCas(charged) } else { ends };
                self.begin(state, who, at, found);
            }
            At::BackCas(charged) => {
                let is_back = match self.mutant {
                    Some(Mutant::CancelsBlindly) => true,
                    Some(Mutant::CancelsOverCount) => state.word.number == charged.after.number,
                    _ => state.word == charged.after,
                };
                let mut next = state.go(who, At::BackEnd { charged, is_back });
                if is_back {
                    next.word = charged.before;
                    next.discharge(who);
                    found.counts.given_back += 1;
                }
                self.add(found, who, "puts the word back", next);
            }
            At::BackEnd { charged, is_back } => {
                let is_over = is_back && !self.is(Mutant::CancelsTwice);
                let at = if is_over { At::Done } else { At::LowerClock(charged) };
                self.end(state, who, at, found);
            }
            At::LowerClock(charged) => {
                go(found, "reads the clock", At::LowerLook { charged, now: state.clock });
            }
            At::LowerLook { charged, now } => {
                let is_same = self.is_noted(state, charged);
                found.counts.lost += usize::from(!is_same);
                let at = if is_same { At::LowerBegin { charged, now } } else { At::Done };
                go(found, "looks at the changes", at);
            }
            At::LowerBegin { charged, now } => {
                let is_same = self.is_noted(state, charged) || self.is(Mutant::LooksFirst);
                found.counts.lost += usize::from(!is_same);
                let at = if is_same { At::LowerLoad { charged, now } } else { At::LowerEnd };
                self.begin(state, who, at, found);
            }
            At::LowerLoad { charged, now } => {
                let seen = state.word;
                let counts = seen.number == charged.after.number && seen.number >= now
                    || self.is(Mutant::AnyNumber);
                found.counts.lost += usize::from(!counts);
                let at = if counts { At::LowerCas { charged, now, seen } } else { At::LowerEnd };
                go(found, "loads the word", at);
            }
            At::LowerCas { charged, now, seen } => {
                let mut next = state.go(who, At::LowerEnd);
                if state.word == seen || self.is(Mutant::LowersByStore) {
                    let given = self.ops[who].permits().min(seen.count);
                    next.word = Word { count: seen.count - given, ..seen };
                    next.discharge(who);
                    found.counts.given_back += 1;
                } else {
                    next.threads[who] = At::LowerLoad { charged, now };
                }
                self.add(found, who, "lowers the count", next);
            }
            At::LowerEnd => self.end(state, who, At::Done, found),
            at => unreachable!("{at:?} is a step of another kind"),
        }
    }

    fn begin(&self, state: &State, who: usize, at: At, found: &mut Found<State>) {
        let mut next = state.go(who, at);
        next.settlements += 1;
        self.add(found, who, "begins a settlement", next);
    }

    fn end(&self, state: &State, who: usize, at: At, found: &mut Found<State>) {
        let mut next = state.go(who, at);
        next.settlements -= 1;
        self.add(found, who, "ends its settlement", next);
    }

    fn is_noted(&self, state: &State, charged: Charged) -> bool {
        charged.note == Some(state.begun) || self.is(Mutant::NoNote)
    }
}
