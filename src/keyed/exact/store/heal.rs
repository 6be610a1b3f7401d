//! Healing of keys: where the clock has gone back too far, a key starts again, or all keys of its
//! tier do.

use crate::keyed::exact::as_key::AsKey;
use crate::keyed::exact::group_map::KeyEntry;
use crate::keyed::exact::per_key::Engine;
use crate::sync::Ordering::Relaxed;

use super::{KeyPlace, KeyShard, Store};

impl<K, L: Engine<K>> Store<K, L> {
    /// Starts again where the clock has gone back too far: the key, or all keys of its tier.
    pub(super) fn heal<Q>(
        &self,
        shard: &mut KeyShard<K, L>,
        place: KeyPlace,
        key: &Q,
        now_nanos: u64,
    ) where
        Q: AsKey<K> + ?Sized,
    {
        self.renew_terms(shard, now_nanos);
        let is_impossible = |entry: &KeyEntry<K, L::State>| {
            self.limiter.is_impossible(&shard.terms, &entry.state, now_nanos)
        };
        if shard.table.find(place.home, key).is_some_and(is_impossible) {
            // Counted first, because the key's `Drop` may panic.
            self.count_healed();
            self.take_out(shard, place, key);
        }
    }

    /// Brings the terms and the horizon of the shard up to date: the terms tell the level of
    /// an unknown key, and the horizon is ahead of the clock by no more than clocks differ.
    /// `now_nanos` must have been read under the lock.
    ///
    /// An evicted key was full at the horizon, or before. So it comes back as if it had been
    /// kept if it starts from the horizon; but a caller that asks for it reads `now_nanos`.
    ///
    /// * If the horizon is ahead by no more than clocks differ, another thread's clock may
    ///   well show that time now: the key is inserted, and the call decided, by that
    ///   reading.
    /// * If it is further ahead, that would grant tokens long before they are earned. So the
    ///   level with which the key would be inserted is kept for all unknown keys, and calls for
    ///   them are decided by the clock as it is. That level is no lower than the level that any
    ///   of them had when it was evicted, because levels do not fall as readings rise. So
    ///   nothing more has to be known of the horizon, and from here on it is `now_nanos`.
    /// * If at that level a key had a debt that no call can have left, the clock has gone
    ///   back for good. A key that had been kept would heal, and start again from full; so do
    ///   the unknown keys, and that is counted.
    pub(in crate::keyed::exact) fn renew_terms(&self, shard: &mut KeyShard<K, L>, now_nanos: u64) {
        let KeyShard { table, terms, horizon_nanos, number, changes, none_idle } = shard;
        let Some(renewed) = self.limiter.renewed_terms(terms, *horizon_nanos, now_nanos) else {
            return;
        };
        self.expect_idle_sooner(none_idle);
        if renewed.has_healed {
            // States for whose terms the time is out of range start again under the new terms.
            let is_lost = |entry: &KeyEntry<_, _>| {
                self.limiter.is_out_of_range(terms, &entry.state, now_nanos)
            };
            table.take_out(table.places(), is_lost, |entry| {
                self.release(*number);
                drop(entry);
            });
            table.shrink();
            *changes = changes.wrapping_add(1);
            self.count_healed();
        }
        *terms = renewed.terms;
        *horizon_nanos = now_nanos.min(*horizon_nanos);
    }

    pub(super) fn count_healed(&self) {
        // ORDERING: Relaxed, as in `healed`.
        // MODEL: none.
        self.healed.fetch_add(1, Relaxed);
    }
}
