//! Fixed windows: at most a limit of permits in each, one window after another.

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
use crate::window::counter::aligned::Aligned;
use crate::window::counter::from_first::FromFirst;

use super::verbs::{one_limit, window_verbs};
use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::settle::settles;

/// Grants no more permits than a limit in each window. Windows follow one another
/// from the clock's origin.
///
/// On a `UnixClock` the origin is the epoch, so windows of a minute
/// are those of UTC. [`WindowFromFirst`] begins a window
/// with a request instead; for hours, days and months of a time zone there is
/// `CalendarWindow`, in the feature `calendar`.
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
///
/// # Accuracy
///
/// **Each of its windows admits at most the limit.** Other spans of the same length may
/// admit up to twice the limit: all of one window at its end, all of the next at its
/// beginning. If that matters, use a `SlidingWindow`.
///
/// A permit is dated by its caller's clock, or by the latest window that any thread has
/// reached, if that is later; windows and spans are measured in these dates. If threads'
/// clocks differ by `d`, at most a second, the bounds hold for spans `d` shorter in true
/// time.
///
/// Windows are numbered. If the limit leaves too few bits to number the windows of 146 years
/// twice, the numbers repeat sooner. After an idle time of half the windows that can be
/// numbered, old permits may count for one window more (and [`healed`](FixedWindow::healed)
/// counts that).
///
/// # Fairness
///
/// Not first come, first served, unless callers wait in line (`Wait`): a caller that asks when
/// there are permits gets them. A caller that has lost several races for the limiter's word gets
/// priority: later callers back off for it once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: everything that a caller did before its grant
/// happens before everything that a caller with a later grant does after that. A denial does
/// not synchronize.
pub struct FixedWindow<C = DefaultClock> {
    core: CounterCore<Aligned, C>,
}

#[cfg(feature = "std")]
impl FixedWindow {
    /// Creates windows of `limit`'s period on a clock of their own.
    ///
    /// # Errors
    ///
    /// As for [`with_clock`](FixedWindow::with_clock).
    pub fn new(limit: Rate) -> Result<FixedWindow, ConfigError> {
        FixedWindow::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> FixedWindow<C> {
    /// Creates windows of `limit`'s period on `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the limit is too large for so short a window:
    /// above about two permits per nanosecond.
    pub fn with_clock(limit: Rate, clock: C) -> Result<FixedWindow<C>, ConfigError> {
        Ok(FixedWindow { core: CounterCore::new(Aligned::new(limit)?, clock) })
    }

    /// Reserves bits for limits up to `max_limit`, so that
    /// [`reconfigure`](FixedWindow::reconfigure) can raise the limit later. Meant for a new limiter:
    /// earlier grants are forgotten, and so are the bounds of its line.
    ///
    /// Rarely needed: without this, the largest limit is 2^29 - 1 for a window of a second, more
    /// for a longer one, and nearly as many as may be for a shorter one.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, above
    /// [`Rate::MAX_PERMITS`], faster than [`Rate::MAX_PER_SECOND`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{FixedWindow, rate};
    ///
    /// let window = FixedWindow::new(rate!(100 / second))?.with_max_limit(1 << 31)?;
    /// window.reconfigure(1 << 31)?;
    /// assert_eq!(window.try_acquire(1 << 31)?.remaining(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_max_limit(self, max_limit: u64) -> Result<FixedWindow<C>, ConfigError> {
        Ok(FixedWindow { core: self.core.with_max_limit(max_limit)? })
    }

    /// Takes up to `permits` off the count of the present window, and returns how many: never more than it has
    /// counted. Callers in line look again.
    ///
    /// For permits that come back without the [`Estimate`] or the [`Receipt`] of their grant, such as by another
    /// process. Those are exact; this believes the caller: a window admits at most its limit and what is credited in
    /// it, so a permit that one of them gives back must not be credited too. What was taken in a window that has
    /// ended is lost.
    ///
    /// Lock-free; does not allocate; reads the clock. Returns 0 while a reset is in progress.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{FixedWindow, rate};
    ///
    /// let window = FixedWindow::new(rate!(10 / day))?;
    /// window.try_acquire(6)?;
    /// assert_eq!(window.credit(4), 4);
    /// assert_eq!(window.peek(0)?.remaining(), 8);
    /// assert_eq!(window.credit(1_000), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "refund", alias = "put_back")]
    pub fn credit(&self, permits: u64) -> u64 {
        self.core.credit(permits)
    }
}

window_verbs!(FixedWindow<C>, "FixedWindow::with_clock(rate!(2 / minute), &clock)?");
leaving!(FixedWindow<C>, "FixedWindow::with_clock(rate!(2 / minute), &clock)?");
settles!(FixedWindow<C>, core, "FixedWindow::with_clock(rate!(10 / minute), ManualClock::new())?");
one_limit!(FixedWindow<C>);

crate::wait::traits::reserves_windows!(
    FixedWindow,
    core,
    "FixedWindow::with_clock(rate!(2 / minute), &clock)?",
    "60"
);

/// Grants no more permits than a limit in a window that begins with the first of
/// them: "100 in the 60 minutes after the first".
///
/// When the window has ended, no window is open until the next grant.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, rate};
/// use sluicegate::window::WindowFromFirst;
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
///
/// # Accuracy
///
/// **Each of its windows admits at most the limit.** A window lasts its length, or longer by less
/// than its [`resolution`](WindowFromFirst::resolution): a request exactly one length after
/// the first may still count in its window. The resolution is
/// `min(2^b ns, length / 2^16)` for a [`max_limit`](WindowFromFirst::max_limit) of b
/// bits, rounded down to a power of two of nanoseconds: 128 ns at 100, 33 us at
/// 20,000, 1 ms at a million (for an hour). Other spans of the same length may admit up to twice
/// the limit, less one: the first permit of a window is at its beginning.
///
/// A permit is dated by its caller's clock, and spans are measured in these dates. If
/// threads' clocks differ by `d`, at most a second, the bounds hold for spans `d` shorter
/// in true time.
///
/// If `length / 2^16` is the smaller of the two, the limiter's word has too few bits for 146
/// years: after an idle time of half of what they can count, old permits may count for one window
/// more (and [`healed`](WindowFromFirst::healed) counts that).
///
/// # Fairness
///
/// Not first come, first served, unless callers wait in line (`Wait`): a caller that asks when
/// there are permits gets them. A caller that has lost several races for the limiter's word gets
/// priority: later callers back off for it once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: everything that a caller did before its grant
/// happens before everything that a caller with a later grant does after that. A denial does
/// not synchronize.
pub struct WindowFromFirst<C = DefaultClock> {
    core: CounterCore<FromFirst, C>,
}

#[cfg(feature = "std")]
impl WindowFromFirst {
    /// Creates a window of `limit`'s period on a clock of its own.
    ///
    /// # Errors
    ///
    /// As for [`with_clock`](WindowFromFirst::with_clock).
    pub fn new(limit: Rate) -> Result<WindowFromFirst, ConfigError> {
        WindowFromFirst::with_clock(limit, DefaultClock::default())
    }
}

impl<C: Clock> WindowFromFirst<C> {
    /// Creates a window of `limit`'s period on `clock`, which is read once.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the limiter's word has too few bits for the limit.
    pub fn with_clock(limit: Rate, clock: C) -> Result<WindowFromFirst<C>, ConfigError> {
        Ok(WindowFromFirst { core: CounterCore::new(FromFirst::new(limit)?, clock) })
    }

