//! A closure on the state of a key, under the lock of its shard.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::time::Duration;

use crate::keyed::exact::per_key::Engine;

use super::{KeyPlace, Store};

impl<K, L: Engine<K>> Store<K, L> {
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
        K: Borrow<Q>,
        Q: Eq + ToOwned<Owned = K> + ?Sized,
    {
        {
            let shard = self.shard_of(place).read();
            if let Some(entry) = shard.table.find(place.home, key) {
                return Ok(call(&entry.state));
            }
        }
        let mut searched = 0;
        loop {
            {
                let shard = &mut *self.shard_of(place).write();
                // Another caller may have inserted the key since.
                if let Some(entry) = shard.table.find(place.home, key) {
                    return Ok(call(&entry.state));
                }
                let now_nanos = self.limiter.now_nanos();
                self.settle(shard, now_nanos);
                let now_nanos = shard.no_earlier_than_forgotten(now_nanos);
                self.sweep_in_turn(shard, now_nanos);
                if let Some(reserved) = self.has_room(shard, &mut searched) {
                    let owned = key.to_owned();
                    let state = self.limiter.fresh(&shard.terms, &owned, now_nanos);
                    self.make_room(shard, now_nanos);
                    shard.table.insert(place.home, owned, state);
                    reserved.keep();
                    if let Some(entry) = shard.table.find(place.home, key) {
                        let outcome = call(&entry.state);
                        if self.limiter.is_idle(&shard.terms, &entry.state, now_nanos) {
                            self.take_out(shard, place, key);
                        }
                        return Ok(outcome);
                    }
                } else if searched >= self.search() {
                    return Err(shard.soonest(&self.limiter, now_nanos));
                }
            }
            self.search_elsewhere(&mut searched);
        }
    }
}
