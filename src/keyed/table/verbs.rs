//! The operations of a table, and of its tiers.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::time::Duration;

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::keyed::observe::Observe;
use crate::limiter::leaving::counted_beside;
use crate::time::clock::Clock;

use super::KeyTable;
use super::home::KeyHome;
use super::in_force::{TierInForce, TierTerms};
use super::lines::{Hit, HitOrMiss, Judgement, Miss};

/// One of the quotas of a [`KeyTable`], and the operations on keys under it.
///
/// A key that is used in several tiers has one level, in time: permits spent in one tier count in
/// all.
///
/// # Examples
///
/// ```
/// use sluicegate::{KeyTable, quota};
///
/// let table = KeyTable::<str>::builder(quota!(10 / hour)).tier(quota!(100 / hour)).keys(1_000)?;
/// let paying = table.tier(1).expect("the second quota");
/// assert!(paying.try_acquire("ada", 100).is_ok());
/// assert!(table.try_acquire("bob", 11).is_err());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub struct TableTier<'a, K: ?Sized, S, C, O = ()> {
    pub(in crate::keyed) table: &'a KeyTable<K, S, C, O>,
    pub(super) tier: &'a TierInForce,
}

/// One call in a tier: the terms by which it is decided.
pub(super) struct TierCall<'a, K: ?Sized, S, C, O> {
    pub(super) table: &'a KeyTable<K, S, C, O>,
    pub(super) tier: TierTerms,
}

impl<'a, K, S, C, O> TableTier<'a, K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    /// Takes all permits or none, in this tier: see [`KeyTable::try_acquire`].
    ///
    /// # Errors
    ///
    /// As for [`KeyTable::try_acquire`].
    #[inline(always)]
    pub fn try_acquire(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        let call = self.call();
        match call.charge(permits) {
            Ok(charge) => {
                let place = self.table.place(key);
                call.answer(key, permits, self.table.table.acquire(place, &call.tier, charge))
            }
            Err(denied) => call.peek_or(key, permits, denied),
        }
    }

    /// Takes as many permits as there are, in this tier: see [`KeyTable::try_acquire_up_to`].
    ///
    /// # Errors
    ///
    /// As for [`KeyTable::try_acquire_up_to`].
    pub fn try_acquire_up_to(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        if permits == 0 {
            return self.peek(key, 0);
        }
        let answer = self.call().take_up_to(self.table.place(key), permits);
        self.table.observer.decided(key, permits, answer.as_ref());
        answer
    }

    /// Takes permits with a receipt, in this tier: see [`KeyTable::try_acquire_revocable`].
    ///
    /// # Errors
    ///
    /// As for [`KeyTable::try_acquire_revocable`].
    pub fn try_acquire_revocable(&self, key: &K, permits: u64) -> Result<Receipt<'a>, Denied>
    where
        C: Sync,
    {
        let call = self.call();
        let charge = match call.charge(permits) {
            Ok(charge) => charge,
            Err(denied) => return call.peek_or(key, permits, denied).map(Receipt::spent),
        };
        let table = &self.table.table;
        let asked = table.acquire(self.table.place(key), &call.tier, charge);
        let charged = asked.as_ref().ok().map(|granted| granted.charged);
        let grant = call.answer(key, permits, asked)?;
        Ok(match charged {
            Some(charged) => charged.receipt(grant, table),
            None => Receipt::spent(grant),
        })
    }

    /// Answers without taking permits, in this tier: see [`KeyTable::peek`].
    ///
    /// # Errors
    ///
    /// As for [`KeyTable::peek`].
    pub fn peek(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.call().peek(key, permits, 0)
    }

    /// Begins a call: by the terms that are now in force.
    #[inline(always)]
    pub(super) fn call(&self) -> TierCall<'a, K, S, C, O> {
        TierCall { table: self.table, tier: self.tier.terms() }
    }
}

