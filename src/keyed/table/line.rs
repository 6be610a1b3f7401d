//! One cache line of slots, and the two lines that a key may be in.

use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::decision::undo::{Debit, Undo};
use crate::prefetch_instruction::prefetch;
use crate::sync::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::{AtomicWord, Word};

use super::key_word::{Fingerprint, KeyWord};

/// The change that a grant has made: the word of its key, before and after.
#[derive(Clone, Copy)]
pub(super) struct ChargedSlot<'a> {
    pub(super) word: &'a AtomicWord<KeyWord>,
    pub(super) before: KeyWord,
    pub(super) after: KeyWord,
}

impl<'a> ChargedSlot<'a> {
    /// Returns a receipt by which `table` can take `grant` back.
    pub(super) fn receipt(self, grant: Grant, table: &'a dyn Undo) -> Receipt<'a> {
        let ChargedSlot { word: slot, before, after } = self;
        let (before, after) = (before.to_bits(), after.to_bits());
        Receipt::new(grant, table, Debit::Slot { slot, before, after })
    }
}

impl Undo for AtomicWord<KeyWord> {
    fn undo(&self, debit: Debit<'_>) -> bool {
        let Debit::Word { before, after } = debit else { return false };
        replace(self, KeyWord::from_bits(after), KeyWord::from_bits(before))
    }
}

/// Number of slots of one line.
#[cfg(not(any(sluicegate_loom, sluicegate_shuttle)))]
pub(super) const PLACES: usize = 8;

/// Number of slots that a model needs: one, and one beside it.
#[cfg(any(sluicegate_loom, sluicegate_shuttle))]
pub(super) const PLACES: usize = 2;

/// One cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Line([AtomicWord<KeyWord>; PLACES]);

#[cfg(not(any(sluicegate_loom, sluicegate_shuttle)))]
const _: () = assert!(size_of::<Line>() == 64, "a line is a line of the cache");

impl Line {
    /// Creates an empty line.
    pub(super) fn new() -> Line {
        Line(core::array::from_fn(|_| AtomicWord::new(KeyWord::default())))
    }

    /// Loads the word of each slot, one after the other.
    #[inline]
    pub(super) fn words(&self) -> Words {
        // ORDERING: Acquire; pairs with the AcqRel CAS that wrote the word. A caller that finds a
        // word must read the clock after the word was written, or its level may seem ahead of the
        // clock; and in a rescan it must see what the writer of the word had seen. The words need
        // not be of one instant: every write that follows from them is a CAS.
        // MODEL: `a_new_key_has_one_place`, `a_hit_and_a_takeover_never_exceed_the_bound`.
        self.0.each_ref().map(|word| word.load(Acquire))
    }

    /// Prefetches the line.
    #[inline]
    pub(super) fn fetch(&self) {
        prefetch(self);
    }

    /// Returns the word that holds the key's state, if it is in this line.
    ///
    /// Compares all slots without a branch: after a wrong guess of the slot a processor would not
    /// go on to the next call while this line is on its way. The caller loads the word once more,
    /// which is quicker than to keep all eight.
    #[inline(always)]
    pub(super) fn find(&self, fingerprint: Fingerprint) -> Option<&AtomicWord<KeyWord>> {
        first(places(&self.words(), |word| word.is_charged(fingerprint))).map(|at| &self.0[at])
    }

    /// Returns the lowest word of the key, be it its state or a marker.
    #[inline(always)]
    pub(super) fn find_any(&self, fingerprint: Fingerprint) -> Option<&AtomicWord<KeyWord>> {
        first(self.places_of(fingerprint)).map(|at| &self.0[at])
    }

    /// Returns the slots with a word of the key, as bits.
    #[inline(always)]
    fn places_of(&self, fingerprint: Fingerprint) -> u32 {
        places(&self.words(), |word| word.is_of(fingerprint))
    }

    /// Replaces `seen` by `next`, if the slot still holds `seen`.
    #[inline]
    pub(super) fn replace(&self, at: usize, seen: KeyWord, next: KeyWord) -> bool {
        replace(&self.0[at], seen, next)
    }
}

/// The lines that a key may be in: two, in the order of the table, or one.
pub(super) struct KeyLines<'a> {
    low: &'a Line,
    /// The same as `low`, if there is only one.
    high: &'a Line,
    lines: usize,
    /// True if the home is the second line.
    is_home_high: bool,
}

/// The words of a line, as they were loaded.
pub(super) type Words = [KeyWord; PLACES];

/// Returns the slots whose words satisfy `is`, as bits: found without a branch.
#[inline(always)]
pub(super) fn places(words: &Words, is: impl Fn(KeyWord) -> bool) -> u32 {
    words.iter().enumerate().fold(0, |places, (at, &word)| places | u32::from(is(word)) << at)
}

