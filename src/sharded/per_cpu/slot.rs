//! The slot of one CPU: its word, and who has closed it.

use crate::sharded::shard_word::ShardWord;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{AcqRel, Relaxed, Release};

/// Value of `closer` while the slot is open. The other values are the ids of processes, and `DEAD`.
pub(super) const OPEN: u64 = 0;

/// Value of `closer` after a fence has failed.
const DEAD: u64 = u64::MAX;

/// A slot. Sequences find its parts by their offsets.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Slot {
    pub(super) word: AtomicWord<ShardWord>,
    pub(super) closer: AtomicWord<u64>,
}

impl Slot {
    /// Creates an open slot with nothing in it.
    pub(super) fn new() -> Slot {
        Slot { word: AtomicWord::new(ShardWord::NONE), closer: AtomicWord::new(OPEN) }
    }

    /// Returns whether the slot is open. One that a thief has closed in a process from which this one was forked is
    /// opened.
    pub(super) fn is_open(&self) -> bool {
        // ORDERING: Relaxed. A sequence loads it again; a look concludes nothing from both words.
        // MODEL: `a_slot_is_robbed_beside_its_owner`.
        match self.closer.load(Relaxed) {
            OPEN => true,
            DEAD => false,
            closer => self.open_after_fork(closer),
        }
    }

    #[cold]
    fn open_after_fork(&self, closer: u64) -> bool {
        // ORDERING: AcqRel, as for `close` and `open_with`. That thief is not in this process, and nor is any sequence that
        // was in progress beside it.
        // MODEL: none; it takes a fork.
        closer != process() && self.closer.compare_exchange(closer, OPEN, AcqRel, Relaxed).is_ok()
    }

    #[inline(always)]
    pub(super) fn word(&self) -> ShardWord {
        // ORDERING: Relaxed. A sequence compares the word with memory again, after `closer`. Its loads acquire and its store
        // releases, as all do on its processor; so capacity is passed on as by `ShardLine::change`. For a
        // thief, the fence comes before. A look needs no more than `ShardLine::look`.
        // MODEL: `a_slot_is_robbed_beside_its_owner`.
        self.word.load(Relaxed)
    }

    /// Returns the word, or none if the slot is closed: then what is there is in transit, or out of reach.
    pub(super) fn look(&self) -> ShardWord {
        if self.is_open() { self.word() } else { ShardWord::NONE }
    }

    /// Closes an open slot. Returns false if it is closed.
    pub(super) fn close(&self) -> bool {
        // ORDERING: AcqRel. Acquire, to see the word of the thief before. Release for symmetry: the fence that follows
        // orders more. On failure Relaxed, as the slot is left alone.
        // MODEL: `two_thieves_take_a_slot_once`.
        self.closer.compare_exchange(OPEN, process(), AcqRel, Relaxed).is_ok()
    }

    /// Opens a slot that the caller has closed, and fenced since, with this word.
    pub(super) fn open_with(&self, word: ShardWord) {
        // ORDERING: Relaxed. The next store releases it.
        // MODEL: `a_slot_is_robbed_beside_its_owner`.
        self.word.store(word, Relaxed);
        // ORDERING: Release. A sequence or a thief that finds the slot open finds this word.
        // MODEL: `a_slot_is_robbed_beside_its_owner`.
        self.closer.store(OPEN, Release);
    }

    /// Leaves a slot that the caller has closed as it is for ever.
    pub(super) fn end(&self) {
        // ORDERING: Relaxed. Nobody does anything with a dead slot.
        // MODEL: none; it takes a fence that fails.
        self.closer.store(DEAD, Relaxed);
    }
}

/// Returns the id of this process; that of a process from which it was forked was another.
fn process() -> u64 {
    #[cfg(feature = "std")]
    return u64::from(std::process::id());
    #[cfg(not(feature = "std"))]
    return 1;
}
