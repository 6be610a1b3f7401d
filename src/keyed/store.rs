//! The shards, and what a call does in them: find, decide, put in, take out.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use core::borrow::Borrow;
use core::time::Duration;

use crossbeam_utils::CachePadded;

use crate::bits::Field;
use crate::sync::{AtomicWord, Ordering::Relaxed, SharedLock};
use crate::time::{NANOS_PER_SECOND, SKEW_NANOS};
use crate::{Denied, Grant};

use super::per_key::{Answer, Engine};
use super::table::{Entry, Home, Table};

/// How many shards there are. A shard is locked to put a key in, and then the others are
/// free; and the time to make one larger is a part of the whole in so many.
const SHARDS: usize = 1 << SHARD_BITS;
const SHARD_BITS: u32 = 7;

// Where a key belongs, from the top of its hash, which is multiplied first: the hasher may
// be a weak one.
const HOME: Field = Field::low(64 - SHARD_BITS - 32).then(32);
const SHARD: Field = HOME.then(SHARD_BITS);
const _: () = assert!(SHARD.end() == u64::BITS);

/// Groups of places that a call looks at for an idle key, if there is no room.
const SEARCH: usize = 256;

/// A key that has just become full may well be asked for again soon, and would be put in
/// anew: it is kept for so much longer, if there is room.
const GRACE_NANOS: u64 = NANOS_PER_SECOND / 10;

/// Where a key belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    shard: usize,
    home: Home,
}

impl Place {
    #[inline]
    pub(super) fn of_hash(hash: u64) -> Place {
        let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Place { shard: SHARD.get(mixed) as usize, home: Home::new(HOME.get(mixed) as u32) }
    }
}

/// Some of the keys, under one lock.
pub(super) struct Shard<K, L: Engine<K>> {
    pub(super) table: Table<K, L::State>,
    pub(super) terms: L::Terms,
    /// The latest time at which a key that was forgotten was idle. A key that is put in
    /// starts from then, if its caller's clock is behind.
    horizon_nanos: u64,
}

type Locked<K, L> = CachePadded<SharedLock<Shard<K, L>>>;

/// All keys.
pub(super) struct Store<K, L: Engine<K>> {
    shards: Box<[Locked<K, L>]>,
    pub(super) limiter: L,
    max_keys: u64,
    /// Keys that are in, or being put in.
    keys: AtomicWord<u64>,
    /// The shard in which room is looked for next.
    search: AtomicWord<u64>,
    healed: AtomicWord<u64>,
}

/// A key for which there is no room.
pub(super) struct NoRoom {
    /// How it would stand.
    pub(super) fresh: Grant,
    pub(super) retry_after: Duration,
}

impl<K, L: Engine<K>> Store<K, L> {
    pub(super) fn new(limiter: L, max_keys: usize) -> Store<K, L> {
        let shard = || Shard { table: Table::new(), terms: limiter.terms(), horizon_nanos: 0 };
        let shards = (0..SHARDS).map(|_| CachePadded::new(SharedLock::new(shard()))).collect();
        Store {
            shards,
            limiter,
            max_keys: max_keys as u64,
            keys: AtomicWord::new(0),
            search: AtomicWord::new(0),
            healed: AtomicWord::new(0),
        }
    }

    pub(super) fn max_keys(&self) -> u64 {
        self.max_keys
    }

    pub(super) fn len(&self) -> u64 {
        // ORDERING: Relaxed. A count; nothing is decided by it.
        // MODEL: none.
        self.keys.load(Relaxed)
    }

    pub(super) fn healed(&self) -> u64 {
        // ORDERING: Relaxed, as in `len`.
        // MODEL: none.
        self.healed.load(Relaxed)
    }

    pub(super) fn shards(&self) -> impl Iterator<Item = &SharedLock<Shard<K, L>>> {
        self.shards.iter().map(|shard| &**shard)
    }

    /// What `look` makes of the terms of the shard to which a change comes last.
    pub(super) fn terms_in_force<T>(&self, look: impl Fn(&L::Terms) -> T) -> T {
        look(&self.shards[SHARDS - 1].read().terms)
    }

    #[inline]
    fn shard_of(&self, place: Place) -> &SharedLock<Shard<K, L>> {
        &self.shards[place.shard % SHARDS]
    }

