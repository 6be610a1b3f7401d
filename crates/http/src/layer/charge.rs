//! A charge that is settled later, and the functions that tell by how much.

use std::fmt;
use std::sync::Arc;

use http::response::Parts;
use sluicegate::Grant;

use super::response_end::{NoResponse, ResponseEnd};

/// A request that was charged, to be settled with what it has used.
///
/// Dropping it keeps it charged as it is.
#[must_use = "to drop a charge is to keep all of it"]
pub struct Charge {
    grant: Grant,
    settle: Box<dyn FnOnce(u64) + Send>,
}

impl Charge {
    /// Returns a charge that `settle` settles.
    pub fn new(grant: Grant, settle: impl FnOnce(u64) + Send + 'static) -> Charge {
        Charge { grant, settle: Box::new(settle) }
    }

    /// Returns the grant.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Settles it: what was not used is given back, and what was used beyond it is taken, as far as the
    /// limiter can.
    pub fn settle(self, used: u64) {
        (self.settle)(used);
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Charge").field("grant", &self.grant).finish_non_exhaustive()
    }
}

/// The function that tells what a request has used.
#[derive(Clone)]
pub(super) enum Settlement {
    Head(UsedByHead),
    End(UsedByEnd),
    /// At the end of the response, or else when it is known that there is none.
    EndOrNone {
        end: UsedByEnd,
        none: UsedByNone,
    },
}

type UsedByHead = Arc<dyn Fn(&Parts) -> Option<u64> + Send + Sync>;
type UsedByEnd = Arc<dyn Fn(&ResponseEnd<'_>) -> Option<u64> + Send + Sync>;
type UsedByNone = Arc<dyn Fn(NoResponse) -> Option<u64> + Send + Sync>;

impl Settlement {
    pub(super) fn is_by_head(&self) -> bool {
        matches!(self, Settlement::Head(_))
    }

    /// Returns what was used, as the head of the response tells it.
    pub(super) fn by_head(&self, head: &Parts) -> Option<u64> {
        match self {
            Settlement::Head(used) => used(head),
            Settlement::End(_) | Settlement::EndOrNone { .. } => None,
        }
    }

    /// Returns what was used, as the end of the response tells it.
    pub(super) fn at_end(&self, end: &ResponseEnd<'_>) -> Option<u64> {
        match self {
            Settlement::Head(_) => None,
            Settlement::End(used) | Settlement::EndOrNone { end: used, .. } => used(end),
        }
    }

    /// Returns what was used, if the reason for which there is no response tells it.
    pub(super) fn without_response(&self, why: NoResponse) -> Option<u64> {
        match self {
            Settlement::Head(_) | Settlement::End(_) => None,
            Settlement::EndOrNone { none, .. } => none(why),
        }
    }
}

impl fmt::Debug for Settlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_by_head() { "by head" } else { "by response" })
    }
}
