//! The shards, and the steps of a call in them: find, decide, insert. Eviction is in `evict`,
//! healing in `heal`.

mod evict;
pub(crate) mod group;
mod heal;
mod place;
mod with;

use alloc::boxed::Box;
use core::time::Duration;

use crossbeam_utils::CachePadded;

use crate::bits::Field;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, SharedLock};

use super::as_key::AsKey;
use super::group_map::{GroupMap, KeyEntry};
use super::per_key::{Answer, Engine};

use self::place::SHARDS;

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
}

/// Whether callers guess that a key is new. (Not under loom: a call that guesses wrong is decided as one
/// is that found no key, and then the key that another caller has inserted meanwhile. Two calls after
/// an insertion would not race under the shared lock any more, which most models are about.)
const GUESSES: bool = !cfg!(sluicegate_loom);

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
    /// Keys in the store, and those being inserted, unless the shards count theirs.
    keys: AtomicWord<u64>,
    /// The shard in which the next search for space begins.
    search: AtomicWord<u64>,
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
    pub(super) fn new(limiter: L, max_keys: usize) -> Store<K, L> {
        let shard = |number| KeyShard {
            table: GroupMap::new(),
            terms: limiter.terms(),
            horizon_nanos: 0,
            number,
            changes: 0,
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
            keys: AtomicWord::new(0),
            search: AtomicWord::new(0),
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
    fn shard_of(&self, place: KeyPlace) -> &SharedLock<KeyShard<K, L>> {
        &self.shards[place.shard % SHARDS].shard
    }

    /// Returns whether the next key of the shard is likely to be a new one: the call for it then takes
    /// the exclusive lock at once.
    #[inline(always)]
    pub(super) fn expects_new(&self, place: KeyPlace) -> bool {
        // ORDERING: Relaxed. A guess; the call is decided in the same way under either lock.
        // MODEL: none; see `GUESSES`.
        GUESSES && NEXT_IS_NEW.get(self.shards[place.shard % SHARDS].tally.load(Relaxed)) != 0
    }

    /// Guesses that the next key of the shard is like this one. The caller holds the exclusive lock.
    #[inline(always)]
    fn guess_next(&self, place: KeyPlace, is_new: bool) {
        if GUESSES {
            let tally = &self.shards[place.shard % SHARDS].tally;
            // ORDERING: Relaxed, here and below. The exclusive lock of the shard is held.
            // MODEL: none; see `GUESSES`.
            let keys = KEYS.get(tally.load(Relaxed));
            // ORDERING: Relaxed, as above.
            // MODEL: none; see `GUESSES`.
            tally.store(KEYS.put(keys) | NEXT_IS_NEW.put(u64::from(is_new)), Relaxed);
        }
    }

    /// Spends for the key by `acquire`, if it is known and its state is possible. Otherwise
    /// returns the clock reading by which a key may be inserted, or `None` if that must be
    /// made under the lock.
    #[inline(always)]
    pub(super) fn spend_known<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
        acquire: impl FnOnce(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<Result<Grant, Denied>, Option<u64>>
    where
        Q: AsKey<K> + ?Sized,
    {
        // Reads the clock before taking the lock, to hold it for a shorter time. An early
        // reading does not lower the level of a known key; only an insertion needs a later
        // one.
        self.spend_known_by(self.limiter.now_nanos(), place, key, acquire)
    }

    /// Does the same by a reading of the clock.
    #[inline(always)]
    pub(super) fn spend_known_by<Q>(
        &self,
        now_nanos: u64,
        place: KeyPlace,
        key: &Q,
        acquire: impl FnOnce(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<Result<Grant, Denied>, Option<u64>>
    where
        Q: AsKey<K> + ?Sized,
    {
        let shard = self.shard_of(place).read();
        let Some(entry) = shard.table.find(place.home, key) else {
            // Inserting this key will write to the one, and sweep the other.
            shard.table.fetch_free(place.home);
            shard.table.fetch_next_group();
            return Err(Some(now_nanos));
        };
        match acquire(&self.limiter, &shard.terms, &entry.state, now_nanos) {
            Answer::Said(answer) => Ok(answer),
            Answer::Impossible(_) => Err(None),
        }
    }

    /// Spends for the key by `acquire`, and inserts the key if it is not there and something is granted.
    /// The state is this call's alone. Uses the caller's earlier clock reading where it is as good
    /// as a new one. If there is no space, returns the answer of `no_room`.
    pub(super) fn spend<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
        reading_nanos: Option<u64>,
        acquire: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
        no_room: impl FnOnce(NoRoom) -> Result<Grant, Denied>,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let (mut searched, mut reading_nanos) = (0, reading_nanos);
        loop {
            {
                let shard = &mut *self.shard_of(place).write();
                shard.table.fetch_next_group();
                let known = shard.table.find(place.home, key);
                let early_nanos = reading_nanos.take().filter(|&reading_nanos| {
                    known.is_some() || self.is_late_enough(shard, reading_nanos)
                });
                let (known, now_nanos) = match early_nanos {
                    Some(early_nanos) => (known, early_nanos),
                    None => {
                        let now_nanos = self.healed_at(shard, place, key);
                        (shard.table.find(place.home, key), now_nanos)
                    }
                };
                let mut new = None;
                let state = match known {
                    Some(entry) => &entry.state,
                    None => {
                        shard.table.fetch_free(place.home);
                        let owned = key.to_key();
                        let state = self.limiter.fresh(&shard.terms, &owned, now_nanos);
                        &new.insert((owned, state)).1
                    }
                };
                let answer = acquire(&self.limiter, &shard.terms, state, now_nanos);
                let answer = match answer {
                    Answer::Said(answer) => answer,
                    // By a reading that is from long before, a state that others have left meanwhile looks
                    // like one from ahead of the clock. So asks again by one under the lock, and heals.
                    Answer::Impossible(_) if new.is_none() && early_nanos.is_some() => continue,
                    Answer::Impossible(answer) => answer,
                };
                let Some((owned, state)) = new else {
                    self.guess_next(place, false);
                    return answer;
                };
                // Anything taken has to be stored, even less than a permit.
                let has_taken = answer.is_ok_and(|grant| {
                    grant.permits() > 0 || self.limiter.is_begun(&shard.terms, &state, now_nanos)
                });
                if !has_taken {
                    return answer;
                }
                self.sweep_in_turn(shard, now_nanos);
                if let Some(reserved) = self.has_room(shard, &mut searched) {
                    self.make_room(shard, now_nanos);
                    shard.table.insert(place.home, owned, state);
                    reserved.keep();
                    self.guess_next(place, true);
                    return answer;
                }
                if searched >= self.search() {
                    let retry_after = shard.soonest(&self.limiter, now_nanos);
                    return answer.and_then(|fresh| no_room(NoRoom { fresh, retry_after }));
                }
            }
            self.search_elsewhere(&mut searched);
        }
    }

    /// Reads the clock under the lock, and heals what has to heal. Returns the time by which the key is
    /// to be decided.
    #[cold]
    #[inline(never)]
    fn healed_at<Q>(&self, shard: &mut KeyShard<K, L>, place: KeyPlace, key: &Q) -> u64
    where
        Q: AsKey<K> + ?Sized,
    {
        let now_nanos = self.limiter.now_nanos();
        self.heal(shard, place, key, now_nanos);
        if shard.table.find(place.home, key).is_some() {
            return now_nanos;
        }
        shard.no_earlier_than_forgotten(now_nanos)
    }

    /// Returns whether a key that is not there can be inserted by a clock reading from before the lock:
    /// if no key was evicted by a later reading. Otherwise that reading is not as good as one made
    /// under the lock. It may be from long before, because the caller may have been suspended since,
    /// and a key that was evicted meanwhile would come back with more than it had then.
    #[inline]
    fn is_late_enough(&self, shard: &KeyShard<K, L>, reading_nanos: u64) -> bool {
        let KeyShard { terms, horizon_nanos, .. } = shard;
        reading_nanos >= *horizon_nanos
            && self.limiter.settled(terms, *horizon_nanos, reading_nanos).is_none()
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
                None => self.limiter.settled(terms, *horizon_nanos, now_nanos).is_some(),
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
        shard.note_change();
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
        shard.note_change();
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
        let mut searched = 0;
        loop {
            {
                let shard = &mut *self.shard_of(place).write();
                let now_nanos = self.limiter.now_nanos();
                self.settle(shard, now_nanos);
                shard.note_change();
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
                if let Some(reserved) = self.has_room(shard, &mut searched) {
                    shard.table.insert(place.home, key, state);
                    reserved.keep();
                    return true;
                }
                if searched >= self.search() {
                    return false;
                }
            }
            self.search_elsewhere(&mut searched);
        }
    }
}
