//! Errors in a calendar or a budget.

use core::fmt;
use std::string::String;

/// Invalid calendar or budget.
///
/// Each variant is about one field. Its [`Display`](fmt::Display) text names the field, the value
/// that was given and the allowed values.
///
/// # Examples
///
/// ```
/// let error = sluicegate::calendar::Calendar::days("Mars/Olympus").unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "time zone is \"Mars/Olympus\": must be a name of the IANA time zone database, \
///      such as Europe/Berlin or UTC",
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CalendarError {
    /// No database has a time zone of this name.
    TimeZone {
        /// The given name.
        name: String,
    },
    /// No POSIX rule of a time zone.
    PosixZone {
        /// The given rule.
        rule: String,
    },
    /// The amount of a [`Budget`](crate::calendar::Budget) is above
    /// [`Budget::MAX_AMOUNT`](crate::calendar::Budget::MAX_AMOUNT).
    Amount {
        /// The given amount.
        amount: u64,
        /// The largest amount that a budget can count.
        max: u64,
    },
}

impl CalendarError {
    /// Returns the name of the invalid field.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            CalendarError::TimeZone { .. } | CalendarError::PosixZone { .. } => "time zone",
            CalendarError::Amount { .. } => "amount",
        }
    }
}

impl fmt::Display for CalendarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is ", self.field())?;
        match self {
            CalendarError::TimeZone { name } => write!(
                f,
                "{name:?}: must be a name of the IANA time zone database, \
                 such as Europe/Berlin or UTC"
            ),
            CalendarError::PosixZone { rule } => write!(
                f,
                "{rule:?}: must be a POSIX rule, such as EST5EDT,M3.2.0,M11.1.0 or, for three hours \
                 behind UTC, <-03>3"
            ),
            CalendarError::Amount { amount, max } => {
                write!(f, "{amount}: must be from 0 to {max}")
            }
        }
    }
}

impl core::error::Error for CalendarError {}
