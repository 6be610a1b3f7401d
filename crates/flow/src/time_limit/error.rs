//! Errors of time limiters: of their calls, and of their registry.

use std::convert::Infallible;
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The answer to a caller whose operation took longer than its time limit.
///
/// Small; a clone does not allocate. Converts into an [`io::Error`](std::io::Error) of the kind
/// `TimedOut`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), sluicegate_flow::ConfigError> {
/// let limiter = TimeLimiter::new("search", TimeLimit::new(Duration::from_millis(5))?);
/// let timed_out = limiter.execute(std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(timed_out.name(), "search");
/// assert_eq!(timed_out.timeout(), Duration::from_millis(5));
/// assert_eq!(
///     timed_out.to_string(),
///     "`search` took longer than its time limit of 5ms and was cancelled: \
///      try again, or raise the limit",
/// );
/// # Ok(()) }
/// ```
#[doc(alias = "TimeoutException")]
#[doc(alias = "Elapsed")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedOut {
    pub(super) name: Arc<str>,
    pub(super) timeout: Duration,
    pub(super) may_finish: bool,
}

impl TimedOut {
    /// Returns the name of the limiter.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the time-out.
    #[must_use]
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns true if the operation may still take effect: it goes on elsewhere, or it runs on a
    /// thread and was only asked to stop.
    #[must_use]
    pub fn may_finish(&self) -> bool {
        self.may_finish
    }
}

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimedOut { name, timeout, may_finish } = self;
        let end = if *may_finish {
            "may still finish: find out whether it did before trying again"
        } else {
            "was cancelled: try again, or raise the limit"
        };
        write!(f, "`{name}` took longer than its time limit of {timeout:?} and {end}")
    }
}

impl Error for TimedOut {}

impl From<TimedOut> for std::io::Error {
    fn from(timed_out: TimedOut) -> std::io::Error {
        std::io::Error::new(std::io::ErrorKind::TimedOut, timed_out)
    }
}

/// The answer to a caller whose operation has no result to give.
///
/// `E` is the error of the operation itself; of an operation that returns no
/// [`Result`](std::result::Result) there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError<E = Infallible> {
    /// The operation took longer than its time limit.
    TimedOut(TimedOut),
    /// No thread took the operation, so nothing was done: the system or a pool had none to spare.
    NotRun {
        /// The name of the limiter.
        name: Arc<str>,
    },
    /// The operation's own error, in time.
    #[doc(alias = "ExecutionException")]
    Failed(E),
}

impl<E> CallError<E> {
    /// Returns the operation's own error, if that is what this is.
    pub fn failure(self) -> Option<E> {
        match self {
            CallError::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Returns true if the operation took longer than its time limit.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, CallError::TimedOut(_))
    }
}

impl<E> From<TimedOut> for CallError<E> {
    fn from(timed_out: TimedOut) -> CallError<E> {
        CallError::TimedOut(timed_out)
    }
}

/// Shows the operation's own error as it shows itself.
impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::TimedOut(timed_out) => timed_out.fmt(f),
            CallError::NotRun { name } => {
                write!(f, "no thread took `{name}`: nothing was done, so it can be tried again")
            }
            CallError::Failed(error) => error.fmt(f),
        }
    }
}

impl<E: Error> Error for CallError<E> {
    // That of the operation's own error, which is shown itself.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CallError::Failed(error) => error.source(),
            CallError::TimedOut(_) | CallError::NotRun { .. } => None,
        }
    }
}

/// The name of a configuration that a [`TimeLimiterRegistry`](crate::time_limit::TimeLimiterRegistry) does not have.
#[doc(alias = "ConfigurationNotFoundException")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownConfiguration {
    pub(super) name: String,
    pub(super) known: Vec<String>,
}

impl UnknownConfiguration {
    /// Returns the name that was asked for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names that there are, in order.
    #[must_use]
    pub fn known(&self) -> &[String] {
        &self.known
    }
}

impl fmt::Display for UnknownConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no configuration is named `{}`: the names are ", self.name)?;
        for (index, known) in self.known.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}`{known}`")?;
        }
        Ok(())
    }
}

impl Error for UnknownConfiguration {}
