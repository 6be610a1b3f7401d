//! The limiter that grants every request.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::limiter::Limiter;
use crate::limiter::leaving::Leaving;
use crate::settle::Settle;
use crate::settle::estimate::Estimate;
use crate::settle::estimate::detached::Detached;

/// A limiter that grants every request.
///
/// For callers without a limit among others that have one, and inside a
/// [`Gate`](crate::compose::Gate) for a limit that is all or nothing. It has no state, so it is always idle. Lock-free; does not allocate; reads no
/// clock. Its [`limit`](Grant::limit) and `remaining` are [`u64::MAX`], for "no limit".
///
/// # Examples
///
/// ```
/// use sluicegate::{Limiter, TokenBucket, quota};
/// use sluicegate::compose::Unlimited;
///
/// let bucket = TokenBucket::new(quota!(5 / second));
/// let limiter = |is_paying| -> &dyn Limiter { if is_paying { &Unlimited } else { &bucket } };
/// assert!(limiter(true).try_acquire(1_000_000).is_ok());
/// assert!(limiter(false).try_acquire(1_000_000).is_err());
/// ```
#[doc(alias = "Inf")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unlimited;

impl Unlimited {
    /// Returns the answer to every request, which is never a denial. Lock-free; reads no clock.
    #[inline]
    #[must_use]
    pub fn grant(permits: u64) -> Grant {
        Grant::unused(permits, u64::MAX)
    }
}

impl Limiter for Unlimited {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        Ok(Unlimited::grant(permits))
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire(permits).map(Receipt::free)
    }

    fn reset(&self) {}

    fn is_idle(&self) -> bool {
        true
    }
}

/// Grants all, and still has as much.
impl Leaving for Unlimited {
    fn try_acquire_leaving(&self, permits: u64, _reserve: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn peek_leaving(&self, permits: u64, _reserve: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn try_acquire_leaving_revocable(
        &self,
        permits: u64,
        _reserve: u64,
    ) -> Result<Receipt<'_>, Denied> {
        self.try_acquire_revocable(permits)
    }
}

/// Charges nobody, so there is nothing to settle: all that was not used counts as given back.
impl Settle for Unlimited {
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        self.try_acquire(permits).map(Estimate::free)
    }

    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        Detached::attach_free(slot)
    }
}
