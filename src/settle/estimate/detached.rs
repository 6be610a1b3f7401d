//! Estimates that are kept apart from their limiter, for a while.

use crate::decision::grant::Grant;

#[cfg(feature = "alloc")]
use super::EstimateOrigin;
use super::{Estimate, Hold, Settles};

/// An [`Estimate`] that has left its limiter, and can only be settled by it: what a
/// `KeyEstimate` keeps between its calls.
///
/// Only a limiter of your own that wraps another one has to do with it: it passes it on, in
/// [`Settle::take_up`](crate::settle::Settle::take_up). Dropping it keeps the charge.
#[derive(Debug)]
pub struct Detached {
    /// Address of what was charged. Whoever keeps this keeps that where it is, so that no other
    /// limiter has its address.
    charged: usize,
    grant: Grant,
    hold: Hold,
    permits: u64,
}

impl Detached {
    /// Takes the estimate up again, if nobody was charged with it.
    pub(crate) fn attach_free<'a>(slot: &mut Option<Detached>) -> Option<Estimate<'a>> {
        let is_free = |detached: &mut Detached| matches!(detached.hold, Hold::Free);
        let Detached { grant, permits, .. } = slot.take_if(is_free)?;
        Some(Estimate { permits, ..Estimate::free(grant) })
    }

    /// Takes the estimate up again, if `limiter` is the one that it was charged to.
    pub(crate) fn attach<'a>(
        slot: &mut Option<Detached>,
        limiter: &'a dyn Settles,
    ) -> Option<Estimate<'a>> {
        let is_charged = |detached: &mut Detached| detached.charged == address(limiter);
        let Detached { grant, hold, permits, .. } = slot.take_if(is_charged)?;
        Some(Estimate { permits, ..Estimate::new(grant, limiter, hold) })
    }
}

impl Detached {
    #[cfg(any(feature = "keyed", feature = "wait"))]
    pub(crate) fn grant(&self) -> Grant {
        self.grant
    }

    pub(crate) fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns one of as many of the estimate's permits, to be taken up now.
    #[cfg(target_has_atomic = "ptr")]
    pub(super) fn again(charged: usize, grant: Grant, hold: Hold, permits: u64) -> Detached {
        Detached { charged, grant, hold, permits }
    }

    /// Returns the address of what was charged, and the hold.
    #[cfg(target_has_atomic = "ptr")]
    pub(super) fn into_parts(self) -> (usize, Hold) {
        (self.charged, self.hold)
    }

    /// Returns it with up to `permits` less, which are lost.
    pub(crate) fn less(self, permits: u64) -> Detached {
        Detached { permits: self.permits.saturating_sub(permits), ..self }
    }
}

#[cfg(feature = "alloc")]
impl Estimate<'_> {
    /// Parts the estimate from its limiter.
    pub(crate) fn detach(self) -> Detached {
        let Estimate { limiter, grant, hold, permits, .. } = self;
        Detached { charged: limiter.address(), grant, hold, permits }
    }
}

#[cfg(feature = "alloc")]
impl EstimateOrigin<'_> {
    /// Returns the address of what was charged.
    pub(super) fn address(&self) -> usize {
        match self {
            EstimateOrigin::Borrowed(limiter) => address(*limiter),
            #[cfg(target_has_atomic = "ptr")]
            EstimateOrigin::Owned(owner) => owner.charged(),
        }
    }
}

fn address(limiter: &dyn Settles) -> usize {
    core::ptr::from_ref(limiter).addr()
}
