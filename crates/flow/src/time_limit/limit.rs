//! Configuration of a time limiter.

use std::time::Duration;

use sluicegate::Rate;

use crate::config_error::ConfigError;

/// Configuration of a [`TimeLimiter`](crate::time_limit::TimeLimiter): how long to wait for an operation, and
/// what to do with it then.
///
/// | part | default | |
/// |---|---|---|
/// | [`timeout`](TimeLimit::timeout) | 1000 ms | from 1 ns to 100 years |
/// | [`on_timeout`](TimeLimit::on_timeout) | [`OnTimeout::Cancel`] | what becomes of the operation |
///
/// A time-out of zero is an error. Resilience4j and tokio take it, and mean by it "only what is
/// ready at once"; in a file it nearly always is a wrong unit, or is meant as "no limit". For the
/// former, poll the future once; for no limit, leave the limiter out.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::time_limit::{OnTimeout, TimeLimit};
///
/// let commands = TimeLimit::new(Duration::from_secs(5))?.with_on_timeout(OnTimeout::LetFinish);
/// // Another configuration, derived from it: the rest stays as it is.
/// let slow_commands = commands.with_timeout(Duration::from_secs(20))?;
/// assert_eq!(slow_commands.on_timeout(), OnTimeout::LetFinish);
///
/// let error = TimeLimit::new(Duration::ZERO).unwrap_err();
/// assert_eq!(error.to_string(), "timeout is 0ns: must be from 1 ns to 100 years");
/// # Ok::<(), sluicegate_flow::ConfigError>(())
/// ```
#[doc(alias = "TimeLimiterConfig")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeLimit {
    timeout: Duration,
    on_timeout: OnTimeout,
}

/// The fate of an operation whose caller has stopped waiting for it.
#[doc(alias = "cancelRunningFuture")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnTimeout {
    /// A future is dropped; a closure finds its [`CancelToken`](crate::time_limit::CancelToken) cancelled. For
    /// queries, which change nothing.
    #[default]
    Cancel,
    /// The operation goes on elsewhere, and its result goes to the hook for late results. For
    /// commands, which must not be left half done.
    LetFinish,
}

impl TimeLimit {
    /// The time-out of [`TimeLimit::default`]: 1000 ms.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);

    /// Creates a limit of `timeout`, after which the operation is cancelled.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Timeout`] if `timeout` is zero or more than 100 years.
    #[doc(alias = "timeoutDuration")]
    pub const fn new(timeout: Duration) -> Result<TimeLimit, ConfigError> {
        TimeLimit { timeout: TimeLimit::DEFAULT_TIMEOUT, on_timeout: OnTimeout::Cancel }
            .with_timeout(timeout)
    }

    /// Returns this limit with another time-out.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Timeout`] if `timeout` is zero or more than 100 years.
    pub const fn with_timeout(self, timeout: Duration) -> Result<TimeLimit, ConfigError> {
        if timeout.is_zero() || timeout.as_nanos() > Rate::MAX_PERIOD.as_nanos() {
            return Err(ConfigError::Timeout { timeout });
        }
        Ok(TimeLimit { timeout, ..self })
    }

    /// Returns this limit with another fate of the operations that time out.
    #[must_use]
    pub const fn with_on_timeout(self, on_timeout: OnTimeout) -> TimeLimit {
        TimeLimit { on_timeout, ..self }
    }

    /// Returns the longest that a caller waits.
    #[must_use]
    pub const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Returns the fate of an operation that times out.
    #[must_use]
    pub const fn on_timeout(&self) -> OnTimeout {
        self.on_timeout
    }
}

/// 1000 ms, then cancelled.
impl Default for TimeLimit {
    fn default() -> TimeLimit {
        TimeLimit { timeout: TimeLimit::DEFAULT_TIMEOUT, on_timeout: OnTimeout::Cancel }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_from_a_nanosecond_to_a_hundred_years() {
        let nano = Duration::from_nanos(1);
        for timeout in [nano, TimeLimit::DEFAULT_TIMEOUT, Rate::MAX_PERIOD] {
            assert_eq!(TimeLimit::new(timeout).map(|limit| limit.timeout()), Ok(timeout));
        }
        for timeout in [Duration::ZERO, Rate::MAX_PERIOD + nano, Duration::MAX] {
            let error = TimeLimit::new(timeout).unwrap_err();
            assert_eq!(error, ConfigError::Timeout { timeout });
            assert_eq!(error.field(), "timeout");
            assert_eq!(TimeLimit::default().with_timeout(timeout), Err(error));
        }
    }
}
