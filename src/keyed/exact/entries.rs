//! Iteration over all keys, one shard at a time.

use alloc::vec::Vec;
use core::hash::Hash;

use crate::decision::grant::Grant;

use super::Keyed;
use super::per_key::{Answer, PerKey};

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
