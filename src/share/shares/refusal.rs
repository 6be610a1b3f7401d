//! The denial of a request that could have been granted in two ways, or that two buckets refused.

use core::time::Duration;

use crate::decision::denied::Denied;

/// Returns the denial after which a request is granted sooner: either way will do.
#[cold]
pub(super) fn sooner(one: Denied, other: Denied) -> Denied {
    if order(&other) < order(&one) { other } else { one }
}

/// Returns the denial after which a request is granted later: it has to pass both.
#[cold]
pub(super) fn later(one: Denied, other: Denied) -> Denied {
    if order(&other) > order(&one) { other } else { one }
}

/// The wait; if there is none that suffices, a smaller limit is worse.
fn order(denied: &Denied) -> (Duration, u64) {
    match denied.retry_after() {
        Some(wait) => (wait, 0),
        None => (Duration::MAX, u64::MAX - denied.limit().unwrap_or(0)),
    }
}
