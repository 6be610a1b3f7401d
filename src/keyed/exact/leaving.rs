//! Requests for a key that leave a reserve to it.

use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::observe::Observe;
use crate::keyed::when_full::Request;

use super::Keyed;
use super::as_key::AsKey;
use super::per_key::{Answer, LeavingPerKey};

impl<K, L, S, O> Keyed<K, L, S, O>
where
    K: Hash + Eq,
    L: LeavingPerKey<K>,
    S: BuildHasher,
{
    /// Takes all of `permits` for the key, or none if fewer than `reserve` would remain to it.
    ///
    /// See [`Leaving`](crate::share::Leaving). In all else as [`try_acquire`](Keyed::try_acquire).
    ///
    /// # Errors
    ///
    /// As for [`Leaving::try_acquire_leaving`](crate::share::Leaving::try_acquire_leaving), and
    /// [`Denied::Full`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Keyed, quota};
    ///
    /// let tenants = Keyed::<String>::new(quota!(10 / hour));
    /// assert!(tenants.try_acquire_leaving("acme", 6, 4).is_ok());
    /// assert!(tenants.try_acquire_leaving("acme", 1, 4).is_err());
    /// assert!(tenants.try_acquire("acme", 4).is_ok());
    /// ```
    pub fn try_acquire_leaving<Q>(
        &self,
        key: &Q,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
        O: Observe<Q>,
    {
        let take = move |limiter: &L, terms: &L::Terms, state: &L::State, now_nanos| {
            limiter.acquire_leaving::<true>(terms, state, (permits, reserve), now_nanos)
        };
        self.spend(key, Request::All { permits, reserve }, take, take)
    }

    /// Returns the answer that [`try_acquire_leaving`](Keyed::try_acquire_leaving) would give now, if there is
    /// space for the key. Takes nothing.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] and [`Denied::TooLarge`].
    pub fn peek_leaving<Q>(&self, key: &Q, permits: u64, reserve: u64) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let limiter = &self.store.limiter;
        let answer = self.store.look(self.place(key), key, |terms, state, now_nanos| {
            limiter.acquire_leaving::<false>(terms, state, (permits, reserve), now_nanos)
        });
        let (Answer::Said(answer) | Answer::Impossible(answer)) = answer;
        answer
    }
}
