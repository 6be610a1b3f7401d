//! Estimates that keep their limiter alive, of any limiter that can be settled.

use alloc::sync::Arc;

use crate::decision::estimate::Estimate;
use crate::decision::estimate::detached::Detached;
use crate::decision::estimate::owned::TakesUp;

use super::Settle;

impl<L: Settle> TakesUp for L {
    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        Settle::take_up(self, slot)
    }
}

impl<'a> Estimate<'a> {
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
        let limiter: Arc<dyn TakesUp> = Arc::new(Arc::clone(limiter));
        self.owned_by(&limiter)
    }
}
