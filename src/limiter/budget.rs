//! An amount for each day: the same for all days, or by the day of the week.

mod days;
pub(crate) mod usage;

use core::ops::Range;
use core::time::Duration;

use crate::time::calendar::error::CalendarError;
use crate::time::calendar::weekday::Weekday;
use crate::time::clock::Clock;
use crate::time::clock::unix::UnixClock;
use crate::window::counter::by_calendar::MOST_IN_DAYS;

use super::window_verbs::window_verbs;

use self::days::Days;

/// Grants at most an amount of permits on each day of a time zone: the same on all
/// days, or by the day of the week.
///
/// A day begins at midnight in its zone, as in a [`Calendar`](crate::Calendar) of
/// days. What was not spent by then is not carried over. For a budget of time, so
/// many minutes of use a day, there is [`UsageBudget`].
///
/// A day may have an amount of 0: then nothing is granted on it, and requests are
/// told to come back on the next day that has enough. The same goes for a request
/// that is larger than the present day's amount. Only one that is larger than
/// every day's is [`TooLarge`](crate::Denied::TooLarge).
///
/// # Accuracy
///
/// Exact in each day, however long it is. A span that is no longer than any day it
/// touches admits up to the amounts of two days; one of 24 hours that holds a whole
/// day of 23, of three.
///
/// Days and spans are of the time that permits are dated by: their caller's clock, or the
/// day that others have found, if that is later. If threads' clocks differ by `d`, at most a
/// second, read a span as `d` shorter in true time.
///
/// If the clock is set back into the day before, the day that has begun goes on,
/// and ends when it would have: nothing is granted twice. If it is set back
/// further, what was spent moves to the day of now, and counts there.
///
/// The calendar is asked once a day, by calls whose clock is behind the day that
/// counts, and by denials of more than the least amount of any day, once for each
/// day to wait: less than a microsecond each time. All other calls find its answer
/// in a word.
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
/// use sluicegate::{Budget, ManualClock, Weekday};
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
pub struct Budget<C = UnixClock> {
    core: Days<C>,
}

impl Budget {
    /// The largest amount of a day: 2^47 - 1.
    pub const MAX_AMOUNT: u64 = MOST_IN_DAYS;

    /// `amount` permits a day in the time zone with the name `zone`, by the
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
    /// `amount` permits a day on `clock`, which is read once and must count from
    /// the Unix epoch, as a [`UnixClock`] does.
    ///
    /// # Errors
    ///
    /// As [`daily`](Budget::daily).
    pub fn with_clock(amount: u64, zone: &str, clock: C) -> Result<Budget<C>, CalendarError> {
        Ok(Budget { core: Days::new(checked(amount)?, zone, clock)? })
    }

    /// The same budget with `amount` permits on each `weekday`.
    ///
    /// # Errors
    ///
    /// [`CalendarError::Amount`] if the amount is above
    /// [`MAX_AMOUNT`](Budget::MAX_AMOUNT).
    pub fn on(self, weekday: Weekday, amount: u64) -> Result<Budget<C>, CalendarError> {
        self.reconfigure(weekday, amount)?;
        Ok(self)
    }

    /// The amount of each `weekday`.
    #[must_use]
    pub fn amount(&self, weekday: Weekday) -> u64 {
        self.core.schedule().on(weekday)
    }

    /// The permits that were granted in the present day.
    ///
    /// Lock-free; does not allocate; reads the clock; writes nothing.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.core.count()
    }

    /// Whole permits that are left of the present day's. Lock-free; does not
    /// allocate; reads the clock; writes nothing.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.core.remaining()
    }

    /// When the present day began and when it ends, since the Unix epoch. Reads the
    /// clock.
    #[must_use]
    pub fn day(&self) -> Range<Duration> {
        self.core.day()
    }

    /// Grants `amount` permits on each `weekday` from now on.
    ///
    /// Live: what was granted stays counted, and a call that is under way is
    /// decided by one of the two amounts, as if it had come before the change or
    /// after it. Each weekday changes on its own. Lock-free; does not allocate.
    ///
    /// # Errors
    ///
    /// [`CalendarError::Amount`] if the amount is above
    /// [`MAX_AMOUNT`](Budget::MAX_AMOUNT). Nothing is changed then.
    pub fn reconfigure(&self, weekday: Weekday, amount: u64) -> Result<(), CalendarError> {
        self.core.schedule().set(weekday, checked(amount)?);
        Ok(())
    }
}

fn checked(amount: u64) -> Result<u64, CalendarError> {
    if amount > Budget::MAX_AMOUNT {
        return Err(CalendarError::Amount { amount, max: Budget::MAX_AMOUNT });
    }
    Ok(amount)
}

window_verbs!(Budget<C>, "Budget::with_clock(2, \"UTC\", &clock)?");
