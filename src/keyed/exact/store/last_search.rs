//! The last complete search of a full store that found no idle key: its answer holds until something changes.
//!
//! Without it, each key that is refused would look at all shards, and a caller who makes up keys would make all
//! others wait for their locks. A word counts the *changes*: it is advanced before each key that is inserted, and
//! before each change after which a key may be idle sooner, while the lock of the key's shard is held exclusively. (A
//! grant makes a known key idle later, and a key that is removed makes the store less than full. So these change
//! nothing.)
//!
//! **Theorem.** When a key is refused by the last search, as many other keys as there is space for were not idle,
//! each by a reading of the clock that was made in the call.
//!
//! *Proof.* The search loaded the changes, then looked at each shard under its lock, and noted the readings by which
//! it found no key idle. The call reads the note, then the count of keys (Acquire), then the changes, while it holds
//! the lock of its own shard: the count is the maximum, and the changes are those that the search had loaded.
//! Consider an insertion that is counted by then.
//!
//! * It advanced the changes before it raised the count (Release). So the call sees its advance, and therefore the
//!   search had seen it too.
//! * The search looked at its shard after it. Otherwise the search would have released that lock before the insertion
//!   took it, and would have loaded the changes before they were advanced.
//! * Its key was there then. Had it been removed, the count would have been lowered before the search looked, so
//!   before the note was written, and the insertion would no longer be counted.
//!
//! So each key that is counted was found not to be idle by the noted readings, of which the call's is one. No change
//! since then made it idle sooner, or the call would have loaded others. The count has one order, so the keys that it
//! counts are different ones, as many as there is space for; and the call's is not among them. ∎
//!
//! A reading after the noted ones may find keys idle; by one before them, because the clock was set back, states may
//! be found that no call can have left. Such calls search again.

use core::ops::Range;

use crate::keyed::exact::per_key::Engine;
use crate::seq_lock::SeqLock;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Relaxed};

use super::Store;

/// The changes of a store that is searched completely, and what the last search found.
pub(super) struct LastSearch {
    changes: AtomicWord<u64>,
    /// The changes before the search; the first reading by which no key was idle, and the end of these.
    found: SeqLock<3>,
}

impl LastSearch {
    /// Returns that there was none.
    pub(super) fn new() -> LastSearch {
        LastSearch { changes: AtomicWord::new(0), found: SeqLock::new([0; 3]) }
    }

    /// Returns the number of changes so far.
    pub(super) fn changes(&self) -> u64 {
        // ORDERING: Relaxed. A search that looks at a shard before a change there releases the lock that the change
        // takes, so it loads an older number; a refusal comes after its load of the count.
        // MODEL: `a_search_beside_one_that_makes_room_is_no_answer_after_it`,
        // `a_key_that_comes_behind_a_search_is_looked_at_by_the_next`.
        self.changes.load(Relaxed)
    }

    /// Notes a change. Called before it, with the lock of its shard held exclusively.
    pub(super) fn note_change(&self) {
        // ORDERING: Relaxed, as in `changes`: the lock orders it, and for an insertion the count of keys.
        // MODEL: `a_search_beside_one_that_makes_room_is_no_answer_after_it`.
        self.changes.fetch_add(1, Relaxed);
    }

    /// Notes the readings by which a search found no idle key in any shard, and the changes from before it.
    pub(super) fn note(&self, changes: u64, none_idle: &Range<u64>) {
        self.found.write([changes, none_idle.start, none_idle.end]);
    }
}

impl<K, L: Engine<K>> Store<K, L> {
    /// Returns the readings by which no key of the store is idle, if the store is full, if nothing has changed since
    /// these were noted, and if `now_nanos` is one of them. That must have been read in this call.
    pub(super) fn found_before(&self, now_nanos: u64) -> Option<Range<u64>> {
        let last_search = self.last_search.as_ref()?;
        let [changes, start, end] = last_search.found.read()?;
        let none_idle = start..end;
        // ORDERING: Acquire, after the note was read and before the changes are loaded. Pairs with the CAS in
        // `reserve_in_all`, so that all insertions that are counted have advanced the changes.
        // MODEL: `a_key_that_comes_behind_a_search_is_looked_at_by_the_next`.
        let is_still = none_idle.contains(&now_nanos)
            && self.keys.load(Acquire) >= self.max_keys
            && last_search.changes() == changes;
        is_still.then_some(none_idle)
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests;
