//! Estimates that keep their limiter alive.
//!
//! Such an estimate is charged to a part of the limiter that it keeps, at an address inside of it. It is
//! taken up by the limiter for each of its calls, as one that was detached is.

use alloc::sync::Arc;

use crate::decision::grant::Grant;

use crate::settle::Settle;

use super::detached::Detached;
use super::{Estimate, EstimateOrigin, Hold};

/// A limiter that is kept alive by an estimate of it.
pub(super) struct Owner {
    limiter: Arc<dyn Settle>,
    /// Address of what was charged.
    charged: usize,
}

impl Owner {
    pub(super) fn charged(&self) -> usize {
        self.charged
    }

    pub(super) fn give_back(&self, hold: &mut Hold, grant: Grant, permits: u64) -> u64 {
        self.with(hold, grant, permits, |estimate| estimate.give_back(permits))
    }

    pub(super) fn take_beyond(&self, hold: &mut Hold, grant: Grant, permits: u64) -> u64 {
        self.with(hold, grant, 0, |estimate| estimate.take_beyond(permits))
    }

    /// Calls `act` with the estimate that has `hold`, and so many `permits`.
    fn with(
        &self,
        hold: &mut Hold,
        grant: Grant,
        permits: u64,
        act: impl FnOnce(&mut Estimate<'_>) -> u64,
    ) -> u64 {
        let taken = core::mem::replace(hold, Hold::Lost);
        let mut slot = Some(Detached::again(self.charged, grant, taken, permits));
        let mut done = 0;
        if let Some(mut estimate) = self.limiter.take_up(&mut slot) {
            done = act(&mut estimate);
            slot = Some(estimate.detach());
        }
        if let Some(rest) = slot {
            (_, *hold) = rest.into_parts();
        }
        done
    }
}

impl<'a> Estimate<'a> {
    /// Makes the estimate keep `limiter` alive, which it was taken from.
    pub(crate) fn owned(self, limiter: Arc<dyn Settle>) -> Estimate<'static> {
        let (grant, permits) = (self.grant, self.permits);
        let (charged, hold) = self.detach().into_parts();
        let limiter = EstimateOrigin::Owned(Owner { limiter, charged });
        Estimate { limiter, line: None, counts: None, grant, hold, permits }
    }

    /// Returns the same estimate, which keeps `limiter` alive, the one that it was taken from: to be moved
    /// into a task that is spawned, or kept in a struct. Allocates.
    ///
    /// # Errors
    ///
    /// The estimate as it was, if it was taken from another limiter.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::quota;
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::settle::{Estimate, Settle};
    ///
    /// let tokens: Arc<dyn Settle> = Arc::new(SettleableBucket::new(quota!(10_000 / hour)));
    /// let borrowed = tokens.try_acquire_settleable(4_000)?;
    /// let kept: Estimate<'static> = borrowed.into_owned(&tokens).expect("it is of this limiter");
    /// drop(tokens);
    /// assert_eq!(kept.settle(1_500)?.given_back(), 2_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::result_large_err, reason = "it is the estimate, which comes back")]
    pub fn into_owned<L>(self, limiter: &Arc<L>) -> Result<Estimate<'static>, Estimate<'a>>
    where
        L: Settle + ?Sized + 'static,
    {
        // In a box of its own, as what is behind the `Arc` may have no size.
        let limiter: Arc<dyn Settle> = Arc::new(Arc::clone(limiter));
        let Estimate { limiter: origin, line, counts, grant, hold, permits } = self;
        let mut slot = Some(Detached::again(origin.address(), grant, hold, permits));
        if let Some(estimate) = limiter.take_up(&mut slot) {
            return Ok(estimate.owned(Arc::clone(&limiter)));
        }
        let hold = slot.map_or(Hold::Lost, |estimate| estimate.into_parts().1);
        Err(Estimate { limiter: origin, line, counts, grant, hold, permits })
    }
}
