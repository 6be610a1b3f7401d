//! Who leaves a store, and the place of who comes: reserve, sweep, search, heal.

use core::borrow::Borrow;
use core::mem;
use core::ops::Range;
use core::time::Duration;

use crate::keyed::exact::group_map::KeyEntry;
use crate::keyed::exact::per_key::Engine;
use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::time::units::NANOS_PER_SECOND;

use super::{KeyPlace, KeyShard, SHARDS, Store};

/// Groups of places that a call looks at for an idle key, if there is no room: all of a store
/// of so few keys, or a few of a larger one, where a key that is refused should cost little.
/// (Of `FEW_KEYS` in 128 shards that is some 400 groups, and a lock counts as one. Fewer under
/// loom: every look at a shard is one more turn of a lock.)
const SEARCH_ALL: usize = if cfg!(sluicegate_loom) { 3 } else { 1_024 };
const SEARCH_SOME: usize = if cfg!(sluicegate_loom) { 3 } else { 32 };
const FEW_KEYS: u64 = 1_000;

/// A key that has just become full may well be asked for again soon, and would be put in
/// anew: it is kept for so much longer, if there is room.
pub(super) const GRACE_NANOS: u64 = NANOS_PER_SECOND / 10;

impl<K, L: Engine<K>> Store<K, L> {
    /// Takes a place for one key more; looks for idle keys in the shard if there is none.
    pub(super) fn has_room(
        &self,
        shard: &mut KeyShard<K, L>,
        searched: &mut usize,
    ) -> Option<Reserved<'_>> {
        if self.reserve() {
            return Some(Reserved(&self.keys));
        }
        // Not by the caller's reading, which may be from before the lock.
        let now_nanos = self.limiter.now_nanos();
        for _ in 0..shard.table.groups() {
            *searched += 1;
            if self.clear_group(shard, now_nanos) > 0 && self.reserve() {
                return Some(Reserved(&self.keys));
            }
            if *searched >= self.search() {
                break;
            }
        }
        None
    }

    /// Groups to look at before a key is refused.
    pub(super) fn search(&self) -> usize {
        if self.max_keys > FEW_KEYS { SEARCH_SOME } else { SEARCH_ALL }
    }

    /// Looks for idle keys in other shards, until there is room. No other lock is held.
    pub(super) fn search_elsewhere(&self, searched: &mut usize) {
        while *searched < self.search() && self.len() >= self.max_keys {
            // ORDERING: Relaxed. Any shard will do.
            // MODEL: none.
            let number = self.search.fetch_add(1, Relaxed) as usize % SHARDS;
            let shard = &mut *self.shards[number].write();
            let now_nanos = self.limiter.now_nanos();
            self.settle(shard, now_nanos);
            // One for the lock.
            *searched += 1;
            for _ in 0..shard.table.groups() {
                *searched += 1;
                if self.clear_group(shard, now_nanos) > 0 || *searched >= self.search() {
                    break;
                }
            }
        }
    }

    /// Takes a place for one key more, if there is one: never more than there are.
    fn reserve(&self) -> bool {
        // ORDERING: Relaxed, here and below. The count has one order under any ordering,
        // and says nothing about other memory.
        // MODEL: `a_full_store_takes_no_more_keys`.
        let mut seen = self.keys.load(Relaxed);
        while seen < self.max_keys {
            // ORDERING: Relaxed, as above.
            // MODEL: `a_full_store_takes_no_more_keys`.
            match self.keys.compare_exchange_weak(seen, seen + 1, Relaxed, Relaxed) {
                Ok(_) => return true,
                Err(found) => seen = found,
            }
        }
        false
    }

    /// Gives back the places of keys that have been taken out.
    fn release(&self, keys: usize) {
        if keys > 0 {
            // ORDERING: Relaxed, as in `reserve`.
            // MODEL: `a_place_that_is_given_up_is_taken_once`.
            self.keys.fetch_sub(keys as u64, Relaxed);
        }
    }

    /// Forgets those keys of the shard's next group that were idle at `then_nanos`, now or
    /// earlier, and so still are.
    pub(super) fn sweep_group(&self, shard: &mut KeyShard<K, L>, then_nanos: u64) -> usize {
        let places = shard.table.next_group();
        self.take_idle(shard, places, then_nanos, |_, _| false)
    }

    /// Forgets all keys of a shard that were idle at `then_nanos`, now or earlier.
    pub(super) fn sweep_shard(&self, shard: &mut KeyShard<K, L>, then_nanos: u64) -> usize {
        let places = shard.table.places();
        self.take_idle(shard, places, then_nanos, |_, _| false)
    }

    /// Forgets those keys of the shard's next group that are idle, or whose state no call can have
    /// left: it would not be idle until the clock is where it was, and nobody else could have the
    /// place until then. By a reading that was made under the lock: to an older one, what others
    /// have left since could look like that.
    fn clear_group(&self, shard: &mut KeyShard<K, L>, now_nanos: u64) -> usize {
        let places = shard.table.next_group();
        self.clear_places(shard, places, now_nanos)
    }

    /// The same of a whole shard, and what it knows of those that are not in it.
    pub(in crate::keyed::exact) fn clear_shard(
        &self,
        shard: &mut KeyShard<K, L>,
        now_nanos: u64,
    ) -> usize {
        let before = shard.table.len();
        self.settle(shard, now_nanos);
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

    /// Forgets the keys that were idle at `then_nanos`, now or earlier, and those that are gone
    /// anyhow.
    fn take_idle(
        &self,
        shard: &mut KeyShard<K, L>,
        places: Range<usize>,
        then_nanos: u64,
        is_gone: impl Fn(&L::Terms, &L::State) -> bool,
    ) -> usize {
        let KeyShard { table, terms, horizon_nanos } = shard;
        let before = table.len();
        let is_idle = self.limiter.idle_at(terms, then_nanos);
        table.take_out(
            places,
            |entry| is_idle(&entry.state) || is_gone(terms, &entry.state),
            |entry| {
                *horizon_nanos = (*horizon_nanos).max(then_nanos);
                self.release(1);
                drop(entry);
            },
        );
        before - table.len()
    }

    /// Starts again where the clock has gone back too far: the key, or all keys of its tier.
    pub(super) fn heal<Q>(
        &self,
        shard: &mut KeyShard<K, L>,
        place: KeyPlace,
        key: &Q,
        now_nanos: u64,
    ) where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.settle(shard, now_nanos);
        let is_impossible = |entry: &KeyEntry<K, L::State>| {
            self.limiter.is_impossible(&shard.terms, &entry.state, now_nanos)
        };
        if shard.table.find(place.home, key).is_some_and(is_impossible) {
            // First, as the key's `Drop` may panic.
            self.count_healed();
            self.take_out(shard, place, key);
        }
    }

    /// Has the terms of the shard tell what a key has that is not known, and its horizon
    /// not be further ahead of the clock than clocks are apart. By a reading that was made
    /// under the lock.
    ///
    /// A key that was forgotten was full at the horizon, or before. So it comes back as if
    /// it had been kept if it starts from there; but who asks for it reads `now_nanos`.
    ///
    /// * If the horizon is ahead by no more than clocks are apart, another's clock may well
    ///   show that time now: the key is put in, and asked, by that reading.
    /// * If it is further ahead, that would be to grant what is not earned for long. So the
    ///   level that the key would be put in with is kept for all that are not known,
    ///   and they are asked by the clock as it is. It is no lower than the level that any
    ///   of them had when it was forgotten, for levels do not fall as readings rise; so
    ///   nothing more has to be known of the horizon, and from here on it is `now_nanos`.
    /// * If at that level a key had a debt that no call can have left, the clock has gone
    ///   back for good. A key that had been kept would heal, and start again from full; so do
    ///   those that are not known, and that is counted.
    pub(in crate::keyed::exact) fn settle(&self, shard: &mut KeyShard<K, L>, now_nanos: u64) {
        let KeyShard { table, terms, horizon_nanos } = shard;
        let Some(settled) = self.limiter.settled(terms, *horizon_nanos, now_nanos) else { return };
        if settled.has_healed {
            // What these terms cannot tell the time of starts again with the new ones.
            let is_lost = |entry: &KeyEntry<_, _>| {
                self.limiter.is_out_of_range(terms, &entry.state, now_nanos)
            };
            table.take_out(table.places(), is_lost, |entry| {
                self.release(1);
                drop(entry);
            });
            table.shrink();
            self.count_healed();
        }
        *terms = settled.terms;
        *horizon_nanos = now_nanos.min(*horizon_nanos);
    }

    fn count_healed(&self) {
        // ORDERING: Relaxed, as in `healed`.
        // MODEL: none.
        self.healed.fetch_add(1, Relaxed);
    }

    pub(super) fn take_out<Q>(&self, shard: &mut KeyShard<K, L>, place: KeyPlace, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let removed = shard.table.remove(place.home, key);
        self.release(usize::from(removed.is_some()));
        removed.is_some()
    }
}

