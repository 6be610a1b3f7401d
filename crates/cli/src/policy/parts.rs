//! Several limiters, of which a store can tell whether all are full.

use sluicegate::{All, Denied, Grant, Limiter, Receipt};

use super::BoxedLimiter;

/// An [`All`] that is not full before each of its limiters is.
///
/// The grant of an `All` is that of the one with the least left. That may be one that is
/// full, when another, with more left, is not; and a store that forgets full keys would
/// forget what counts there.
pub(super) struct Parts(All<BoxedLimiter>);

impl Parts {
    pub(super) fn new(all: All<BoxedLimiter>) -> Parts {
        Parts(all)
    }
}

impl Limiter for Parts {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.0.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.0.try_acquire_up_to(permits)
    }

    /// For no permits, the one that takes longest to be full.
    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        let whole = self.0.peek(permits)?;
        if permits > 0 {
            return Ok(whole);
        }
        let each = self.0.limiters().iter().filter_map(|limiter| limiter.peek(0).ok());
        Ok(each.max_by_key(Grant::reset_after).unwrap_or(whole))
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.0.try_acquire_revocable(permits)
    }

    fn reset(&self) {
        self.0.reset();
    }
}
