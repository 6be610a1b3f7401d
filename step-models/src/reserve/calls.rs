//! The steps of grants, reservations, what is used beyond estimates, and resets.

use crate::explore::Found;

use super::{AHEAD, At, Charged, Mutant, Note, Op, Reserve, State, WINDOWS, Word};

impl Reserve {
    pub(super) fn step(&self, state: &State, who: usize, found: &mut Found<State>) {
        let op = self.ops[who];
        let go = |found: &mut Found<State>, what, at| {
            self.add(found, who, what, state.go(who, at));
        };
        match state.threads[who] {
            At::Done => {}
            At::Idle => go(found, "begins", At::Clock),
            At::Clock => {
                let now = state.clock;
                let at = match op {
                    Op::Reset => At::ResetBegin { now },
                    Op::Reserve(_) if self.has_resets() => At::Note { now },
                    // Without resets there are no changes to tell apart.
                    _ => At::Load { now, note: Some(0) },
                };
                go(found, "reads the clock", at);
            }
            At::Note { now } => {
                go(found, "notes the changes", At::NoteBegun { now, done: state.done });
            }
            At::NoteBegun { now, done } => {
                let note = (done == state.begun).then_some(done);
                go(found, "looks whether a change is going on", At::Load { now, note });
            }
            At::Load { now, note } => {
                let at = self.decide(op, state.word, now, note);
                found.counts.denials += usize::from(at == At::Done);
                go(found, "loads the word", at);
            }
            At::Cas { now, charged } => self.take(state, who, now, charged, found),
            At::Holds(charged) => {
                go(found, "keeps it", At::Done);
                match op {
                    Op::Receipt(_) => self.revert(state, who, charged, found),
                    _ => go(found, "begins to cancel", At::BackLook(charged)),
                }
            }
            At::ResetBegin { now } => {
                let mut next = state.go(who, At::ResetLoad { now });
                next.begun += 1;
                self.add(found, who, "begins to reset", next);
            }
            At::ResetLoad { .. } if state.settlements > 0 && !self.is(Mutant::ResetDoesNotWait) => {
            }
            At::ResetLoad { now } => {
                go(found, "loads the word", At::ResetCas { now, seen: state.word });
            }
            At::ResetCas { now, seen } => {
                let mut next = state.go(who, At::ResetEnd);
                if state.word == seen {
                    next.word = Word { number: now, count: 0 };
                    next.charge = Default::default();
                    next.own = Default::default();
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
            _ => self.step_of_cancelling(state, who, found),
        }
    }

    fn decide(&self, op: Op, seen: Word, now: i8, note: Note) -> At {
        let permits = op.permits();
        let mut word = seen;
        let is_behind = seen.number < now;
        if is_behind && !self.is(Mutant::StaysBehind)
            || seen.number > now && self.is(Mutant::GoesBack)
        {
            word = Word { number: now, count: 0 };
        }
        let after = match op {
            Op::Reserve(_) => self.reserved(word, permits),
            Op::Beyond(_) => self.filled(word, permits, now),
            _ if word.number > now && !self.is(Mutant::GrantsAhead) => return At::Done,
            _ if word.count + permits <= self.limit => plus(word, permits),
            _ => return At::Done,
        };
        if after == word || after.number > now + AHEAD {
            return At::Done;
        }
        At::Cas { now, charged: Charged { note, before: seen, after } }
    }

    /// Returns the word with `permits` more, in its window or in the next one.
    fn reserved(&self, word: Word, permits: i8) -> Word {
        if word.count + permits <= self.limit || self.is(Mutant::ReservesUnfit) {
            return plus(word, permits);
        }
        Word { number: word.number + 1, count: permits }
    }

    /// Returns the word with up to `permits` more in its window and in those after it.
    fn filled(&self, mut word: Word, mut permits: i8, now: i8) -> Word {
        let limit = self.limit + i8::from(self.is(Mutant::FillsOneMore));
        loop {
            let more = permits.min(limit - word.count).max(0);
            word = plus(word, more);
            permits -= more;
            if permits == 0 || word.number >= now + AHEAD {
                return word;
            }
            word = Word { number: word.number + 1, count: 0 };
        }
    }

    fn take(&self, state: &State, who: usize, now: i8, charged: Charged, found: &mut Found<State>) {
        let op = self.ops[who];
        let Charged { note, before, after } = charged;
        let stores = match op {
            Op::Reserve(_) => self.is(Mutant::ReservesByStore),
            Op::Beyond(_) => self.is(Mutant::FillsByStore),
            _ => false,
        };
        if state.word != before && !stores {
            let notes = matches!(op, Op::Reserve(_)) && self.has_resets();
            let at = if notes { At::Note { now } } else { At::Load { now, note } };
            return self.add(found, who, "fails to take", state.go(who, at));
        }
        let at = match op {
            Op::Receipt(_) => At::Holds(charged),
            // Nothing is known of what comes back while a change goes on.
            Op::Reserve(_) if note.is_some() || self.is(Mutant::NoNote) => At::Holds(charged),
            _ => At::Done,
        };
        let mut next = State { word: after, ..state.go(who, at) };
        if self.is(Mutant::NextInPlace) && after.number > before.number && after.number > now {
            next.word.number = before.number.max(now);
        }
        match op {
            Op::Beyond(permits) => {
                charge_filled(&mut next, self.limit, (before, after), now, permits);
            }
            // Granted by the reading, whatever the word says.
            Op::Try(permits) | Op::Receipt(permits) => next.charge(who, now, permits),
            // For the beginning of its window, or for the reading if that has begun.
            _ => next.charge(who, after.number.max(now), op.permits()),
        }
        found.counts.grants += 1;
        self.add(found, who, "takes", next);
    }

    /// Puts back the word from before a grant, in one step.
    fn revert(&self, state: &State, who: usize, charged: Charged, found: &mut Found<State>) {
        let mut next = state.go(who, At::Done);
        if state.word == charged.after {
            next.word = charged.before;
            next.discharge(who);
            found.counts.given_back += 1;
        }
        self.add(found, who, "gives its receipt back", next);
    }
}

fn plus(word: Word, permits: i8) -> Word {
    Word { count: word.count + permits, ..word }
}

/// Charges the windows that were filled, from the word's on: what each had left.
fn charge_filled(
    state: &mut State,
    limit: i8,
    (before, after): (Word, Word),
    now: i8,
    permits: i8,
) {
    let mut left = permits;
    for number in before.number.max(now)..=after.number.min(WINDOWS as i8 - 1) {
        let had = if number == before.number { before.count } else { 0 };
        let is_last = number == after.number;
        let more = if is_last { after.count - had } else { (limit - had).max(0) };
        state.charge[number as usize] += more.min(left);
        left -= more.min(left);
    }
}
