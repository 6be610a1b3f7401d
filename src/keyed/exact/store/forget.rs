//! Keys that are forgotten before they are idle.

use crate::keyed::exact::group_map::KeyEntry;
use crate::keyed::exact::per_key::Engine;

use super::{KeyPlace, KeyShard, SHARDS, Store};

impl<K, L: Engine<K>> Store<K, L> {
    /// Removes a key that is not idle: of the shard of a place, or else of the next one that has any, the key that would
    /// be idle soonest. It is then like one that was never seen.
    ///
    /// Goes through the keys of a shard, under its exclusive lock.
    pub(in crate::keyed::exact) fn forget_soonest(&self, place: KeyPlace) {
        for number in 0..SHARDS {
            let shard = &mut *self.shards[(place.shard + number) % SHARDS].shard.write();
            let now_nanos = self.limiter.now_nanos();
            let KeyShard { table, terms, .. } = shard;
            let idle_nanos =
                |entry: &KeyEntry<_, _>| self.idle_nanos(terms, &entry.state, now_nanos);
            let mut soonest = table.iter().map(idle_nanos).min();
            if soonest.is_none() {
                continue;
            }
            table.take_out(
                table.places(),
                |entry| soonest == Some(idle_nanos(entry)) && soonest.take().is_some(),
                |entry| {
                    self.release(shard.number);
                    drop(entry);
                },
            );
            self.note_change(shard);
            return;
        }
    }
}
