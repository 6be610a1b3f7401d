//! Errors in a configuration.

use std::fmt;
use std::time::Duration;

/// Invalid configuration.
///
/// Each variant is about one field. Its [`Display`](fmt::Display) text names the field, the value that was
/// given and the allowed range.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::rate;
/// use sluicegate_flow::WarmUp;
///
/// let error = WarmUp::new(rate!(10 / second), Duration::from_secs(90_000)).unwrap_err();
/// assert_eq!(error.field(), "warm_up");
/// assert_eq!(error.to_string(), "warm_up is 90000s: must be from 0 to 24 hours");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The time-out of a [`TimeLimit`](crate::time_limit::TimeLimit) is not from 1 ns to 100 years.
    Timeout {
        /// The given time-out.
        timeout: Duration,
    },
    /// The time that a [`WarmUp`](crate::WarmUp) takes to warm up is above a day.
    WarmUp {
        /// The given time.
        warm_up: Duration,
    },
    /// The cold factor of a [`WarmUp`](crate::WarmUp) is not from 1 to 1,000.
    ColdFactor {
        /// The given factor.
        cold_factor: u32,
    },
}

impl ConfigError {
    /// Returns the name of the invalid field.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            ConfigError::Timeout { .. } => "timeout",
            ConfigError::WarmUp { .. } => "warm_up",
            ConfigError::ColdFactor { .. } => "cold_factor",
        }
    }

    /// Returns the rule that the field must satisfy.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            ConfigError::Timeout { .. } => "must be from 1 ns to 100 years",
            ConfigError::WarmUp { .. } => "must be from 0 to 24 hours",
            ConfigError::ColdFactor { .. } => "must be from 1 to 1000",
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Timeout { timeout: time } | ConfigError::WarmUp { warm_up: time } => {
                write!(f, "{} is {time:?}", self.field())?;
            }
            ConfigError::ColdFactor { cold_factor } => {
                write!(f, "{} is {cold_factor}", self.field())?;
            }
        }
        write!(f, ": {}", self.rule())
    }
}

impl std::error::Error for ConfigError {}
