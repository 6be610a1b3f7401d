//! Requests that were not sent, or not answered in time.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// A request whose turn does not come in the time that it may wait. It was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoTurn {
    /// The wait until a request may be sent, from now on, as far as the server has told; a response that
    /// is on its way may shorten it. `None` if only others in line are ahead.
    pub retry_after: Option<Duration>,
    /// The longest wait that was allowed.
    pub longest_wait: Duration,
}

impl fmt::Display for NoTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = rounded(self.longest_wait);
        match self.retry_after {
            Some(wait) => write!(
                f,
                "the request was not sent: the server's limits let it through in {:?}, and it may \
                 wait for {longest:?}: send it later, or let it wait for longer",
                rounded(wait)
            ),
            None => write!(
                f,
                "the request was not sent: its turn did not come in the {longest:?} that it may wait: \
                 send fewer requests at once, or let it wait for longer"
            ),
        }
    }
}

impl Error for NoTurn {}

/// Rounds up to milliseconds, or from ten seconds on to seconds.
fn rounded(wait: Duration) -> Duration {
    let unit = if wait < Duration::from_secs(10) { 1_000_000 } else { 1_000_000_000 };
    let units = wait.as_nanos().div_ceil(unit);
    u64::try_from(units * unit).map_or(Duration::MAX, Duration::from_nanos)
}

/// The error of a request through an [`OutgoingLayer`](super::OutgoingLayer).
#[derive(Debug)]
#[non_exhaustive]
pub enum OutgoingError<E> {
    /// The client failed, with this error of its own.
    Client(E),
    /// The request was not sent, as its turn would have come too late.
    NoTurn(NoTurn),
    /// The request, with its waits and retries, took longer than the deadline of the layer. It may have
    /// been sent.
    TimedOut {
        /// The deadline, from when the request was handed in.
        deadline: Duration,
    },
}

impl<E> OutgoingError<E> {
    /// Returns the wait after which the request may be sent, if that is known.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            OutgoingError::NoTurn(no_turn) => no_turn.retry_after,
            OutgoingError::Client(_) | OutgoingError::TimedOut { .. } => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for OutgoingError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OutgoingError::Client(error) => write!(f, "{error}"),
            OutgoingError::NoTurn(no_turn) => write!(f, "{no_turn}"),
            OutgoingError::TimedOut { deadline } => write!(
                f,
                "no response within the deadline of {:?}, with all waits and retries: set a longer \
                 deadline, or send the request later",
                rounded(*deadline)
            ),
        }
    }
}

impl<E: Error + 'static> Error for OutgoingError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            OutgoingError::Client(error) => error.source(),
            OutgoingError::NoTurn(_) | OutgoingError::TimedOut { .. } => None,
        }
    }
}
