//! Answers to calls that were not admitted, or not in time.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::concurrency::InFlightError;
use sluicegate::Denied;
use sluicegate::wait::AcquireError;

use crate::time_limit::{CallError, TimedOut};

/// The answer to a caller of an [`Admission`](crate::admission::Admission) whose call has no result: which
/// limit refused it, by its name, or the operation's own error.
///
/// `I` is the refusal of the limit in flight, `E` the operation's own error, and `D` the refusal of
/// the rate. For a call that has waited it is an [`AdmitError`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdmissionError<I = Infallible, E = Infallible, D = Denied> {
    /// The rate refused the call. Nothing was done or charged.
    Rate {
        /// The name of the rate.
        name: Arc<str>,
        /// The rate's answer: it tells whether to ask again, and when.
        denied: D,
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

/// The answer to a call that has no result, and that was allowed to wait until it is admitted.
///
/// If it was not admitted before its deadline, this says which limit it waited for then:
/// [`InFlightError::TimedOut`] is for a place in flight, [`AcquireError::TimedOut`] for permits of the rate.
/// [`AdmissionError::TimedOut`] means that the call was admitted, but took longer than its time limit.
pub type AdmitError<E = Infallible> = AdmissionError<InFlightError, E, AcquireError>;

impl<I, E, D> AdmissionError<I, E, D> {
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

    /// Returns true if the operation has not begun, so that it can be tried again.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        !matches!(self, AdmissionError::TimedOut(_) | AdmissionError::Failed(_))
    }
}

impl<I, E> AdmissionError<I, E> {
    /// Returns the wait before it is worth asking again, if the rate has refused and knows it.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            AdmissionError::Rate { denied, .. } => denied.retry_after(),
            _ => None,
        }
    }
}

impl<E> AdmitError<E> {
    /// Returns the wait that would have been enough for the permits of the rate, from when it refused,
    /// if it knows that. Zero if the deadline had passed before anything was asked for.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            AdmissionError::Rate {
                denied:
                    AcquireError::TimedOut { retry_after } | AcquireError::LineFull { retry_after },
                ..
            } => Some(*retry_after).filter(|wait| *wait < Duration::MAX),
            _ => None,
        }
    }
}

/// Shows the operation's own error as it shows itself.
impl<I: fmt::Display, E: fmt::Display> fmt::Display for AdmissionError<I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f)?;
        match self {
            AdmissionError::InFlight { .. } => {
                f.write_str(": try again when another call has ended")
            }
            _ => Ok(()),
        }
    }
}

/// Shows the operation's own error as it shows itself.
impl<E: fmt::Display> fmt::Display for AdmitError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f)
    }
}

impl<I, D> AdmissionError<I, Infallible, D> {
    /// Returns this error of an operation that may fail, and has not begun.
    pub(super) fn with_error<E>(self) -> AdmissionError<I, E, D> {
        match self {
            AdmissionError::Rate { name, denied } => AdmissionError::Rate { name, denied },
            AdmissionError::InFlight { name, refusal } => {
                AdmissionError::InFlight { name, refusal }
            }
            AdmissionError::TimedOut(timed_out) => AdmissionError::TimedOut(timed_out),
            AdmissionError::NotRun { name } => AdmissionError::NotRun { name },
            AdmissionError::Failed(none) => match none {},
        }
    }
}

impl<I: fmt::Display, E: fmt::Display, D: fmt::Display> AdmissionError<I, E, D> {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdmissionError::Rate { name, denied } => write!(f, "`{name}` refused: {denied}"),
            AdmissionError::InFlight { name, refusal } => {
                write!(f, "`{name}` refused: {refusal}")
            }
            AdmissionError::TimedOut(timed_out) => fmt::Display::fmt(timed_out, f),
            AdmissionError::NotRun { name } => {
                write!(f, "no thread took `{name}`: nothing was done, so it can be tried again")
            }
            AdmissionError::Failed(error) => error.fmt(f),
        }
    }
}

impl<I: Error, E: Error, D: Error> Error for AdmissionError<I, E, D>
where
    AdmissionError<I, E, D>: fmt::Display,
{
    // That of the operation's own error, which is shown itself; the others are shown in full.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            AdmissionError::Failed(error) => error.source(),
            _ => None,
        }
    }
}

impl<I, E, D> From<CallError<E>> for AdmissionError<I, E, D> {
    fn from(error: CallError<E>) -> AdmissionError<I, E, D> {
        match error {
            CallError::TimedOut(timed_out) => AdmissionError::TimedOut(timed_out),
            CallError::NotRun { name } => AdmissionError::NotRun { name },
            CallError::Failed(error) => AdmissionError::Failed(error),
        }
    }
}
