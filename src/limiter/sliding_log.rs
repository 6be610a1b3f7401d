//! Exact sliding windows: a log of what was granted.

use super::window_verbs::{one_limit, window_verbs};
use crate::log::{UnitLog, WeightedLog as Weighted};
use crate::{Clock, ConfigError, DefaultClock, Rate};

/// Grants single permits, at most a limit in any window of a length, exact to the
/// nanosecond: it remembers when each was granted.
///
/// A request is for one permit; more are [`TooLarge`](crate::Denied::TooLarge), but
/// [`try_acquire_up_to`](SlidingLog::try_acquire_up_to) takes one after the other.
/// For requests of any size there is [`WeightedLog`].
///
/// # Accuracy
///
/// **No span `(t - W, t]` admits more than the limit, and no request is refused for
/// which there is room**, to the nanosecond. (A window of one nanosecond lasts two.) A
/// permit that is exactly one window old
/// counts no more. If threads' clocks differ, a permit is dated by its caller's, or
/// by the latest before it if that is later.
///
/// # Fairness
///
/// None: whoever asks when there are permits gets them.
///
/// # Memory ordering
///
/// What a caller did before it was granted permits happens before what the
/// callers granted after it do. A denial orders nothing.
///
/// The log is the "sliding window log" of the literature, as a ring of timestamps.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, SlidingLog, rate};
///
/// let clock = ManualClock::new();
/// let log = SlidingLog::with_clock(rate!(2 / minute), &clock)?;
/// log.try_acquire(1)?;
/// clock.advance(Duration::from_secs(59));
/// log.try_acquire(1)?;
/// let denied = log.try_acquire(1).unwrap_err();
/// assert_eq!(denied.retry_after(), Some(Duration::from_secs(1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SlidingLog<C = DefaultClock> {
    core: UnitLog<C>,
}

#[cfg(feature = "std")]
impl SlidingLog {
    /// A log of windows of `limit`'s period on a clock of its own.
    ///
    /// # Errors
    ///
    /// As [`with_clock`](SlidingLog::with_clock).
    pub fn new(limit: Rate) -> Result<SlidingLog, ConfigError> {
        SlidingLog::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> SlidingLog<C> {
    /// A log of windows of `limit`'s period on `clock`. Allocates eight bytes for
    /// each permit of the limit, rounded up to a power of two.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Capacity`] if the limit is above 2^24.
    pub fn with_clock(limit: Rate, clock: C) -> Result<SlidingLog<C>, ConfigError> {
        SlidingLog::with_capacity(limit, limit.permits(), clock)
    }

    /// The same, with room for limits up to `capacity`, for
    /// [`reconfigure`](SlidingLog::reconfigure).
    ///
    /// # Errors
    ///
    /// [`ConfigError::Capacity`] if that is less than the limit or above 2^24.
    pub fn with_capacity(
        limit: Rate,
        capacity: u64,
        clock: C,
    ) -> Result<SlidingLog<C>, ConfigError> {
        Ok(SlidingLog { core: UnitLog::new(limit, capacity, clock)? })
    }
}

window_verbs!(SlidingLog<C>, "SlidingLog::with_clock(rate!(2 / minute), &clock)?");
one_limit!(SlidingLog<C>);

/// Grants requests of any size, at most a limit of permits in any window of a
/// length: it remembers when each request was granted, and how large it was.
///
/// # Accuracy
///
/// **No span `(t - W, t]` admits more than the limit.** A request leaves the window
/// up to two ticks late and never early. A tick is 2^b ns for a limit of b bits, which
/// is 128 ns at 100 and a millisecond at a million. It remembers as many requests as its
/// capacity, by default the limit, which is all that can be in a window; with
/// fewer, it refuses more requests while that many are in the window.
///
/// # Fairness
///
/// None: whoever asks when there are permits gets them.
///
/// # Memory ordering
///
/// What a caller did before it was granted permits happens before what the
/// callers granted after it do. A denial orders nothing.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, WeightedLog, rate};
///
/// let clock = ManualClock::new();
/// let log = WeightedLog::with_clock(rate!(10 / minute), &clock)?;
/// log.try_acquire(3)?;
/// clock.advance(Duration::from_secs(20));
/// log.try_acquire(7)?;
/// // The three are gone after 40 s more, and that is enough for two.
/// let denied = log.try_acquire(2).unwrap_err();
/// assert_eq!(denied.retry_after(), Some(Duration::from_secs(40)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WeightedLog<C = DefaultClock> {
    core: Weighted<C>,
}

#[cfg(feature = "std")]
impl WeightedLog {
    /// A log of windows of `limit`'s period on a clock of its own.
    ///
    /// # Errors
    ///
    /// As [`with_clock`](WeightedLog::with_clock).
    pub fn new(limit: Rate) -> Result<WeightedLog, ConfigError> {
        WeightedLog::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> WeightedLog<C> {
    /// A log of windows of `limit`'s period on `clock`. Allocates eight bytes for
    /// each permit of the limit and two more, rounded up to a power of two.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Capacity`] if the limit is above 2^24 - 2.
    pub fn with_clock(limit: Rate, clock: C) -> Result<WeightedLog<C>, ConfigError> {
        WeightedLog::with_capacity(limit, limit.permits(), clock)
    }

    /// The same, remembering up to `capacity` requests.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Capacity`] if that is 0 or above 2^24 - 2.
    pub fn with_capacity(
        limit: Rate,
        capacity: u64,
        clock: C,
    ) -> Result<WeightedLog<C>, ConfigError> {
        Ok(WeightedLog { core: Weighted::new(limit, capacity, clock)? })
    }
}

window_verbs!(WeightedLog<C>, "WeightedLog::with_clock(rate!(2 / minute), &clock)?");
one_limit!(WeightedLog<C>);
