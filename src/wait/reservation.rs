//! Permits that were taken for a later instant.

use core::fmt;
use core::time::Duration;

use crate::decision::all_or_none::Revocable;
use crate::decision::pieces::Pieces;
use crate::decision::undo::{Debit, Undo};
use crate::time::clock::Clock;

use super::charged::{Booked, Charged};
use super::line;
use super::place::Place;
use super::timer::Timer;
use super::turn::TakesTurns;
use super::until::{Look, block_until, sleep_until};

/// Permits that are the caller's, to be used from an instant on: of a limiter, or of the key `Q` of a store.
///
/// Made by [`Reserve`](crate::wait::Reserve), and by `reserve` of a `Keyed` of buckets. To drop a reservation is to keep
/// its permits. (If it was made while others waited, that takes the lock of their line for a moment.)
///
/// The instant is one of the limiter's clock, or the store's, and nothing moves it: no change of the limiter, no
/// `force`, no other reservation, and nothing that happens in the line that it stands in.
///
/// A key is in debt until that instant, so it is not evicted. Later, when it is full again, it may be, as any key: the
/// permits are used by then, or forfeited.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, TokenBucket, quota};
/// use sluicegate::wait::Reserve;
///
/// let clock = ManualClock::new();
/// let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
/// let now = bucket.reserve(10)?;
/// let later = bucket.reserve(5)?;
/// assert_eq!((now.wait_left(), later.wait_left()), (Duration::ZERO, Duration::from_millis(500)));
///
/// assert!(later.cancel());
/// assert_eq!(bucket.reserve(1)?.wait_left(), Duration::from_millis(100));
/// # Ok::<(), sluicegate::wait::AcquireError>(())
/// ```
///
/// Keys of a store:
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Keyed, quota};
/// use sluicegate::wait::AcquireError;
///
/// let users = Keyed::<String>::new(quota!(10 / second));
/// let now = users.reserve("ada", 10)?;
/// let later = users.reserve("ada", 5)?;
/// assert_eq!((later.key(), now.ready_after()), ("ada", Duration::ZERO));
/// assert!(later.ready_after() > Duration::from_millis(400));
/// assert!(later.cancel());
/// // Would have to wait for longer.
/// let refused = users.reserve_within("ada", 10, Duration::from_millis(10)).unwrap_err();
/// assert!(matches!(refused, AcquireError::TimedOut { .. }));
/// # Ok::<(), AcquireError>(())
/// ```
#[must_use = "to drop a reservation is to keep its permits"]
pub struct Reservation<'a, Q: ?Sized = ()> {
    key: &'a Q,
    permits: u64,
    booked: Booked,
    home: Home<'a, Q>,
}

/// The limiter or the store that a reservation was made by.
enum Home<'a, Q: ?Sized> {
    Limiter {
        limiter: &'a (dyn TakesTurns + Sync),
        /// Units of a limiter that takes them back whatever has happened since.
        pieces: Option<(&'a dyn Undo, Pieces)>,
        place: Option<PlaceInLine<'a>>,
    },
    Store {
        store: &'a (dyn BooksKeys<Q> + Sync),
        debtor: Debtor,
    },
}

/// A store that takes reservations back. It is a trait, since a reservation names only the form of the key, and no other
/// type of the store.
pub(crate) trait BooksKeys<Q: ?Sized> {
    fn clock(&self) -> &dyn Clock;

    /// Takes back the charge of `debtor` for `key`, if that is exact. Returns whether it did.
    fn unbook(&self, key: &Q, debtor: Debtor, charged: Charged) -> bool;
}

/// The one who is charged with a reservation for a key.
#[derive(Clone, Copy)]
pub(crate) enum Debtor {
    Key,
    /// The bucket that all keys share for which there is no space.
    Shared,
    /// Nobody: there was no space, and such keys are admitted.
    Nobody,
}

/// The place of a reservation behind others in line. To drop it is to leave the reservation there.
struct PlaceInLine<'a> {
    limiter: &'a (dyn TakesTurns + Sync),
    /// `None` once it was taken back.
    place: Option<Place>,
}

impl PlaceInLine<'_> {
    /// Leaves the line, or returns what was charged.
    fn take_back(mut self) -> Option<Charged> {
        line::take_back_reservation(self.limiter, self.place.take()?)
    }
}

impl Drop for PlaceInLine<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            line::release(self.limiter, place);
        }
    }
}

impl<'a> Reservation<'a> {
    pub(crate) fn new(
        limiter: &'a (dyn TakesTurns + Sync),
        permits: u64,
        booked: Booked,
    ) -> Reservation<'a> {
        Reservation::with(limiter, permits, booked, None)
    }

    /// Returns a reservation of `pieces`, which are given back to `lots` when it is cancelled.
    pub(crate) fn of_pieces(
        limiter: &'a (dyn TakesTurns + Sync),
        permits: u64,
        booked: Booked,
        (lots, pieces): (&'a dyn Undo, Pieces),
    ) -> Reservation<'a> {
        Reservation::with(limiter, permits, booked, Some((lots, pieces)))
    }

    fn with(
        limiter: &'a (dyn TakesTurns + Sync),
        permits: u64,
        booked: Booked,
        pieces: Option<(&'a dyn Undo, Pieces)>,
    ) -> Reservation<'a> {
        let place = booked.place.map(|place| PlaceInLine { limiter, place: Some(place) });
        Reservation { key: &(), permits, booked, home: Home::Limiter { limiter, pieces, place } }
    }

    /// Returns a reservation of `permits` that are charged to nobody, for the instant at which this one
    /// was made, which is of none.
    pub(crate) fn for_now(self, permits: u64) -> Reservation<'a> {
        let Booked { at_nanos, wait_nanos, charged, .. } = self.booked;
        let charged = Charged { after: charged.before, ..charged };
        let at_nanos = at_nanos.saturating_sub(wait_nanos);
        let booked = Booked { at_nanos, wait_nanos: 0, cost: 0, charged, place: None };
        Reservation { permits, booked, ..self }
    }
}

