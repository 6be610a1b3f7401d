//! A sequence lock: several words that are read together without a write.
//!
//! A lock word counts the writers, and is odd while one is writing. A reader loads it before and
//! after the words; a writer that finds another one writing gives up. So nobody waits.

use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::sync::{AtomicWord, fence};

/// `N` words that are written and read together.
#[derive(Debug)]
pub(crate) struct SeqLock<const N: usize> {
    writers: AtomicWord<u64>,
    words: [AtomicWord<u64>; N],
}

impl<const N: usize> SeqLock<N> {
    pub(crate) fn new(words: [u64; N]) -> SeqLock<N> {
        SeqLock { writers: AtomicWord::new(0), words: words.map(AtomicWord::new) }
    }

    /// Returns the first word alone: a hint, which spares most readers the others.
    #[inline(always)]
    pub(crate) fn first(&self) -> u64 {
        // ORDERING: Relaxed. No data is read through it.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        self.words[0].load(Relaxed)
    }

    /// Returns the words, or `None` if they may be of several writers.
    #[inline(always)]
    pub(crate) fn read(&self) -> Option<[u64; N]> {
        // ORDERING: Acquire; pairs with the store at the end of `write`, so that the words are those
        // of that writer or of a later one.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let before = self.writers.load(Acquire);
        // ORDERING: Relaxed; between the load above and the fence below.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let words = self.words.each_ref().map(|word| word.load(Relaxed));
        // ORDERING: an Acquire fence, so that the second load of the lock word comes after those of
        // the words. Had one of them been written since the first load, by a Release store,
        // the second would see the CAS before that store.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        fence(Acquire);
        // ORDERING: Relaxed; after the fence.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let is_one = before.is_multiple_of(2) && self.writers.load(Relaxed) == before;
        is_one.then_some(words)
    }

    /// Writes the words, unless another call is writing at the same time.
    pub(crate) fn write(&self, words: [u64; N]) {
        // ORDERING: Relaxed. The load is only a hint, which the CAS checks.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let before = self.writers.load(Relaxed);
        // ORDERING: Acquire, so that the stores below come after those of the last writer; pairs
        // with the last store below. On failure no data is read.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        let is_mine = before.is_multiple_of(2)
            && self
                .writers
                .compare_exchange(before, before.wrapping_add(1), Acquire, Relaxed)
                .is_ok();
        if !is_mine {
            return;
        }
        for (word, value) in self.words.iter().zip(words) {
            // ORDERING: Release, so that a reader that sees the value sees the CAS above; pairs
            // with the fence in `read`.
            // MODEL: `a_remembered_denial_is_of_one_refusal`.
            word.store(value, Release);
        }
        // ORDERING: Release; pairs with the load in `read`.
        // MODEL: `a_remembered_denial_is_of_one_refusal`.
        self.writers.store(before.wrapping_add(2), Release);
    }
}
