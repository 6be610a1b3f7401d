//! Slots that are freed: by a removal, by a sweep.

use crate::decision::undo::{Debit, Undo};
use crate::sync::Ordering::Relaxed;
use crate::sync::Word;
use crate::time::clock::Clock;

use super::home::KeyHome;
use super::key_word::{Fingerprint, KeyWord, Kind, LEVEL_BITS};
use super::line::{Line, PLACES, replace};
use super::lines::LineTable;
use super::ticks::LevelTicks;

/// One new key in this many sweeps a line, so that a table in use is swept completely long before
/// its levels wrap.
const SELDOM: u32 = 16;

impl<C: Clock + Sync> Undo for LineTable<C> {
    fn undo(&self, debit: Debit<'_>) -> bool {
        let Debit::Slot { slot, before, after } = debit else { return false };
        let before = KeyWord::from_bits(before);
        // A state that is idle by now goes back no further than a removal would put it: an older
        // level could be below that of a marker that the slot has had since.
        let (_, now) = self.time();
        let is_full = self.ticks.is_full(now, before.level());
        let full = || before.with_level(self.ticks.full(now));
        let restored = if is_full { full() } else { before };
        slot.undo(Debit::Word { before: restored.to_bits(), after })
    }
}

impl<C: Clock> LineTable<C> {
    /// Resets the key at `place`, and returns whether it was live. It keeps its slot until another
    /// key takes it.
    pub(super) fn remove(&self, place: KeyHome) -> bool {
        while let Some((word, seen)) = self.find(place) {
            let (_, now) = self.time();
            if self.ticks.is_full(now, seen.level()) {
                return false;
            }
            if replace(word, seen, KeyWord::charged(place.fingerprint, self.ticks.full(now))) {
                return true;
            }
        }
        false
    }

    /// Clears the slots of one line whose words have been expired by the margin for at least
    /// `least` ticks, and returns how many keys there were.
    pub(super) fn sweep(&self, line: &Line, least: i64) -> usize {
        let words = line.words();
        // Read after the words, as always: the reading by which the caller found its slot is too
        // old.
        let (_, now) = self.time();
        let is_idle = |word: KeyWord| {
            let age = self.ticks.age(now, word.level());
            word.kind() != Kind::Empty && age >= self.ticks.span + self.ticks.margin + least
        };
        // A swept slot never becomes empty again: a call that saw the slot empty long ago could now
        // place there a marker that was there before. A tombstone of this moment is above all
        // markers that were there, and a new key takes it like an empty slot.
        let tombstone = KeyWord::tombstone(LevelTicks::<LEVEL_BITS>::level(now, self.ticks.span));
        let swept = |&at: &usize| is_idle(words[at]) && line.replace(at, words[at], tombstone);
        let is_key = |&at: &usize| words[at].kind() == Kind::Charged;
        let count_lost = |&at: &usize| {
            if LevelTicks::<LEVEL_BITS>::is_lost(self.ticks.age(now, words[at].level())) {
                self.count_healed();
            }
        };
        (0..PLACES).filter(swept).filter(is_key).inspect(count_lost).count()
    }

    /// Sweeps a line now and then, when a key has found a slot. Clears only slots that have been
    /// idle for long: a key that comes back soon finds its old slot more quickly than it would get
    /// a new one.
    #[inline]
    pub(super) fn sweep_on_the_way(&self, fingerprint: Fingerprint) {
        if fingerprint.get().is_multiple_of(SELDOM) {
            self.sweep_next();
        }
    }

    #[cold]
    fn sweep_next(&self) {
        // ORDERING: Relaxed. The count only spreads the lines over the calls.
        // MODEL: `a_sweep_takes_no_live_key`.
        let turn = self.counts().swept.fetch_add(1, Relaxed);
        let line = (turn % self.lines().len() as u64) as usize;
        self.sweep(&self.lines()[line], LevelTicks::<LEVEL_BITS>::WRAP / 4);
    }
}
