//! What can be asked of a key.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::observe::Observe;
use crate::keyed::space::Request;

use super::Keyed;
use super::per_key::{Answer, Engine, PerKey};
use super::store::KeyPlace;

impl<K, L, S, O> Keyed<K, L, S, O>
where
    K: Hash + Eq,
    L: PerKey<K>,
    S: BuildHasher,
{
    /// Takes all of `permits` for the key, or none if there are not enough.
    ///
    /// Finds the key under a lock that callers share; waits only while a new key is put
    /// into the same one of 128 shards, or while that shard grows, is swept or is changed. Does not
    /// allocate if the key is known. Reads the clock once; twice if the key is new and another
    /// key of its shard was forgotten, or the same one put in, since the first reading; more often
    /// where a store that is full is searched for room, or a state has to heal.
    /// Asking for 0 permits is always granted and changes nothing. A denial writes nothing to the key's
    /// state, and makes no key known.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] and [`Denied::TooLarge`] as of a limiter without keys.
    /// * [`Denied::Full`] if the key is not known and there is no room for it, if
    ///   [`WhenFull`](crate::WhenFull) says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::*;
    ///
    /// let clock = ManualClock::new();
    /// let keyed = Keyed::<String, _>::with(Buckets::with_clock(quota!(2 / second), &clock)?)?;
    /// assert_eq!(keyed.try_acquire("ada", 2)?.remaining(), 0);
    /// assert_eq!(keyed.try_acquire("bob", 1)?.remaining(), 1);
    ///
    /// let denied = keyed.try_acquire("ada", 1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(500)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn try_acquire<Q>(&self, key: &Q, permits: u64) -> Result<Grant, Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        O: Observe<Q>,
    {
        // The first is called from one place, so the compiler puts it there.
        self.spend(
            key,
            Request::All(permits),
            move |limiter, terms, state, now_nanos| {
                limiter.ask::<true>(terms, state, permits, now_nanos)
            },
            move |limiter, terms, state, now_nanos| {
                limiter.ask_alone(terms, state, permits, now_nanos)
            },
        )
    }

    /// Takes as many of `permits` as there are for the key, at least one.
    ///
    /// In all else as [`try_acquire`](Keyed::try_acquire).
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] if there is not one permit, and [`Denied::Full`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<u64>::new(quota!(10 / hour))?;
    /// assert_eq!(keyed.try_acquire_up_to(&7, 15)?.permits(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_acquire_up_to<Q>(&self, key: &Q, permits: u64) -> Result<Grant, Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        O: Observe<Q>,
    {
        let ask = move |limiter: &L, terms: &L::Terms, state: &L::State, now_nanos| {
            limiter.ask_up_to(terms, state, permits, now_nanos)
        };
        self.spend(key, Request::UpTo(permits), ask, ask)
    }

    /// What [`try_acquire`](Keyed::try_acquire) would answer now, if there is room for the
    /// key. Takes nothing, and makes no key known.
    ///
    /// `peek(key, 0)` reads what is there. Clones a key that is not known; does not
    /// allocate otherwise. Nobody is told of it.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] and [`Denied::TooLarge`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<u64>::new(quota!(10 / hour))?;
    /// assert_eq!(keyed.peek(&7, 0)?.remaining(), 10);
    /// assert!(keyed.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn peek<Q>(&self, key: &Q, permits: u64) -> Result<Grant, Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let limiter = &self.store.limiter;
        let answer = self.store.look(self.place(key), key, |terms, state, now_nanos| {
            limiter.ask::<false>(terms, state, permits, now_nanos)
        });
        let (Answer::Said(answer) | Answer::Impossible(answer)) = answer;
        answer
    }

    /// Makes the key full again.
    ///
    /// Does not allocate. What the key was granted before does not count any more. One that is
    /// not known stays so.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<u64>::new(quota!(10 / hour))?;
    /// keyed.try_acquire(&7, 10)?;
    /// keyed.reset(&7);
    /// assert_eq!(keyed.peek(&7, 0)?.remaining(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let limiter = &self.store.limiter;
        self.store.change(self.place(key), key, |terms, entry, now_nanos| {
            limiter.fill(terms, &mut entry.state, now_nanos);
        });
    }

    /// Forgets the key and what it was granted: it is again as one that was never asked
    /// for. Whether it was known.
    ///
    /// A call that is under way comes before it or after it.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<String>::new(quota!(10 / hour))?;
    /// keyed.try_acquire("ada", 10)?;
    /// assert!(keyed.remove("ada"));
    /// assert_eq!(keyed.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.store.remove(self.place(key), key)
    }

    /// Whether the key is known. One that is not is full.
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.store.has(self.place(key), key)
    }

    /// Asks a key that is known by `first`, or any by `ask`, whose state nobody else has then.
    #[inline(always)]
    pub(super) fn spend<Q>(
        &self,
        key: &Q,
        request: Request,
        first: impl FnOnce(&L, &L::Terms, &L::State, u64) -> Answer,
        ask: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<Grant, Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
        O: Observe<Q>,
    {
        let answer = self.spend_at(self.place(key), key, request, first, ask);
        self.tell(key, request.permits(), &answer);
        answer
    }

    /// The same, of a key whose place is known. Nobody is told of it.
    #[inline(always)]
    pub(super) fn spend_at<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
        request: Request,
        first: impl FnOnce(&L, &L::Terms, &L::State, u64) -> Answer,
        ask: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<Grant, Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        match self.store.spend_known(place, key, first) {
            Ok(answer) => answer,
            Err(reading_nanos) => self.spend_new(place, key, request, reading_nanos, ask),
        }
    }

    #[cold]
    #[inline(never)]
    fn spend_new<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
        request: Request,
        reading_nanos: Option<u64>,
        ask: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<Grant, Denied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        match self.store.spend(place, key, reading_nanos, ask) {
            Ok(answer) => answer,
            Err(no_room) => {
                let (Grant { permits, forecast }, wait) = (no_room.fresh, no_room.retry_after);
                match request {
                    Request::All(_) => self.overflow.answer(permits, forecast, wait),
                    Request::UpTo(_) => self.overflow.answer_up_to(permits, forecast, wait),
                }
            }
        }
    }

    #[inline(always)]
    pub(super) fn tell<Q>(&self, key: &Q, permits: u64, answer: &Result<Grant, Denied>)
    where
        Q: ?Sized,
        O: Observe<Q>,
    {
        match answer {
            Ok(grant) => self.observer.decided(key, grant.permits(), true),
            Err(_) => self.observer.decided(key, permits, false),
        }
    }
}