impl<K, S, C, O> TierCall<'_, K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    pub(super) fn peek(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let together = permits + counted_beside(permits, reserve);
        if together > self.tier.burst {
            return Err(self.too_large().leaving(reserve));
        }
        let (balance, moment) = self.table.table.look(self.table.place(key), &self.tier);
        let wanted = together as i64 * self.tier.cost;
        if permits == 0 || balance >= wanted {
            let left = balance - permits as i64 * self.tier.cost;
            return Ok(Grant { permits, forecast: self.tier.forecast(left, moment.elapsed_nanos) });
        }
        Err(self.short(wanted, balance, moment.elapsed_nanos))
    }

    /// Takes as many of `permits`, of which there is one at least. The observer is not told.
    pub(super) fn take_up_to(&self, place: KeyHome, permits: u64) -> Result<Grant, Denied> {
        let most = permits.min(self.tier.burst) as i64;
        let cost = self.tier.cost;
        let charge = move |balance: i64| {
            let wanted = (balance / cost).clamp(1, most) * cost;
            if balance >= wanted { Ok(wanted) } else { Err(wanted) }
        };
        let asked = self.table.table.acquire(place, &self.tier, charge);
        match asked {
            Ok(Hit { cost: spent, .. }) => self.say((spent / cost) as u64, asked),
            Err(Miss::Short { .. }) => self.say(1, asked),
            Err(Miss::Full { ticks }) => {
                let (fresh, retry_after) = self.if_there_was_room(most as u64, ticks);
                self.table.overflow.answer_up_to(most as u64, fresh, retry_after)
            }
        }
    }

    /// Returns the function that charges `permits` to a balance; an error if they are 0 or more
    /// than the burst.
    #[inline(always)]
    pub(super) fn charge(
        &self,
        permits: u64,
    ) -> Result<impl Fn(i64) -> Judgement + use<K, S, C, O>, Denied> {
        if permits.wrapping_sub(1) >= self.tier.burst {
            return Err(self.too_large());
        }
        let wanted = permits as i64 * self.tier.cost;
        Ok(move |balance| if balance >= wanted { Ok(wanted) } else { Err(wanted) })
    }

    /// Answers a request for no permits, or for more than the burst.
    #[cold]
    pub(super) fn peek_or(&self, key: &K, permits: u64, denied: Denied) -> Result<Grant, Denied> {
        if permits == 0 {
            return self.peek(key, 0, 0);
        }
        self.table.observer.decided(key, permits, Err(&denied));
        Err(denied)
    }

    pub(super) fn too_large(&self) -> Denied {
        Denied::TooLarge { limit: self.tier.burst, which: 0 }
    }

    fn short(&self, wanted: i64, balance: i64, elapsed_nanos: u64) -> Denied {
        let forecast = self.tier.forecast(balance, elapsed_nanos);
        Denied::Wait(Shortfall { wanted, forecast, which: 0 })
    }

    /// Turns an outcome into an answer, and reports it to the observer.
    #[inline(always)]
    pub(super) fn answer(
        &self,
        key: &K,
        permits: u64,
        asked: HitOrMiss<'_>,
    ) -> Result<Grant, Denied> {
        let answer = self.say(permits, asked);
        self.table.observer.decided(key, permits, answer.as_ref());
        answer
    }

    /// Turns an outcome into an answer.
    #[inline(always)]
    pub(super) fn say(&self, permits: u64, asked: HitOrMiss<'_>) -> Result<Grant, Denied> {
        match asked {
            Ok(granted) => {
                let forecast = self.tier.forecast(granted.balance, granted.elapsed_nanos);
                Ok(Grant { permits, forecast })
            }
            Err(Miss::Short { wanted, balance, elapsed_nanos }) => {
                Err(self.short(wanted, balance, elapsed_nanos))
            }
            Err(Miss::Full { ticks }) => {
                let (fresh, retry_after) = self.if_there_was_room(permits, ticks);
                self.table.overflow.answer(permits, 0, fresh, retry_after)
            }
        }
    }

    /// Returns how a key that has no slot would stand if it had one, and the time that `ticks`
    /// take, after which there may be a slot.
    #[cold]
    pub(super) fn if_there_was_room(&self, permits: u64, ticks: i64) -> (Forecast, Duration) {
        let left = self.tier.capacity - permits as i64 * self.tier.cost;
        (self.tier.forecast(left, 0), self.table.pace.time(ticks.max(0) as u64))
    }
}

