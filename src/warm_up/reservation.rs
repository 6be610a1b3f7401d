//! The turn of a request for permits of a limiter that warms up.

use core::fmt;
use core::time::Duration;

use crate::time::clock::Clock;
use crate::time::latest::ToldInstant;
use crate::wait::timer::Timer;
use crate::wait::until::{block_until, sleep_until};

use super::WarmUp;
use super::schedule::Taken;

/// Permits of a [`WarmUp`] that are the caller's, to be used from an instant on.
///
/// The instant is fixed, and is by the limiter's clock: no later request and no change of the rate
/// moves it. If the clock is set back by more than a second, it moves back with it. To drop a
/// reservation is to keep the permits.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, WarmUp, rate};
///
/// let pool = WarmUp::with_clock(rate!(2 / second), Duration::from_secs(4), ManualClock::new())?;
/// let first = pool.reserve(1)?;
/// let second = pool.reserve(1)?;
/// assert_eq!(first.ready_after(), Duration::ZERO);
/// assert_eq!(second.ready_after(), Duration::from_millis(1_375));
/// assert!(second.cancel() && first.cancel());
/// assert_eq!(pool.ready_after(), Duration::ZERO);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "to drop a reservation is to keep its permits"]
pub struct WarmUpReservation<'a, C: Clock> {
    limiter: &'a WarmUp<C>,
    permits: u64,
    /// `None` for no permits.
    taken: Option<Taken>,
    at: ToldInstant,
    wait: Duration,
}

impl<'a, C: Clock> WarmUpReservation<'a, C> {
    pub(super) fn new(
        limiter: &'a WarmUp<C>,
        permits: u64,
        taken: Option<Taken>,
        at: ToldInstant,
        wait: Duration,
    ) -> WarmUpReservation<'a, C> {
        WarmUpReservation { limiter, permits, taken, at, wait }
    }
}

impl<C: Clock> WarmUpReservation<'_, C> {
    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the instant from which the permits may be used, by the limiter's clock as it was when the
    /// reservation was made: the least nanosecond.
    #[must_use]
    pub fn at_nanos(&self) -> u64 {
        self.at.nanos()
    }

    /// Returns the wait that there was when the reservation was made. Reads no clock.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.wait
    }

    /// Returns the wait that is left. Takes the limiter's lock for a moment, and reads its clock.
    ///
    /// While the clock is behind its latest reading, by a second at most, that time has to be waited for
    /// too, unless the instant is no later than the latest reading. The time by which the clock is set
    /// back further does not.
    #[must_use]
    pub fn wait_left(&self) -> Duration {
        self.limiter.wait_left(self.at)
    }

    /// Blocks the thread until the permits may be used.
    pub fn wait(self) {
        block_until(|| self.wait_left());
    }

    /// Sleeps by `timer` until the permits may be used. To drop the future is to keep the permits.
    pub async fn wait_async<T: Timer>(self, timer: T) {
        sleep_until(timer, || self.wait_left()).await;
    }

    /// Gives the permits back, if no other request was granted since, and the rate was not changed.
    /// Returns whether it did; otherwise they stay taken, as the others were told instants after
    /// them.
    ///
    /// So of several reservations the newest can be given back, then the one before it, as far as there
    /// was no idle time between them. What is given back is exact: the next request is told what it would
    /// have been if this one had never come. Takes the limiter's lock for a moment; reads no clock.
    #[doc(alias = "refund")]
    #[expect(clippy::must_use_candidate, reason = "most callers can do no more about it")]
    pub fn cancel(self) -> bool {
        self.take_back()
    }

    pub(super) fn take_back(&self) -> bool {
        self.taken.is_none_or(|taken| self.limiter.take_back(taken))
    }
}

impl<C: Clock> fmt::Debug for WarmUpReservation<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarmUpReservation")
            .field("permits", &self.permits)
            .field("at_nanos", &self.at.nanos())
            .finish_non_exhaustive()
    }
}
