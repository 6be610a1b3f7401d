//! The answer to a request that can be granted in two ways, or that two buckets have to grant.

use core::time::Duration;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;

/// Returns the denial after which a request is granted sooner: either way will do.
#[cold]
pub(super) fn sooner(one: Denied, other: Denied) -> Denied {
    if order(&other) < order(&one) { other } else { one }
}

/// Returns the answer to a request that has to pass both what is `lent` and the ceiling, if there is one: the later denial. It
/// tells the lesser remainder and limit.
pub(super) fn both(
    lent: Result<Grant, Denied>,
    limited: Option<Result<Grant, Denied>>,
) -> Result<Grant, Denied> {
    match (lent, limited) {
        (lent, None) => lent,
        (Ok(lent), Some(Ok(limited))) => {
            Ok(Grant { forecast: lent.forecast.tighter(limited.forecast), ..lent })
        }
        (Err(denied), Some(Ok(grant))) | (Ok(grant), Some(Err(denied))) => {
            Err(denied.within(None, Some(grant.limit())))
        }
        (Err(one), Some(Err(other))) => {
            let (later, sooner) =
                if order(&other) > order(&one) { (other, one) } else { (one, other) };
            Err(later.within(sooner.remaining(), sooner.limit()))
        }
    }
}

/// The wait; if there is none that suffices, a smaller limit is worse.
fn order(denied: &Denied) -> (Duration, u64) {
    match denied.retry_after() {
        Some(wait) => (wait, 0),
        None => (Duration::MAX, u64::MAX - denied.limit().unwrap_or(0)),
    }
}
