//! What a limiter answers.

use core::fmt;
use core::time::Duration;

use crate::{Refill, time};

/// A limiter as it stood at one decision, and what time alone will do to it.
///
/// In units of the limiter, as they were when it decided; everything that takes
/// a division waits until somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outlook {
    /// What was there to spend after the decision; less than 0 is a debt.
    pub(crate) balance: i64,
    pub(crate) capacity: u64,
    pub(crate) token: u64,
    /// Units that one period earns.
    pub(crate) gain: u64,
    pub(crate) period_nanos: u64,
    /// Time since the accrual's origin, phase included.
    pub(crate) time_nanos: u64,
    pub(crate) refill: Refill,
}

impl Outlook {
    /// Whole tokens there to spend.
    fn remaining(&self) -> u64 {
        u64::try_from(self.balance).unwrap_or(0) / self.token
    }

    /// The most that can be granted at once.
    pub(crate) fn limit(&self) -> u64 {
        self.capacity / self.token
    }

    /// The least wait after which the balance is `wanted` or more, if nobody
    /// else takes any.
    fn wait_for(&self, wanted: i64) -> Duration {
        let Ok(missing @ 1..) = u64::try_from(i128::from(wanted) - i128::from(self.balance)) else {
            return Duration::ZERO;
        };
        let missing = u128::from(missing);
        let (gain, period) = (u128::from(self.gain), u128::from(self.period_nanos));
        let now = u128::from(self.time_nanos);
        // No product here reaches 2^127: times and gains are below 2^64, what is
        // missing and a period below 2^62.
        time::duration(match self.refill {
            // Of the unit that comes next, `pending / period` is there already.
            Refill::Smooth => {
                let pending = now % period * gain % period;
                (missing * period - pending).div_ceil(gain)
            }
            Refill::Interval => (now / period + missing.div_ceil(gain)) * period - now,
        })
    }
}

/// Permits were granted.
///
/// Small and `Copy`. Describes the limiter as it was right after the grant; what
/// has to be computed is computed when it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub(crate) permits: u64,
    pub(crate) outlook: Outlook,
}

impl Grant {
    /// The permits that were granted.
    #[must_use]
    #[inline]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Whole permits that were left.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.outlook.remaining()
    }

    /// The most that can be granted at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.outlook.limit()
    }

    /// How long until the limiter is full again, if nobody takes any more.
    ///
    /// The least time that suffices, to the nanosecond.
    #[must_use]
    pub fn reset_after(&self) -> Duration {
        self.outlook.wait_for(self.outlook.capacity as i64)
    }

    /// How long until the debt that this grant left is repaid; zero if it left
    /// none.
    ///
    /// A caller that forced its permits and then waits this long has kept to the
    /// rate.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.outlook.wait_for(0)
    }
}

/// Permits were refused.
///
/// A denial is an answer, not a fault: it is `Copy`, owns nothing, and costs
/// nothing to return on every call under overload.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Denied, ManualClock, TokenBucket, quota};
///
/// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
/// bucket.drain();
/// match bucket.try_acquire(3) {
///     Err(Denied::Wait(shortfall)) => {
///         assert_eq!(shortfall.retry_after(), Duration::from_millis(300));
///     }
///     Err(Denied::TooLarge { .. }) => unreachable!("ten would be too few for it"),
///     other => panic!("{other:?}"),
/// }
/// assert_eq!(bucket.try_acquire(11).unwrap_err(), Denied::TooLarge { limit: 10 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// Not now. Worth asking again once [`Shortfall::retry_after`] has passed.
    Wait(Shortfall),
    /// Not ever: the request is larger than all that the limiter can hold.
    TooLarge {
        /// The largest request that this limiter grants, in permits.
        limit: u64,
    },
}

impl Denied {
    /// How long to wait before asking again, or `None` if waiting is no use.
    ///
    /// The least time that suffices if nobody else takes any, to the nanosecond.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Denied::Wait(shortfall) => Some(shortfall.retry_after()),
            Denied::TooLarge { .. } => None,
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denied::Wait(shortfall) => {
                write!(f, "rate limited: try again in {:?}", shortfall.retry_after())
            }
            Denied::TooLarge { limit } => {
                write!(f, "more permits than the limit of {limit}: no wait will do")
            }
        }
    }
}

impl core::error::Error for Denied {}

/// How far a refused request was from being granted.
///
/// Small and `Copy`; what has to be computed is computed when it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// The balance that would have been enough.
    pub(crate) wanted: i64,
    pub(crate) outlook: Outlook,
}

impl Shortfall {
    /// How long until the request can be granted, if nobody else takes any.
    ///
    /// The least time that suffices, to the nanosecond.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        self.outlook.wait_for(self.wanted)
    }

    /// How many permits were missing, a part of one counted whole.
    #[must_use]
    pub fn missing(&self) -> u64 {
        let missing = i128::from(self.wanted) - i128::from(self.outlook.balance);
        u64::try_from(missing).unwrap_or(0).div_ceil(self.outlook.token)
    }

    /// Whole permits that were there.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.outlook.remaining()
    }

    /// The most that can be granted at once.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.outlook.limit()
    }

    /// How long until the limiter is full again, if nobody takes any.
    #[must_use]
    pub fn reset_after(&self) -> Duration {
        self.outlook.wait_for(self.outlook.capacity as i64)
    }
}
