//! The error of parsing a rate or quota.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

use crate::config::error::ConfigError;
use crate::config::rate::Rate;

use super::number::Decimal;

/// The error of parsing a [`Rate`](crate::Rate) or a [`Quota`](crate::Quota).
///
/// Its [`Display`](fmt::Display) text names the invalid part, repeats its text, and says what is
/// allowed.
///
/// # Examples
///
/// ```
/// use sluicegate::Rate;
///
/// let error = "100 per second".parse::<Rate>().unwrap_err();
/// assert_eq!(error.field(), "rate");
/// assert_eq!(
///     error.to_string(),
///     "rate is \"100 per second\": must be permits / period, such as 100 / second \
///      or 500 / 15 minutes",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(Problem);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Problem {
    /// `text` cannot be read as `field`.
    Value {
        field: &'static str,
        text: String,
    },
    /// No part has this name.
    Part {
        text: String,
    },
    Twice {
        field: &'static str,
    },
    /// No rate is exactly that of this decimal, or it is out of range. `value` is as it was written.
    Decimal {
        field: &'static str,
        value: String,
        rule: &'static str,
    },
    /// The text can be read, but a value is out of range.
    Config(ConfigError),
}

/// The rule for a decimal that is in range, but whose digits are too large a number.
const FEWER_DIGITS: &str = "must have fewer decimals, such as nine digits in all";

impl ParseError {
    pub(super) fn value(field: &'static str, text: &str) -> ParseError {
        ParseError(Problem::Value { field, text: text.trim().to_owned() })
    }

    pub(super) fn part(text: &str) -> ParseError {
        ParseError(Problem::Part { text: text.to_owned() })
    }

    pub(super) fn twice(field: &'static str) -> ParseError {
        ParseError(Problem::Twice { field })
    }

    /// The error of permits whose digits do not fit any rate.
    pub(super) fn digits(text: &str) -> ParseError {
        let value = alloc::format!("{:?}", text.trim());
        ParseError(Problem::Decimal { field: "permits", value, rule: FEWER_DIGITS })
    }

    /// Words `error`, which is about a multiple of `permits` and `period`, for the numbers that were
    /// written.
    pub(super) fn decimal(permits: Decimal, period: Duration, error: ConfigError) -> ParseError {
        let in_permits =
            |rule| Problem::Decimal { field: "permits", value: permits.to_string(), rule };
        ParseError(match error {
            ConfigError::Permits { .. } if permits.ceiling() <= Rate::MAX_PERMITS => {
                in_permits(FEWER_DIGITS)
            }
            ConfigError::Permits { .. } => in_permits(error.rule()),
            ConfigError::Period { .. } if !period.is_zero() && period <= Rate::MAX_PERIOD => {
                in_permits(
                    "must have fewer decimals, or be in a shorter period: a whole number of \
                     permits would take more than 100 years",
                )
            }
            ConfigError::Period { .. } => Problem::Config(ConfigError::Period { period }),
            _ => Problem::Decimal {
                field: error.field(),
                value: alloc::format!("{permits} per {period:?}"),
                rule: error.rule(),
            },
        })
    }

    /// Returns the name of the invalid part: `rate`, `permits`, `period`, `burst`, `refill`,
    /// `max_debt`, or `quota` for a part that has none of these names.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match &self.0 {
            Problem::Value { field, .. }
            | Problem::Twice { field }
            | Problem::Decimal { field, .. } => field,
            Problem::Part { .. } => "quota",
            Problem::Config(error) => error.field(),
        }
    }
}

impl From<ConfigError> for ParseError {
    fn from(error: ConfigError) -> ParseError {
        ParseError(Problem::Config(error))
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Problem::Value { field, text } => {
                let rule = match *field {
                    "rate" => "permits / period, such as 100 / second or 500 / 15 minutes",
                    "permits" => "a number, such as 100 or 0.5",
                    "period" => {
                        "ns, us, ms, second, minute, hour or day, or a number of them, \
                         such as 15 minutes"
                    }
                    "refill" => "smooth or interval",
                    _ => "a whole number, such as 50",
                };
                write!(f, "{field} is {text:?}: must be {rule}")
            }
            Problem::Part { text } => {
                write!(
                    f,
                    "quota has {text:?}: a part must be burst, refill or max_debt, \
                     and its value"
                )
            }
            Problem::Decimal { field, value, rule } => write!(f, "{field} is {value}: {rule}"),
            Problem::Twice { field } => write!(f, "{field} is given twice: once will do"),
            Problem::Config(error) => fmt::Display::fmt(error, f),
        }
    }
}

impl core::error::Error for ParseError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.0 {
            Problem::Config(error) => Some(error),
            _ => None,
        }
    }
}
