//! Permits that are missing, and the wait for them.

use core::fmt;
use core::time::Duration;

use crate::decision::forecast::Forecast;

/// The permits that a refused request lacked, and the wait until they are there.
///
/// Small and `Copy`; derived values are computed on request.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Denied, ManualClock, TokenBucket, quota};
///
/// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
/// bucket.try_acquire(8)?;
/// let Err(Denied::Wait(shortfall)) = bucket.try_acquire(5) else { panic!("2 are left") };
/// assert_eq!((shortfall.remaining(), shortfall.missing()), (2, 3));
/// assert_eq!(shortfall.retry_after(), Duration::from_millis(300));
/// # Ok::<(), Denied>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shortfall {
    /// The amount that would have sufficed, in the units of the forecast.
    pub(crate) wanted: i64,
    pub(crate) forecast: Forecast,
    /// The index of the limiter that fell short.
    pub(crate) which: usize,
}

impl Shortfall {
    /// Returns the shortfall of a request for `permits` if `outside` more permits exist outside of
    /// the forecast.
    pub(crate) fn of_all(self, permits: u64, outside: u64) -> Shortfall {
        let wanted = self.forecast.wanted_for(permits);
        Shortfall { wanted, forecast: self.forecast.with_more(outside as i64), ..self }
    }

    /// Returns the shortfall as it is for one who leaves `kept` permits, of which `wanted` counted these too.
    pub(super) fn above(self, kept: u64) -> Shortfall {
        let wanted = self.wanted.saturating_sub(self.forecast.wanted_for(kept));
        Shortfall { wanted, forecast: self.forecast.above(kept), ..self }
    }

    /// Returns the shortfall with so many `remaining` permits at most, as far from what is wanted, and such a limit.
    #[cfg(feature = "keyed")]
    pub(super) fn within(self, remaining: u64, limit: u64) -> Shortfall {
        let less = self.remaining().saturating_sub(remaining);
        let wanted = self.wanted.saturating_sub(self.forecast.wanted_for(less));
        Shortfall { wanted, forecast: self.forecast.lowered(less, limit), ..self }
    }

    /// Returns the wait until the request can be granted, if no other permits are taken.
    ///
    /// The least time that suffices, to the nanosecond.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        self.forecast.retry_after(self.wanted)
    }

    /// Returns a wait before which no requests for `permits` in all can be granted, each of which is within the limit,
    /// if no other permits are taken.
    #[cfg(feature = "wait")]
    pub(crate) fn retry_after_in_parts(&self, permits: u64) -> Duration {
        self.forecast.wait_in_parts(permits).unwrap_or_else(|| self.retry_after())
    }

    /// Returns the number of missing permits, rounded up.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.forecast.missing(self.wanted)
    }

    /// Returns the number of whole permits that were available.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.forecast.remaining()
    }

    /// Returns the balance in whole permits, rounded down; negative for a debt, and for a window
    /// whose limit was lowered below what counts.
    #[must_use]
    pub fn balance(&self) -> i64 {
        self.forecast.balance()
    }

    /// Returns the wait until one permit more than [`remaining`](Shortfall::remaining) is available,
    /// if no other permits are taken; `None` if the limiter is full to a whole permit, or does not
    /// know the wait.
    ///
    /// The same as [`Grant::next_permit_after`](crate::Grant::next_permit_after). A limiter that does
    /// not know it for a grant knows it for a denial of just one permit more than remained: then it
    /// is [`retry_after`](Shortfall::retry_after).
    #[must_use]
    pub fn next_permit_after(&self) -> Option<Duration> {
        match self.forecast {
            Forecast::Known(_) if self.wanted as u64 == self.remaining().saturating_add(1) => {
                Some(self.retry_after())
            }
            _ => self.forecast.next_permit_after(),
        }
    }

    /// Returns the largest number of permits that can be granted at once; for a window, its limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.forecast.limit()
    }

    /// Returns the wait until the limiter is full again, if no other permits are taken.
    #[must_use]
    pub fn reset_after(&self) -> Duration {
        self.forecast.reset_after()
    }
}

/// Shows what was missing, and when the request can be granted:
/// `Shortfall { missing: 3, remaining: 1, retry_after: 300ms }`. The index of the limiter that fell
/// short is shown if it is not the first. `{:#?}` shows the numbers behind that too.
impl fmt::Debug for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_long = f.alternate();
        let mut shown = f.debug_struct("Shortfall");
        shown.field("missing", &self.missing());
        match self.balance() {
            balance @ ..0 => shown.field("balance", &balance),
            _ => shown.field("remaining", &self.remaining()),
        };
        shown.field("retry_after", &self.retry_after());
        if is_long || self.which > 0 {
            shown.field("which", &self.which);
        }
        if is_long {
            shown.field("wanted", &self.wanted).field("forecast", &self.forecast);
        }
        shown.finish()
    }
}
