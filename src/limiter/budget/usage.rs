//! An amount of time for each day.

use core::ops::Range;
use core::time::Duration;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::limiter::window_verbs::window_verbs;
use crate::time::calendar::error::CalendarError;
use crate::time::calendar::weekday::Weekday;
use crate::time::clock::Clock;
use crate::time::clock::unix::UnixClock;
use crate::time::units;
use crate::window::counter::by_calendar::MOST_IN_DAYS;

use super::days::Days;

/// Grants at most an amount of use, a [`Duration`], on each day of a time zone, such
/// as minutes of screen time, of a machine, of calls.
///
/// It is a [`Budget`](crate::Budget) that counts nanoseconds, and everything said there
/// holds here. It is a type of its own so that permits and time cannot be confused.
/// Where an interface needs permits, as in the trait
/// [`Limiter`](crate::Limiter) and in a [`Grant`], **one permit is one
/// nanosecond**.
///
/// # Accuracy
///
/// The same as for [`Budget`](crate::Budget), to the nanosecond.
///
/// # Fairness
///
/// None: a caller that asks when there is time left gets it.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: what a caller did before it was granted use
/// happens before what callers granted later do afterwards. A denial does not synchronize.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, UsageBudget, Weekday};
///
/// let clock = ManualClock::new();
/// let hour = Duration::from_secs(60 * 60);
/// let screen = UsageBudget::with_clock(hour, "UTC", &clock)?
///     .on(Weekday::Saturday, 2 * hour)?
///     .on(Weekday::Sunday, 2 * hour)?;
///
/// screen.try_spend(hour * 3 / 4)?;
/// assert_eq!(screen.remaining(), hour / 4);
/// // 1970-01-01 was a Thursday; there is an hour again on Friday.
/// assert_eq!(screen.try_spend(hour / 2).unwrap_err().retry_after(), Some(24 * hour));
/// assert_eq!(screen.try_spend(hour * 3 / 2).unwrap_err().retry_after(), Some(48 * hour));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UsageBudget<C = UnixClock> {
    core: Days<C>,
}

impl UsageBudget {
    /// The longest use of a day: 2^47 - 1 ns, which is 39 hours and more than any
    /// day has.
    pub const MAX_AMOUNT: Duration = Duration::from_nanos(MOST_IN_DAYS);

    /// Creates a budget of `amount` of use a day in the time zone named `zone`, on the
    /// system's clock.
    ///
    /// # Errors
    ///
    /// * [`CalendarError::TimeZone`] if there is no such zone.
    /// * [`CalendarError::Usage`] if the amount is above
    ///   [`MAX_AMOUNT`](UsageBudget::MAX_AMOUNT).
    pub fn daily(amount: Duration, zone: &str) -> Result<UsageBudget, CalendarError> {
        UsageBudget::with_clock(amount, zone, UnixClock::new())
    }
}

impl<C: Clock> UsageBudget<C> {
    /// Creates a budget of `amount` of use a day on `clock`, which is read once and must
    /// count from the Unix epoch, as a [`UnixClock`] does.
    ///
    /// # Errors
    ///
    /// The same as for [`daily`](UsageBudget::daily).
    pub fn with_clock(
        amount: Duration,
        zone: &str,
        clock: C,
    ) -> Result<UsageBudget<C>, CalendarError> {
        Ok(UsageBudget { core: Days::new(checked(amount)?, zone, clock)? })
    }

    /// Returns the same budget with `amount` of use on each `weekday`.
    ///
    /// # Errors
    ///
    /// [`CalendarError::Usage`] if the amount is above
    /// [`MAX_AMOUNT`](UsageBudget::MAX_AMOUNT).
    pub fn on(self, weekday: Weekday, amount: Duration) -> Result<UsageBudget<C>, CalendarError> {
        self.reconfigure(weekday, amount)?;
        Ok(self)
    }

    /// Spends all of `used`, or nothing if less than that is left.
    ///
    /// The same as [`try_acquire`](UsageBudget::try_acquire) in nanoseconds.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] if too little is left today. It carries the time until the next
    ///   day that has enough.
    /// * [`Denied::TooLarge`] if no day has.
    #[inline]
    pub fn try_spend(&self, used: Duration) -> Result<Grant, Denied> {
        self.core.try_acquire(units::nanos(used))
    }

    /// Spends as much of `used` as is left, and returns how much that was. For use whose
    /// length is known only afterwards.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] if nothing is left, [`Denied::TooLarge`] if no day has any.
    pub fn try_spend_up_to(&self, used: Duration) -> Result<Duration, Denied> {
        let grant = self.core.try_acquire_up_to(units::nanos(used))?;
        Ok(Duration::from_nanos(grant.permits()))
    }

    /// Returns the use that was spent today. Lock-free; does not allocate; reads the clock;
    /// writes nothing.
    #[must_use]
    pub fn spent(&self) -> Duration {
        Duration::from_nanos(self.core.count())
    }

    /// Returns the use that is left of today's amount. Lock-free; does not allocate; reads
    /// the clock; writes nothing.
    #[must_use]
    pub fn remaining(&self) -> Duration {
        Duration::from_nanos(self.core.remaining())
    }

    /// Returns the amount of each `weekday`.
    #[must_use]
    pub fn amount(&self, weekday: Weekday) -> Duration {
        Duration::from_nanos(self.core.schedule().on(weekday))
    }

    /// Returns the start and the end of the present day, since the Unix epoch. Reads the
    /// clock.
    #[must_use]
    pub fn day(&self) -> Range<Duration> {
        self.core.day()
    }

    /// Grants `amount` of use on each `weekday` from now on. Live, as
    /// [`Budget::reconfigure`](crate::Budget::reconfigure) is.
    ///
    /// # Errors
    ///
    /// [`CalendarError::Usage`] if the amount is above
    /// [`MAX_AMOUNT`](UsageBudget::MAX_AMOUNT). The budget is then unchanged.
    pub fn reconfigure(&self, weekday: Weekday, amount: Duration) -> Result<(), CalendarError> {
        self.core.schedule().set(weekday, checked(amount)?);
        Ok(())
    }
}

/// Converts `amount` to nanoseconds.
fn checked(amount: Duration) -> Result<u64, CalendarError> {
    if amount > UsageBudget::MAX_AMOUNT {
        return Err(CalendarError::Usage { amount, max: UsageBudget::MAX_AMOUNT });
    }
    Ok(units::nanos(amount))
}

window_verbs!(
    UsageBudget<C>,
    "UsageBudget::with_clock(std::time::Duration::from_nanos(2), \"UTC\", &clock)?"
);
