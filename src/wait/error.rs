//! Refusals of callers that wait.

use core::fmt;
use core::time::Duration;

use crate::decision::denied::shown;

/// The reason for which a caller that waited, or wanted to, was granted nothing. It has taken
/// nothing either.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::wait::AcquireError;
///
/// let bucket = TokenBucket::new(quota!(1 / hour));
/// bucket.acquire_blocking(1)?;
/// // An hour is too long, so nobody waits.
/// match bucket.acquire(1).timeout(Duration::from_secs(5)).wait_blocking() {
///     Err(AcquireError::TimedOut { retry_after }) => assert!(retry_after > Duration::from_secs(5)),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), AcquireError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AcquireError {
    /// More permits than the limiter can ever hold: waiting would not help.
    TooLarge {
        /// The most that can be granted at once.
        limit: u64,
    },
    /// The permits do not come before the deadline.
    TimedOut {
        /// The wait that would suffice from now on, if nobody ahead in line gives up, and all are
        /// told of their turns in time.
        retry_after: Duration,
    },
    /// The line has no room for another caller, or for as many permits.
    LineFull {
        /// The wait that would suffice from now on, if nobody ahead in line gives up.
        retry_after: Duration,
    },
    /// The caller was the first in a full line, and made room for a new one.
    Evicted,
    /// The line was closed.
    Closed,
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            AcquireError::TooLarge { limit } => {
                write!(f, "requested more than the limit of {limit}: waiting will not help")
            }
            AcquireError::TimedOut { retry_after } => {
                write!(f, "no permits before the deadline: try again in {:?}", shown(retry_after))
            }
            AcquireError::LineFull { retry_after } => {
                write!(f, "too many are waiting: try again in {:?}", shown(retry_after))
            }
            AcquireError::Evicted => {
                f.write_str("gave way to a newer caller, as the line was full")
            }
            AcquireError::Closed => {
                f.write_str("the limiter grants nothing more to callers that wait")
            }
        }
    }
}

impl core::error::Error for AcquireError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        let wait = Duration::from_nanos(1_234_567);
        let texts = [
            (
                AcquireError::TooLarge { limit: 5 },
                "requested more than the limit of 5: waiting will not help",
            ),
            (
                AcquireError::TimedOut { retry_after: wait },
                "no permits before the deadline: try again in 1.24ms",
            ),
            (
                AcquireError::LineFull { retry_after: wait },
                "too many are waiting: try again in 1.24ms",
            ),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
    }
}
