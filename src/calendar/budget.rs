//! An amount for each day: the same on all days, or by the day of the week.

mod days;

use core::fmt;
use core::ops::Range;
use core::time::Duration;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::history::History;
use crate::decision::receipt::Receipt;
use crate::settle::estimate::Estimate;
use crate::time::calendar::error::CalendarError;
use crate::time::calendar::weekday::Weekday;
use crate::time::clock::Clock;
use crate::time::clock::unix::UnixClock;
use crate::time::units;
use crate::window::counter::by_calendar::MOST_IN_DAYS;

use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::settle::settles;
use crate::window::verbs::window_verbs;

use self::days::Days;

/// Grants at most an amount of permits on each day of a time zone: the same on all
/// days, or by the day of the week.
///
/// A day begins at midnight in its zone, as in a [`Calendar`](crate::calendar::Calendar) of
/// days. Permits not spent by then are not carried over.
///
/// A budget of time of use, such as an hour of calls per day, counts in permits of one nanosecond:
/// [`Budget::time`] turns a [`Duration`] into an amount, and [`Duration::from_nanos`] turns
/// an amount back. Such a budget is exact to the nanosecond. The most that it can grant in a
/// day is [`MAX_AMOUNT`](Budget::MAX_AMOUNT), more than 39 hours.
///
/// A day may have an amount of 0. Then nothing is granted on it, and a denial gives the
/// wait until the next day that has enough. The same applies to a request
/// larger than the present day's amount. Only a request larger than
/// every day's amount is [`TooLarge`](crate::Denied::TooLarge).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::ManualClock;
/// use sluicegate::calendar::{Budget, Weekday};
///
/// // 1970-01-02 00:00, a Friday.
/// let day = Duration::from_secs(24 * 60 * 60);
/// let clock = ManualClock::at(day.as_nanos() as u64);
/// let budget = Budget::with_clock(1000, "UTC", &clock)?
///     .on(Weekday::Saturday, 100)?
///     .on(Weekday::Sunday, 0)?;
/// budget.try_acquire(900)?;
///
/// // There are 100 left today and 100 tomorrow, so for 101 it takes until Monday.
/// assert_eq!(budget.peek(101).unwrap_err().retry_after(), Some(3 * day));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An hour of use a day, and two on Saturdays:
///
/// ```
/// use std::time::Duration;
/// use sluicegate::ManualClock;
/// use sluicegate::calendar::{Budget, Weekday};
///
/// let clock = ManualClock::new();
/// let hour = Duration::from_secs(60 * 60);
/// let screen = Budget::with_clock(Budget::time(hour), "UTC", &clock)?
///     .on(Weekday::Saturday, Budget::time(2 * hour))?;
///
/// screen.try_acquire(Budget::time(hour * 3 / 4))?;
/// assert_eq!(Duration::from_nanos(screen.remaining()), hour / 4);
/// // 1970-01-01 was a Thursday; there is an hour again on Friday.
/// let denied = screen.try_acquire(Budget::time(hour / 2)).unwrap_err();
/// assert_eq!(denied.retry_after(), Some(24 * hour));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// Exact in each day, however long it is. A span that is no longer than any day it
/// touches admits up to the amounts of two days; one of 24 hours that contains a whole
/// day of 23, of three.
///
/// Days and spans are measured in the time by which permits are dated: their caller's
/// clock, or the latest day that any thread has reached, if that is later. If threads'
/// clocks differ by `d`, at most a second, the bounds hold for spans `d` shorter in true
/// time.
///
/// If the clock is set back into the day before, the day that has begun goes on,
/// and ends when it would have: nothing is granted twice. If it is set back
/// further, the count moves to the day of the new time, and counts there.
///
/// The calendar is consulted once a day, by calls whose clock is behind the day that
/// counts, and by denials of more than the smallest amount of any day (once for each
/// day to wait): less than a microsecond each time. All other calls find its answer
/// in a word.
///
/// # Fairness
///
/// None, unless callers wait in line (`Wait`): a caller that asks when there are permits gets them.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: what a caller did before it was granted permits
/// happens before what callers granted later do afterwards. A denial does not synchronize.
pub struct Budget<C = UnixClock> {
    core: Days<C>,
}

