//! The shards, and calls that look at a key or change it. Spending is in `spend`, eviction in `evict` and `forget`, the search
//! for space in a full store in `search` and `last_search`, healing in `heal`.

mod evict;
mod forget;
pub(crate) mod group;
mod heal;
mod last_search;
mod place;
mod search;
mod spend;
mod with;

use alloc::boxed::Box;
use core::ops::Range;
use core::time::Duration;

use crossbeam_utils::CachePadded;

use crate::bits::Field;
use crate::decision::grant::Grant;
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, SharedLock};

use super::as_key::AsKey;
use super::group_map::{GroupMap, KeyEntry};
use super::per_key::Engine;

use self::last_search::LastSearch;
use self::place::SHARDS;
use self::search::Search;

pub(super) use self::place::KeyPlace;

/// Some of the keys, under one lock.
pub(super) struct KeyShard<K, L: Engine<K>> {
    pub(super) table: GroupMap<K, L::State>,
    pub(super) terms: L::Terms,
    /// The latest time at which an evicted key was idle. A key that is inserted starts from
    /// this time if its caller's clock is behind.
    horizon_nanos: u64,
    /// The number of the shard.
    number: usize,
    /// Number of times that a level may have fallen otherwise than by a reservation that was given
    /// back.
    changes: u64,
    /// Readings of the clock by which no key of the shard is idle, of a store that is searched completely;
    /// empty if that is not known.
    none_idle: Range<u64>,
}

struct LockedShard<K, L: Engine<K>> {
    shard: SharedLock<KeyShard<K, L>>,
    /// [`NEXT_IS_NEW`] and [`KEYS`]. Written under the exclusive lock; read beside it.
    tally: AtomicWord<u64>,
}

/// A guess at the next key: 1 if it is new, because the last one was.
const NEXT_IS_NEW: Field = Field::low(1);

/// Keys in the shard, and the one being inserted, of a store whose shards count theirs.
const KEYS: Field = NEXT_IS_NEW.then(63);

/// All keys.
pub(super) struct Store<K, L: Engine<K>> {
    shards: Box<[CachePadded<LockedShard<K, L>>]>,
    pub(super) limiter: L,
    max_keys: u64,
    /// The last search, if a full store is searched completely before a key is refused.
    last_search: Option<LastSearch>,
    /// Keys in the store, and those being inserted, unless the shards count theirs.
    keys: AtomicWord<u64>,
    /// The shard in which the next search for space begins.
    next_search: AtomicWord<u64>,
    healed: AtomicWord<u64>,
}

/// The result for a key for which there is no space.
#[derive(Clone, Copy)]
pub(super) struct NoRoom {
    /// The grant that a new key would have received.
    pub(super) fresh: Grant,
    pub(super) retry_after: Duration,
}

impl<K, L: Engine<K>> Store<K, L> {
    pub(super) fn new(limiter: L, max_keys: usize, searches_all: bool) -> Store<K, L> {
        let shard = |number| KeyShard {
            table: GroupMap::new(),
            terms: limiter.terms(),
            horizon_nanos: 0,
            number,
            changes: 0,
            none_idle: 0..0,
        };
        let locked = |number| LockedShard {
            shard: SharedLock::new(shard(number)),
            tally: AtomicWord::new(0),
        };
        let shards = (0..SHARDS).map(|number| CachePadded::new(locked(number))).collect();
        Store {
            shards,
            limiter,
            max_keys: max_keys as u64,
            last_search: searches_all.then(LastSearch::new),
            keys: AtomicWord::new(0),
            next_search: AtomicWord::new(0),
            healed: AtomicWord::new(0),
        }
    }

    pub(super) fn max_keys(&self) -> u64 {
        self.max_keys
    }

    pub(super) fn len(&self) -> u64 {
        // ORDERING: Relaxed, here and below. A count; no decision depends on it.
        // MODEL: none.
        let together = self.keys.load(Relaxed);
        if !self.is_vast() {
            return together;
        }
        // ORDERING: Relaxed, as above.
        // MODEL: none.
        self.shards.iter().map(|locked| KEYS.get(locked.tally.load(Relaxed))).sum()
    }

    pub(super) fn healed(&self) -> u64 {
        // ORDERING: Relaxed, as in `len`.
        // MODEL: none.
        self.healed.load(Relaxed)
    }

    pub(super) fn shards(&self) -> impl Iterator<Item = &SharedLock<KeyShard<K, L>>> {
        self.shards.iter().map(|locked| &locked.shard)
    }

    /// Returns what `look` returns for the terms of the shard that a change reaches last.
    pub(super) fn terms_in_force<T>(&self, look: impl Fn(&L::Terms) -> T) -> T {
        look(&self.shards[SHARDS - 1].shard.read().terms)
    }

    #[inline]
    pub(super) fn shard_of(&self, place: KeyPlace) -> &SharedLock<KeyShard<K, L>> {
        &self.shards[place.shard % SHARDS].shard
    }

    /// Removes the key, whatever its state.
    pub(super) fn remove<Q>(&self, place: KeyPlace, key: &Q) -> bool
    where
        Q: AsKey<K> + ?Sized,
    {
        self.take_out(&mut self.shard_of(place).write(), place, key)
    }

