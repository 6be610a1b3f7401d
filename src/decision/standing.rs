//! Answers of limiters that are kept elsewhere.

use core::time::Duration;

use crate::time::units;

use super::denied::{Denied, Shortfall};
use super::forecast::Forecast;
use super::forecast::known::KnownForecast;
use super::grant::Grant;

/// The standing of a limiter that is not one of this crate, such as one in a database: its limit, its use,
/// and the wait until it is full again. Grants and denials are made from it.
///
/// Small and `Copy`; makes its answers without a clock, and does not allocate.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::penalty::Standing;
///
/// let standing = Standing::new(10, 8, Duration::from_secs(4));
/// let denied = standing.denial(3, Duration::from_millis(500));
/// assert_eq!((denied.remaining(), denied.retry_after()), (Some(2), Some(Duration::from_millis(500))));
///
/// let grant = Standing::new(10, 10, Duration::from_secs(5)).grant(2);
/// assert_eq!((grant.permits(), grant.remaining(), grant.limit()), (2, 0, 10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Standing {
    /// The most permits that can be granted at once; for a window, its limit.
    pub limit: u64,
    /// Permits of the limit that cannot be taken now; more than the limit if the limiter is in debt.
    pub used: u64,
    /// Time until the limiter is full, if no other permits are taken.
    pub reset_after: Duration,
}

impl Standing {
    /// Creates the standing of a limiter of which `used` permits of the `limit` cannot be taken now, and
    /// that is full `reset_after` from now.
    #[must_use]
    pub const fn new(limit: u64, used: u64, reset_after: Duration) -> Self {
        Standing { limit, used, reset_after }
    }

    /// Returns a grant of `permits` that left the limiter in this standing.
    #[must_use]
    pub fn grant(self, permits: u64) -> Grant {
        Grant { permits, forecast: self.forecast(Duration::ZERO) }
    }

    /// Returns a denial of `permits`, by a limiter in this standing that can grant them after
    /// `retry_after`, if no other permits are taken: [`Denied::Wait`], or [`Denied::TooLarge`] if they are
    /// more than the limit.
    #[must_use]
    pub fn denial(self, permits: u64, retry_after: Duration) -> Denied {
        if permits > self.limit {
            return Denied::TooLarge { limit: self.limit, which: 0 };
        }
        let wanted = i64::try_from(permits).unwrap_or(i64::MAX);
        Denied::Wait(Shortfall { wanted, forecast: self.forecast(retry_after), which: 0 })
    }

    fn forecast(self, retry_after: Duration) -> Forecast {
        Forecast::Known(KnownForecast {
            limit: self.limit,
            used: self.used,
            reset_nanos: units::nanos(self.reset_after),
            retry_nanos: units::nanos(retry_after),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_denial_knows_what_is_missing_and_one_above_the_limit_is_for_ever() {
        let standing = Standing { limit: 10, used: 8, reset_after: SECOND };
        let Denied::Wait(shortfall) = standing.denial(5, SECOND) else { panic!() };
        assert_eq!((shortfall.missing(), shortfall.remaining(), shortfall.limit()), (3, 2, 10));
        assert_eq!((shortfall.retry_after(), shortfall.reset_after()), (SECOND, SECOND));
        assert_eq!(standing.denial(11, SECOND), Denied::TooLarge { limit: 10, which: 0 });
    }

    #[test]
    fn a_debt_is_a_negative_balance() {
        let grant = Standing { limit: 10, used: 12, reset_after: SECOND }.grant(4);
        assert_eq!((grant.balance(), grant.remaining(), grant.reset_after()), (-2, 0, SECOND));
    }

    #[test]
    fn waits_too_long_for_64_bits_of_nanoseconds_are_the_longest_that_fit() {
        let standing = Standing { limit: u64::MAX, used: u64::MAX, reset_after: Duration::MAX };
        let denied = standing.denial(u64::MAX, Duration::MAX);
        assert_eq!(denied.retry_after(), Some(Duration::from_nanos(u64::MAX)));
        assert_eq!(standing.grant(1).reset_after(), Duration::from_nanos(u64::MAX));
    }
}
