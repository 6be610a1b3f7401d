//! The verbs of a store of keys with any limiter.

use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::observe::Observe;
use crate::keyed::when_full::Request;

use super::Keyed;
use super::as_key::AsKey;
use super::per_key::{Answer, PerKey};
use super::store::{KeyPlace, NoRoom};

impl<K, L, S, O> Keyed<K, L, S, O>
where
    K: Hash + Eq,
    L: PerKey<K>,
    S: BuildHasher,
{
    /// Takes all of `permits` for the key, or none if there are not enough.
    ///
    /// Finds the key under a shared lock, or an exclusive one if the last new key of the same one of 128
    /// shards has only just been inserted. Waits only while another call holds the exclusive lock: for
    /// that, to insert a key there, or while that shard grows, is swept or is changed. Does not
    /// allocate if the key is known. Reads the clock once; twice if the key is new and, since
    /// the first reading, another key of its shard was evicted or the same key was inserted;
    /// more often while a full store is searched for space, or a state has to heal. A request
    /// for 0 permits is always granted and changes nothing. A denial writes nothing to the
    /// key's state, and makes no key known.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] and [`Denied::TooLarge`] as for a limiter without keys.
    /// * [`Denied::Full`] if the key is not known and there is no space for it, if
    ///   [`WhenFull`](crate::keyed::WhenFull) says so.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::*;
    ///
    /// let clock = ManualClock::new();
    /// let keyed = Keyed::<String, _>::with_clock(quota!(2 / second), &clock);
    /// assert_eq!(keyed.try_acquire("ada", 2)?.remaining(), 0);
    /// assert_eq!(keyed.try_acquire("bob", 1)?.remaining(), 1);
    ///
    /// let denied = keyed.try_acquire("ada", 1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(500)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "check", alias = "check_key", alias = "allow")]
    #[inline]
    pub fn try_acquire<Q>(&self, key: &Q, permits: u64) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        // The first closure has one call site, so the compiler inlines it.
        self.spend(
            key,
            Request::All { permits, reserve: 0 },
            move |limiter, terms, state, now_nanos| {
                limiter.acquire::<true>(terms, state, permits, now_nanos)
            },
            move |limiter, terms, state, now_nanos| {
                limiter.acquire_alone(terms, state, permits, now_nanos)
            },
        )
    }

    /// Takes as many of `permits` as are available for the key, at least one.
    ///
    /// In all else the same as [`try_acquire`](Keyed::try_acquire).
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] if less than one permit is available, and [`Denied::Full`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<u64>::new(quota!(10 / hour));
    /// assert_eq!(keyed.try_acquire_up_to(&7, 15)?.permits(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_acquire_up_to<Q>(&self, key: &Q, permits: u64) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        let acquire = move |limiter: &L, terms: &L::Terms, state: &L::State, now_nanos| {
            limiter.acquire_up_to(terms, state, permits, now_nanos)
        };
        self.spend(key, Request::UpTo(permits), acquire, acquire)
    }

    /// Returns what [`try_acquire`](Keyed::try_acquire) would return now, if there is space
    /// for the key. Takes nothing, and makes no key known.
    ///
    /// `peek(key, 0)` reads what is available. Copies a key that is not known, except for
    /// [`Penalties`](crate::keyed::Penalties); does not allocate otherwise. The observer is not told.
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
    /// let keyed = Keyed::<u64>::new(quota!(10 / hour));
    /// assert_eq!(keyed.peek(&7, 0)?.remaining(), 10);
    /// assert!(keyed.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn peek<Q>(&self, key: &Q, permits: u64) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let (limiter, place) = (&self.store.limiter, self.place(key));
        if let Some(grant) = limiter.unknown(permits) {
            let known = self.store.spend_known(place, key, |limiter, terms, state, now_nanos| {
                limiter.acquire::<false>(terms, state, permits, now_nanos)
            });
            return known.unwrap_or(Ok(grant));
        }
        let answer = self.store.look(place, key, |terms, state, now_nanos| {
            limiter.acquire::<false>(terms, state, permits, now_nanos)
        });
        let (Answer::Said(answer) | Answer::Impossible(answer)) = answer;
        answer
    }

    /// Makes the key full again.
    ///
    /// Does not allocate. Permits granted to the key before no longer count. A key that is
    /// not known stays unknown.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<u64>::new(quota!(10 / hour));
    /// keyed.try_acquire(&7, 10)?;
    /// keyed.reset(&7);
    /// assert_eq!(keyed.peek(&7, 0)?.remaining(), 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset<Q>(&self, key: &Q)
    where
        Q: AsKey<K> + ?Sized,
    {
        let limiter = &self.store.limiter;
        self.store.change(self.place(key), key, |terms, entry, now_nanos| {
            limiter.fill(terms, &mut entry.state, now_nanos);
        });
    }

    /// Removes the key and its state: it is again like a key that was never seen. Returns
    /// whether it was known.
    ///
    /// A concurrent call for the key takes effect either before the removal or after it.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<String>::new(quota!(10 / hour));
    /// keyed.try_acquire("ada", 10)?;
    /// assert!(keyed.remove("ada"));
    /// assert_eq!(keyed.len(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove<Q>(&self, key: &Q) -> bool
    where
        Q: AsKey<K> + ?Sized,
    {
        self.store.remove(self.place(key), key)
    }

    /// Returns whether the key is known. A key that is not known is full.
    pub fn contains<Q>(&self, key: &Q) -> bool
    where
        Q: AsKey<K> + ?Sized,
    {
        self.store.has(self.place(key), key)
    }

    /// Spends for a known key by `first`, or for any key by `acquire`, which then has the state
    /// to itself.
    #[inline(always)]
    pub(super) fn spend<Q>(
        &self,
        key: &Q,
        request: Request,
        first: impl FnOnce(&L, &L::Terms, &L::State, u64) -> Answer,
        acquire: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        let answer = self.spend_at(self.place(key), key, request, first, acquire);
        self.observer.decided(key, request.permits(), answer.as_ref());
        answer
    }

    /// Does the same for a key whose place is known. The observer is not told.
    #[inline(always)]
    pub(super) fn spend_at<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
        request: Request,
        first: impl FnOnce(&L, &L::Terms, &L::State, u64) -> Answer,
        acquire: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let now_nanos = self.store.limiter.now_nanos();
        self.spend_by_reading(now_nanos, place, key, request, first, acquire)
    }

    /// Does the same by a reading of the clock, if the key is known or if the reading is as good as a
    /// new one.
    #[inline(always)]
    pub(super) fn spend_by_reading<Q>(
        &self,
        now_nanos: u64,
        place: KeyPlace,
        key: &Q,
        request: Request,
        first: impl FnOnce(&L, &L::Terms, &L::State, u64) -> Answer,
        acquire: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let unknown = self.store.limiter.unknown(request.permits());
        if unknown.is_none() && self.store.expects_new(place) {
            return self
                .spend_new(place, key, request, Some(now_nanos), acquire)
                .map(|New(grant)| grant);
        }
        match self.store.spend_known_by(now_nanos, place, key, first) {
            Ok(answer) => answer,
            // Taken apart here, so that the two answers do not share their memory: else every call would
            // copy the whole answer there, used or not.
            Err(reading_nanos) => {
                if let Some(grant) = unknown {
                    return Ok(grant);
                }
                self.spend_new(place, key, request, reading_nanos, acquire).map(|New(grant)| grant)
            }
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn spend_new<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
        request: Request,
        reading_nanos: Option<u64>,
        acquire: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> Result<New, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let no_room = |NoRoom { fresh: Grant { permits, forecast }, retry_after }| match request {
            Request::All { reserve, .. } => {
                self.overflow.answer(permits, reserve, forecast, retry_after)
            }
            Request::UpTo(_) => self.overflow.answer_up_to(permits, forecast, retry_after),
        };
        self.store.spend(place, key, reading_nanos, acquire, no_room).map(New)
    }
}

/// A grant to a new key, or to one whose state had to be looked at under the lock.
pub(super) struct New(pub(super) Grant);
