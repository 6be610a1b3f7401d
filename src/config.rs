//! Rates, quotas and rules: how they are checked, written as literals, and parsed.

pub(crate) mod error;
#[doc(hidden)]
pub mod literal;
pub(crate) mod penalty_rule;
pub(crate) mod quota;
pub(crate) mod rate;
pub(crate) mod refill;
pub(crate) mod text;
