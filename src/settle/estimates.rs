//! Estimates of several limiters, keys and stores that are taken together, or not at all.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::decision::all_or_none::{AllOrNone, Revocable};
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::settled::{Settled, Unpaid};

use super::Estimate;

/// Estimates of several limiters that are taken together, or not at all, and settled with an amount for each.
///
/// [`and`](Estimates::and) adds one after the other. The first that is denied gives back all that were taken
/// before it. `All::try_acquire_settleable_each` returns the estimates of its limiters, and takes nothing if a first
/// look finds that one of them would deny.
///
/// Between the first estimate and the last, other callers may be denied because of permits that come back.
/// Each limiter says how much comes back, and for how long: see [`Estimate`].
///
/// **Dropping this keeps all of them charged as they are.**
///
/// # Examples
///
/// Calls of a language model, whose organisations have a number of requests, and whose models have tokens:
///
/// ```
/// use std::sync::Arc;
/// use sluicegate::bucket::SettleableBucket;
/// use sluicegate::keyed::Each;
/// use sluicegate::settle::Estimates;
/// use sluicegate::{Keyed, Quota, quota};
///
/// let store = |quota: Quota| {
///     Keyed::<String, _>::with(Each::new(move |_: &String| Arc::new(SettleableBucket::new(quota))))
/// };
/// let requests = store(quota!(60 / hour));
/// let tokens = store(quota!(10_000 / hour));
///
/// let call = Estimates::new()
///     .and(requests.try_acquire_settleable("acme", 1))?
///     .and(tokens.try_acquire_settleable("large", 4_000))?;
/// // The answer has been shorter.
/// for settled in call.settle_each(|which| [1, 2_600][which]) {
///     settled?;
/// }
/// assert_eq!(tokens.peek("large", 0)?.remaining(), 7_400);
///
/// // Too many tokens: the request does not count either.
/// let denied = Estimates::new()
///     .and(requests.try_acquire_settleable("acme", 1))?
///     .and(tokens.try_acquire_settleable("large", 8_000))
///     .unwrap_err();
/// assert_eq!((denied.which(), requests.peek("acme", 0)?.remaining()), (1, 59));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "to drop estimates is to keep all of them charged"]
pub struct Estimates<'a> {
    parts: Vec<Part<'a>>,
}

type Part<'a> = Box<dyn Settling + Send + Sync + 'a>;

/// An estimate that can be one of several.
///
/// [`Estimate`] and `KeyEstimate` are; implement it for estimates of your own, such as a provider's budget.
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate::bucket::SettleableBucket;
/// use sluicegate::settle::Settling;
///
/// /// Keeps a half of any estimate.
/// fn halve(estimate: &mut dyn Settling) -> u64 {
///     estimate.give_back(estimate.permits() / 2)
/// }
///
/// let bucket = SettleableBucket::new(quota!(100 / hour));
/// let mut estimate = bucket.try_acquire_settleable(60)?;
/// assert_eq!((halve(&mut estimate), estimate.permits()), (30, 30));
/// # Ok::<(), sluicegate::Denied>(())
/// ```
pub trait Settling: fmt::Debug {
    /// Returns the grant.
    fn grant(&self) -> Grant;

    /// Returns the permits that are charged: the grant, less the returned permits.
    fn permits(&self) -> u64;

    /// Gives back `permits` of the charge, or all if there are fewer. Returns how many were taken off the
    /// charge; the rest are lost.
    fn give_back(&mut self, permits: u64) -> u64;

    /// Settles the estimate at the true use.
    ///
    /// # Errors
    ///
    /// [`Unpaid`] if more was used than can be charged. The estimate is settled nevertheless.
    fn settle(self: Box<Self>, actual: u64) -> Result<Settled, Unpaid>;
}

/// Forwards to the methods of an estimate.
macro_rules! settling {
    () => {
        fn grant(&self) -> Grant {
            self.grant()
        }

        fn permits(&self) -> u64 {
            self.permits()
        }

        fn give_back(&mut self, permits: u64) -> u64 {
            self.give_back(permits)
        }

        fn settle(self: Box<Self>, actual: u64) -> Result<Settled, Unpaid> {
            (*self).settle(actual)
        }
    };
}

#[cfg(feature = "keyed")]
pub(crate) use settling;

impl Settling for Estimate<'_> {
    settling!();
}

impl Revocable for Part<'_> {
    fn revoke(mut self) -> bool {
        let charged = self.permits();
        self.give_back(charged) == charged
    }
}

impl<'a> Estimates<'a> {
    /// Returns no estimates yet. Does not allocate.
    pub fn new() -> Estimates<'a> {
        Estimates { parts: Vec::new() }
    }

    /// Adds the estimate that was `taken`, if it was. Allocates.
    ///
    /// # Errors
    ///
    /// The denial, with the number of estimates before it as [`Denied::which`]. All of them have been given back.
    pub fn and<E>(self, taken: Result<E, Denied>) -> Result<Estimates<'a>, Denied>
    where
        E: Settling + Send + Sync + 'a,
    {
        let which = self.parts.len();
        let mut all = AllOrNone::from(self.parts);
        let part = taken.map(|estimate| Box::new(estimate) as Part<'a>);
        all.add(part).map_err(|denied| denied.by(which))?;
        Ok(Estimates { parts: all.keep() })
    }

    pub(crate) fn of(parts: impl IntoIterator<Item = Estimate<'a>>) -> Estimates<'a> {
        let boxed = |estimate| Box::new(estimate) as Part<'a>;
        Estimates { parts: parts.into_iter().map(boxed).collect() }
    }

    /// Returns the grant with the least left, of all; of no estimates, a grant of no permits without a limit.
    #[must_use]
    pub fn grant(&self) -> Grant {
        let grants = self.parts.iter().map(|part| part.grant());
        grants.min_by_key(Grant::remaining).unwrap_or_else(|| Grant::unused(0, u64::MAX))
    }

    /// Returns the permits that each estimate is charged with, in the order in which they were added: in an
    /// `All`, the order of its limiters.
    #[must_use]
    pub fn permits(&self) -> impl ExactSizeIterator<Item = u64> {
        self.parts.iter().map(|part| part.permits())
    }

    /// Gives back `permits` of the estimate at index `which`, as [`Estimate::give_back`] does. Returns how many
    /// were taken off the charge: 0 if there is no such estimate.
    pub fn give_back(&mut self, which: usize, permits: u64) -> u64 {
        self.parts.get_mut(which).map_or(0, |part| part.give_back(permits))
    }

    /// Settles each estimate with `actual`, as [`Estimate::settle`] does. Returns their answers in order.
    /// Allocates.
    #[must_use = "it says what could not be charged"]
    pub fn settle(self, actual: u64) -> Vec<Result<Settled, Unpaid>> {
        self.settle_each(|_| actual)
    }

    /// Settles each estimate with the amount that `actual` returns for its index, as [`Estimate::settle`] does.
    /// Returns their answers in order. Allocates.
    #[must_use = "it says what could not be charged"]
    pub fn settle_each(self, mut actual: impl FnMut(usize) -> u64) -> Vec<Result<Settled, Unpaid>> {
        let parts = self.parts.into_iter().enumerate();
        parts.map(|(which, estimate)| estimate.settle(actual(which))).collect()
    }
}

impl Default for Estimates<'_> {
    fn default() -> Self {
        Estimates::new()
    }
}

impl fmt::Debug for Estimates<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.parts).finish()
    }
}
