//! A place in the queue of a shaper.

use core::fmt;
use core::time::Duration;

use crate::time::clock::Clock;
use crate::time::latest::ToldInstant;
use crate::wait::timer::Timer;
use crate::wait::until::{block_until, sleep_until};

use super::Shaper;
use super::queue::Place;

/// A place in the queue of a [`Shaper`], and the instant at which it leaves.
///
/// The instant is fixed, and is by the shaper's clock: no later request, and no change of the rate or
/// of the size moves it. If the clock is set back by more than a second, it moves back with it. To
/// drop a departure is to keep its place.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, Shaper, rate};
///
/// let shaper = Shaper::with_clock(rate!(10 / second), 5, ManualClock::new());
/// let departure = shaper.shape(3)?;
/// assert_eq!(departure.ready_after(), Duration::from_millis(300));
/// assert!(departure.cancel());
/// assert_eq!(shaper.queued(), 0);
/// # Ok::<(), sluicegate::ShaperError>(())
/// ```
#[must_use = "to drop a departure is to keep its place"]
pub struct Departure<'a, C: Clock> {
    shaper: &'a Shaper<C>,
    permits: u64,
    /// `None` for no permits.
    place: Option<Place>,
    at: ToldInstant,
    wait: Duration,
}

impl<'a, C: Clock> Departure<'a, C> {
    pub(super) fn new(
        shaper: &'a Shaper<C>,
        permits: u64,
        place: Option<Place>,
        at: ToldInstant,
        wait: Duration,
    ) -> Departure<'a, C> {
        Departure { shaper, permits, place, at, wait }
    }
}

impl<C: Clock> Departure<'_, C> {
    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the instant at which the last of the permits leaves, by the shaper's clock as it was when
    /// the place was taken: the least nanosecond, or the end of the clock's range.
    #[must_use]
    pub fn at_nanos(&self) -> u64 {
        self.at.nanos()
    }

    /// Returns the wait that there was when the place was taken. Reads no clock.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.wait
    }

    /// Returns the wait that is left. Takes the shaper's lock for a moment, and reads its clock.
    ///
    /// While the clock is behind its latest reading, by a second at most, that time has to be waited for
    /// too, unless the instant is no later than the latest reading. The time by which the clock is set
    /// back further does not.
    #[must_use]
    pub fn wait_left(&self) -> Duration {
        self.shaper.wait_left(self.at)
    }

    /// Blocks the thread until it leaves.
    pub fn wait(self) {
        block_until(|| self.wait_left());
    }

    /// Sleeps by `timer` until it leaves. To drop the future is to keep the place.
    pub async fn wait_async<T: Timer>(self, timer: T) {
        sleep_until(timer, || self.wait_left()).await;
    }

    /// Gives the place back, if no other request has come since, and the rate was not changed.
    /// Returns whether it did; otherwise the place stays taken, as others have been told theirs
    /// behind it.
    ///
    /// So of several departures the newest can be given back, then the one before it. What is given
    /// back is exact: the shaper is as if the request had never come. Takes the shaper's lock for a
    /// moment; reads no clock.
    #[expect(clippy::must_use_candidate, reason = "most callers can do no more about it")]
    pub fn cancel(self) -> bool {
        self.take_back()
    }

    pub(super) fn take_back(&self) -> bool {
        self.place.is_none_or(|place| self.shaper.take_back(place))
    }
}

impl<C: Clock> fmt::Debug for Departure<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Departure")
            .field("permits", &self.permits)
            .field("at_nanos", &self.at.nanos())
            .finish_non_exhaustive()
    }
}
