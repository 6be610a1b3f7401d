//! Answers that grant permits.

use core::fmt;
use core::time::Duration;

use crate::window_counts::WindowCounts;

use super::forecast::Forecast;

/// The answer to a request that was granted.
///
/// Small and `Copy`. Describes the limiter right after the grant; derived values are computed on
/// request.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, TokenBucket, quota};
///
/// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
/// let grant = bucket.try_acquire(4)?;
/// assert_eq!((grant.permits(), grant.remaining(), grant.limit()), (4, 6, 10));
/// assert_eq!(grant.next_permit_after(), Some(Duration::from_millis(100)));
/// assert_eq!(grant.reset_after(), Duration::from_millis(400));
/// # Ok::<(), sluicegate::Denied>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    pub(crate) permits: u64,
    pub(crate) forecast: Forecast,
}

impl Grant {
    /// Returns a grant of `permits` by a limiter of which nothing is ever used.
    #[inline]
    pub(crate) fn unused(permits: u64, limit: u64) -> Grant {
        let counted = WindowCounts {
            limit,
            current: 0,
            previous: 0,
            left_nanos: 0,
            length_nanos: 1,
            slides: false,
        };
        Grant { permits, forecast: Forecast::Window(counted) }
    }

    /// Returns the grant as it is for one who leaves a reserve: balance and limit are lower by `reserve` permits.
    ///
    /// The grant of [`try_acquire_leaving`](crate::share::Leaving::try_acquire_leaving) tells of the whole limit. Classes of
    /// your own tell their callers this one, as those of [`share`](crate::share) do.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::share::Leaving;
    /// use sluicegate::{Denied, ManualClock, TokenBucket, quota};
    ///
    /// let bucket = TokenBucket::with_clock(quota!(100 / second), ManualClock::new());
    /// let grant = bucket.try_acquire_leaving(10, 50)?;
    /// assert_eq!((grant.remaining(), grant.limit()), (90, 100));
    /// let own = grant.above(50);
    /// assert_eq!((own.remaining(), own.limit()), (40, 50));
    /// # Ok::<(), Denied>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn above(self, reserve: u64) -> Grant {
        Grant { forecast: self.forecast.above(reserve), ..self }
    }

    /// Returns the number of permits that were granted.
    #[must_use]
    #[inline]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the number of whole permits that were left.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.forecast.remaining()
    }

    /// Returns the balance that was left, in whole permits; negative if
    /// [`force`](crate::TokenBucket::force) left a debt. [`remaining`](Grant::remaining) is the same,
    /// but never below 0.
    ///
    /// A fraction of a permit is rounded down, so a debt counts in full. For a window, the permits
    /// that its limit leaves: negative if the limit was lowered below what counts.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, TokenBucket, quota};
    ///
    /// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    /// let grant = bucket.force(12)?;
    /// assert_eq!((grant.balance(), grant.remaining()), (-2, 0));
    /// assert_eq!(grant.next_permit_after(), Some(Duration::from_millis(300)));
    /// # Ok::<(), sluicegate::Denied>(())
    /// ```
    #[must_use]
    pub fn balance(&self) -> i64 {
        self.forecast.balance()
    }

    /// Returns the wait until one permit more than [`remaining`](Grant::remaining) is available, if
    /// no other permits are taken; `None` if the limiter is full to a whole permit, or does not know
    /// the wait.
    ///
    /// The least time that suffices, to the nanosecond, for buckets with and without keys, and for
    /// windows whose state is one word. (For a `Budget`, it is the end of the day,
    /// although the next day may have a smaller amount.) Sliding windows of slots and logs would
    /// have to search for it, and a shard of a `Sharded` does not see the whole: their
    /// grants do not know it. An `All` answers for the limiter with the least left.
    #[must_use]
    pub fn next_permit_after(&self) -> Option<Duration> {
        self.forecast.next_permit_after()
    }

    /// Returns the largest number of permits that can be granted at once; for a window, its limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.forecast.limit()
    }

    /// Returns the wait until the limiter is full again, if no other permits are taken.
    ///
    /// The least time that suffices, to the nanosecond.
    #[must_use]
    pub fn reset_after(&self) -> Duration {
        self.forecast.reset_after()
    }

    /// Returns the wait until the debt that this grant left is repaid; zero if it left none.
    ///
    /// A caller that forces its permits and then waits this long keeps to the rate.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.forecast.ready_after()
    }
}

/// Shows what was granted, what was left, and when the limiter is full again:
/// `Grant { permits: 1, remaining: 17, reset_after: 30ms }`. A debt is shown as a negative balance.
/// `{:#?}` shows the numbers behind that too.
impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_long = f.alternate();
        let mut shown = f.debug_struct("Grant");
        shown.field("permits", &self.permits);
        match self.balance() {
            balance @ ..0 => shown.field("balance", &balance),
            _ => shown.field("remaining", &self.remaining()),
        };
        shown.field("reset_after", &self.reset_after());
        if is_long {
            shown.field("forecast", &self.forecast);
        }
        shown.finish()
    }
}
