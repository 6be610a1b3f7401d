//! A closure on the state of a key, under the lock of its shard.

use core::time::Duration;

use crate::keyed::exact::as_key::AsKey;
use crate::keyed::exact::per_key::Engine;

use super::search::Search;
use super::{KeyPlace, Store};

impl<K, L: Engine<K>> Store<K, L> {
    /// Returns the number of changes of the shard of a key.
    pub(in crate::keyed::exact) fn changes(&self, place: KeyPlace) -> u64 {
        self.shard_of(place).read().changes
    }

    /// Returns what `call` returns for the state of the key, if it is known, and if the shard has had
    /// just so many `changes`.
    pub(in crate::keyed::exact) fn with_unchanged<Q, T>(
        &self,
        place: KeyPlace,
        key: &Q,
        changes: u64,
        call: impl FnOnce(&L::State) -> T,
    ) -> Option<T>
    where
        Q: AsKey<K> + ?Sized,
    {
        let shard = self.shard_of(place).read();
        let entry = shard.table.find(place.home, key).filter(|_| shard.changes == changes)?;
        Some(call(&entry.state))
    }

    /// Returns what `call` returns for the state of the key. A key that is not known is inserted
    /// first; if it is idle afterwards, it is removed again. If there is no space for it, `call` is
    /// not called, and the time after which there may be some is returned.
    ///
    /// The lock is held shared if the key is known, and otherwise exclusively: between an insertion
    /// and a second lock, another caller could evict the key.
    pub(in crate::keyed::exact) fn with_state<Q, T>(
        &self,
        place: KeyPlace,
        key: &Q,
        call: impl FnOnce(&L::State) -> T,
    ) -> Result<T, Duration>
    where
        Q: AsKey<K> + ?Sized,
    {
        {
            let shard = self.shard_of(place).read();
            if let Some(entry) = shard.table.find(place.home, key) {
                return Ok(call(&entry.state));
            }
        }
        let mut search = Search::of(place);
        loop {
            {
                let shard = &mut *self.shard_of(place).write();
                // Another caller may have inserted the key since.
                if let Some(entry) = shard.table.find(place.home, key) {
                    return Ok(call(&entry.state));
                }
                let now_nanos = self.limiter.now_nanos();
                self.renew_terms(shard, now_nanos);
                let now_nanos = shard.no_earlier_than_forgotten(now_nanos);
                self.sweep_in_turn(shard, now_nanos);
                if let Some(reserved) = self.has_room(shard, &mut search, now_nanos) {
                    let owned = key.to_key();
                    let state = self.limiter.fresh(&shard.terms, &owned, now_nanos);
                    self.make_room(shard, now_nanos);
                    let at = shard.table.insert(place.home, owned, state);
                    reserved.keep();
                    // Not found by the key: one that is not equal to itself would be inserted
                    // again and again.
                    if let Some(entry) = shard.table.get(at) {
                        let outcome = call(&entry.state);
                        if self.limiter.is_idle(&shard.terms, &entry.state, now_nanos) {
                            let removed = shard.table.take(at);
                            if removed.is_some() {
                                self.release(shard.number);
                            }
                        }
                        return Ok(outcome);
                    }
                } else if self.is_over(&search) {
                    return Err(self.soonest(shard, &search, now_nanos));
                }
            }
            self.search_elsewhere(&mut search);
        }
    }
}
