//! The operations on keys, hot or not.

use alloc::vec::Vec;
use core::fmt;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::keyed_limiter::with_space_for;
use crate::keyed::prepay::KeyStore;
use crate::sync::Ordering::Release;
use crate::thread_index::thread_index;
use crate::time::clock::Clock;

use super::HotKeys;
use super::acquire::Caller;
use super::seat::{Seat, SeatLook};
use super::seat_block::SeatBlock;

impl<S> HotKeys<S> {
    /// Takes all of `permits` for the key, or none.
    ///
    /// From the key's seat: lock-free; does not allocate; reads the clock once. If the seat has too
    /// little, or the key has none: the same as for the store, and reads the clock once or twice
    /// more. Reports to the store's observer, as the store does.
    ///
    /// # Errors
    ///
    /// The same as for the store.
    #[doc(alias = "check", alias = "check_key", alias = "allow")]
    #[inline(always)]
    pub fn try_acquire<K: ?Sized>(&self, key: &K, permits: u64) -> Result<Grant, Denied>
    where
        S: KeyStore<K>,
    {
        self.place(thread_index()).try_acquire(key, permits)
    }

    /// Takes as many of `permits` as are available for the key, at least one: those in its seat at
    /// the caller's place, and the rest from the store.
    ///
    /// Permits at other places are not taken, and nothing is prepaid. If the seat and the store
    /// both give some, each part is granted at a reading of the clock of its own, both within the
    /// call. Otherwise the same as [`try_acquire`](HotKeys::try_acquire).
    ///
    /// # Errors
    ///
    /// The same as for the store.
    pub fn try_acquire_up_to<K: ?Sized>(&self, key: &K, permits: u64) -> Result<Grant, Denied>
    where
        S: KeyStore<K>,
    {
        let hash = self.store.hash(key);
        let taken = self.take_up_to::<K>(hash, permits);
        let found = taken.map_or(0, |grant| grant.permits());
        let answer = match taken {
            Some(grant) if found == permits => Ok(grant),
            _ => match (self.store.acquire_up_to(hash, key, permits - found), taken) {
                (Ok(grant), _) => Ok(Grant { permits: found + grant.permits(), ..grant }),
                (Err(_), Some(taken)) => Ok(taken),
                (Err(denied), None) => Err(denied),
            },
        };
        self.store.notify(key, permits, answer.as_ref());
        answer
    }

    /// Takes `permits` from the caller's seat if it has that many, or else as many as it has.
    fn take_up_to<K: ?Sized>(&self, hash: u64, permits: u64) -> Option<Grant>
    where
        S: KeyStore<K>,
    {
        let seat = self.at(thread_index()).seat(hash);
        let SeatLook::Own(seen) = seat.look(hash) else { return None };
        let found = permits.min(seen.left());
        let now_nanos = (found > 0).then(|| self.store.clock().now_nanos())?;
        seat.take(hash, seen, found, now_nanos)
    }

