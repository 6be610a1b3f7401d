//! A sliding window, estimated from two fixed ones.

use core::fmt;
use core::time::Duration;

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
#[cfg(feature = "alloc")]
use crate::decision::history::History;
use crate::decision::receipt::Receipt;
use crate::settle::estimate::Estimate;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
#[cfg(feature = "alloc")]
use crate::time::units;
use crate::window::counter::CounterCore;
use crate::window::counter::sliding::Sliding;

use super::verbs::{one_limit, window_verbs};
use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::settle::settles;

/// Grants at most a limit of permits, counting the present window in full and the
/// previous one in proportion to the part that a sliding window still covers.
///
/// ```text
/// used = current + previous * (1 - elapsed / window)
/// ```
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, SlidingCounter, rate};
///
/// let clock = ManualClock::new();
/// let counter = SlidingCounter::with_clock(rate!(7 / minute), &clock)?;
/// counter.try_acquire(5)?;
/// clock.advance(Duration::from_secs(75));
/// counter.try_acquire(2)?;
/// // 2 + 5 * 0.75 = 5.75, so there is one more.
/// assert_eq!(counter.peek(0)?.remaining(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// The formula is evaluated exactly, in integers; no decision depends on rounding.
/// The formula itself is the approximation: it assumes that the previous window's
/// permits are spread evenly over it. With `f = elapsed / window`, its estimate is off
/// from the true count of the sliding window by at most `previous * max(f, 1 - f)`:
///
/// * too low by at most `previous * f` (if they were all granted at the end), so some
///   window of that length may admit close to twice the limit, but always less;
/// * too high by at most `previous * (1 - f)` (if at the beginning), so a request
///   may be denied that an exact window would grant.
///
/// The larger the limit, the fewer windows the word can number: at 2^24 - 1 it is
/// 2^15 of them. After an idle time of half as many, old permits may count for some
/// windows more (and [`healed`](SlidingCounter::healed) counts that).
///
/// Windows are measured in the time by which permits are dated: their caller's clock, or
/// the latest window that any thread has reached, if that is later. If threads' clocks
/// differ by `d`, at most a second, the bounds hold for windows `d` shorter in true time.
///
/// For traffic that is even over a window the count is exact. For a bound that holds
/// for any traffic take a `SlidingWindow`; use this limiter if one word is all the
/// memory that you can spend.
///
/// # Fairness
///
/// Not first come, first served, unless callers wait in line (`Wait`): a caller that asks when
/// there are permits gets them. After several lost races for one word, a caller has priority
/// over later ones, which back off for it once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: what a caller did before it was granted permits
/// happens before what callers granted later do afterwards. A denial does not synchronize.
pub struct SlidingCounter<C = DefaultClock> {
    core: CounterCore<Sliding, C>,
}

#[cfg(feature = "std")]
impl SlidingCounter {
    /// Creates a counter with windows of `limit`'s period, on a clock of its own.
    ///
    /// # Errors
    ///
    /// As for [`with_clock`](SlidingCounter::with_clock).
    pub fn new(limit: Rate) -> Result<SlidingCounter, ConfigError> {
        SlidingCounter::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> SlidingCounter<C> {
    /// Creates a counter with windows of `limit`'s period on `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the limit is above 2^24 - 1: the word holds the counts of
    /// two windows.
    pub fn with_clock(limit: Rate, clock: C) -> Result<SlidingCounter<C>, ConfigError> {
        Ok(SlidingCounter { core: CounterCore::new(Sliding::new(limit)?, clock) })
    }

    /// Reserves bits for limits up to `max_limit`, so that
    /// [`reconfigure`](SlidingCounter::reconfigure) can raise the limit later. Meant for a new limiter:
    /// earlier grants are forgotten, and so are the bounds of its line.
    ///
    /// Without this, the largest limit is what the numbers of the windows of 146 years leave room
    /// for: 16,383 for a window of a second, more for a longer one. With more bits for the counts,
    /// the numbers repeat sooner.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, above
    /// [`Rate::MAX_PERMITS`], faster than [`Rate::MAX_PER_SECOND`],
    /// or above 2^24 - 1.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{SlidingCounter, rate};
    ///
    /// let counter = SlidingCounter::new(rate!(100 / second))?.with_max_limit(1_000_000)?;
    /// counter.reconfigure(1_000_000)?;
    /// assert_eq!(counter.try_acquire(1_000_000)?.remaining(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_max_limit(self, max_limit: u64) -> Result<SlidingCounter<C>, ConfigError> {
        Ok(SlidingCounter { core: self.core.with_max_limit(max_limit)? })
    }
}

window_verbs!(SlidingCounter<C>, "SlidingCounter::with_clock(rate!(2 / minute), &clock)?");
leaving!(SlidingCounter<C>, "SlidingCounter::with_clock(rate!(2 / minute), &clock)?");
settles!(
    SlidingCounter<C>,
    core,
    "SlidingCounter::with_clock(rate!(10 / minute), ManualClock::new())?"
);
one_limit!(SlidingCounter<C>);

crate::wait::traits::waits_by!(SlidingCounter<C>, core);
