//! Insertion of a key: a marker, a second look at all of its slots, and the charge.

use super::*;

impl Scene {
    pub(super) fn place(&self, turn: &mut Turn<'_>) {
        let Thread { slot, old, new, now, seen, .. } = turn.thread;
        if turn.word(slot) != old {
            return turn.go("finds the slot changed", self.again(turn));
        }
        let now = if self.is(Mutant::ChargesByScan) { now } else { UNREAD };
        let next = if self.is(Mutant::NoRescan) { self.last_place(turn) } else { 0 };
        // Until its marker is as old as the modulus, whatever else it has seen.
        let ends = match self.ages {
            Ages::Any => i8::MAX,
            Ages::UpTo(oldest) => {
                turn.state.clock - self.age(turn.state.clock, new.level()) + oldest
            }
        };
        let thread = Thread { slot, next, now, ends, new, seen, ..turn.thread.at(At::Rescan) };
        turn.write("marks the slot", slot, new, thread);
    }

    fn last_place(&self, turn: &Turn<'_>) -> u8 {
        self.places(turn.take().0)
    }

    pub(super) fn rescan(&self, turn: &mut Turn<'_>) {
        let (key, _) = turn.take();
        let mut thread = turn.thread;
        if self.is(Mutant::ChargesBeforeRescan) && thread.now == UNREAD {
            for now in self.readings(turn.state) {
                let now = turn.time(now);
                turn.go("reads the clock", Thread { now, ..thread });
            }
            return;
        }
        let slot_of = |next| {
            let is_home_only = self.is(Mutant::RescansHome);
            if is_home_only { self.slot(key, next) } else { self.slot_in_order(key, next) }
        };
        let places = if self.is(Mutant::RescansHome) { self.width } else { self.places(key) };
        if thread.next < places && slot_of(thread.next) == thread.slot {
            thread.next += 1;
        }
        if thread.next >= places {
            let Thread { slot, new, .. } = thread;
            let at = thread.at(At::Charge);
            if thread.now != UNREAD {
                return turn.go("has looked at all", Thread { slot, new, now: thread.now, ..at });
            }
            for now in self.readings(turn.state) {
                let now = turn.time(now);
                turn.go("reads the clock", Thread { slot, now, new, ..at });
            }
            return;
        }
        let slot = slot_of(thread.next);
        self.look_again(turn, thread, key, slot, turn.word(slot));
        if self.is(Mutant::NoFence) {
            let place = (0..self.places(key)).find(|&place| self.slot(key, place) == slot);
            let seen = thread.seen[usize::from(place.unwrap())];
            if seen != turn.word(slot) {
                self.look_again(turn, thread, key, slot, seen);
            }
        }
    }

    fn look_again(&self, turn: &mut Turn<'_>, thread: Thread, key: Key, slot: u8, word: Word) {
        let next = thread.next + 1;
        let is_live = self.is_live(turn.state.clock, word.level(), 0);
        if word.is_charged(key.print) && (is_live || !self.is(Mutant::ExpiredIsAbsent)) {
            let Thread { slot, new, .. } = thread;
            return turn.go("sees the key", Thread { slot, new, ..thread.at(At::Clean) });
        }
        if !word.is_marker(key.print) || (!is_live && self.is(Mutant::SkipsOldMarks)) {
            return turn.go("looks again", Thread { next, ..thread });
        }
        if slot < thread.slot {
            if self.is(Mutant::IgnoresLower) {
                return turn.go("ignores a lower mark", Thread { next, ..thread });
            }
            if self.is(Mutant::NoJoin) {
                let Thread { slot, new, .. } = thread;
                return turn
                    .go("gives up for a lower mark", Thread { slot, new, ..thread.at(At::Clean) });
            }
            return turn.go("sees a lower mark", self.again(turn));
        }
        if self.is(Mutant::SparesHigher) {
            return turn.go("ignores a higher mark", Thread { next, ..thread });
        }
        turn.go(
            "sees a higher mark",
            Thread { at: At::Kill, theirs: word, ends: thread.ends.min(turn.ends(slot)), ..thread },
        );
    }

    pub(super) fn kill(&self, turn: &mut Turn<'_>) {
        let (key, _) = turn.take();
        let thread = Thread { at: At::Rescan, theirs: Word::EMPTY, ..turn.thread };
        let gone = Thread { next: thread.next + 1, ..thread };
        let slot = self.slot_in_order(key, thread.next);
        let theirs = turn.thread.theirs;
        if turn.word(slot) == theirs {
            turn.write("takes a higher mark away", slot, self.buried(theirs), gone);
        } else if self.is(Mutant::KillsBlindly) {
            turn.go("does not look what became of a mark", gone);
        } else {
            turn.go("looks what became of a mark", thread);
        }
    }

    pub(super) fn clean(&self, turn: &mut Turn<'_>) {
        let Thread { slot, new, .. } = turn.thread;
        let again = self.again(turn);
        if turn.word(slot) == new {
            turn.write("takes its mark away", slot, self.buried(new), again);
        } else {
            turn.go("leaves what is no longer its mark", again);
        }
    }

    pub(super) fn charge(&self, turn: &mut Turn<'_>) {
        let Thread { slot, new: mark, now, .. } = turn.thread;
        if turn.word(slot) != mark {
            return turn.go("finds the mark changed", self.again(turn));
        }
        let (key, permits) = turn.take();
        let new = self.charged(key, permits, mark, now);
        // Whoever gives back keeps the place.
        let old = self.full(key, now);
        let receipt =
            Receipt { slot, owner: key.owner, date: now, permits: permits as u8, new, old };
        self.grant(turn, receipt, self.done(&Thread { receipt, ..turn.thread }));
    }
}
