//! The error of parsing a rate or quota.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use crate::config::error::ConfigError;

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
    /// The text can be read, but a value is out of range.
    Config(ConfigError),
}

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

    /// Returns the name of the invalid part: `rate`, `permits`, `period`, `burst`, `refill`,
    /// `max_debt`, or `quota` for a part that has none of these names.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match &self.0 {
            Problem::Value { field, .. } | Problem::Twice { field } => field,
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
