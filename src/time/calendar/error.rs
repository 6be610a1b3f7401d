//! What is wrong with a calendar or a budget.

use core::fmt;
use core::time::Duration;
use std::string::String;

/// A calendar or a budget that cannot be.
///
/// Each variant is one field. Its [`Display`](fmt::Display) text names the
/// field, the value that was given and what is allowed.
///
/// # Examples
///
/// ```
/// let error = sluicegate::Calendar::days("Mars/Olympus").unwrap_err();
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
        /// What was given.
        name: String,
    },
    /// The amount of a [`Budget`](crate::Budget) is above
    /// [`Budget::MAX_AMOUNT`](crate::Budget::MAX_AMOUNT).
    Amount {
        /// What was given.
        amount: u64,
        /// The most that a budget can count.
        max: u64,
    },
    /// The amount of a [`UsageBudget`](crate::UsageBudget) is above
    /// [`UsageBudget::MAX_AMOUNT`](crate::UsageBudget::MAX_AMOUNT).
    Usage {
        /// What was given.
        amount: Duration,
        /// The most that a budget can count.
        max: Duration,
    },
}

impl CalendarError {
    /// The name of the field that is wrong.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            CalendarError::TimeZone { .. } => "time zone",
            CalendarError::Amount { .. } | CalendarError::Usage { .. } => "amount",
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
            CalendarError::Amount { amount, max } => {
                write!(f, "{amount}: must be from 0 to {max}")
            }
            CalendarError::Usage { amount, max } => {
                write!(f, "{amount:?}: must be from 0 to {max:?}")
            }
        }
    }
}

impl core::error::Error for CalendarError {}
