//! The operations on keys, hot or not.

use core::fmt;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
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
    #[inline(always)]
    pub fn try_acquire<K: ?Sized>(&self, key: &K, permits: u64) -> Result<Grant, Denied>
    where
        S: KeyStore<K>,
    {
        self.place(thread_index()).try_acquire(key, permits)
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
    /// For calls that reset a key or give it other terms: `reset`, `remove`, `restore`,
    /// `reconfigure`, `reconfigure_tier`, `reassign`. Once this returns, no permit that was prepaid
    /// before can be taken any more, for any key; calls that are under way may still take some.
    /// Goes over all places; lock-free, if the change is. (If there are several `HotKeys` around
    /// one table, each has its own seats, and each needs its own `change`.)
    ///
    /// `drain` and `force` need no `change`, but leave the permits that are in seats.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{HotKeys, Keyed, quota};
    ///
    /// let limiter = HotKeys::new(Keyed::<u64>::new(quota!(1_000 / hour)));
    /// while limiter.try_acquire(&7, 1).is_ok() {}
    /// limiter.change(|keyed| keyed.reset(&7));
    /// assert!(limiter.try_acquire(&7, 1).is_ok());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn change<T>(&self, change: impl FnOnce(&S) -> T) -> T {
        // Taken back after the change, even if it panics half way.
        let _drawn = TakeBackOnDrop(self);
        change(&self.store)
    }

    /// Returns the place at `index`, wrapping around: for programs that assign threads to places
    /// better than thread numbers do.
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
    /// The same as for [`HotKeys::try_acquire`].
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
        match &answer {
            Ok(grant) => keys.store.notify(key, grant.permits(), true),
            Err(_) => keys.store.notify(key, permits, false),
        }
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
