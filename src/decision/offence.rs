//! The outcome of an offence.

use core::time::Duration;

/// The outcome of an offence that was reported to a [`PenaltyBox`](crate::penalty::PenaltyBox).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::penalty::{Offence, PenaltyBox, PenaltyRule};
/// use sluicegate::rate;
///
/// let rule = PenaltyRule::new(rate!(2 / hour), Duration::from_secs(600))?;
/// let caller = PenaltyBox::new(rule);
/// assert_eq!(caller.offend(1), Offence::Counted { remaining: 1 });
/// assert!(caller.offend(1).is_penalized());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Offence {
    /// It was counted, and no penalty runs.
    Counted {
        /// Number of further offences that begin a penalty, if they come soon enough.
        remaining: u64,
    },
    /// It began a penalty. Of the calls that race, one is told so.
    Penalized {
        /// The time until the penalty ends.
        retry_after: Duration,
    },
    /// It was not counted, because a penalty was running, and did not make that longer.
    Ignored {
        /// The time until the penalty ends.
        retry_after: Duration,
    },
}

impl Offence {
    /// Returns whether it began a penalty: for a log, or a message to others.
    #[must_use]
    pub fn is_penalized(&self) -> bool {
        matches!(self, Offence::Penalized { .. })
    }

    /// Returns the time until the penalty ends, or `None` if none runs.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Offence::Counted { .. } => None,
            Offence::Penalized { retry_after } | Offence::Ignored { retry_after } => {
                Some(*retry_after)
            }
        }
    }
}
