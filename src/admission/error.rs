//! Answers to calls that were not admitted, or not in time.

use alloc::sync::Arc;
use core::convert::Infallible;
use core::error::Error;
use core::fmt;
use core::time::Duration;

use crate::decision::denied::Denied;
use crate::time_limit::TimedOut;

/// The answer to a caller of an [`Admission`](crate::Admission) whose call has no result: which
/// limit refused it, by its name, or the operation's own error.
///
/// `I` is the refusal of the limit in flight, `E` the operation's own error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdmissionError<I = Infallible, E = Infallible> {
    /// The rate refused the call. Nothing was done or charged.
    Rate {
        /// The name of the rate.
        name: Arc<str>,
        /// The rate's answer: it tells whether to ask again, and when.
        denied: Denied,
    },
    /// There was no place for the call among those in flight. Nothing was done or charged.
    InFlight {
        /// The name of the limit.
        name: Arc<str>,
        /// The limit's answer.
        refusal: I,
    },
    /// The operation took longer than its time limit.
    TimedOut(TimedOut),
    /// No thread took the operation. Nothing was done; the permits are spent.
    NotRun {
        /// The name of the time limiter.
        name: Arc<str>,
    },
    /// The operation's own error, in time.
    Failed(E),
}

impl<I, E> AdmissionError<I, E> {
    /// Returns the name of the limit because of which there is no result, or `None` if the
    /// operation itself failed.
    #[must_use]
    pub fn limit_name(&self) -> Option<&str> {
        match self {
            AdmissionError::Rate { name, .. }
            | AdmissionError::InFlight { name, .. }
            | AdmissionError::NotRun { name } => Some(name),
            AdmissionError::TimedOut(timed_out) => Some(timed_out.name()),
            AdmissionError::Failed(_) => None,
        }
    }

    /// Returns the wait before it is worth asking again, if the rate has refused and knows it.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            AdmissionError::Rate { denied, .. } => denied.retry_after(),
            _ => None,
        }
    }

    /// Returns true if the operation has not begun, so that it can be tried again.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        !matches!(self, AdmissionError::TimedOut(_) | AdmissionError::Failed(_))
    }
}

/// Shows the operation's own error as it shows itself.
impl<I: fmt::Display, E: fmt::Display> fmt::Display for AdmissionError<I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdmissionError::Rate { name, denied } => write!(f, "`{name}` refused: {denied}"),
            AdmissionError::InFlight { name, refusal } => {
                write!(f, "`{name}` refused: {refusal}: try again when another call has ended")
            }
            AdmissionError::TimedOut(timed_out) => timed_out.fmt(f),
            AdmissionError::NotRun { name } => {
                write!(f, "no thread took `{name}`: nothing was done, so it can be tried again")
            }
            AdmissionError::Failed(error) => error.fmt(f),
        }
    }
}

impl<I: Error, E: Error> Error for AdmissionError<I, E> {
    // That of the operation's own error, which is shown itself; the others are shown in full.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            AdmissionError::Failed(error) => error.source(),
            _ => None,
        }
    }
}
