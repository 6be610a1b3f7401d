//! Refusals of callers that wait for permits in flight.

use std::fmt;

use sluicegate::wait::AcquireError;

/// The reason for which a caller that waited for permits in flight, or wanted to, was granted none.
/// It has taken nothing either.
///
/// It is not an [`AcquireError`], because no clock says when permits in flight end: there is no wait
/// to name.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlightError};
///
/// let limit = ConcurrencyLimit::new(1);
/// let _held = limit.acquire_blocking(1)?;
/// let refused = limit.acquire(1).timeout(Duration::from_millis(1)).wait_blocking().unwrap_err();
/// assert_eq!(refused, InFlightError::TimedOut);
/// # Ok::<(), InFlightError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InFlightError {
    /// More permits than the limit: waiting would not help, until the limit is raised.
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// When the caller's time was over, too much was still in flight, or others still waited ahead of
    /// it.
    TimedOut,
    /// The line has no room for another caller, or for as many permits.
    LineFull,
    /// The caller was the first in a full line, and made room for a new one.
    Evicted,
    /// The line was closed.
    Closed,
}

impl From<AcquireError> for InFlightError {
    fn from(error: AcquireError) -> InFlightError {
        match error {
            AcquireError::TooLarge { limit } => InFlightError::TooLarge { limit },
            AcquireError::TimedOut { .. } => InFlightError::TimedOut,
            AcquireError::LineFull { .. } => InFlightError::LineFull,
            AcquireError::Evicted => InFlightError::Evicted,
            // There is no other one.
            _ => InFlightError::Closed,
        }
    }
}

impl fmt::Display for InFlightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InFlightError::TooLarge { limit } => {
                return write!(
                    f,
                    "requested more than the limit of {limit} in flight: waiting will not help"
                );
            }
            InFlightError::TimedOut => {
                "no permits in the time allowed: try again later, or wait for longer"
            }
            InFlightError::LineFull => "too many are waiting: try again when some have ended",
            InFlightError::Evicted => "gave way to a newer caller, as the line was full",
            InFlightError::Closed => "the limit grants nothing more to callers that wait",
        })
    }
}

impl std::error::Error for InFlightError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_says_what_to_do() {
        let texts = [
            (
                InFlightError::TooLarge { limit: 5 },
                "requested more than the limit of 5 in flight: waiting will not help",
            ),
            (
                InFlightError::TimedOut,
                "no permits in the time allowed: try again later, or wait for longer",
            ),
            (InFlightError::LineFull, "too many are waiting: try again when some have ended"),
        ];
        for (error, text) in texts {
            assert_eq!(error.to_string(), text);
        }
    }
}
