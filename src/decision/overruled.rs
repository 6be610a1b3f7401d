//! Grants to callers that are let through in spite of a denial.

use super::denied::Denied;
use super::forecast::Forecast;
use super::forecast::known::KnownForecast;
use super::grant::Grant;
use crate::time::units;

impl Denied {
    /// Returns a grant of `permits` to a caller that is let through although it was denied, such as in
    /// a rehearsal of a limit. The limiter was charged nothing: the grant describes it as it was when it
    /// denied.
    ///
    /// Reads no clock; does not allocate. If the denial does not tell what remained, 0 did.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, TokenBucket, quota};
    ///
    /// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    /// bucket.try_acquire(7)?;
    /// let denied = bucket.try_acquire(5).unwrap_err();
    /// let grant = denied.overruled(5);
    /// assert_eq!((grant.permits(), grant.remaining(), grant.limit()), (5, 3, 10));
    /// # Ok::<(), sluicegate::Denied>(())
    /// ```
    #[must_use]
    pub fn overruled(&self, permits: u64) -> Grant {
        let forecast = match *self {
            Denied::Wait(shortfall) => shortfall.forecast,
            Denied::TooLarge { limit, .. } | Denied::Leased { limit, .. } => spent(limit, 0),
            Denied::Full { retry_after } => spent(0, units::nanos(retry_after)),
        };
        Grant { permits, forecast }
    }
}

/// Describes a limiter of which nothing is known to be left.
fn spent(limit: u64, reset_nanos: u64) -> Forecast {
    Forecast::Known(KnownForecast { limit, used: limit, reset_nanos, retry_nanos: 0 })
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn a_grant_in_spite_of_any_denial_has_its_permits_and_nothing_left() {
        let wait = Duration::from_secs(2);
        let denials = [
            (Denied::TooLarge { limit: 5, which: 1 }, 5, Duration::ZERO),
            (Denied::Leased { limit: 3, which: 0 }, 3, Duration::ZERO),
            (Denied::Full { retry_after: wait }, 0, wait),
        ];
        for (denied, limit, reset_after) in denials {
            let grant = denied.overruled(9);
            assert_eq!((grant.permits(), grant.limit(), grant.remaining()), (9, limit, 0));
            assert_eq!((grant.reset_after(), grant.ready_after()), (reset_after, Duration::ZERO));
        }
    }
}