impl<K, L: Engine<K>, S, O> Keyed<K, L, S, O> {
    /// How many keys are known: those that were granted something and were not full again
    /// when somebody last looked. Exact when nobody is putting one in.
    ///
    /// Reads one word.
    #[must_use]
    pub fn len(&self) -> usize {
        self.store.len() as usize
    }

    /// Whether no key is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The most keys that are known at a time.
    #[must_use]
    pub fn max_keys(&self) -> usize {
        self.store.max_keys() as usize
    }

    /// The memory of the places of keys, in bytes; what keys and limiters keep elsewhere (the
    /// text of a `String`, a limiter of [`Each`](crate::Each)) is not in it.
    ///
    /// Locks one shard after the other, to read.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.store.shards().map(|shard| shard.read().table.bytes()).sum()
    }

    /// Forgets all keys that are full again, and gives memory back; says how many. So it does
    /// those that no call can have left as they are, because the clock has gone back; they count
    /// as [`healed`](Keyed::healed).
    ///
    /// Never needed to keep memory in bounds: new keys see to others. It is for a
    /// store that is not given new keys any more. Locks one shard after the other.
    pub fn sweep(&self) -> usize {
        let shards = self.store.shards().map(|shard| {
            let shard = &mut *shard.write();
            let now_nanos = self.store.limiter.now_nanos();
            let swept = self.store.clear_shard(shard, now_nanos);
            shard.table.shrink();
            swept
        });
        shards.sum()
    }

    /// How often a state was found that no call can have left, because the clock had gone
    /// back, and was started again from full. (The keys of a shard that are not known have
    /// one state.) See [`Clock`](crate::Clock) for when that is.
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.store.healed()
    }

    /// The limiter of each key.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.store.limiter
    }

    /// The clock.
    #[must_use]
    pub fn clock(&self) -> &L::Clock {
        self.store.limiter.clock()
    }
}
