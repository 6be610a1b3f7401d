//! Exact sliding windows: a log of what was granted.

use core::fmt;
use core::time::Duration;

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::history::History;
use crate::decision::receipt::Receipt;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::time::units;
use crate::window::log::count::{ByNumber, InEntry};
use crate::window::log::requests::RequestLog;

use super::verbs::{one_limit, window_verbs};
use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;

/// Grants single permits, at most a limit in any window of a given length, exact to the
/// nanosecond: it remembers when each was granted.
///
/// A request is for one permit. Larger ones are [`TooLarge`](crate::Denied::TooLarge), but
/// [`try_acquire_up_to`](SlidingLog::try_acquire_up_to) takes permits one by one.
/// For requests of any size there is [`WeightedLog`].
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
///
/// # Accuracy
///
/// **No span `(t - W, t]` admits more than the limit, and no request that fits is
/// denied**, to the nanosecond. (A window of one nanosecond lasts two.) A
/// permit that is exactly one window old no longer counts. This holds for 146 years.
///
/// Spans are measured in the time by which permits are dated: their caller's clock, or the
/// date of the last entry, if that is later. (Each reset at a reading of the clock dates later grants
/// at that reading a nanosecond later.) If threads' clocks differ by `d`, at most a second, no `W - d`
/// of true time admits more than the limit.
///
/// # Fairness
///
/// Not first come, first served: a caller that asks when there are permits gets them. After
/// several lost races for one word, a caller has priority over later ones, which back
/// off for it once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: what a caller did before it was granted permits
/// happens before what callers granted later do afterwards. A denial does not synchronize.
///
/// The log is the "sliding window log" of the literature, as a ring of timestamps.
pub struct SlidingLog<C = DefaultClock> {
    core: RequestLog<C, ByNumber>,
}

#[cfg(feature = "std")]
impl SlidingLog {
    /// Creates a log with windows of `limit`'s period, on a clock of its own.
    ///
    /// # Errors
    ///
    /// As for [`with_clock`](SlidingLog::with_clock).
    pub fn new(limit: Rate) -> Result<SlidingLog, ConfigError> {
        SlidingLog::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> SlidingLog<C> {
    /// Creates a log with windows of `limit`'s period on `clock`. Allocates eight bytes
    /// for each permit of the limit, rounded up to a power of two.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the limit is above 2^24.
    pub fn with_clock(limit: Rate, clock: C) -> Result<SlidingLog<C>, ConfigError> {
        Ok(SlidingLog { core: RequestLog::of_permits(limit, clock)? })
    }

    /// Makes room for limits up to `max_limit`, so that
    /// [`reconfigure`](SlidingLog::reconfigure) can raise the limit later. Allocates anew; earlier grants are
    /// forgotten.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit or above 2^24.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{SlidingLog, rate};
    ///
    /// let log = SlidingLog::new(rate!(100 / minute))?;
    /// let text = "limit is 200: must be from 1 to 100, which this window was made for; \
    ///     `with_max_limit` makes it for more";
    /// assert_eq!(log.reconfigure(200).unwrap_err().to_string(), text);
    ///
    /// let log = log.with_max_limit(1_000)?;
    /// log.reconfigure(200)?;
    /// assert_eq!(log.try_acquire_up_to(1_000)?.permits(), 200);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_max_limit(self, max_limit: u64) -> Result<SlidingLog<C>, ConfigError> {
        Ok(SlidingLog { core: self.core.with_max_limit(max_limit)? })
    }
}

window_verbs!(
    SlidingLog<C>,
    "SlidingLog::with_clock(rate!(2 / minute), &clock)?",
    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.core.peek_ahead(permits)
    }
);
leaving!(SlidingLog<C>, "SlidingLog::with_clock(rate!(2 / minute), &clock)?");
one_limit!(SlidingLog<C>);

