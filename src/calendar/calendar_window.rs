//! At most a limit in each minute, hour, day, week or month of a time zone.

use core::fmt;
use core::ops::Range;
use core::time::Duration;

use crate::config::error::ConfigError;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::history::History;
use crate::decision::receipt::Receipt;
use crate::settle::estimate::Estimate;
use crate::time::calendar::Calendar;
use crate::time::clock::Clock;
use crate::time::clock::unix::UnixClock;
use crate::time::units;
use crate::window::counter::CounterCore;
use crate::window::counter::by_calendar::ByCalendar;
use crate::window::limit::Limit;

use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::settle::settles;
use crate::window::verbs::window_verbs;

/// Grants at most a limit of permits in each minute, hour, day, week or month of a
/// time zone.
///
/// The windows are those of a [`Calendar`]: days of 23 and 25 hours where clocks
/// change, months of their own lengths. For a limit that differs by weekday there is
/// [`Budget`](crate::calendar::Budget).
///
/// # Examples
///
/// ```
/// use sluicegate::calendar::{Calendar, CalendarWindow};
///
/// let window = CalendarWindow::new(10_000, Calendar::months("Europe/Berlin")?)?;
/// if let Err(denied) = window.try_acquire(1) {
///     println!("nothing more this month; the next begins in {:?}", denied.retry_after());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// Exact in each of its windows, whatever its length. A span that is no longer than
/// any window it touches admits up to **twice the limit**: all of one window at its
/// end, all of the next at its beginning. A span that contains a whole shorter window (31
/// days that include a February) admits up to three times the limit.
///
/// Windows and spans are measured in the time by which permits are dated: their caller's
/// clock, or the latest window that any thread has reached, if that is later. If threads'
/// clocks differ by `d`, at most a second, the bounds hold for spans `d` shorter in true
/// time.
///
/// If the clock is set back into the window before the present one, the present
/// one goes on, and ends when it would have: nothing is granted twice. If it is set
/// back further, the count moves to the window of the new time, and counts there.
///
/// The calendar is consulted once in each window, and by calls whose clock is behind
/// the window that counts; that takes less than a microsecond. All other calls find its
/// answer in a word.
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
pub struct CalendarWindow<C = UnixClock> {
    core: CounterCore<ByCalendar<Limit>, C>,
}

impl CalendarWindow {
    /// Creates windows of `calendar` with `limit` permits each, on the system's clock.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`] if the limit is not from 1 to 2^32 - 1 per minute or
    /// hour, or 2^47 - 1 per day, week or month.
    pub fn new(limit: u64, calendar: Calendar) -> Result<CalendarWindow, ConfigError> {
        CalendarWindow::with_clock(limit, calendar, UnixClock::new())
    }
}

impl<C: Clock> CalendarWindow<C> {
    /// Creates windows of `calendar` with `limit` permits each on `clock`, which is read once.
    ///
    /// The clock must count from the Unix epoch, as a [`UnixClock`] does; in tests, use
    /// a [`ManualClock`](crate::ManualClock) set to such a time. With any other clock the
    /// windows are at the wrong times.
    ///
    /// # Errors
    ///
    /// As for [`new`](CalendarWindow::new).
    pub fn with_clock(
        limit: u64,
        calendar: Calendar,
        clock: C,
    ) -> Result<CalendarWindow<C>, ConfigError> {
        Ok(CalendarWindow { core: CounterCore::new(ByCalendar::new(limit, calendar)?, clock) })
    }
}

window_verbs!(
    CalendarWindow<C>,
    "calendar::CalendarWindow::with_clock(2, calendar::Calendar::minutes(\"UTC\")?, &clock)?"
);

leaving!(
    CalendarWindow<C>,
    "calendar::CalendarWindow::with_clock(2, calendar::Calendar::minutes(\"UTC\")?, &clock)?"
);

settles!(
    CalendarWindow<C>,
    core,
    "calendar::CalendarWindow::with_clock(10, calendar::Calendar::days(\"UTC\")?, ManualClock::new())?"
);

impl<C: Clock> CalendarWindow<C> {
    /// Returns the maximum number of permits in one window.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.core.counter().amounts().get()
    }

    /// Returns the permits that were granted in the present window.
    ///
    /// Lock-free; does not allocate; reads the clock; writes nothing, unless the clock was set
    /// back, so that the window has to heal.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.core.count()
    }

    /// Returns the start and the end of the present window, since the Unix epoch.
    ///
    /// Reads the clock. If the clock was set back, the window that still counts may
    /// be the next one.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::ManualClock;
    /// use sluicegate::calendar::{Calendar, CalendarWindow};
    ///
    /// let clock = ManualClock::at(90_000_000_000);
    /// let window = CalendarWindow::with_clock(5, Calendar::minutes("UTC")?, &clock)?;
    /// assert_eq!(window.window(), Duration::from_secs(60)..Duration::from_secs(120));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn window(&self) -> Range<Duration> {
        self.core.counter().span(self.core.clock().now_nanos()).durations()
    }

    /// Enforces `limit` permits per window from now on.
    ///
    /// Live: earlier grants stay counted, and a concurrent call is decided by one of
    /// the two limits, as if it had come before the change or after it. Lock-free;
    /// does not allocate. The calendar cannot be changed after construction.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Limit`], with the largest limit that this limiter can count
    /// to. The limiter is then unchanged.
    pub fn reconfigure(&self, limit: u64) -> Result<(), ConfigError> {
        self.core.changed(|counter| counter.amounts().set(limit))
    }
}

crate::wait::traits::reserves_windows!(
    CalendarWindow,
    core,
    "calendar::CalendarWindow::with_clock(2, calendar::Calendar::minutes(\"UTC\")?, &clock)?",
    "60"
);