impl Budget {
    /// The largest amount of a day: 2^47 - 1.
    pub const MAX_AMOUNT: u64 = MOST_IN_DAYS;

    /// Returns `time` of use as an amount, of one permit for each nanosecond.
    ///
    /// Exact up to 584 years; for longer times [`u64::MAX`], which is more than any budget grants.
    #[must_use]
    pub const fn time(time: Duration) -> u64 {
        units::nanos(time)
    }

    /// Creates a budget of `amount` permits a day in the time zone named `zone`, on the
    /// system's clock.
    ///
    /// # Errors
    ///
    /// * [`CalendarError::TimeZone`] if there is no such zone.
    /// * [`CalendarError::Amount`] if the amount is above
    ///   [`MAX_AMOUNT`](Budget::MAX_AMOUNT).
    pub fn daily(amount: u64, zone: &str) -> Result<Budget, CalendarError> {
        Budget::with_clock(amount, zone, UnixClock::new())
    }
}

impl<C: Clock> Budget<C> {
    /// Creates a budget of `amount` permits a day on `clock`, which is read once and must
    /// count from the Unix epoch, as a [`UnixClock`] does.
    ///
    /// # Errors
    ///
    /// As for [`daily`](Budget::daily).
    pub fn with_clock(amount: u64, zone: &str, clock: C) -> Result<Budget<C>, CalendarError> {
        Ok(Budget { core: Days::new(checked(amount)?, zone, clock)? })
    }

    /// Returns the same budget with `amount` permits on each `weekday`.
    ///
    /// # Errors
    ///
    /// [`CalendarError::Amount`] if the amount is above
    /// [`MAX_AMOUNT`](Budget::MAX_AMOUNT).
    pub fn on(self, weekday: Weekday, amount: u64) -> Result<Budget<C>, CalendarError> {
        self.reconfigure(weekday, amount)?;
        Ok(self)
    }
}

window_verbs!(
    Budget<C>,
    "calendar::Budget::with_clock(2, \"UTC\", &clock)?",
    /// No later than that: as of the day with the least amount.
    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.peek(permits.min(self.core.schedule().least()))
    }
);

leaving!(Budget<C>, "calendar::Budget::with_clock(2, \"UTC\", &clock)?");

settles!(Budget<C>, core, "calendar::Budget::with_clock(10, \"UTC\", ManualClock::new())?");

impl<C: Clock> Budget<C> {
    /// Returns the amount of each `weekday`.
    #[must_use]
    pub fn amount(&self, weekday: Weekday) -> u64 {
        self.core.schedule().on(weekday)
    }

    /// Returns the permits that were granted in the present day.
    ///
    /// Lock-free; does not allocate; reads the clock; writes nothing.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.core.count()
    }

    /// Returns the whole permits that are left of the present day's amount. Lock-free;
    /// does not allocate; reads the clock; writes nothing.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.core.remaining()
    }

    /// Returns the start and the end of the present day, since the Unix epoch. Reads the
    /// clock.
    #[must_use]
    pub fn day(&self) -> Range<Duration> {
        self.core.day()
    }

    /// Grants `amount` permits on each `weekday` from now on.
    ///
    /// Live: earlier grants stay counted, and a concurrent call is decided by one of
    /// the two amounts, as if it had come before the change or after it. Each weekday
    /// changes on its own. Lock-free; does not allocate.
    ///
    /// # Errors
    ///
    /// [`CalendarError::Amount`] if the amount is above
    /// [`MAX_AMOUNT`](Budget::MAX_AMOUNT). The budget is then unchanged.
    pub fn reconfigure(&self, weekday: Weekday, amount: u64) -> Result<(), CalendarError> {
        let amount = checked(amount)?;
        self.core.set_amount(weekday, amount);
        Ok(())
    }
}

crate::wait::traits::reserves_windows!(
    Budget,
    core.core,
    "calendar::Budget::with_clock(2, \"UTC\", &clock)?",
    "86_400"
);

fn checked(amount: u64) -> Result<u64, CalendarError> {
    if amount > Budget::MAX_AMOUNT {
        return Err(CalendarError::Amount { amount, max: Budget::MAX_AMOUNT });
    }
    Ok(amount)
}
