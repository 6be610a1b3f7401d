//! Exact sliding windows: a log of what was granted.

use core::time::Duration;

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::window::log::unit::UnitLog;
use crate::window::log::weighted::WeightedLog as Weighted;

use super::window_verbs::{one_limit, window_verbs};

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
/// permit that is exactly one window old counts no more. That is so for 146 years.
///
/// Spans are of the time that permits are dated by: their caller's clock, or the latest
/// date before, if that is later. If threads' clocks differ by `d`, at most a second, no
/// `W - d` of true time admits more than the limit.
///
/// # Fairness
///
/// No order of asking: whoever asks when there are permits gets them. A caller that has
/// lost several races for the same word goes before those that come after; they step back
/// for it once, a bounded time.
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

    /// The same as [`with_capacity`](SlidingLog::with_capacity), for a log that is made
    /// otherwise: makes room for limits up to `max_limit`, so that
    /// [`reconfigure`](SlidingLog::reconfigure) can raise the limit later. Allocates anew;
    /// what was granted before is forgotten.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if that is less than the limit or above 2^24.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{SlidingLog, rate};
    ///
    /// let log = SlidingLog::new(rate!(100 / minute))?;
    /// let text = "limit is 200: must be from 1 to 100 for this window";
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

window_verbs!(SlidingLog<C>, "SlidingLog::with_clock(rate!(2 / minute), &clock)?");
one_limit!(SlidingLog<C>);

/// Grants requests of any size, at most a limit of permits in any window of a
/// length: it remembers when each request was granted, and how large it was.
///
/// # Accuracy
///
/// **No span `(t - W, t]` admits more than the limit**, for 146 years. A request leaves the
/// window less than its [`resolution`](WeightedLog::resolution) late, and never early: one
/// exactly one window old may still count. That is 2^(b + 1) ns for a
/// [`max_limit`](WeightedLog::max_limit) of b bits: 256 ns at 100, 66 us at 20,000, 2 ms at a
/// million, 34 ms at ten million (bytes, say).
///
/// **It is for windows that are long beside that.** What leaves late is missing: a window of
/// a second that is asked for twice its limit grants 0.98 of a limit of ten million, 0.86 of
/// a hundred million (268 ms late), and 0.47 of a thousand million (2.1 s late). Count such
/// amounts in larger units: kibibytes, not bytes.
///
/// It remembers as many requests as its capacity, by default the limit, which is all that
/// can be in a window; with fewer, it refuses more requests while that many are in the
/// window.
///
/// Spans are of the time that permits are dated by: their caller's clock, or the latest
/// date before, if that is later. If threads' clocks differ by `d`, at most a second, no
/// `W - d` of true time admits more than the limit.
///
/// # Fairness
///
/// No order of asking: whoever asks when there are permits gets them. A caller that has
/// lost several races for the same word goes before those that come after; they step back
/// for it once, a bounded time.
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

    /// Makes room for limits up to `max_limit`, so that
    /// [`reconfigure`](WeightedLog::reconfigure) can raise the limit later. For a new log:
    /// what was granted before is forgotten.
    ///
    /// Without it, the most is one less than the next power of two. The more, the longer is
    /// the [`resolution`](WeightedLog::resolution). A log that remembers as many requests as
    /// its limit will remember as many as `max_limit`; one of a smaller capacity keeps that. It
    /// is the limit in force that counts: a log whose limit was raised above its capacity by
    /// `reconfigure` keeps its capacity, too. Allocates anew.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if that is less than the limit, above
    /// [`Rate::MAX_PERMITS`], faster than [`Rate::MAX_PER_SECOND`], or more requests than a
    /// log can remember: 2^24 - 2.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, WeightedLog, rate};
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

    /// By less than this a request leaves the window late: the ticks in which requests are
    /// dated.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{WeightedLog, rate};
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

window_verbs!(WeightedLog<C>, "WeightedLog::with_clock(rate!(2 / minute), &clock)?");
one_limit!(WeightedLog<C>);
