//! A take that reads the clock first, and what it may do by that reading.
//!
//! If it finds a word of its key that is not ahead of the reading, it takes by that, however
//! long ago the clock was read; and if its CAS fails it does the same with the word that it
//! finds. In every other case it begins anew, and reads the clock after its loads. So it does if
//! the reading is far from the table's time: then the clock has jumped since, or jumps now.

use super::*;

impl Scene {
    /// Returns whether the level is not ahead of the reading, taking the nearer side of the
    /// modulus.
    fn is_behind(&self, now: i8, level: i8) -> bool {
        match self.modulus {
            Some(modulus) => 2 * (now - level).rem_euclid(modulus) < modulus,
            None => level <= now,
        }
    }

    /// Until when such a reading may be gone by: what is written later can seem to be behind.
    fn reading_ends(&self, now: i8) -> i8 {
        match (self.ages, self.modulus) {
            (Ages::UpTo(_), Some(modulus)) => now + modulus / 2,
            _ => i8::MAX,
        }
    }

    pub(super) fn read_first(&self, turn: &mut Turn<'_>) {
        for now in self.readings(turn.state) {
            let ends = self.reading_ends(now);
            turn.go("reads the clock first", Thread { now, ends, ..turn.thread.at(At::First) });
        }
    }

    /// Loads the words of the key's slots, and keeps none but its key's. So the last word that it
    /// sees decides alone, and it may have missed its key in all of them. Then it puts a marker, by
    /// that reading, in a slot that was empty, or loads all again, and looks for its key no more.
    pub(super) fn look_first(&self, turn: &mut Turn<'_>) {
        let (key, _) = turn.take();
        for place in 0..self.places(key) {
            let slot = self.slot(key, place);
            let word = turn.word(slot);
            let is_behind = self.is_behind(turn.thread.now, word.level()) && self.is_near(turn);
            if word.is_charged(key.print) && (is_behind || self.is(Mutant::FirstLooksAhead)) {
                self.decide_first(turn, slot, word);
            }
        }
        self.mark_first(turn);
        let thread = self.again(turn);
        turn.thread = Thread { at: At::ScanNew, ..thread };
        self.scan(turn);
        turn.thread = thread;
        self.scan(turn);
    }

    fn mark_first(&self, turn: &mut Turn<'_>) {
        let (key, _) = turn.take();
        let thread = turn.thread;
        let time = turn.time(thread.now);
        for place in 0..self.places(key) {
            let slot = self.slot(key, place);
            let old = turn.word(slot);
            let is_free = old.is_empty() || self.is(Mutant::FirstMarksOver);
            if let Some(level) = self.mark_level(time, old).filter(|_| is_free) {
                let new = Word::marker(key.print, level);
                let at = thread.at(At::Place);
                turn.go("finds an empty slot", Thread { slot, old, new, ..at });
            }
        }
        turn.latest = turn.state.latest;
    }

    /// Returns whether no level that was found can be ahead of the reading by half the modulus.
    fn is_near(&self, turn: &Turn<'_>) -> bool {
        let since = i16::from(turn.thread.now) - i16::from(turn.state.latest);
        self.near.is_none_or(|near| since.abs() <= i16::from(near))
    }

    fn decide_first(&self, turn: &mut Turn<'_>, slot: u8, old: Word) {
        let (key, permits) = turn.take();
        let thread = turn.thread;
        match self.decide(key, permits, &[old], thread.now) {
            Decision::Hit { base, .. } => {
                let new = Word::charged(key.print, self.level(base + permits));
                let ends = self.reading_ends(thread.now).min(turn.ends(slot));
                let hit =
                    Thread { slot, now: thread.now, old, new, ends, ..thread.at(At::FirstHit) };
                turn.go("finds the key", hit);
            }
            Decision::Deny => {
                turn.found.counts.denials += 1;
                turn.go("is refused", self.done(&thread));
            }
            Decision::Join { .. } | Decision::Miss => {
                turn.go("does without the key", self.again(turn));
            }
        }
    }

    pub(super) fn hit_first(&self, turn: &mut Turn<'_>) {
        let Thread { slot, old, now, .. } = turn.thread;
        let (key, _) = turn.take();
        let word = turn.word(slot);
        if word == old {
            return self.hit(turn);
        }
        let is_behind = self.is_behind(now, word.level()) && self.is_near(turn);
        if word.is_charged(key.print) && (is_behind || self.is(Mutant::FirstRetriesAhead)) {
            return self.decide_first(turn, slot, word);
        }
        turn.go("finds the key changed", self.again(turn));
    }
}
