//! The part of the report on lines that lack a value.

use serde::Serialize;

use crate::replay::Lacking;

/// The lines of one limiter that lacked a value that it asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LackingSummary {
    /// Lines without a key that were denied.
    pub denied: u64,
    /// Lines without a key that were admitted.
    pub admitted: u64,
    /// Lines that lack a value of their key, and share one with others.
    pub shared: u64,
    /// Lines whose client is not an address, in a limiter that goes by networks.
    pub no_address: u64,
    /// Lines without the number that is their cost.
    pub no_cost: u64,
}

impl LackingSummary {
    /// Returns the counts, if there are any.
    pub(crate) fn new(lacking: &Lacking) -> Option<LackingSummary> {
        let Lacking { denied, admitted, shared, no_address, no_cost } = *lacking;
        let found = LackingSummary { denied, admitted, shared, no_address, no_cost };
        (!lacking.is_none()).then_some(found)
    }
}
