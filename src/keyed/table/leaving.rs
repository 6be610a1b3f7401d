//! Requests for a key that leave a reserve to it.

use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::observe::Observe;
use crate::limiter::leaving::counted_beside;
use crate::time::clock::Clock;

use super::KeyTable;
use super::lines::Miss;
use super::verbs::{TableTier, TierCall};

impl<K, S, C, O> TableTier<'_, K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    /// Takes permits and leaves a reserve, in this tier: see [`KeyTable::try_acquire_leaving`].
    ///
    /// # Errors
    ///
    /// As for [`KeyTable::try_acquire_leaving`].
    pub fn try_acquire_leaving(
        &self,
        key: &K,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, Denied> {
        if permits == 0 {
            return self.peek(key, 0);
        }
        let answer = self.call().take_leaving(key, permits, reserve);
        self.table.observer.decided(key, permits, answer.as_ref());
        answer
    }

    /// Answers without taking permits, in this tier: see [`KeyTable::peek_leaving`].
    ///
    /// # Errors
    ///
    /// As for [`KeyTable::peek_leaving`].
    pub fn peek_leaving(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.call().peek(key, permits, reserve)
    }
}

impl<K, S, C, O> TierCall<'_, K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    /// Takes `permits`, of which there is one at least. The observer is not told.
    fn take_leaving(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let together = permits + counted_beside(permits, reserve);
        if together > self.tier.burst {
            return Err(self.too_large().leaving(reserve));
        }
        let (cost, wanted) = (permits as i64 * self.tier.cost, together as i64 * self.tier.cost);
        let charge = move |balance: i64| if balance >= wanted { Ok(cost) } else { Err(wanted) };
        match self.table.table.acquire(self.table.place(key), &self.tier, charge) {
            Err(Miss::Full { ticks }) => {
                let (fresh, retry_after) = self.if_there_was_room(permits, ticks);
                self.table.overflow.answer(permits, reserve, fresh, retry_after)
            }
            asked => self.say(permits, asked),
        }
    }
}

impl<K, S, C, O> KeyTable<K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    /// Takes all of `permits` for the key, or none if fewer than `reserve` would remain to it.
    ///
    /// See [`Leaving`](crate::share::Leaving). In all else the same as [`try_acquire`](KeyTable::try_acquire).
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](KeyTable::try_acquire) of `permits` and `reserve` together; the limit of a
    /// [`Denied::TooLarge`] is without the reserve.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{KeyTable, quota};
    ///
    /// let users = KeyTable::<u64>::with_keys(quota!(10 / hour), 1_000)?;
    /// assert!(users.try_acquire_leaving(&7, 6, 4).is_ok());
    /// assert!(users.try_acquire_leaving(&7, 1, 4).is_err());
    /// assert!(users.try_acquire(&7, 4).is_ok());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn try_acquire_leaving(
        &self,
        key: &K,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, Denied> {
        self.first_tier().try_acquire_leaving(key, permits, reserve)
    }

    /// Returns the answer that [`try_acquire_leaving`](KeyTable::try_acquire_leaving) would give, if there
    /// was a slot for the key. Takes nothing, as [`peek`](KeyTable::peek).
    ///
    /// # Errors
    ///
    /// As for `try_acquire_leaving`, except [`Denied::Full`].
    pub fn peek_leaving(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.first_tier().peek_leaving(key, permits, reserve)
    }
}