    /// What `ask` makes of the key, if it is known and its state is one that can be.
    #[inline(always)]
    pub(super) fn spend_known<Q>(
        &self,
        place: Place,
        key: &Q,
        ask: impl FnOnce(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Option<Result<Grant, Denied>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        // Before the lock, which is held the shorter. A key that is in has a level that is
        // not lowered by an early reading; only what is put in needs a later one.
        let now_nanos = self.limiter.now_nanos();
        let shard = self.shard_of(place).read();
        let entry = shard.table.find(place.home, key)?;
        match ask(&self.limiter, &shard.terms, &entry.state, now_nanos) {
            Answer::Said(answer) => Some(answer),
            Answer::Impossible(_) => None,
        }
    }

    /// What `ask` makes of the key, which is put in if something is granted to it.
    pub(super) fn spend<Q>(
        &self,
        place: Place,
        key: &Q,
        ask: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<Result<Grant, Denied>, NoRoom>
    where
        K: Borrow<Q>,
        Q: Eq + ToOwned<Owned = K> + ?Sized,
    {
        let mut searched = 0;
        loop {
            {
                let shard = &mut *self.shard_of(place).write();
                // After the lock, so no earlier than the reading by which a state of this
                // key was found to be idle.
                let now_nanos = self.limiter.now_nanos();
                self.heal(shard, place, key, now_nanos);
                if let Some(entry) = shard.table.find(place.home, key) {
                    let answer = ask(&self.limiter, &shard.terms, &entry.state, now_nanos);
                    let (Answer::Said(answer) | Answer::Impossible(answer)) = answer;
                    return Ok(answer);
                }
                let now_nanos = shard.no_earlier_than_forgotten(now_nanos);
                let key = key.to_owned();
                let state = self.limiter.fresh(&shard.terms, &key, now_nanos);
                let answer = ask(&self.limiter, &shard.terms, &state, now_nanos);
                let (Answer::Said(answer) | Answer::Impossible(answer)) = answer;
                let fresh = match answer {
                    // What was granted has to be remembered.
                    Ok(grant) if !self.limiter.is_idle(&shard.terms, &state, now_nanos) => grant,
                    answer => return Ok(answer),
                };
                self.sweep_group(shard, now_nanos.saturating_sub(GRACE_NANOS));
                if self.has_room(shard, now_nanos, &mut searched) {
                    if shard.table.is_full() {
                        // All would be moved anyway, so first see who need not be.
                        self.sweep_shard(shard, now_nanos.saturating_sub(GRACE_NANOS));
                        shard.table.make_room();
                    }
                    shard.table.insert(place.home, key, state);
                    return Ok(Ok(fresh));
                }
                if searched >= SEARCH {
                    let retry_after = shard.soonest(&self.limiter, now_nanos);
                    return Err(NoRoom { fresh, retry_after });
                }
            }
            self.search_elsewhere(&mut searched);
        }
    }

    /// Takes a place for one key more; looks for idle keys in the shard if there is none.
    fn has_room(&self, shard: &mut Shard<K, L>, now_nanos: u64, searched: &mut usize) -> bool {
        if self.reserve() {
            return true;
        }
        for _ in 0..shard.table.groups() {
            *searched += 1;
            if self.sweep_group(shard, now_nanos) > 0 && self.reserve() {
                return true;
            }
            if *searched >= SEARCH {
                break;
            }
        }
        false
    }

    /// Looks for idle keys in other shards, until there is room. No other lock is held.
    fn search_elsewhere(&self, searched: &mut usize) {
        while *searched < SEARCH && self.len() >= self.max_keys {
            // ORDERING: Relaxed. Any shard will do.
            // MODEL: none.
            let number = self.search.fetch_add(1, Relaxed) as usize % SHARDS;
            let shard = &mut *self.shards[number].write();
            let now_nanos = self.limiter.now_nanos();
            // One for the lock.
            *searched += 1;
            for _ in 0..shard.table.groups() {
                *searched += 1;
                if self.sweep_group(shard, now_nanos) > 0 || *searched >= SEARCH {
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
            // MODEL: `a_full_store_takes_no_more_keys`.
            self.keys.fetch_sub(keys as u64, Relaxed);
        }
    }

    /// Forgets those keys of the shard's next group that were idle at `then_nanos`, now or
    /// earlier, and so still are.
    fn sweep_group(&self, shard: &mut Shard<K, L>, then_nanos: u64) -> usize {
        let Shard { table, terms, horizon_nanos } = shard;
        let before = table.len();
        table.sweep_group(
            |entry| self.limiter.is_idle(terms, &entry.state, then_nanos),
            |entry| {
                *horizon_nanos = (*horizon_nanos).max(then_nanos);
                self.release(1);
                drop(entry);
            },
        );
        before - table.len()
    }

    /// Forgets all keys of a shard that were idle at `then_nanos`, now or earlier.
    pub(super) fn sweep_shard(&self, shard: &mut Shard<K, L>, then_nanos: u64) -> usize {
        (0..shard.table.groups()).map(|_| self.sweep_group(shard, then_nanos)).sum()
    }

    /// Starts again where the clock has gone back too far: the key, or the shard.
    fn heal<Q>(&self, shard: &mut Shard<K, L>, place: Place, key: &Q, now_nanos: u64)
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        if let Some(terms) = self.limiter.healed(&shard.terms, now_nanos) {
            shard.terms = terms;
            shard.horizon_nanos = 0;
            let old = shard.table.take_all();
            self.release(old.len());
        } else {
            let is_impossible = |entry: &Entry<K, L::State>| {
                self.limiter.is_impossible(&shard.terms, &entry.state, now_nanos)
            };
            if !shard.table.find(place.home, key).is_some_and(is_impossible) {
                return;
            }
            self.take_out(shard, place, key);
        }
        // ORDERING: Relaxed, as in `healed`.
        // MODEL: none.
        self.healed.fetch_add(1, Relaxed);
    }

    fn take_out<Q>(&self, shard: &mut Shard<K, L>, place: Place, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let removed = shard.table.remove(place.home, key);
        self.release(usize::from(removed.is_some()));
        removed.is_some()
    }

    /// Forgets the key, whatever its state.
    pub(super) fn remove<Q>(&self, place: Place, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.take_out(&mut self.shard_of(place).write(), place, key)
    }

    /// What `look` makes of the key under the lock; of a fresh state if it is not known.
    pub(super) fn look<Q, T>(
        &self,
        place: Place,
        key: &Q,
        look: impl Fn(&L::Terms, &L::State, u64) -> T,
    ) -> T
    where
        K: Borrow<Q>,
        Q: Eq + ToOwned<Owned = K> + ?Sized,
    {
        let shard = self.shard_of(place).read();
        let now_nanos = self.limiter.now_nanos();
        if let Some(entry) = shard.table.find(place.home, key) {
            return look(&shard.terms, &entry.state, now_nanos);
        }
        let now_nanos = shard.no_earlier_than_forgotten(now_nanos);
        let state = self.limiter.fresh(&shard.terms, &key.to_owned(), now_nanos);
        look(&shard.terms, &state, now_nanos)
    }

    /// Whether the key is known.
    pub(super) fn has<Q>(&self, place: Place, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        self.shard_of(place).read().table.find(place.home, key).is_some()
    }

    /// Changes the state of a key that is known.
    pub(super) fn change<Q>(
        &self,
        place: Place,
        key: &Q,
        change: impl FnOnce(&L::Terms, &mut Entry<K, L::State>, u64),
    ) -> bool
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let shard = &mut *self.shard_of(place).write();
        let now_nanos = self.limiter.now_nanos();
        let found = shard.table.find_mut(place.home, key);
        found.map(|entry| change(&shard.terms, entry, now_nanos)).is_some()
    }

    /// Puts a key in with the state that `change` makes of a fresh one, or of the one that
    /// is there. Whether there was room.
    pub(super) fn put(
        &self,
        place: Place,
        key: K,
        change: impl FnOnce(&L::Terms, &mut L::State, u64),
    ) -> bool
    where
        K: Eq,
    {
        let shard = &mut *self.shard_of(place).write();
        let now_nanos = self.limiter.now_nanos();
        if let Some(entry) = shard.table.find_mut(place.home, &key) {
            change(&shard.terms, &mut entry.state, now_nanos);
            return true;
        }
        let now_nanos = shard.no_earlier_than_forgotten(now_nanos);
        let mut state = self.limiter.fresh(&shard.terms, &key, now_nanos);
        change(&shard.terms, &mut state, now_nanos);
        if self.limiter.is_idle(&shard.terms, &state, now_nanos) {
            return true;
        }
        let has_room = self.has_room(shard, now_nanos, &mut 0);
        if has_room {
            shard.table.insert(place.home, key, state);
        }
        has_room
    }
}

impl<K, L: Engine<K>> Shard<K, L> {
    /// `now_nanos`, but not before the last key was forgotten. (A clock that has gone back
    /// by more than clocks differ is believed.)
    fn no_earlier_than_forgotten(&self, now_nanos: u64) -> u64 {
        let ahead = self.horizon_nanos.saturating_sub(now_nanos);
        if ahead > SKEW_NANOS { now_nanos } else { now_nanos + ahead }
    }

    /// How long until one of its keys is idle: of as many as are worth a look.
    fn soonest(&self, limiter: &L, now_nanos: u64) -> Duration {
        let waits = self.table.iter().take(SEARCH);
        let waits = waits.map(|entry| limiter.idle_after(&self.terms, &entry.state, now_nanos));
        // There is no other with this wait if the shard is empty: ask again at once.
        waits.min().unwrap_or(Duration::ZERO)
    }
}