    /// Reserves bits for limits up to `max_limit`, so that
    /// [`reconfigure`](WindowFromFirst::reconfigure) can raise the limit later. Meant for a new
    /// limiter: earlier grants are forgotten, and so are the bounds of its line.
    ///
    /// Without this, the largest limit is one less than the next power of two. A larger one makes
    /// the [`resolution`](WindowFromFirst::resolution) coarser.
    ///
    /// # Errors
    ///
    /// [`ConfigError::MaxLimit`] if `max_limit` is less than the limit, above
    /// [`Rate::MAX_PERMITS`], or faster than [`Rate::MAX_PER_SECOND`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::rate;
    /// use sluicegate::window::WindowFromFirst;
    ///
    /// let window = WindowFromFirst::new(rate!(100 / minute))?.with_max_limit(1_000)?;
    /// window.reconfigure(1_000)?;
    /// assert_eq!(window.try_acquire(1_000)?.remaining(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_max_limit(self, max_limit: u64) -> Result<WindowFromFirst<C>, ConfigError> {
        Ok(WindowFromFirst { core: self.core.with_max_limit(max_limit)? })
    }
}

window_verbs!(
    WindowFromFirst<C>,
    "window::WindowFromFirst::with_clock(rate!(2 / minute), &clock)?"
);

leaving!(WindowFromFirst<C>, "window::WindowFromFirst::with_clock(rate!(2 / minute), &clock)?");

impl<C: Clock> WindowFromFirst<C> {
    /// Returns the resolution with which the beginning of a window is stored. A window may last
    /// longer than its length, by less than this.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::rate;
    /// use sluicegate::window::WindowFromFirst;
    ///
    /// let window = WindowFromFirst::new(rate!(100 / minute))?;
    /// assert_eq!(window.resolution(), Duration::from_nanos(128));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn resolution(&self) -> Duration {
        Duration::from_nanos(self.core.resolution_nanos())
    }
}
settles!(
    WindowFromFirst<C>,
    core,
    "window::WindowFromFirst::with_clock(rate!(10 / minute), ManualClock::new())?"
);
one_limit!(WindowFromFirst<C>);

crate::wait::traits::reserves_windows!(
    WindowFromFirst,
    core,
    "window::WindowFromFirst::with_clock(rate!(2 / minute), &clock)?",
    "60"
);
