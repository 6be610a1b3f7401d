//! Answers that deny permits.

mod shortfall;

use core::fmt;
use core::time::Duration;

use crate::time::units;

pub use self::shortfall::Shortfall;

/// The answer to a request that was refused.
///
/// A denial is an answer, not a fault: it is `Copy` and owns nothing, so it can be returned on
/// every call under overload.
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
/// assert_eq!(bucket.try_acquire(11).unwrap_err(), Denied::TooLarge { limit: 10, which: 0 });
/// ```
#[doc(alias = "NotUntil")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Denied {
    /// Not now. Worth asking again once [`Shortfall::retry_after`] has passed.
    Wait(Shortfall),
    /// Not ever: the request is larger than the limiter's capacity.
    TooLarge {
        /// The largest request that this limiter grants, in permits.
        limit: u64,
        /// The index of the limiter or window that refused; see [`Denied::which`].
        which: usize,
    },
    /// Not by waiting alone: leases and receipts of a `Sharded` hold capacity that the request
    /// needs, and that capacity earns no tokens until they end. Ask for no more than `limit`,
    /// or ask again when one has ended. (One that was passed to `mem::forget` never ends.)
    Leased {
        /// The largest request that can be granted while they hold that capacity.
        limit: u64,
        /// The index of the limiter that refused; see [`Denied::which`].
        which: usize,
    },
    /// There is no space for another key in a `Keyed` limiter or a `KeyTable`; this says nothing
    /// about the key's own quota. See `WhenFull` for other policies.
    Full {
        /// The wait until there may be space, if no other caller takes it. (For a `KeyTable` the
        /// least such wait, to a tick of its levels.)
        retry_after: Duration,
    },
}

impl Denied {
    /// Returns the wait before it is worth asking again, or `None` if waiting alone will not help.
    ///
    /// The least time that suffices if no other permits are taken, to the nanosecond. (Of an
    /// `All` and a `KeyTable` only up to 70 years: a longer one may be some nanoseconds short,
    /// or more for a `KeyTable`, whose levels have gone round then.)
    #[doc(alias = "wait_time")]
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Denied::Wait(shortfall) => Some(shortfall.retry_after()),
            Denied::TooLarge { .. } | Denied::Leased { .. } => None,
            Denied::Full { retry_after } => Some(*retry_after),
        }
    }

    /// Returns the wait in whole seconds, rounded up, as an HTTP header `Retry-After` gives it
    /// (RFC 9110, section 10.2.3), or `None` if no time alone will do.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, TokenBucket, quota};
    ///
    /// let bucket = TokenBucket::with_clock(quota!(100 / minute), ManualClock::new());
    /// bucket.drain();
    /// let denied = bucket.try_acquire(1).unwrap_err();
    /// assert_eq!(denied.retry_after_secs(), Some(1)); // 600 ms
    /// assert_eq!((denied.limit(), denied.remaining()), (Some(100), Some(0)));
    /// ```
    #[must_use]
    pub fn retry_after_secs(&self) -> Option<u64> {
        let wait = self.retry_after()?;
        Some(wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)))
    }

    /// Returns the largest request that the limiter grants, or `None` if it has no space for the
    /// key. While leases hold permits, that is what they leave.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        match self {
            Denied::Wait(shortfall) => Some(shortfall.limit()),
            Denied::TooLarge { limit, .. } | Denied::Leased { limit, .. } => Some(*limit),
            Denied::Full { .. } => None,
        }
    }

    /// Returns the whole permits that were left when the request was denied, or `None` if they
    /// were not looked at: only [`Denied::Wait`] knows them.
    #[must_use]
    pub fn remaining(&self) -> Option<u64> {
        self.shortfall().map(Shortfall::remaining)
    }

    /// Returns the wait until the limiter is full again if nobody takes any permits, or `None`
    /// where [`remaining`](Denied::remaining) is.
    #[must_use]
    pub fn reset_after(&self) -> Option<Duration> {
        self.shortfall().map(Shortfall::reset_after)
    }

    /// Returns the whole permits that were left, negative for a debt, or `None` where
    /// [`remaining`](Denied::remaining) is. See [`Grant::balance`](crate::Grant::balance).
    #[must_use]
    pub fn balance(&self) -> Option<i64> {
        self.shortfall().map(Shortfall::balance)
    }

    /// Returns the wait until one permit more than [`remaining`](Denied::remaining) is available.
    /// `None` where that is, and where [`Shortfall::next_permit_after`] is.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, TokenBucket, quota};
    ///
    /// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    /// bucket.try_acquire(6)?;
    /// let denied = bucket.try_acquire(8).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(400)));
    /// assert_eq!(denied.next_permit_after(), Some(Duration::from_millis(100)));
    /// # Ok::<(), sluicegate::Denied>(())
    /// ```
    #[must_use]
    pub fn next_permit_after(&self) -> Option<Duration> {
        self.shortfall().and_then(Shortfall::next_permit_after)
    }

    fn shortfall(&self) -> Option<&Shortfall> {
        match self {
            Denied::Wait(shortfall) => Some(shortfall),
            _ => None,
        }
    }

    /// Returns the index of the limiter that refused among those of an `All`, or of the window
    /// among those of a `MultiWindow`, counted from 0. Always 0 for a single limiter.
    ///
    /// If several refuse, it is the one with the longest wait.
    #[must_use]
    pub fn which(&self) -> usize {
        match *self {
            Denied::Wait(shortfall) => shortfall.which,
            Denied::TooLarge { which, .. } | Denied::Leased { which, .. } => which,
            Denied::Full { .. } => 0,
        }
    }

    /// Returns the denial of a request that has to leave `reserve` permits, from that of both together.
    pub(crate) fn leaving(self, reserve: u64) -> Denied {
        match self {
            Denied::TooLarge { limit, which } => {
                Denied::TooLarge { limit: limit.saturating_sub(reserve), which }
            }
            Denied::Leased { limit, which } => {
                Denied::Leased { limit: limit.saturating_sub(reserve), which }
            }
            other => other,
        }
    }

    /// Returns the denial of [`try_acquire_leaving`](crate::share::Leaving::try_acquire_leaving) as it is for one who leaves a
    /// reserve: what remains and the limit are lower by `reserve` permits, what is missing and the wait are unchanged.
    ///
    /// [`Denied::TooLarge`] has the lower limit already. See [`Grant::above`](crate::Grant::above).
    #[must_use]
    pub fn above(self, reserve: u64) -> Denied {
        match self {
            Denied::Wait(shortfall) => Denied::Wait(shortfall.above(reserve)),
            other => other,
        }
    }

    /// Returns the denial of a request that another limiter has to grant too, which has `remaining` permits if it denied
    /// it, and grants no more than `limit`.
    #[cfg(feature = "keyed")]
    pub(crate) fn within(self, remaining: Option<u64>, limit: Option<u64>) -> Denied {
        let most = limit.unwrap_or(u64::MAX);
        match self {
            Denied::Wait(shortfall) => {
                Denied::Wait(shortfall.within(remaining.unwrap_or(u64::MAX), most))
            }
            Denied::TooLarge { limit, which } => Denied::TooLarge { limit: limit.min(most), which },
            other => other,
        }
    }

    /// Returns the same denial by the limiter at index `which`.
    pub(crate) fn by(self, which: usize) -> Denied {
        match self {
            Denied::Wait(shortfall) => Denied::Wait(Shortfall { which, ..shortfall }),
            Denied::TooLarge { limit, .. } => Denied::TooLarge { limit, which },
            Denied::Leased { limit, .. } => Denied::Leased { limit, which },
            Denied::Full { .. } => self,
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denied::Wait(shortfall) => {
                write!(f, "rate limited: try again in {:?}", shown(shortfall.retry_after()))
            }
            Denied::TooLarge { limit, .. } => {
                write!(f, "requested more than the limit of {limit}: waiting will not help")
            }
            Denied::Leased { limit, .. } => {
                write!(
                    f,
                    "leases hold all but {limit} permits: request fewer, or wait for a lease to end"
                )
            }
            Denied::Full { retry_after } => {
                write!(f, "no space for another key: try again in {:?}", shown(*retry_after))
            }
        }
    }
}

