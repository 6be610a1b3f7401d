//! The table's other calls: to give back, to reset a key, to sweep, and to take of two keys by one
//! reading of the clock.

use super::*;

impl Scene {
    pub(super) fn give_back(&self, turn: &mut Turn<'_>) {
        let Receipt { slot, owner, date, permits, new, old } = turn.thread.receipt;
        let done = self.done(&Thread { receipt: Receipt::NONE, ..turn.thread });
        if owner == 0 || turn.word(slot) != new {
            return turn.go("has nothing to give back", done);
        }
        let mut next = *turn.state;
        next.slots[usize::from(slot)] = old;
        next.grants.remove(owner, date, permits);
        turn.found.counts.given_back += 1;
        turn.go_to("gives back", next, done, None);
    }

    pub(super) fn find_to_reset(&self, turn: &mut Turn<'_>, key: Key, now: i8) {
        let thread = turn.thread;
        for place in 0..thread.loaded {
            let old = thread.seen[usize::from(place)];
            if old.is_charged(key.print) {
                if self.is_full(now, old.level()) {
                    return turn.go("finds the key full", self.done(&thread));
                }
                let slot = self.slot(key, place);
                return turn.go("finds the key", Thread { slot, now, old, ..thread.at(At::Reset) });
            }
        }
        turn.go("finds no key", self.done(&thread));
    }

    pub(super) fn reset(&self, turn: &mut Turn<'_>) {
        let Thread { slot, old, now, .. } = turn.thread;
        let Op::Reset(key) = turn.op else { unreachable!("only a reset resets") };
        if turn.word(slot) != old {
            return turn.go("finds the key changed", self.again(turn));
        }
        let is_to_nothing = self.is(Mutant::ResetsToNothing);
        let mut next = *turn.state;
        next.slots[usize::from(slot)] =
            if is_to_nothing { Word::EMPTY } else { self.full(key, now) };
        next.grants.forget(key.owner);
        turn.go_to("resets the key", next, self.done(&turn.thread), None);
    }

    pub(super) fn find_to_sweep(&self, turn: &mut Turn<'_>, key: Key, now: i8) {
        let mut thread = Thread { now, ..turn.thread.at(At::Sweep) };
        for place in 0..usize::from(turn.thread.loaded) {
            let word = turn.thread.seen[place];
            if self.is_swept(now, word) {
                thread.seen[place] = word;
            }
        }
        self.sweep_next(turn, "reads the clock", key, turn.state.slots, thread);
    }

    pub(super) fn sweep(&self, turn: &mut Turn<'_>) {
        let Op::Sweep(key) = turn.op else { unreachable!("only a sweep sweeps") };
        let mut thread = turn.thread;
        let mut slots = turn.state.slots;
        let seen = &mut thread.seen[usize::from(thread.next)];
        if slots[usize::from(thread.slot)] == *seen {
            slots[usize::from(thread.slot)] = self.swept(thread.now);
        }
        *seen = Word::EMPTY;
        self.sweep_next(turn, "clears a slot", key, slots, thread);
    }

    /// On to the next slot that there is something to do about.
    fn sweep_next(
        &self,
        turn: &mut Turn<'_>,
        what: &'static str,
        key: Key,
        slots: [Word; SLOTS],
        thread: Thread,
    ) {
        let next = State { slots, ..*turn.state };
        let thread = match thread.seen.iter().position(|word| !word.is_empty()) {
            Some(place) => {
                let slot = self.slot(key, place as u8);
                Thread { next: place as u8, slot, ..thread }
            }
            None => self.done(&turn.thread),
        };
        turn.go_to(what, next, thread, None);
    }

    pub(super) fn sweep_on_the_way(&self, turn: &mut Turn<'_>) {
        let Op::TakeAndSweep(_, _, slot) = turn.op else { unreachable!("only a take does") };
        let thread = turn.thread;
        let place = Thread { at: At::Place, theirs: Word::EMPTY, base: 0, ..thread };
        match thread.at {
            At::AlsoLoad => {
                let (theirs, ends) = (turn.word(slot), thread.ends.min(turn.ends(slot)));
                turn.go("loads a slot", Thread { at: At::AlsoClock, theirs, ends, ..thread });
            }
            At::AlsoClock => {
                let by_scan = self.is(Mutant::SweepsByScan).then_some(thread.now..=thread.now);
                for now in by_scan.unwrap_or(self.readings(turn.state)) {
                    let now = turn.time(now);
                    let is_swept = self.is_swept(now, thread.theirs);
                    let clear = Thread { at: At::AlsoClear, base: now, ..thread };
                    turn.go("reads the clock", if is_swept { clear } else { place });
                }
            }
            _ if turn.word(slot) == thread.theirs => {
                turn.write("clears a slot", slot, self.swept(thread.base), place);
            }
            _ => turn.go("finds the slot changed", place),
        }
    }

    pub(super) fn load_batch(&self, turn: &mut Turn<'_>) {
        let Op::Batch(first, _, second, _) = turn.op else { unreachable!("only a batch does") };
        let mut thread = turn.thread;
        let places = if first.home == second.home { self.width } else { 2 * self.width };
        if thread.loaded < places {
            let slot = self.slot(first.at(first.home, second.home), thread.loaded);
            thread.seen[usize::from(thread.loaded)] = turn.word(slot);
            thread.loaded += 1;
            return turn.go("loads", thread);
        }
        if thread.now != UNREAD {
            return self.batch_on(turn, "has loaded all", thread);
        }
        for now in self.readings(turn.state) {
            self.batch_on(turn, "reads the clock", Thread { now, ..thread });
        }
    }

    /// Up to the next key of the batch that is where it should be. `base` is which key
    /// it is about, and `next` which are left for later.
    fn batch_on(&self, turn: &mut Turn<'_>, what: &'static str, mut thread: Thread) {
        let Op::Batch(first, permits, second, more) = turn.op else { return };
        while thread.base < 2 {
            let (key, permits) = [(first, permits), (second, more)][thread.base as usize];
            let from = if key.home == first.home { 0 } else { usize::from(self.width) };
            let words = &thread.seen[from..from + usize::from(self.width)];
            match self.decide(key, permits, words, thread.now) {
                Decision::Deny => turn.found.counts.denials += 1,
                Decision::Hit { place, base } => {
                    let slot = self.slot(key, place);
                    let old = words[usize::from(place)];
                    let new = Word::charged(key.print, self.level(base + permits));
                    return turn.go(what, Thread { at: At::BatchHit, slot, old, new, ..thread });
                }
                Decision::Join { .. } | Decision::Miss => thread.next |= 1 << thread.base,
            }
            thread.base += 1;
        }
        let todo = self.plans[usize::from(thread.todo)].left[usize::from(thread.next)];
        turn.go(what, Thread::idle(todo, thread.receipt));
    }

    pub(super) fn hit_batch(&self, turn: &mut Turn<'_>) {
        let Op::Batch(first, permits, second, more) = turn.op else { return };
        let Thread { slot, old, new, base, next, now, .. } = turn.thread;
        let (key, permits) = [(first, permits), (second, more)][base as usize];
        let none = Word::EMPTY;
        let on =
            Thread { at: At::Batch, slot: 0, old: none, new: none, base: base + 1, ..turn.thread };
        if turn.word(slot) != old {
            return turn.go("finds the key changed", Thread { next: next | 1 << base, ..on });
        }
        let permits = permits as u8;
        let receipt = Receipt { slot, owner: key.owner, date: now, permits, new, old: none };
        self.grant(turn, receipt, on);
    }
}
