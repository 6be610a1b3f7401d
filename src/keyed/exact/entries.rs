//! All keys of a store, one shard at a time, and the parts of the store.

use alloc::vec::Vec;
use core::hash::Hash;

use crate::decision::grant::Grant;

use super::Keyed;
use super::per_key::{Answer, Engine, PerKey};

impl<K, L: Engine<K>, S, O> Keyed<K, L, S, O> {
    /// Returns the number of known keys: those that were granted something and were not full
    /// again when they were last looked at. Exact while no key is being inserted.
    ///
    /// Takes no lock. Reads one word, or one for each shard if the maximum of keys is 2^31 or more.
    #[must_use]
    pub fn len(&self) -> usize {
        self.store.len() as usize
    }

    /// Returns whether no key is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the maximum number of keys that are known at a time.
    #[must_use]
    pub fn max_keys(&self) -> usize {
        self.store.max_keys() as usize
    }

    /// Returns the memory of the slots for keys, in bytes. Memory that keys and limiters hold
    /// elsewhere (the text of a `String`, a limiter of [`Each`](crate::keyed::Each)) is not
    /// included.
    ///
    /// Takes the shared lock of one shard after the other.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.store.shards().map(|shard| shard.read().table.bytes()).sum()
    }

    /// Removes all keys that are full again, gives memory back, and returns the number of
    /// keys removed. Keys in a state that no call can have left, because the clock has gone
    /// back, are removed too, and count as [`healed`](Keyed::healed).
    ///
    /// Never needed to keep memory bounded, because new keys evict idle ones. Useful for a
    /// store that receives no more new keys. Locks one shard after the other.
    #[doc(alias = "retain_recent")]
    pub fn sweep(&self) -> usize {
        let shards = self.store.shards().map(|shard| {
            let shard = &mut *shard.write();
            let now_nanos = self.store.limiter.now_nanos();
            let swept = self.store.clear_shard(shard, now_nanos);
            shard.table.shrink();
            swept
        });
        shards.sum()
    }

    /// Returns how often a state was found that no call can have left, because the clock had
    /// gone back, and was started again from full. (The unknown keys of a shard have one
    /// state.) See [`Clock`](crate::Clock) for when that is.
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.store.healed()
    }

    /// Returns the limiter of the keys.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.store.limiter
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &L::Clock {
        self.store.limiter.clock()
    }
}

impl<K: Hash + Eq + Clone, L: PerKey<K>, S, O> Keyed<K, L, S, O> {
    /// Returns all known keys, each with what [`peek`](Keyed::peek) would return for it.
    ///
    /// Visits one shard after the other: each key is as it was at some time between the call
    /// and the end of the iteration, but a key that is inserted meanwhile may be missed.
    /// Clones the keys of one shard at a time; no lock is held while they are handed out.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<u64>::new(quota!(10 / hour));
    /// keyed.try_acquire(&7, 4)?;
    /// for (key, state) in keyed.iter() {
    ///     assert_eq!((key, state.remaining()), (7, 6));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (K, Grant)> {
        let limiter = &self.store.limiter;
        let states = self.collected(|terms, state, now_nanos| {
            let (Answer::Said(answer) | Answer::Impossible(answer)) =
                limiter.acquire::<false>(terms, state, 0, now_nanos);
            answer.ok()
        });
        states.filter_map(|(key, grant)| Some((key, grant?)))
    }

    pub(super) fn collected<T>(
        &self,
        look: impl Fn(&L::Terms, &L::State, u64) -> T,
    ) -> impl Iterator<Item = (K, T)> {
        self.store.shards().flat_map(move |shard| {
            let shard = shard.read();
            let now_nanos = self.store.limiter.now_nanos();
            let entries = shard.table.iter();
            let entries = entries
                .map(|entry| (entry.key.clone(), look(&shard.terms, &entry.state, now_nanos)));
            entries.collect::<Vec<_>>()
        })
    }
}
