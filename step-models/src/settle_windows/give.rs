//! The steps of a settlement.

use crate::explore::Found;

use super::{At, Counter, Hold, Mutant, PARTS, Settle, Word};

impl Settle {
    pub(super) fn step_of_settling(&self, state: &Counter, who: usize, found: &mut Found<Counter>) {
        let go = |found: &mut Found<Counter>, what, at| {
            self.add(found, who, what, state.go(who, at));
        };
        match state.threads[who] {
            At::NoteLate { number } => {
                let changes = (state.done == state.begun).then_some(state.done);
                let permits = self.ops[who].permits();
                let hold = Hold { changes, number, permits, parts: PARTS };
                go(found, "notes the changes", At::Holds(hold));
            }
            At::Holds(hold) => {
                go(found, "keeps the rest", At::Done);
                if hold.parts > 0 {
                    for back in 1..=hold.permits {
                        let cut = if self.is(Mutant::Uncut) { 0 } else { back };
                        let hold =
                            Hold { permits: hold.permits - cut, parts: hold.parts - 1, ..hold };
                        go(found, "gives some back", At::GiveClock { hold, back });
                    }
                }
                for permits in 1..=self.most_beyond {
                    go(found, "has used more", At::BeyondClock(permits));
                }
            }
            At::GiveClock { hold, back } => {
                let at = match hold.changes {
                    None if !self.is(Mutant::NoNote) => At::Holds(hold),
                    _ => At::Looks { hold, back, now: state.clock },
                };
                found.counts.lost += usize::from(at == At::Holds(hold));
                go(found, "reads the clock", at);
            }
            At::Looks { hold, back, now } => {
                let is_same = self.is_noted(state, hold);
                found.counts.lost += usize::from(!is_same);
                let at = if is_same { At::Settles { hold, back, now } } else { At::Holds(hold) };
                go(found, "looks at the changes", at);
            }
            At::Settles { hold, back, now } => {
                let is_same = self.is_noted(state, hold) || self.is(Mutant::LooksFirst);
                found.counts.lost += usize::from(!is_same);
                let at = if is_same { At::LowerLoad { hold, back, now } } else { At::Ends(hold) };
                let mut next = state.go(who, at);
                // Mutant: one that does not go on is over at once.
                next.settlements += i8::from(is_same || !self.is(Mutant::EndsFirst));
                self.add(found, who, "begins its settlement", next);
            }
            At::LowerLoad { hold, back, now } => {
                let seen = state.word;
                let lowered = self.lower(seen, hold.number, back, now);
                found.counts.lost += usize::from(lowered.is_none());
                let at = lowered.map_or(At::Ends(hold), |(next, given)| At::LowerCas {
                    hold,
                    back,
                    now,
                    seen,
                    next,
                    given,
                });
                let mut next = state.go(who, at);
                next.settlements -= i8::from(self.is(Mutant::EndsFirst));
                self.add(found, who, "loads the word", next);
            }
            At::LowerCas { hold, back, now, seen, next: word, given } => {
                let mut next = state.go(who, At::Ends(hold));
                if state.word == seen || self.is(Mutant::LowersByStore) {
                    next.word = word;
                    next.keep(who, -given);
                    found.counts.given_back += usize::from(given > 0);
                } else {
                    next.threads[who] = At::LowerLoad { hold, back, now };
                    next.settlements += i8::from(self.is(Mutant::EndsFirst));
                }
                self.add(found, who, "lowers the count", next);
            }
            At::Ends(hold) => {
                let mut next = state.go(who, At::Holds(hold));
                next.settlements -= i8::from(!self.is(Mutant::EndsFirst));
                self.add(found, who, "ends its settlement", next);
            }
            _ => self.step_of_change(state, who, found),
        }
    }

    fn is_noted(&self, state: &Counter, hold: Hold) -> bool {
        hold.changes == Some(state.begun) || self.is(Mutant::NoNote)
    }

    /// Returns the word with up to `back` less in the window with this number, and how many less.
    fn lower(&self, seen: Word, number: i8, back: i8, now: i8) -> Option<(Word, i8)> {
        let counts = |word: Word| match word.number - number {
            0 => true,
            1 => self.is_sliding,
            _ => false,
        };
        if self.is(Mutant::AnyNumber) {
            let given = back.min(seen.current);
            return Some((Word { current: seen.current - given, ..seen }, given));
        }
        // A word that is too far ahead is to be healed: it counts.
        let present = self.at(seen, now).unwrap_or(seen);
        if !counts(present) || !counts(seen) {
            return None;
        }
        if seen.number == number || self.is(Mutant::IntoPresent) {
            let given = back.min(seen.current);
            Some((Word { current: seen.current - given, ..seen }, given))
        } else {
            let given = back.min(seen.previous);
            Some((Word { previous: seen.previous - given, ..seen }, given))
        }
    }
}
