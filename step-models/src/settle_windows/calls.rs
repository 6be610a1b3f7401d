//! The steps of grants, and of the two ways in which a grant is taken back as a whole.

use crate::explore::Found;

use super::state::Then;
use super::{At, Counter, Hold, JUMP, Mutant, Note, Op, PARTS, Settle, Word};

impl Settle {
    pub(super) fn step(&self, state: &Counter, who: usize, found: &mut Found<Counter>) {
        let op = self.ops[who];
        let go = |found: &mut Found<Counter>, what, at| {
            self.add(found, who, what, state.go(who, at));
        };
        match state.threads[who] {
            At::Done => {}
            At::Idle => {
                let at = match op {
                    Op::Reset => At::ResetClock,
                    Op::Estimate(_) if self.is(Mutant::NotesLate) => At::Clock(None),
                    Op::Estimate(_) | Op::Unseen(_) => At::Note,
                    _ => At::Clock(None),
                };
                go(found, "begins", at);
            }
            At::Note if self.is(Mutant::NotesBegun) => {
                go(found, "notes the changes", At::Clock(Some(state.begun)));
            }
            At::Note => go(found, "notes the changes", At::NoteBegun { done: state.done }),
            At::NoteBegun { done } => {
                let note = (done == state.begun).then_some(done);
                go(found, "looks whether a change is going on", At::Clock(note));
            }
            At::Clock(note) => {
                let ahead = if matches!(op, Op::Ahead(_)) { JUMP } else { 0 };
                go(found, "reads the clock", At::Load { note, now: state.clock + ahead });
            }
            At::Load { note, now } => self.decide(state, who, (note, now), found),
            At::Cas { note, now, seen, next } => {
                if state.word == seen {
                    self.take(state, who, note, (seen, next), found);
                } else {
                    go(found, "fails to take", At::Load { note, now });
                }
            }
            At::Reverts { before, written } => {
                go(found, "keeps its grant", At::Done);
                self.revert(state, who, (before, written), found);
            }
            At::Unseen { note, before, written } => {
                go(found, "is told of its grant", At::Done);
                go(found, "leaves", At::UndoLook { note, before, written });
            }
            At::UndoLook { note, before, written } => {
                let is_same = state.begun == note || self.is(Mutant::UndoOverAChange);
                found.counts.lost += usize::from(!is_same);
                let at = if is_same { At::UndoCas { before, written } } else { At::Done };
                let mut next = state.go(who, at);
                next.settlements += i8::from(is_same && !self.is(Mutant::UndoLooksFirst));
                self.add(found, who, "looks at the changes", next);
            }
            At::UndoCas { before, written } => {
                let mut next = state.go(who, At::Done);
                let is_same = state.word == written;
                if is_same {
                    next.word = before;
                    next.keep(who, -op.permits());
                }
                *(if is_same { &mut found.counts.given_back } else { &mut found.counts.lost }) += 1;
                next.settlements -= i8::from(!self.is(Mutant::UndoLooksFirst));
                self.add(found, who, "puts back", next);
            }
            _ => self.step_of_settling(state, who, found),
        }
    }

    fn decide(
        &self,
        state: &Counter,
        who: usize,
        (note, now): (Note, i8),
        found: &mut Found<Counter>,
    ) {
        let permits = self.ops[who].permits();
        let seen = state.word;
        let at = match self.at(seen, now) {
            None => At::HealLoad(Then::Takes(note)),
            Some(word) if word.current + word.previous + permits <= self.limit => {
                let next = Word { current: word.current + permits, ..word };
                At::Cas { note, now, seen, next }
            }
            Some(_) => At::Done,
        };
        found.counts.denials += usize::from(at == At::Done);
        self.add(found, who, "loads the word", state.go(who, at));
    }

    fn take(
        &self,
        state: &Counter,
        who: usize,
        note: Note,
        (before, written): (Word, Word),
        found: &mut Found<Counter>,
    ) {
        let permits = self.ops[who].permits();
        let number = written.number;
        let at = match self.ops[who] {
            Op::Estimate(_) if self.is(Mutant::NotesLate) => At::NoteLate { number },
            Op::Estimate(_) => At::Holds(Hold { changes: note, number, permits, parts: PARTS }),
            Op::Receipt(_) => At::Reverts { before, written },
            // Nothing is known of what comes back while a change goes on.
            Op::Unseen(_) => note.map_or(At::Done, |note| At::Unseen { note, before, written }),
            _ => At::Done,
        };
        let mut next = Counter { word: written, ..state.go(who, at) };
        next.granted[who] = (number, 0);
        next.keep(who, permits);
        found.counts.grants += 1;
        self.add(found, who, "takes", next);
    }

    /// Puts back the word from before a grant, in one step.
    fn revert(
        &self,
        state: &Counter,
        who: usize,
        (before, written): (Word, Word),
        found: &mut Found<Counter>,
    ) {
        let is_same = match self.mutant {
            Some(Mutant::RevertsBlindly) => true,
            Some(Mutant::RevertsOverCount) => state.word.number == written.number,
            _ => state.word == written,
        };
        let mut next = state.go(who, At::Done);
        if is_same {
            next.word = before;
            next.keep(who, -self.ops[who].permits());
        }
        *(if is_same { &mut found.counts.given_back } else { &mut found.counts.lost }) += 1;
        self.add(found, who, "gives its receipt back", next);
    }
}