/// Returns the lowest of `places`.
#[inline(always)]
pub(super) fn first(places: u32) -> Option<usize> {
    (places != 0).then(|| places.trailing_zeros() as usize % PLACES)
}

/// A slot of a pair of lines: the number of its line, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SlotIndex(pub(super) usize, pub(super) usize);

impl<'a> KeyLines<'a> {
    /// Returns the lines `home` and `other` of a table.
    pub(super) fn of(lines: &'a [Line], home: usize, other: usize) -> KeyLines<'a> {
        let is_home_high = home > other;
        let (low, high) = if is_home_high { (other, home) } else { (home, other) };
        let count = 1 + usize::from(home != other);
        KeyLines { low: &lines[low], high: &lines[high], lines: count, is_home_high }
    }

    fn line(&self, number: usize) -> &'a Line {
        if number == 0 { self.low } else { self.high }
    }

    /// Returns the word of a slot.
    pub(super) fn word(&self, SlotIndex(line, at): SlotIndex) -> &'a AtomicWord<KeyWord> {
        &self.line(line).0[at]
    }

    /// Returns the numbers of the lines.
    #[inline]
    pub(super) fn lines(&self) -> core::ops::Range<usize> {
        0..self.lines
    }

    /// Returns the number of the home.
    #[inline]
    pub(super) fn home(&self) -> usize {
        usize::from(self.is_home_high)
    }

    /// Iterates over all slots, in the order of the table: it is the same whichever line is a
    /// caller's home.
    pub(super) fn places(&self) -> impl Iterator<Item = SlotIndex> + Clone + use<> {
        (0..self.lines * PLACES).map(|at| SlotIndex(at / PLACES, at % PLACES))
    }

    /// Loads the words of one line.
    #[inline]
    pub(super) fn words(&self, number: usize) -> Words {
        self.line(number).words()
    }

    /// Returns the lowest slot of a line that was never taken, if there are more than `more_than`
    /// of them.
    ///
    /// These slots are the last of the line: the lowest is always taken first, and none becomes
    /// empty again. So it is enough to look at one, and to count the taken slots below it. (If some
    /// are taken meanwhile, the slot may not be empty: the CAS that takes it then fails.)
    #[inline]
    pub(super) fn first_empty(&self, number: usize, more_than: usize) -> Option<usize> {
        let line = self.line(number);
        let is_empty = |at: usize| load(&line.0[at]) == KeyWord::default();
        let last = PLACES - 1 - more_than;
        is_empty(last).then(|| (0..last).filter(|&at| !is_empty(at)).count())
    }

    /// Returns whether no slot of the lines except `own` has a word of the key.
    #[inline]
    pub(super) fn is_nowhere_but(&self, own: SlotIndex, fingerprint: Fingerprint) -> bool {
        let SlotIndex(line, at) = own;
        let is_other = self.lines > 1;
        self.line(line).places_of(fingerprint) & !(1 << at) == 0
            && !(is_other && self.words(1 - line).iter().any(|word| word.is_of(fingerprint)))
    }

    #[inline]
    pub(super) fn load(&self, at: SlotIndex) -> KeyWord {
        load(self.word(at))
    }

    #[inline]
    pub(super) fn replace(
        &self,
        SlotIndex(line, at): SlotIndex,
        seen: KeyWord,
        next: KeyWord,
    ) -> bool {
        self.line(line).replace(at, seen, next)
    }
}

/// Loads `word`.
#[inline]
pub(super) fn load(word: &AtomicWord<KeyWord>) -> KeyWord {
    // ORDERING: Acquire, as in `words`.
    // MODEL: `a_new_key_has_one_place`, `a_new_key_may_have_come_and_gone`.
    word.load(Acquire)
}

/// Replaces `seen` in `word` by `next`, if `word` still holds `seen`.
#[inline]
pub(super) fn replace(word: &AtomicWord<KeyWord>, seen: KeyWord, next: KeyWord) -> bool {
    // ORDERING: AcqRel. Release, so that a caller that finds `next` reads a clock that has come as
    // far as the one by which it was decided, and sees what its writer had seen. Acquire, so that
    // what one admitted caller did before its call is visible to the next one of its key. Relaxed
    // on failure: the word is loaded again.
    // MODEL: `a_new_key_has_one_place`, `a_hit_and_a_takeover_never_exceed_the_bound`,
    // `a_key_is_charged_by_a_clock_that_its_level_is_not_ahead_of`.
    word.compare_exchange(seen, next, AcqRel, Relaxed).is_ok()
}
