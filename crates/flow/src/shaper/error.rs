//! Refusals of a shaper.

use std::fmt;
use std::time::Duration;

use crate::units::shown;

/// The reason for which a [`Shaper`](crate::shaper::Shaper) gave a request no place in its queue. Nothing
/// was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShaperError {
    /// More permits than the queue and the burst take: waiting would not help.
    TooLarge {
        /// The most that can have a place at once.
        limit: u64,
    },
    /// The queue has no room for the request now.
    Overflow {
        /// The wait that the request would have had, if the queue were longer.
        wait: Duration,
        /// The wait until there is room for it, if nothing else comes.
        retry_after: Duration,
    },
    /// There is room, but the request would leave later than it may.
    TooLate {
        /// The wait that the request would have had.
        wait: Duration,
    },
}

impl ShaperError {
    /// Returns the wait that the request would have had, or `None` for one that is too large.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        match *self {
            ShaperError::TooLarge { .. } => None,
            ShaperError::Overflow { wait, .. } | ShaperError::TooLate { wait } => Some(wait),
        }
    }
}

impl fmt::Display for ShaperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            ShaperError::TooLarge { limit } => {
                write!(f, "requested more than the limit of {limit}: waiting will not help")
            }
            ShaperError::Overflow { retry_after, .. } => {
                write!(f, "the queue is full: try again in {:?}", shown(retry_after))
            }
            ShaperError::TooLate { wait } => {
                write!(f, "would have left the queue only in {:?}", shown(wait))
            }
        }
    }
}

impl std::error::Error for ShaperError {}
