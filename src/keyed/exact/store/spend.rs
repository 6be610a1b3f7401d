//! Spending for a key: under the shared lock if it is known, and otherwise under the exclusive one, where
//! it is inserted.
//!
//! New keys tend to come one after another, as when a server starts, or under an attack. So a call that
//! follows an insertion in its shard guesses that its key is new, too, and takes the exclusive lock
//! at once. If the key is known after all, the call is decided there, and the next one guesses the opposite.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::exact::as_key::AsKey;
use crate::keyed::exact::per_key::{Answer, Engine};
use crate::sync::Ordering::Relaxed;

use super::search::Search;
use super::{KEYS, KeyEntry, KeyPlace, KeyShard, NEXT_IS_NEW, NoRoom, SHARDS, Store};

/// True if callers guess that a key is new. (Not under loom. A call that guesses wrong is decided like one
/// that did not find the key, because another caller inserted it only then; models have such calls. And
/// two calls after an insertion would no longer race under the shared lock, as in most models.)
const GUESSES: bool = !cfg!(sluicegate_loom);

impl<K, L: Engine<K>> Store<K, L> {
    /// Spends for the key by `acquire`, if it is known and its state is possible. Otherwise
    /// returns the clock reading by which a key may be inserted, or `None` if that must be
    /// made under the lock.
    #[inline(always)]
    pub(in crate::keyed::exact) fn spend_known<Q>(
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
    pub(in crate::keyed::exact) fn spend_known_by<Q>(
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
        let Some(entry) = shard.find(place, key) else { return Err(Some(now_nanos)) };
        match acquire(&self.limiter, &shard.terms, &entry.state, now_nanos) {
            Answer::Said(answer) => Ok(answer),
            Answer::Impossible(_) => Err(None),
        }
    }

    /// Spends for the key by `acquire`, and inserts the key if it is not there and something is granted.
    /// The state is this call's alone. Uses the caller's earlier clock reading where it is as good
    /// as a new one. If there is no space, returns the answer of `no_room`.
    pub(in crate::keyed::exact) fn spend<Q>(
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
        let (mut search, mut reading_nanos) = (Search::of(place), reading_nanos);
        loop {
            {
                let shard = &mut *self.shard_of(place).write();
                shard.table.fetch_next_group();
                let known = shard.table.find(place.home, key);
                let early_nanos = reading_nanos.take().filter(|&reading_nanos| {
                    known.is_some() || self.is_late_enough(shard, reading_nanos)
                });
                let (known, now_nanos) = if let Some(early_nanos) = early_nanos {
                    (known, early_nanos)
                } else {
                    let now_nanos = self.healed_at(shard, place, key);
                    (shard.table.find(place.home, key), now_nanos)
                };
                let mut new = None;
                let state = if let Some(entry) = known {
                    &entry.state
                } else {
                    shard.table.fetch_free(place.home);
                    let owned = key.to_key();
                    let state = self.limiter.fresh(&shard.terms, &owned, now_nanos);
                    &new.insert((owned, state)).1
                };
                let answer = acquire(&self.limiter, &shard.terms, state, now_nanos);
                let answer = match answer {
                    // By a reading that is from long before, a state that others have left meanwhile looks
                    // like one from ahead of the clock. So asks again by one under the lock, and heals.
                    Answer::Impossible(_) if new.is_none() && early_nanos.is_some() => continue,
                    Answer::Said(answer) | Answer::Impossible(answer) => answer,
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
                if let Some(reserved) = self.has_room(shard, &mut search, now_nanos) {
                    self.make_room(shard, now_nanos);
                    shard.expect_idle(&self.limiter, &state, now_nanos);
                    shard.table.insert(place.home, owned, state);
                    reserved.keep();
                    self.guess_next(place, true);
                    return answer;
                }
                if self.is_over(&search) {
                    let retry_after = self.soonest(shard, &search, now_nanos);
                    return answer.and_then(|fresh| no_room(NoRoom { fresh, retry_after }));
                }
            }
            self.search_elsewhere(&mut search);
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
            && self.limiter.renewed_terms(terms, *horizon_nanos, reading_nanos).is_none()
    }

    /// Returns whether the next key of the shard is likely to be a new one: the call for it then takes
    /// the exclusive lock at once.
    #[inline(always)]
    pub(in crate::keyed::exact) fn expects_new(&self, place: KeyPlace) -> bool {
        // ORDERING: Relaxed. A guess; the call is decided in the same way under either lock.
        // MODEL: none; nobody guesses under loom.
        GUESSES && NEXT_IS_NEW.get(self.shards[place.shard % SHARDS].tally.load(Relaxed)) != 0
    }

    /// Guesses that the next key of the shard is like this one. The caller holds the exclusive lock.
    #[inline(always)]
    fn guess_next(&self, place: KeyPlace, is_new: bool) {
        if GUESSES {
            let tally = &self.shards[place.shard % SHARDS].tally;
            // ORDERING: Relaxed, here and below. The exclusive lock of the shard is held.
            // MODEL: none; nobody guesses under loom.
            let keys = KEYS.get(tally.load(Relaxed));
            // ORDERING: Relaxed, as above.
            // MODEL: none; nobody guesses under loom.
            tally.store(KEYS.put(keys) | NEXT_IS_NEW.put(u64::from(is_new)), Relaxed);
        }
    }
}

impl<K, L: Engine<K>> KeyShard<K, L> {
    /// Returns the entry of a key. If there is none, fetches the groups that an insertion writes to and sweeps.
    #[inline(always)]
    pub(in crate::keyed::exact) fn find<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
    ) -> Option<&KeyEntry<K, L::State>>
    where
        Q: AsKey<K> + ?Sized,
    {
        let known = self.table.find(place.home, key);
        if known.is_none() {
            self.table.fetch_free(place.home);
            self.table.fetch_next_group();
        }
        known
    }
}
