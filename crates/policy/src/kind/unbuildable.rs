//! The engine's verdict on numbers.

use sluicegate::ConfigError;
use sluicegate::calendar::CalendarError;

/// Invalid numbers: no limiter can be built from them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unbuildable {
    /// A number is out of its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no such calendar or budget.
    #[error(transparent)]
    Calendar(#[from] CalendarError),
    /// It has keys that share one limiter, and is to be that of one key, or of none.
    #[error(
        "shares and priorities are one limiter for all keys: expected a key of a single field, not \"all\", and no \
         other limiter around it"
    )]
    Common,
}
