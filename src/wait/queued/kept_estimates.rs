//! Estimates that are granted in line, until their callers are told.
//!
//! The call that serves the line may know nothing of estimates, and want permits only. So the
//! first caller that waits for an estimate leaves word how to take one, and from then on every grant in
//! line is taken so, and *kept* here under a number, until its caller is told. Then it is the caller's; or
//! it is given back, if the caller has gone; or forgotten, if the caller wanted permits only.

use slab::Slab;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::settle::Settle;
use crate::settle::estimate::Estimate;
use crate::settle::estimate::detached::Detached;
use crate::sync::Lock;
use crate::wait::charged::Charged;

/// Estimates of callers in line that have not been told yet.
pub(super) struct KeptEstimates<L> {
    take: fn(&L, u64) -> Result<Detached, Denied>,
    give_back: fn(&L, Detached),
    pub(super) kept: Lock<Slab<Detached>>,
}

impl<L: Settle> KeptEstimates<L> {
    pub(super) fn new() -> KeptEstimates<L> {
        KeptEstimates {
            take: |limiter, permits| limiter.try_acquire_settleable(permits).map(Estimate::detach),
            give_back: |limiter, estimate| {
                // The limiter's own, which tells nobody: the line may be locked.
                if let Some(mut estimate) = limiter.take_up(&mut Some(estimate)) {
                    estimate.give_back(u64::MAX);
                }
            },
            kept: Lock::new(Slab::new()),
        }
    }
}

impl<L> KeptEstimates<L> {
    /// Takes an estimate for the first in line, and keeps it.
    pub(super) fn take(&self, limiter: &L, permits: u64) -> Result<(Grant, Charged), Denied> {
        let estimate = (self.take)(limiter, permits)?;
        let grant = estimate.grant();
        let number = self.kept.lock().insert(estimate) as u64 + 1;
        Ok((grant, Charged { before: 0, after: number, changes: 0 }))
    }

    /// Gives back what is kept of a grant. Returns whether anything was.
    pub(super) fn give_back(&self, limiter: &L, charged: Charged) -> bool {
        self.remove(charged).map(|estimate| (self.give_back)(limiter, estimate)).is_some()
    }

    /// Returns what is kept of a grant, and forgets it.
    pub(super) fn remove(&self, charged: Charged) -> Option<Detached> {
        remove(&self.kept, charged)
    }
}

/// Takes what is `kept` of a grant out.
pub(super) fn remove(kept: &Lock<Slab<Detached>>, charged: Charged) -> Option<Detached> {
    let place = charged.after.checked_sub(1)?;
    kept.lock().try_remove(place as usize)
}