/// A place that was taken for one key more. It is given back if that is not put in after all,
/// because what is the caller's own panics, such as the `Drop` of a key that leaves.
#[must_use = "the place is given back at once"]
pub(super) struct Reserved<'a>(&'a AtomicWord<u64>);

impl Reserved<'_> {
    /// The key is in.
    pub(super) fn keep(self) {
        mem::forget(self);
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        // ORDERING: Relaxed, as in `Store::release`.
        // MODEL: none; without a panic nothing is given back here.
        self.0.fetch_sub(1, Relaxed);
    }
}

impl<K, L: Engine<K>> KeyShard<K, L> {
    /// `now_nanos`, but not before the last key was forgotten. In a shard that is settled
    /// that is no more than clocks are apart.
    pub(in crate::keyed::exact) fn no_earlier_than_forgotten(&self, now_nanos: u64) -> u64 {
        now_nanos.max(self.horizon_nanos)
    }

    /// How long until one of its keys is idle: of as many as are worth a look.
    pub(super) fn soonest(&self, limiter: &L, now_nanos: u64) -> Duration {
        let waits = self.table.iter().take(SEARCH_SOME);
        let waits = waits.map(|entry| limiter.idle_after(&self.terms, &entry.state, now_nanos));
        // Of other shards nothing is known, and who is idle already was not come by: not at once,
        // or a caller that obeys would spin.
        waits.filter(|wait| !wait.is_zero()).min().unwrap_or(Duration::from_nanos(GRACE_NANOS))
    }
}
