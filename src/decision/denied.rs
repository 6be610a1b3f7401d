//! Answers that deny permits.

use core::fmt;
use core::time::Duration;

use crate::time::units;

use super::forecast::Forecast;

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
/// assert_eq!(bucket.try_acquire(11).unwrap_err(), Denied::TooLarge { limit: 10, which: 0 });
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
        /// Which of several limiters or windows refused; see [`Denied::which`].
        which: usize,
    },
    /// Not by time alone: leases and receipts of a `Sharded` hold the room for some of it,
    /// and what they hold is earned by nobody until they end. Ask for no more than `limit`,
    /// or ask again when one has ended. (One that was forgotten never ends.)
    Leased {
        /// The largest request that can be granted as long as they hold that much.
        limit: u64,
        /// Which of several limiters refused; see [`Denied::which`].
        which: usize,
    },
    /// There is no room for the key in a `Keyed` limiter or a `KeyTable`: not a word about
    /// the key itself. See `WhenFull` for other answers.
    Full {
        /// How long until there may be room, if nobody else takes it. (Of a `KeyTable` the
        /// least time, to a tick of its levels.)
        retry_after: Duration,
    },
}

impl Denied {
    /// Returns the wait before asking again is worth it, or `None` if no time alone will do.
    ///
    /// The least time that suffices if nobody else takes any, to the nanosecond.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Denied::Wait(shortfall) => Some(shortfall.retry_after()),
            Denied::TooLarge { .. } | Denied::Leased { .. } => None,
            Denied::Full { retry_after } => Some(*retry_after),
        }
    }

    /// Which limiter refused: its place among those of an `All`, or
    /// of a window among those of a `MultiWindow`, counted
    /// from 0. Always 0 for a limiter that is alone.
    ///
    /// If several refuse, it is the one that has to be waited for longest.
    #[must_use]
    pub fn which(&self) -> usize {
        match *self {
            Denied::Wait(shortfall) => shortfall.which,
            Denied::TooLarge { which, .. } | Denied::Leased { which, .. } => which,
            Denied::Full { .. } => 0,
        }
    }

    /// The same refusal, by the limiter at `which`.
    #[cfg(feature = "alloc")]
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
fn shown(wait: Duration) -> Duration {
    let nanos = wait.as_nanos();
    let mut step = 1;
    while nanos / step >= 1_000 {
        step *= 10;
    }
    units::duration(nanos.div_ceil(step) * step)
}

/// How far a refused request was from being granted.
///
/// Small and `Copy`; what has to be computed is computed when it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortfall {
    /// What would have been enough, as the forecast counts.
    pub(crate) wanted: i64,
    pub(crate) forecast: Forecast,
    /// Which of several limiters it is that fell short.
    pub(crate) which: usize,
}

impl Shortfall {
    /// The same, of a request for `permits`, if there are so many more `outside` of what
    /// was looked at.
    #[cfg(feature = "alloc")]
    pub(crate) fn of_all(self, permits: u64, outside: u64) -> Shortfall {
        let wanted = self.forecast.wanted_for(permits);
        Shortfall { wanted, forecast: self.forecast.with_more(outside as i64), ..self }
    }

    /// How long until the request can be granted, if nobody else takes any.
    ///
    /// The least time that suffices, to the nanosecond.
    #[must_use]
    pub fn retry_after(&self) -> Duration {
        self.forecast.retry_after(self.wanted)
    }

    /// How many permits were missing, a part of one counted whole.
    #[must_use]
    pub fn missing(&self) -> u64 {
        self.forecast.missing(self.wanted)
    }

    /// Whole permits that were there.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.forecast.remaining()
    }

    /// The most that can be granted at once; of a window, its limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.forecast.limit()
    }

    /// How long until the limiter is full again, if nobody takes any.
    #[must_use]
    pub fn reset_after(&self) -> Duration {
        self.forecast.reset_after()
    }
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
    fn a_denial_says_what_to_do() {
        let large = Denied::TooLarge { limit: 5, which: 0 };
        let text = "requested more than the limit of 5: waiting will not help";
        assert_eq!(large.to_string(), text);
        let full = Denied::Full { retry_after: Duration::from_nanos(1_234_567) };
        assert_eq!(full.to_string(), "no space for another key: try again in 1.24ms");
    }
}