impl<K, S, C, O> KeyTable<K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    /// Takes all of `permits` for the key, or none.
    ///
    /// Lock-free; does not allocate; reads the clock once, and once more if the key's level is
    /// ahead of that reading; for a new key twice, once more if slots are scarce, and once more if
    /// it sweeps a line. A denial writes nothing, except that [`Denied::Full`] is counted. A
    /// request for no permits is granted, and leaves no trace.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] if the key has fewer than `permits` now;
    /// * [`Denied::TooLarge`] if `permits` is more than the burst;
    /// * [`Denied::Full`] if there is no slot for the key, and [`WhenFull`](crate::keyed::WhenFull) (or
    ///   the bucket that such keys share) denies it.
    #[doc(alias = "check", alias = "check_key", alias = "allow")]
    #[inline(always)]
    pub fn try_acquire(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.first_tier().try_acquire(key, permits)
    }

    /// Takes as many of `permits` for the key as it has.
    ///
    /// All else is as for [`try_acquire`](KeyTable::try_acquire). If there is no slot for the key,
    /// [`WhenFull::Admit`](crate::keyed::WhenFull::Admit) grants all of them, up to the burst.
    ///
    /// # Errors
    ///
    /// As for `try_acquire` of one permit.
    pub fn try_acquire_up_to(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.first_tier().try_acquire_up_to(key, permits)
    }

    /// Takes all of `permits` for the key, or none, like [`try_acquire`](KeyTable::try_acquire),
    /// and returns a [`Receipt`] by which they can be given back, as long as nothing has happened
    /// to the key since. (Permits granted by [`WhenFull`](crate::keyed::WhenFull) cannot be given back.)
    /// Giving back reads the clock.
    ///
    /// # Errors
    ///
    /// As for `try_acquire`.
    pub fn try_acquire_revocable(&self, key: &K, permits: u64) -> Result<Receipt<'_>, Denied>
    where
        C: Sync,
    {
        self.first_tier().try_acquire_revocable(key, permits)
    }

    /// Returns the answer that [`try_acquire`](KeyTable::try_acquire) would give, if there was a
    /// slot for the key. Lock-free; does not allocate; reads the clock once; writes nothing.
    ///
    /// # Errors
    ///
    /// As for `try_acquire`, except [`Denied::Full`].
    pub fn peek(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.first_tier().peek(key, permits)
    }

    /// Takes `permits` for each of the keys, and calls `answer` with the index of each in `keys`
    /// and with its outcome, in their order.
    ///
    /// Equivalent to one call of [`try_acquire`](KeyTable::try_acquire) after the other, except
    /// that the clock is read once for every 16 keys, and their lines are fetched side by side:
    /// several times as fast where the table is larger than the processor's caches. A key may occur
    /// more than once. Does not allocate.
    ///
    /// `answer` is called while other keys of its 16 are still to be decided, by a reading of the
    /// clock from before: it should be quick.
    #[inline]
    pub fn try_acquire_batch_with<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
        permits: u64,
        answer: impl FnMut(usize, Result<Grant, Denied>),
    ) where
        K: 'k,
    {
        self.first_tier().try_acquire_batch_with(keys, permits, answer);
    }

    /// Takes `permits` for each of the keys, like
    /// [`try_acquire_batch_with`](KeyTable::try_acquire_batch_with), and returns the answers in a
    /// vector: allocates once, if `keys` tells how many there are.
    #[must_use = "without the answers, nobody knows what was granted"]
    pub fn try_acquire_batch<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
        permits: u64,
    ) -> Vec<Result<Grant, Denied>>
    where
        K: 'k,
    {
        self.first_tier().try_acquire_batch(keys, permits)
    }
}

impl<K: Hash + ?Sized, S: BuildHasher, C: Clock, O> KeyTable<K, S, C, O> {
    /// Forgets the spending of the key, and returns whether there was any. The key then has its
    /// whole burst; permits that it was granted before no longer count.
    ///
    /// Lock-free; does not allocate; reads the clock.
    pub fn remove(&self, key: &K) -> bool {
        self.table.remove(self.place(key))
    }

    /// Resets the key to its whole burst, by [`remove`](KeyTable::remove): the table does not tell
    /// an idle key from a forgotten one.
    pub fn reset(&self, key: &K) {
        self.remove(key);
    }

    /// Returns the tier with the given number, in the order of the builder; `None` if there is
    /// none.
    #[must_use]
    pub fn tier(&self, number: usize) -> Option<TableTier<'_, K, S, C, O>> {
        let tier = match number.checked_sub(1) {
            None => &self.first,
            Some(number) => self.others.get(number)?,
        };
        Some(TableTier { table: self, tier })
    }
}

impl<K: ?Sized, S, C, O> Clone for TableTier<'_, K, S, C, O> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized, S, C, O> Copy for TableTier<'_, K, S, C, O> {}

impl<K: ?Sized, S, C, O> fmt::Debug for TableTier<'_, K, S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableTier").field("quota", &self.tier.quota()).finish()
    }
}