    /// Takes `permits` for each of the keys, and calls `answer` with the index of each in `keys`
    /// and with its outcome, in their order.
    ///
    /// Equivalent to one call of [`try_acquire`](HotKeys::try_acquire) after the other.
    pub fn try_acquire_batch_with<'k, K: ?Sized + 'k>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
        permits: u64,
        mut answer: impl FnMut(usize, Result<Grant, Denied>),
    ) where
        S: KeyStore<K>,
    {
        let place = self.place(thread_index());
        for (index, key) in keys.into_iter().enumerate() {
            answer(index, place.try_acquire(key, permits));
        }
    }

    /// Does the same as [`try_acquire_batch_with`](HotKeys::try_acquire_batch_with), and returns
    /// the answers in a vector, which it allocates.
    #[must_use = "without the answers, nobody knows what was granted"]
    pub fn try_acquire_batch<'k, K: ?Sized + 'k>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
        permits: u64,
    ) -> Vec<Result<Grant, Denied>>
    where
        S: KeyStore<K>,
    {
        let keys = keys.into_iter();
        let mut answers = with_space_for(&keys);
        self.try_acquire_batch_with(keys, permits, |_, answer| answers.push(answer));
        answers
    }

    /// Returns the answer that [`try_acquire`](HotKeys::try_acquire) would give if there were no
    /// seats but the caller's: that of the seat if it has enough permits, or else that of the
    /// store, to which all permits in seats are taken. Takes nothing.
    ///
    /// `peek(key, 0)` reads the state of the store. Lock-free, if the store is; does not allocate
    /// for a key that has a seat; reads the clock once or twice.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] and [`Denied::TooLarge`].
    pub fn peek<K: ?Sized>(&self, key: &K, permits: u64) -> Result<Grant, Denied>
    where
        S: KeyStore<K>,
    {
        let hash = self.store.hash(key);
        let seat = self.at(thread_index()).seat(hash);
        let prepaid = match seat.look(hash) {
            SeatLook::Own(seen) if permits > 0 => {
                seat.peek(seen, permits, self.store.clock().now_nanos())
            }
            _ => None,
        };
        prepaid.map_or_else(|| self.store.look(key, permits), Ok)
    }

    /// Makes the key full again, by a [`update`](HotKeys::update): all prepaid permits, of other
    /// keys too, are taken back.
    pub fn reset<K: ?Sized>(&self, key: &K)
    where
        S: KeyStore<K>,
    {
        self.update(|store| store.fill(key));
    }

    /// Removes the key from the store, by a [`update`](HotKeys::update): all prepaid permits, of
    /// other keys too, are taken back. Returns whether there was anything to forget.
    pub fn remove<K: ?Sized>(&self, key: &K) -> bool
    where
        S: KeyStore<K>,
    {
        self.update(|store| store.forget(key))
    }

    /// Returns whether the key has a seat, at any of the places.
    #[must_use]
    pub fn is_hot<K: ?Sized>(&self, key: &K) -> bool
    where
        S: KeyStore<K>,
    {
        let hash = self.store.hash(key);
        let is_own = |seat: &Seat| matches!(seat.look(hash), SeatLook::Own(_));
        self.places
            .iter()
            .map(|place| place.seat(hash))
            .any(|seat| is_own(seat) && seat.generation() > 0)
    }

    /// Changes the store, and takes back the permits that were prepaid from it before.
    ///
    /// For calls that reset or credit a key or give it other terms: `reset`, `remove`, `restore`,
    /// `credit`, `reconfigure`, `reconfigure_tier`, `reassign`. Once this returns, no permit that was
    /// prepaid before can be taken any more, for any key; calls that are under way may still take
    /// some. Goes over all places; lock-free, if the change is. (If there are several `HotKeys` around
    /// one table, each has its own seats, and each needs its own `update`.)
    ///
    /// `drain`, `force` and `reserve` keep the bound without an `update`, but then the permits that are in
    /// seats are still granted.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Keyed, quota};
    /// use sluicegate::keyed::HotKeys;
    ///
    /// let limiter = HotKeys::new(Keyed::<u64>::new(quota!(1_000 / hour)));
    /// while limiter.try_acquire(&7, 1).is_ok() {}
    /// limiter.update(|keyed| keyed.reset(&7));
    /// assert!(limiter.try_acquire(&7, 1).is_ok());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn update<T>(&self, change: impl FnOnce(&S) -> T) -> T {
        // Taken back after the change, even if it panics half way.
        let _drawn = TakeBackOnDrop(self);
        change(&self.store)
    }

    /// Returns the place at `index`, wrapping around: for programs that assign threads to places
    /// better than thread numbers do. Its `try_acquire(key, permits)` answers as
    /// [`HotKeys::try_acquire`] does.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{KeyTable, quota};
    /// use sluicegate::keyed::HotKeys;
    ///
    /// let table = KeyTable::<str>::with_keys(quota!(1_000_000 / second), 1_000)?;
    /// let limiter = HotKeys::new(table);
    /// for worker in 0..4 {
    ///     limiter.place(worker).try_acquire("everybody's", 10)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline(always)]
    pub fn place(&self, index: usize) -> HotPlace<'_, S> {
        HotPlace { keys: self, index }
    }
}

/// Takes back all prepaid permits when it is dropped.
struct TakeBackOnDrop<'a, S>(&'a HotKeys<S>);

impl<S> Drop for TakeBackOnDrop<'_, S> {
    fn drop(&mut self) {
        self.0.places.iter().flat_map(SeatBlock::seats).for_each(Seat::empty);
        // ORDERING: Release; pairs with the load in `acquire`: a denial noted by a caller that
        // has seen this was made after the change.
        // MODEL: `a_change_takes_back_what_was_drawn`.
        self.0.changes.fetch_add(1, Release);
    }
}

/// A place of [`HotKeys`], by number.
pub struct HotPlace<'a, S> {
    keys: &'a HotKeys<S>,
    index: usize,
}

impl<S> HotPlace<'_, S> {
    /// The same as [`HotKeys::try_acquire`], at this place.
    ///
    /// # Errors
    ///
    /// As for [`HotKeys::try_acquire`].
    #[inline(always)]
    pub fn try_acquire<K: ?Sized>(&self, key: &K, permits: u64) -> Result<Grant, Denied>
    where
        S: KeyStore<K>,
    {
        let HotPlace { keys, index } = *self;
        let hash = keys.store.hash(key);
        let seat = keys.at(index).seat(hash);
        let answer = match seat.look(hash) {
            SeatLook::Own(seen) => {
                let now_nanos = keys.store.clock().now_nanos();
                let taken = match permits {
                    0 => None,
                    _ => seat.take(hash, seen, permits, now_nanos),
                };
                match taken {
                    Some(grant) => Ok(grant),
                    None => {
                        keys.acquire(&Caller { key, hash, index }, (seat, seen), permits, now_nanos)
                    }
                }
            }
            SeatLook::Other(seen) => {
                if seat.vote(hash, seen)
                    && let Some(mut closed) = seat.close(seen)
                {
                    closed.give_to(hash);
                }
                keys.store.acquire(hash, key, permits)
            }
            SeatLook::Closed => keys.store.acquire(hash, key, permits),
        };
        keys.store.notify(key, permits, answer.as_ref());
        answer
    }
}

impl<S> Clone for HotPlace<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for HotPlace<'_, S> {}

impl<S> fmt::Debug for HotPlace<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HotPlace").field("index", &self.index).finish_non_exhaustive()
    }
}