impl<'a, Q: ?Sized> Reservation<'a, Q> {
    /// Creates the reservation for a key, which `debtor` was charged with.
    pub(crate) fn of_key(
        store: &'a (dyn BooksKeys<Q> + Sync),
        key: &'a Q,
        permits: u64,
        booked: Booked,
        debtor: Debtor,
    ) -> Reservation<'a, Q> {
        Reservation { key, permits, booked, home: Home::Store { store, debtor } }
    }
}

impl<Q: ?Sized> Reservation<'_, Q> {
    /// Returns the key; `()` for a limiter without keys.
    #[must_use]
    pub fn key(&self) -> &Q {
        self.key
    }

    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the instant from which the permits may be used, by the clock of the limiter or the store.
    #[must_use]
    pub fn at_nanos(&self) -> u64 {
        self.booked.at_nanos
    }

    /// Returns the wait that there was when the reservation was made. Reads no clock.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        Duration::from_nanos(self.booked.wait_nanos)
    }

    /// Returns the wait that is left. Reads the clock of the limiter or the store: if that is set back, this is longer,
    /// but no caller sleeps again by [`wait_blocking`](Reservation::wait_blocking) or [`wait`](Reservation::wait).
    #[must_use]
    pub fn wait_left(&self) -> Duration {
        self.look().left
    }

    /// Blocks the thread until the permits may be used.
    pub fn wait_blocking(self) {
        block_until(|_| self.look());
    }

    /// Sleeps by `timer` until the permits may be used. To drop the future is to keep the permits.
    pub async fn wait<T: Timer>(self, timer: T) {
        let timeline = self.clock().timeline();
        sleep_until(timer, timeline, |_| self.look()).await;
    }

    fn look(&self) -> Look {
        Look::until(self.booked.at_nanos, self.clock().now_nanos())
    }

    fn clock(&self) -> &dyn Clock {
        match &self.home {
            Home::Limiter { limiter, .. } => limiter.clock(),
            Home::Store { store, .. } => store.clock(),
        }
    }

    /// Gives the permits back, if nothing else was taken or changed since they were charged. Returns whether it
    /// did; otherwise they stay taken. So of several reservations the newest can be given back, then the one
    /// before it.
    ///
    /// Those of a window also come back if others have taken permits of the same window since, but of none
    /// after it, and it has not ended. They stay taken if they were charged only in part, because what was
    /// used beyond estimates had filled the window's count.
    ///
    /// A reservation that still stands in line has not been charged: it leaves the line, and those behind it
    /// move up.
    ///
    /// What is given back is exact: the limiter is as if the reservation had never been made, and those in
    /// line are granted what is due to them.
    ///
    /// A [`SettleableBucket`](crate::bucket::SettleableBucket) takes back any of its reservations, whatever was taken
    /// since, as it does what is left of an [`Estimate`](crate::settle::Estimate): others can take the permits once
    /// the bucket is out of debt, and as long as they live. It always returns true; what comes too late is
    /// lost, as with an estimate.
    ///
    /// Permits of a key come back if nothing else of the key was taken since, and no key of its shard (a 128th of all keys)
    /// was reset, removed, credited, restored or healed, nor the quota changed. A key that was evicted is given nothing,
    /// and no other key is: the key is looked up again. The observer is not told. Nor are callers in line in a
    /// `QueuedKeys`: cancel in its `update_key`.
    ///
    /// Lock-free, unless others wait in line or did when it was made; of a key, takes the lock of its shard, shared. Does
    /// not allocate; reads no clock, except for a window, and in line.
    #[doc(alias = "refund")]
    #[expect(clippy::must_use_candidate, reason = "most callers can do no more about it")]
    pub fn cancel(self) -> bool {
        let Reservation { key, permits, booked, home } = self;
        let is_free = |charged: Charged| charged.before == charged.after;
        let (limiter, pieces, place) = match home {
            Home::Limiter { limiter, pieces, place } => (limiter, pieces, place),
            Home::Store { store, debtor } => {
                return is_free(booked.charged) || store.unbook(key, debtor, booked.charged);
            }
        };
        if let Some((lots, pieces)) = pieces {
            // Those that are lost are not the caller's either.
            lots.undo(Debit::Units(pieces));
            return true;
        }
        let charged = match place {
            None => booked.charged,
            Some(place) => match place.take_back() {
                Some(charged) => charged,
                // Nothing was charged yet.
                None => return true,
            },
        };
        is_free(charged) || limiter.cancel(Booked { charged, ..booked }, permits)
    }
}

impl<Q: ?Sized> Revocable for Reservation<'_, Q> {
    fn revoke(self) -> bool {
        self.cancel()
    }
}

impl<Q: ?Sized> fmt::Debug for Reservation<'_, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("permits", &self.permits)
            .field("at_nanos", &self.booked.at_nanos)
            .finish_non_exhaustive()
    }
}
