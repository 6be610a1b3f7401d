//! A sliding window estimated from two fixed ones.

use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::window::counter::CounterCore;
use crate::window::counter::sliding::Sliding;

use super::window_verbs::{one_limit, window_verbs};

/// Grants at most a limit of permits by the count of the present window, and that
/// of the one before in proportion to what a sliding window still covers of it.
///
/// ```text
/// used = current + previous * (1 - elapsed / window)
/// ```
///
/// # Accuracy
///
/// The formula is evaluated exactly, in integers; nothing is rounded to decide.
/// What is approximate is the formula, which takes the previous window's permits
/// to be spread evenly over it. With `f = elapsed / window`, its estimate is off
/// from the true count of the sliding window by at most `previous * max(f, 1 - f)`:
///
/// * too low by at most `previous * f` (if they were all granted at the end), so
///   some window of that length may admit up to, and never, twice the limit;
/// * too high by at most `previous * (1 - f)` (if at the beginning), so a request
///   may be refused that an exact window would grant.
///
/// The larger the limit, the fewer windows the word can number: at 2^24 - 1 it is
/// 2^16 of them. After an idle time of half as many old permits may count for some
/// windows more (and [`healed`](SlidingCounter::healed) counts it).
///
/// Windows are of the time that permits are dated by: their caller's clock, or the window
/// that others have found, if that is later. If threads' clocks differ by `d`, at most a
/// second, read a window as `d` shorter in true time.
///
/// For traffic that is even over a window it is right to the permit. For a bound
/// that holds for any traffic take a `SlidingWindow`; this
/// one is for where a word is all the memory there is.
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
pub struct SlidingCounter<C = DefaultClock> {
    core: CounterCore<Sliding, C>,
}

#[cfg(feature = "std")]
impl SlidingCounter {
    /// A counter of windows of `limit`'s period on a clock of its own.
    ///
    /// # Errors
    ///
    /// As [`with_clock`](SlidingCounter::with_clock).
    pub fn new(limit: Rate) -> Result<SlidingCounter, ConfigError> {
        SlidingCounter::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> SlidingCounter<C> {
    /// A counter of windows of `limit`'s period on `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the limit is above 2^24 - 1: the word counts two
    /// windows.
    pub fn with_clock(limit: Rate, clock: C) -> Result<SlidingCounter<C>, ConfigError> {
        Ok(SlidingCounter { core: CounterCore::new(Sliding::new(limit)?, clock) })
    }
}

window_verbs!(SlidingCounter<C>, "SlidingCounter::with_clock(rate!(2 / minute), &clock)?");
one_limit!(SlidingCounter<C>);
