//! Two slots for the terms. The level names the one in force.

use crossbeam_utils::CachePadded;

use crate::branch::guess;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Relaxed, Release};

use super::level::Level;
use super::terms::{Terms, WORDS};

/// The terms in force, and the slot for the next ones.
///
/// Kept off the level's cache line: every call reads the terms and almost none writes them, so each
/// processor keeps its copy while the level's line moves.
#[derive(Debug)]
pub(crate) struct TermSlots(CachePadded<[TermSlot; 2]>);

#[derive(Debug)]
struct TermSlot([AtomicWord<u64>; WORDS]);

impl TermSlots {
    /// Creates slots that both hold `terms`.
    pub(super) fn new(terms: Terms) -> TermSlots {
        let slot = || TermSlot(terms.to_words().map(AtomicWord::new));
        TermSlots(CachePadded::new([slot(), slot()]))
    }

    /// Returns the terms that `level` is counted in.
    ///
    /// Valid only if the word is then found to be still `level`: by a CAS that succeeds, or by a
    /// load after an Acquire fence.
    #[inline]
    pub(crate) fn named_by(&self, level: Level) -> Terms {
        // A branch that is predicted, so that the terms are loaded before the level arrives.
        let slot = if guess(level.slot() == 0) { &self.0[0] } else { &self.0[1] };
        slot.read()
    }

    /// Returns the same if the level's gate is open.
    #[inline]
    pub(super) fn named_by_open(&self, level: Level) -> Option<Terms> {
        let slot = if guess(level.is_plain()) {
            &self.0[0]
        } else if level.is_gated() {
            return None;
        } else {
            &self.0[1]
        };
        Some(slot.read())
    }
}

impl TermSlot {
    #[inline]
    fn read(&self) -> Terms {
        // ORDERING: Relaxed. The values must be neither too old nor too new.
        // - Not too old: the caller loaded `level` with Acquire, from the CAS of
        //   `BucketCore::change` that put its slot in force, or from a later one. That CAS is a
        //   Release and comes after the slot's stores.
        // - Not too new, from a change after the next one: that change's stores come after the CAS
        //   that took the slot out of force. If a caller's CAS succeeds, it comes before that one
        //   in the word's order; it is a Release, the other an Acquire that reads it or a later
        //   one, so this load comes before those stores and cannot see them. A caller that does no
        //   CAS has an Acquire fence after this load; had it seen one of those stores (Release),
        //   its second load of the word would see the CAS too.
        // MODEL: `terms_are_never_mixed`, `a_denial_is_never_from_mixed_terms`.
        Terms::from_words(self.0.each_ref().map(|word| word.load(Relaxed)))
    }
}

impl TermSlots {
    /// Writes the terms that `level` will be counted in, once it is the word.
    pub(super) fn prepare(&self, level: Level, terms: Terms) {
        for (word, value) in self.0[level.slot()].0.iter().zip(terms.to_words()) {
            // ORDERING: Release, for a reader that is delayed and still reads this slot: if it sees
            // any of these stores, it must also see that its level is gone. Pairs with the fence in
            // `BucketCore::still`. Readers of the new terms synchronize with the CAS that follows.
            // MODEL: `a_denial_is_never_from_mixed_terms`.
            word.store(value, Release);
        }
    }
}