    /// Returns what `look` returns for the key under the lock, or for a fresh state if it is
    /// unknown.
    pub(super) fn look<Q, T>(
        &self,
        place: KeyPlace,
        key: &Q,
        look: impl Fn(&L::Terms, &L::State, u64) -> T,
    ) -> T
    where
        Q: AsKey<K> + ?Sized,
    {
        {
            let shard = &*self.shard_of(place).read();
            let now_nanos = self.limiter.now_nanos();
            let entry = shard.table.find(place.home, key);
            let KeyShard { terms, horizon_nanos, .. } = shard;
            let has_to_heal = match entry {
                Some(entry) => self.limiter.is_impossible(terms, &entry.state, now_nanos),
                None => self.limiter.renewed_terms(terms, *horizon_nanos, now_nanos).is_some(),
            };
            if !has_to_heal {
                return self.look_in(shard, entry, key, now_nanos, look);
            }
        }
        let shard = &mut *self.shard_of(place).write();
        let now_nanos = self.limiter.now_nanos();
        self.heal(shard, place, key, now_nanos);
        let entry = shard.table.find(place.home, key);
        self.look_in(shard, entry, key, now_nanos, look)
    }

    fn look_in<Q, T>(
        &self,
        shard: &KeyShard<K, L>,
        entry: Option<&KeyEntry<K, L::State>>,
        key: &Q,
        now_nanos: u64,
        look: impl Fn(&L::Terms, &L::State, u64) -> T,
    ) -> T
    where
        Q: AsKey<K> + ?Sized,
    {
        if let Some(entry) = entry {
            return look(&shard.terms, &entry.state, now_nanos);
        }
        let now_nanos = shard.no_earlier_than_forgotten(now_nanos);
        let state = self.limiter.fresh(&shard.terms, &key.to_key(), now_nanos);
        look(&shard.terms, &state, now_nanos)
    }

    /// Returns what `look` returns for the state of the key, if the key is known. The lock is held
    /// shared.
    pub(super) fn known<Q, T>(
        &self,
        place: KeyPlace,
        key: &Q,
        look: impl FnOnce(&L::State) -> T,
    ) -> Option<T>
    where
        Q: AsKey<K> + ?Sized,
    {
        let shard = self.shard_of(place).read();
        Some(look(&shard.table.find(place.home, key)?.state))
    }

    /// Returns whether the key is known.
    pub(super) fn has<Q>(&self, place: KeyPlace, key: &Q) -> bool
    where
        Q: AsKey<K> + ?Sized,
    {
        self.shard_of(place).read().table.find(place.home, key).is_some()
    }

    /// Changes the state of a key that is known.
    pub(super) fn change<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
        change: impl FnOnce(&L::Terms, &mut KeyEntry<K, L::State>, u64),
    ) -> bool
    where
        Q: AsKey<K> + ?Sized,
    {
        let shard = &mut *self.shard_of(place).write();
        self.note_change(shard);
        let now_nanos = self.limiter.now_nanos();
        let found = shard.table.find_mut(place.home, key);
        found.map(|entry| change(&shard.terms, entry, now_nanos)).is_some()
    }

    /// Changes the state of a key that is known, and that does not have to heal.
    pub(super) fn change_healed<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
        change: impl FnOnce(&L::Terms, &mut L::State, u64),
    ) where
        Q: AsKey<K> + ?Sized,
    {
        let shard = &mut *self.shard_of(place).write();
        let now_nanos = self.limiter.now_nanos();
        self.heal(shard, place, key, now_nanos);
        self.note_change(shard);
        if let Some(entry) = shard.table.find_mut(place.home, key) {
            change(&shard.terms, &mut entry.state, now_nanos);
        }
    }

    /// Inserts a key with the state that `change` makes of a fresh one, or changes the state
    /// that is there. Returns whether there was space.
    pub(super) fn put(
        &self,
        place: KeyPlace,
        key: K,
        change: impl Fn(&L::Terms, &mut L::State, u64),
    ) -> bool
    where
        K: Eq,
    {
        let mut search = Search::of(place);
        loop {
            {
                let shard = &mut *self.shard_of(place).write();
                let now_nanos = self.limiter.now_nanos();
                self.renew_terms(shard, now_nanos);
                self.note_change(shard);
                if let Some(entry) = shard.table.find_equal_mut(place.home, &key) {
                    change(&shard.terms, &mut entry.state, now_nanos);
                    return true;
                }
                let now_nanos = shard.no_earlier_than_forgotten(now_nanos);
                let mut state = self.limiter.fresh(&shard.terms, &key, now_nanos);
                change(&shard.terms, &mut state, now_nanos);
                if self.limiter.is_idle(&shard.terms, &state, now_nanos) {
                    return true;
                }
                if let Some(reserved) = self.has_room(shard, &mut search, now_nanos) {
                    shard.table.insert(place.home, key, state);
                    reserved.keep();
                    return true;
                }
                if self.is_over(&search) {
                    return false;
                }
            }
            self.search_elsewhere(&mut search);
        }
    }
}
