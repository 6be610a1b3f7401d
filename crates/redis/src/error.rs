//! Errors of limits, keys and servers.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, mem};

use sluicegate::{ConfigError, Denied};

/// A limit that the scripts cannot enforce.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The engine does not enforce it either.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A time is not whole microseconds, in which servers tell the time.
    #[error("{what} is {value:?}: must be whole microseconds")]
    Fraction {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: Duration,
    },
    /// A time is too long for the numbers of a script.
    #[error("{what} is {value:?}: must be at most {most:?}")]
    TooLong {
        /// The setting.
        what: &'static str,
        /// Its value.
        value: Duration,
        /// The largest value allowed.
        most: Duration,
    },
    /// A rate in lowest terms has too long a period for the numbers of a script.
    #[error(
        "rate is {permits} / {period:?}: in lowest terms, its period must be less than 2^51 steps; \
         take a rounder period"
    )]
    Period {
        /// The permits of a period.
        permits: u64,
        /// The period.
        period: Duration,
    },
    /// A sliding window has too few or too many slots.
    #[error("slots is {slots}: must be from 1 to {most}")]
    Slots {
        /// The number of slots.
        slots: u32,
        /// The largest number allowed.
        most: u32,
    },
    /// A limit of concurrency is out of range.
    #[error("limit of concurrency is {limit}: must be from 1 to {most}")]
    Concurrency {
        /// The limit.
        limit: u64,
        /// The largest limit allowed.
        most: u64,
    },
    /// The time for which permits are held is out of range.
    #[error("hold is {hold:?}: must be whole microseconds from {least:?} to {most:?}")]
    Hold {
        /// The time.
        hold: Duration,
        /// The shortest time allowed.
        least: Duration,
        /// The longest time allowed.
        most: Duration,
    },
    /// Two limits of several would share the keys in which they count.
    #[error("limits {first} and {second} have the same keys: give each another prefix")]
    SameKeys {
        /// The index of a limit.
        first: usize,
        /// The index of the other.
        second: usize,
    },
    /// A log would have to remember too many grants.
    #[error(
        "limit of the log is {limit}: must be at most {most}; a sliding window of slots has no such bound"
    )]
    Log {
        /// The limit.
        limit: u64,
        /// The largest limit allowed.
        most: u64,
    },
}

/// A key that is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} has {length} bytes: must be at most {most}; take a digest of it instead")]
pub struct KeyError {
    /// The part of the key.
    pub what: &'static str,
    /// The length of its escaped form, in bytes.
    pub length: usize,
    /// The greatest length allowed.
    pub most: usize,
}

/// The failure of a server to answer, or of the way to it.
///
/// Says nothing about the limit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The request did not reach the server, so it has taken nothing.
    #[error("cannot reach the server")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// The connection broke before the answer came. The request may have taken its permits.
    #[error("lost the connection to the server before it answered")]
    Disconnected(#[source] Box<dyn Error + Send + Sync>),
    /// The server did not answer in time. The request may have taken its permits, or may yet.
    #[error("the server did not answer in time")]
    TimedOut,
    /// The server was not asked, because other requests had failed shortly before.
    #[error("the server was left alone after a failure")]
    Skipped,
    /// The server answered with an error, such as that it is a replica, that it is loading its data, or that
    /// it has no memory left. The request has taken nothing.
    #[error("the server answered with the error {code}: {message}")]
    Server {
        /// The first word of the error, such as `READONLY`.
        code: String,
        /// The rest of it.
        message: String,
    },
    /// The server's answer is not one of the script.
    #[error("the script {script} answered with {reply:?}, which is not one of its answers")]
    Reply {
        /// The name of the script.
        script: &'static str,
        /// The answer.
        reply: Vec<i64>,
    },
}

/// The errors of a server that no request can expect an answer from, as opposed to those of one request.
const OF_SERVER: [&str; 10] = [
    "BUSY",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "NOAUTH",
    "NOREPLICAS",
    "OOM",
    "READONLY",
    "WRONGPASS",
];

impl StoreError {
    /// Returns the same failure once more, for another of the callers that wait for one request.
    pub(crate) fn share(&mut self) -> StoreError {
        match self {
            StoreError::Unreachable(source) => StoreError::Unreachable(shared(source)),
            StoreError::Disconnected(source) => StoreError::Disconnected(shared(source)),
            StoreError::TimedOut => StoreError::TimedOut,
            StoreError::Skipped => StoreError::Skipped,
            StoreError::Server { code, message } => {
                StoreError::Server { code: code.clone(), message: message.clone() }
            }
            StoreError::Reply { script, reply } => {
                StoreError::Reply { script, reply: reply.clone() }
            }
        }
    }

    /// Returns whether other requests have to expect the same.
    pub(crate) fn is_of_server(&self) -> bool {
        match self {
            StoreError::Server { code, .. } => OF_SERVER.contains(&&**code),
            StoreError::Reply { .. } => false,
            _ => true,
        }
    }

    /// Returns whether the request may have taken its permits in spite of the failure.
    #[must_use]
    pub fn may_have_taken(&self) -> bool {
        match self {
            StoreError::Disconnected(_) | StoreError::TimedOut | StoreError::Reply { .. } => true,
            StoreError::Unreachable(_) | StoreError::Skipped | StoreError::Server { .. } => false,
        }
    }
}

/// The source of a failure that several callers are told of.
#[derive(Clone, Debug)]
struct SharedSource(Arc<dyn Error + Send + Sync>);

impl fmt::Display for SharedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for SharedSource {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Makes a source one that can be shared, and returns it once more.
fn shared(source: &mut Box<dyn Error + Send + Sync>) -> Box<dyn Error + Send + Sync> {
    if let Some(shared) = source.downcast_ref::<SharedSource>() {
        return Box::new(shared.clone());
    }
    let owned = mem::replace(source, Box::new(fmt::Error));
    let shared = SharedSource(owned.into());
    *source = Box::new(shared.clone());
    Box::new(shared)
}

/// The reason why a request got no permits.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TryAcquireError {
    /// The limit denied them.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The key is too long. The server was not asked.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The server did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a holder's time was not prolonged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RenewError {
    /// The time was over, or the server has lost its data: others may hold the permits now.
    #[error("the permits are held no more: enter again")]
    Expired,
    /// The server did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason why a request to several limits got no permits.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TryAcquireAllError {
    /// A limit denied them: of those that did, the one with the longest wait.
    #[error("denied by the limit at index {which}")]
    Denied {
        /// The index of the limit.
        which: usize,
        /// Its denial.
        #[source]
        denied: Denied,
    },
    /// The number of amounts is not that of the limits. The server was not asked.
    #[error("{amounts} amounts for {limits} limits: must be one for each")]
    Amounts {
        /// The number of amounts.
        amounts: usize,
        /// The number of limits.
        limits: usize,
    },
    /// The key is too long. The server was not asked.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The server did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TryAcquireError {
    /// Returns the denial, if it is one.
    #[must_use]
    pub fn denied(&self) -> Option<&Denied> {
        match self {
            TryAcquireError::Denied(denied) => Some(denied),
            _ => None,
        }
    }

    /// Returns the least wait after which the request can be granted, if the limit denied it and grants as many at all.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.denied()?.retry_after()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_be_reached_concerns_all_requests_and_a_strange_answer_one() {
        let source = || Box::new(fmt::Error);
        assert!(StoreError::Unreachable(source()).is_of_server());
        assert!(StoreError::Disconnected(source()).is_of_server());
        assert!(StoreError::TimedOut.is_of_server());
        assert!(!StoreError::Reply { script: "gcra", reply: vec![] }.is_of_server());
    }
}
