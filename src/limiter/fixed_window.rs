//! At most a limit in each window of time, the windows one after the other.

use super::window_verbs::{one_limit, window_verbs};
use crate::tally::{Aligned, FromFirst, Tallied};
use crate::{Clock, ConfigError, DefaultClock, Rate};

/// Grants at most a limit of permits in each window. Windows follow each other
/// from the clock's origin.
///
/// On a `UnixClock` that is the epoch, so windows of a minute
/// are those of UTC. [`WindowFromFirst`](crate::WindowFromFirst) begins a window
/// with a request instead; for hours, days and months of a time zone there is
/// `CalendarWindow`, in the feature `calendar`.
///
/// # Accuracy
///
/// Exact in each of its windows. In other spans of the same length it admits up to
/// **twice the limit**: all of one window at its end, all of the next at its
/// beginning. If that matters, take a `SlidingWindow`.
///
/// Where the limit leaves too few bits to number the windows of 146 years, after an
/// idle time of half of those that it can number old permits may count for one window
/// more.
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
/// use sluicegate::{FixedWindow, rate};
///
/// let window = FixedWindow::new(rate!(3 / second))?;
/// if let Err(denied) = window.try_acquire(1) {
///     println!("come back in {:?}", denied.retry_after());
/// }
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub struct FixedWindow<C = DefaultClock> {
    core: Tallied<Aligned, C>,
}

#[cfg(feature = "std")]
impl FixedWindow {
    /// Windows of `limit`'s period on a clock of their own.
    ///
    /// # Errors
    ///
    /// As [`with_clock`](FixedWindow::with_clock).
    pub fn new(limit: Rate) -> Result<FixedWindow, ConfigError> {
        FixedWindow::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> FixedWindow<C> {
    /// Windows of `limit`'s period on `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the limit is too large for so short a window:
    /// above about two permits per nanosecond.
    pub fn with_clock(limit: Rate, clock: C) -> Result<FixedWindow<C>, ConfigError> {
        Ok(FixedWindow { core: Tallied::new(Aligned::new(limit)?, clock) })
    }
}

window_verbs!(FixedWindow<C>, "FixedWindow::with_clock(rate!(2 / minute), &clock)?");
one_limit!(FixedWindow<C>);

/// Grants at most a limit of permits in a window that begins with the first of
/// them: "100 in the 60 minutes after the first".
///
/// After its end there is no window until the next grant.
///
/// # Accuracy
///
/// Exact in each of its windows, which last their length and up to two ticks more,
/// of 2^(b - 2) ns for a limit of b bits (32 ns at 100, 262 us at a million) and at
/// most 2^-16 of the window. In other spans of the same length it admits up to twice
/// the limit, less one: the first of a window is at its beginning. Idle times as with
/// a [`FixedWindow`].
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
/// use sluicegate::{ManualClock, WindowFromFirst, rate};
///
/// let clock = ManualClock::new();
/// let window = WindowFromFirst::with_clock(rate!(100 / 60 minutes), &clock)?;
/// clock.advance(Duration::from_secs(59 * 60));
/// window.try_acquire(100)?;
/// assert_eq!(
///     window.try_acquire(1).unwrap_err().retry_after(),
///     Some(Duration::from_secs(60 * 60)),
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WindowFromFirst<C = DefaultClock> {
    core: Tallied<FromFirst, C>,
}

#[cfg(feature = "std")]
impl WindowFromFirst {
    /// A window of `limit`'s period on a clock of its own.
    ///
    /// # Errors
    ///
    /// As [`with_clock`](WindowFromFirst::with_clock).
    pub fn new(limit: Rate) -> Result<WindowFromFirst, ConfigError> {
        WindowFromFirst::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> WindowFromFirst<C> {
    /// A window of `limit`'s period on `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the word has not the bits for it.
    pub fn with_clock(limit: Rate, clock: C) -> Result<WindowFromFirst<C>, ConfigError> {
        Ok(WindowFromFirst { core: Tallied::new(FromFirst::new(limit)?, clock) })
    }
}

window_verbs!(WindowFromFirst<C>, "WindowFromFirst::with_clock(rate!(2 / minute), &clock)?");
one_limit!(WindowFromFirst<C>);
