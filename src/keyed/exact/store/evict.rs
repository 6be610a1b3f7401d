//! Eviction of idle keys, and the bound on the number of keys: reserve, sweep.

use core::ops::Range;

use crate::keyed::exact::as_key::AsKey;
use crate::keyed::exact::per_key::Engine;
use crate::sync::Ordering::{Relaxed, Release};
use crate::time::units::NANOS_PER_SECOND;

use super::{KEYS, KeyPlace, KeyShard, SHARDS, Store};

/// Least maximum of keys that is shared out among the shards: each counts its own, so that two callers
/// who insert keys do not wait for one count. (Such a store would take 60 gigabytes.)
const VAST: u64 = 1 << 31;

/// Time for which an idle key is kept, if there is space. A key that has just become full may
/// well be asked for again soon, and would have to be inserted again.
pub(super) const GRACE_NANOS: u64 = NANOS_PER_SECOND / 10;

impl<K, L: Engine<K>> Store<K, L> {
    /// Returns whether each shard counts its keys, and has its part of the maximum.
    pub(super) fn is_vast(&self) -> bool {
        self.max_keys >= VAST && self.last_search.is_none()
    }

    /// Reserves space in a shard for one more key if there is any; never exceeds the maximum. The caller holds
    /// the shard's exclusive lock.
    #[inline]
    pub(super) fn reserve(&self, number: usize) -> bool {
        if !self.is_vast() {
            return self.reserve_in_all();
        }
        let tally = &self.shards[number % SHARDS].tally;
        // ORDERING: Relaxed, here and below. The exclusive lock of the shard is held.
        // MODEL: `a_store_for_any_number_of_keys_counts_each`.
        let seen = tally.load(Relaxed);
        let has_room = KEYS.get(seen) < self.max_keys / SHARDS as u64;
        if has_room {
            // ORDERING: Relaxed, as above.
            // MODEL: `a_store_for_any_number_of_keys_counts_each`.
            tally.store(seen + KEYS.put(1), Relaxed);
        }
        has_room
    }

    fn reserve_in_all(&self) -> bool {
        // ORDERING: Relaxed. The count has one order under any ordering.
        // MODEL: `a_full_store_takes_no_more_keys`.
        let mut seen = self.keys.load(Relaxed);
        if seen < self.max_keys
            && let Some(last_search) = &self.last_search
        {
            last_search.note_change();
        }
        while seen < self.max_keys {
            // ORDERING: Release, so that one who finds the key counted sees the change that was noted; pairs with the
            // load in `found_before`. Relaxed on failure, as above.
            // MODEL: `a_full_store_takes_no_more_keys`,
            // `a_key_that_comes_behind_a_search_is_looked_at_by_the_next`.
            match self.keys.compare_exchange_weak(seen, seen + 1, Release, Relaxed) {
                Ok(_) => return true,
                Err(found) => seen = found,
            }
        }
        false
    }

    /// Releases the space of a key of a shard, whose exclusive lock the caller holds.
    pub(super) fn release(&self, number: usize) {
        if self.is_vast() {
            let tally = &self.shards[number % SHARDS].tally;
            // ORDERING: Relaxed, here and below. The exclusive lock of the shard is held.
            // MODEL: `a_store_for_any_number_of_keys_counts_each`.
            let seen = tally.load(Relaxed);
            // ORDERING: Relaxed, as above.
            // MODEL: `a_store_for_any_number_of_keys_counts_each`.
            tally.store(seen - KEYS.put(1), Relaxed);
        } else {
            // ORDERING: Relaxed. It goes on with the release sequence of `reserve_in_all`.
            // MODEL: `a_place_that_is_given_up_is_taken_once`.
            self.keys.fetch_sub(1, Relaxed);
        }
    }

    /// Visits the shard's next group, if it is the new key's turn to do so, and evicts the keys
    /// that have been idle for the grace.
    pub(super) fn sweep_in_turn(&self, shard: &mut KeyShard<K, L>, now_nanos: u64) {
        shard.table.shrink_in_turn();
        if shard.table.is_turn_to_sweep() {
            let found = self.sweep_group(shard, now_nanos.saturating_sub(GRACE_NANOS));
            shard.table.swept(found);
        }
    }

