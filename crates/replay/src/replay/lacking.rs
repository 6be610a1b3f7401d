//! Lines that lack a value that a limiter asks for.

use serde::Serialize;
use sluicegate_policy::{Charge, KeyOutcome, Written};

/// The lines of one limiter that lack a value, or cost more than their value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lacking {
    /// Lines without a key that were denied, since the policy says so.
    pub denied: u64,
    /// Lines without a key that were admitted, since the policy says so.
    pub admitted: u64,
    /// Lines that lack a value of their key, and share one with others that lack it.
    pub shared: u64,
    /// Lines whose client has no address, so that its network is not known.
    pub no_address: u64,
    /// Lines without the number that is their cost.
    pub no_cost: u64,
    /// Lines whose cost has a fraction and was rounded up.
    pub rounded: u64,
}

impl Lacking {
    /// Counts a line.
    pub(crate) fn count(&mut self, written: Written, charge: Charge) {
        match written.outcome {
            KeyOutcome::Denied => self.denied += 1,
            KeyOutcome::Admitted => self.admitted += 1,
            KeyOutcome::Limited => {
                self.shared += u64::from(written.lacks);
                self.no_address += u64::from(written.is_no_address);
                self.no_cost += u64::from(charge.lacks);
                self.rounded += u64::from(charge.is_rounded);
            }
        }
    }

    /// Returns the counts, if a line lacked anything.
    #[must_use]
    pub fn if_any(self) -> Option<Lacking> {
        (self != Lacking::default()).then_some(self)
    }
}
