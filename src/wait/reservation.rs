//! Permits that were taken for a later instant.

use core::fmt;
use core::time::Duration;

use crate::decision::pieces::Pieces;
use crate::decision::undo::{Debit, Undo};

use super::charged::{Booked, Charged};
use super::line;
use super::place::Place;
use super::timer::Timer;
use super::turn::TakesTurns;
use super::until::{Look, block_until, sleep_until};

/// Permits that are the caller's, to be used from an instant on.
///
/// Made by [`Reserve`](crate::wait::Reserve). To drop a reservation is to keep its permits. (If it was made while
/// others waited, that takes the lock of their line for a moment.)
///
/// The instant is one of the limiter's clock, and nothing moves it: no change of the limiter, no `force`,
/// no other reservation, and nothing that happens in the line that it stands in.
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
#[must_use = "to drop a reservation is to keep its permits"]
pub struct Reservation<'a> {
    limiter: &'a (dyn TakesTurns + Sync),
    permits: u64,
    booked: Booked,
    /// Units of a limiter that takes them back whatever has happened since.
    pieces: Option<(&'a dyn Undo, Pieces)>,
    place: Option<PlaceInLine<'a>>,
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
        let place = booked.place.map(|place| PlaceInLine { limiter, place: Some(place) });
        Reservation { limiter, permits, booked, pieces: None, place }
    }

    /// Returns the same reservation, which gives `pieces` back to `home` when it is cancelled.
    pub(crate) fn of_pieces(self, home: &'a dyn Undo, pieces: Pieces) -> Reservation<'a> {
        Reservation { pieces: Some((home, pieces)), ..self }
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

impl Reservation<'_> {
    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the instant from which the permits may be used, by the limiter's clock.
    #[must_use]
    pub fn at_nanos(&self) -> u64 {
        self.booked.at_nanos
    }

    /// Returns the wait that there was when the reservation was made. Reads no clock.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        Duration::from_nanos(self.booked.wait_nanos)
    }

    /// Returns the wait that is left. Reads the limiter's clock: if that is set back, this is longer, but
    /// no caller sleeps again by [`wait_blocking`](Reservation::wait_blocking) or [`wait`](Reservation::wait).
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
        sleep_until(timer, |_| self.look()).await;
    }

    fn look(&self) -> Look {
        Look::until(self.booked.at_nanos, self.limiter.now_nanos())
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
    /// Lock-free, unless others wait in line or did when it was made; does not allocate; reads no clock, except
    /// for a window, and in line.
    #[doc(alias = "refund")]
    #[expect(clippy::must_use_candidate, reason = "most callers can do no more about it")]
    pub fn cancel(self) -> bool {
        if let Some((home, pieces)) = self.pieces {
            // Those that are lost are not the caller's either.
            home.undo(Debit::Units(pieces));
            return true;
        }
        let charged = match self.place {
            None => self.booked.charged,
            Some(place) => match place.take_back() {
                Some(charged) => charged,
                // Nothing was charged yet.
                None => return true,
            },
        };
        let booked = Booked { charged, ..self.booked };
        charged.before == charged.after || self.limiter.cancel(booked, self.permits)
    }
}

impl fmt::Debug for Reservation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation")
            .field("permits", &self.permits)
            .field("at_nanos", &self.booked.at_nanos)
            .finish_non_exhaustive()
    }
}