impl core::error::Error for Denied {}

/// Rounds a wait up to three digits, as many as a person reads.
pub(crate) fn shown(wait: Duration) -> Duration {
    let nanos = wait.as_nanos();
    let mut step = 1;
    while nanos / step >= 1_000 {
        step *= 10;
    }
    units::duration(nanos.div_ceil(step) * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_shown_with_three_digits_and_never_shorter() {
        let shown = |nanos| format!("{:?}", shown(Duration::from_nanos(nanos)));
        assert_eq!(shown(0), "0ns");
        assert_eq!(shown(999), "999ns");
        assert_eq!(shown(1_000), "1µs");
        assert_eq!(shown(1_234_567_891), "1.24s");
        assert_eq!(shown(9_999_999), "10ms");
        assert_eq!(shown(3_600_000_000_001), "3610s");
        assert_eq!(super::shown(Duration::MAX), Duration::MAX);
    }

    #[test]
    fn a_wait_in_seconds_is_rounded_up() {
        let secs =
            |nanos| Denied::Full { retry_after: Duration::from_nanos(nanos) }.retry_after_secs();
        let second = 1_000_000_000;
        assert_eq!((secs(0), secs(1), secs(second)), (Some(0), Some(1), Some(1)));
        assert_eq!(secs(second + 1), Some(2));
        assert_eq!(Denied::Full { retry_after: Duration::MAX }.retry_after_secs(), Some(u64::MAX));
        let large = Denied::TooLarge { limit: 5, which: 0 };
        assert_eq!((large.retry_after_secs(), large.limit()), (None, Some(5)));
        assert_eq!((large.remaining(), large.reset_after()), (None, None));
        assert_eq!(Denied::Leased { limit: 3, which: 0 }.limit(), Some(3));
        assert_eq!(Denied::Full { retry_after: Duration::ZERO }.limit(), None);
    }
}