    /// Makes room for one more key in the shard's table.
    pub(super) fn make_room(&self, shard: &mut KeyShard<K, L>, now_nanos: u64) {
        if shard.table.is_full() {
            // All entries would be moved anyway, so first evict those that need not be.
            self.sweep_shard(shard, now_nanos.saturating_sub(GRACE_NANOS));
            shard.table.make_room();
        }
    }

    /// Evicts the keys of the shard's next group that were idle at `then_nanos`, now or
    /// earlier, and so still are.
    fn sweep_group(&self, shard: &mut KeyShard<K, L>, then_nanos: u64) -> usize {
        let places = shard.table.next_group();
        self.take_idle(shard, places, then_nanos, |_, _| false)
    }

    /// Evicts all keys of a shard that were idle at `then_nanos`, now or earlier.
    fn sweep_shard(&self, shard: &mut KeyShard<K, L>, then_nanos: u64) -> usize {
        let places = shard.table.places();
        self.take_idle(shard, places, then_nanos, |_, _| false)
    }

    /// Evicts the keys of the shard's next group that are idle, or whose state no call can
    /// have left. Such a key would not become idle until the clock is back where it was, and
    /// would keep its slot from others until then. The reading must have been made under the
    /// lock: compared with an older one, a state that others have left since could look like
    /// that.
    pub(super) fn clear_group(&self, shard: &mut KeyShard<K, L>, now_nanos: u64) -> usize {
        let places = shard.table.next_group();
        self.clear_places(shard, places, now_nanos)
    }

    /// Does the same for a whole shard, and for the level of its unknown keys. Returns the
    /// number of keys removed.
    pub(in crate::keyed::exact) fn clear_shard(
        &self,
        shard: &mut KeyShard<K, L>,
        now_nanos: u64,
    ) -> usize {
        let before = shard.table.len();
        self.renew_terms(shard, now_nanos);
        let places = shard.table.places();
        self.clear_places(shard, places, now_nanos);
        before - shard.table.len()
    }

    fn clear_places(
        &self,
        shard: &mut KeyShard<K, L>,
        places: Range<usize>,
        now_nanos: u64,
    ) -> usize {
        self.take_idle(shard, places, now_nanos, |terms, state| {
            let is_impossible = self.limiter.is_impossible(terms, state, now_nanos);
            if is_impossible {
                self.count_healed();
            }
            is_impossible
        })
    }

    /// Removes the keys that were idle at `then_nanos`, now or earlier, and those for which
    /// `is_gone` returns true.
    fn take_idle(
        &self,
        shard: &mut KeyShard<K, L>,
        places: Range<usize>,
        then_nanos: u64,
        is_gone: impl Fn(&L::Terms, &L::State) -> bool,
    ) -> usize {
        let KeyShard { table, terms, horizon_nanos, number, changes, .. } = shard;
        let before = table.len();
        let is_idle = self.limiter.idle_at(terms, then_nanos);
        table.take_out(
            places,
            |entry| {
                let is_gone = || is_gone(terms, &entry.state);
                is_idle(&entry.state)
                    || is_gone() && {
                        *changes = changes.wrapping_add(1);
                        true
                    }
            },
            |entry| {
                *horizon_nanos = (*horizon_nanos).max(then_nanos);
                self.release(*number);
                drop(entry);
            },
        );
        before - table.len()
    }

    pub(super) fn take_out<Q>(&self, shard: &mut KeyShard<K, L>, place: KeyPlace, key: &Q) -> bool
    where
        Q: AsKey<K> + ?Sized,
    {
        self.note_change(shard);
        let removed = shard.table.remove(place.home, key);
        if removed.is_some() {
            self.release(shard.number);
        }
        removed.is_some()
    }
}

impl<K, L: Engine<K>> KeyShard<K, L> {
    /// Returns `now_nanos`, or the horizon if that is later. In a shard whose terms are renewed that is later
    /// by no more than clocks differ.
    pub(in crate::keyed::exact) fn no_earlier_than_forgotten(&self, now_nanos: u64) -> u64 {
        now_nanos.max(self.horizon_nanos)
    }
}