/// Grants requests of any size, at most a limit of permits in any window of a given
/// length: it remembers when each request was granted, and how large it was.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, rate};
/// use sluicegate::window::WeightedLog;
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
///
/// # Accuracy
///
/// **No span `(t - W, t]` admits more than the limit**, for 146 years. A request leaves the
/// window late by less than its [`resolution`](WeightedLog::resolution), and never early: one
/// exactly one window old may still count. The resolution is 2^(b + 1) ns for a
/// [`max_limit`](WeightedLog::max_limit) of b bits: 256 ns at 100, 66 us at 20,000, 2 ms at a
/// million, 34 ms at ten million (bytes, say).
///
/// **Use it for windows much longer than that.** Requests that leave late cost throughput: a
/// window of a second under a load of twice its limit grants 0.98 of a limit of ten million,
/// 0.86 of a hundred million (268 ms late), and 0.47 of a thousand million (2.1 s late). Count
/// such amounts in larger units: kibibytes, not bytes.
///
/// It remembers as many requests as its capacity. By default that is the limit, so that all
/// requests that fit into a window can be remembered; with a smaller capacity, it denies
/// further requests while that many are in the window.
///
/// Spans are measured in the time by which permits are dated: their caller's clock, or the
/// date of the last entry, if that is later. If threads' clocks differ by `d`, at most a
/// second, no `W - d` of true time admits more than the limit.
///
/// # Fairness
///
/// Not first come, first served: a caller that asks when there are permits gets them. After
/// several lost races for one word, a caller has priority over later ones, which back
/// off for it once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: what a caller did before it was granted permits
/// happens before what callers granted later do afterwards. A denial does not synchronize.
pub struct WeightedLog<C = DefaultClock> {
    core: RequestLog<C, InEntry>,
}

#[cfg(feature = "std")]
impl WeightedLog {
    /// Creates a log with windows of `limit`'s period, on a clock of its own.
    ///
    /// # Errors
    ///
    /// As for [`with_clock`](WeightedLog::with_clock).
    pub fn new(limit: Rate) -> Result<WeightedLog, ConfigError> {
        WeightedLog::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> WeightedLog<C> {
    /// Creates a log with windows of `limit`'s period on `clock`. Allocates eight bytes
    /// for each permit of the limit and two more, rounded up to a power of two.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Capacity`] if the limit is above 2^24 - 2.
    pub fn with_clock(limit: Rate, clock: C) -> Result<WeightedLog<C>, ConfigError> {
        WeightedLog::with_capacity(limit, limit.permits(), clock)
    }

    /// Creates the same log with room for `capacity` requests.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Capacity`] if `capacity` is 0 or above 2^24 - 2.
    pub fn with_capacity(
        limit: Rate,
        capacity: u64,
        clock: C,
    ) -> Result<WeightedLog<C>, ConfigError> {
        Ok(WeightedLog { core: RequestLog::of_any_size(limit, capacity, clock)? })
    }

    /// Makes room for limits up to `max_limit`, so that
    /// [`reconfigure`](WeightedLog::reconfigure) can raise the limit later. Meant for a new log:
    /// earlier grants are forgotten.
    ///
    /// Without it, the maximum is one less than the next power of two. A larger maximum lengthens
    /// the [`resolution`](WeightedLog::resolution). A log that remembers as many requests as
    /// its limit will remember as many as `max_limit`; one with a smaller capacity keeps that. The
    /// limit in force decides: a log whose limit `reconfigure` raised above its capacity
    /// keeps its capacity, too. Allocates anew.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, above
    /// [`Rate::MAX_PERMITS`], faster than [`Rate::MAX_PER_SECOND`], or more requests than a
    /// log can remember: 2^24 - 2.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, rate};
    /// use sluicegate::window::WeightedLog;
    ///
    /// let clock = ManualClock::new();
    /// let log = WeightedLog::with_capacity(rate!(1_000_000 / second), 64, &clock)?;
    /// let log = log.with_max_limit(50_000_000)?;
    /// log.reconfigure(50_000_000)?;
    /// log.try_acquire(50_000_000)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_max_limit(self, max_limit: u64) -> Result<WeightedLog<C>, ConfigError> {
        Ok(WeightedLog { core: self.core.with_max_limit(max_limit)? })
    }
}

window_verbs!(WeightedLog<C>, "window::WeightedLog::with_clock(rate!(2 / minute), &clock)?");
leaving!(WeightedLog<C>, "window::WeightedLog::with_clock(rate!(2 / minute), &clock)?");

impl<C: Clock> WeightedLog<C> {
    /// Returns the length of the ticks in which requests are dated. A request leaves the window
    /// late by less than this.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::rate;
    /// use sluicegate::window::WeightedLog;
    ///
    /// let log = WeightedLog::new(rate!(20_000 / minute))?;
    /// assert_eq!(log.resolution(), Duration::from_nanos(65_536));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn resolution(&self) -> Duration {
        Duration::from_nanos(self.core.resolution_nanos())
    }
}
one_limit!(WeightedLog<C>);
