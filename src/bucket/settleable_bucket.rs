//! The token bucket whose grants can be settled.

use core::fmt;
use core::time::Duration;

use crate::bucket::carry::Carry;
use crate::bucket::settle::SettleCore;
use crate::bucket::terms::Terms;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::lease::Lease;
use crate::decision::receipt::Receipt;
use crate::decision::snapshot::Snapshot;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use crate::decision::undo::{Debit, Undo};
use crate::settle::estimate::Estimate;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::time::units;

use super::verbs::{show_quota, verbs};
use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::settle::settles;

/// A [`TokenBucket`](crate::TokenBucket) for callers that know only afterwards how much they have
/// used: they take an estimate, and settle it.
///
/// For the tokens of a language model, bytes of an answer, rows of a query:
/// [`try_acquire_settleable`] takes the estimate, and [`Estimate::settle`] gives back the unused
/// permits, or takes the overrun. With another bucket a caller has to charge the estimate for good,
/// or take permits back only as long as nobody else has come in between
/// ([`Receipt`](crate::settle::Receipt)), or add them as a `credit`, which exceeds the bound.
///
/// [`try_acquire_settleable`]: SettleableBucket::try_acquire_settleable
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate::bucket::SettleableBucket;
///
/// // 100,000 tokens a minute. Answers may exceed their estimates, by 20,000 in all.
/// let tokens = SettleableBucket::new(quota!(100_000 / minute, max_debt 20_000));
///
/// let estimate = tokens.try_acquire_settleable(4_000)?;
/// let used = 2_600; // as the model's answer says
/// estimate.settle(used)?;
/// assert!(tokens.try_acquire(97_400).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// In any span of time it admits at most the burst plus the tokens earned in that span, and
/// `max_debt` more if grants are settled for more than was estimated or forced, whatever threads
/// and clocks do. Returned permits count for the callers that take them next, and no longer for the
/// callers that gave them back. The tokens are earned as exactly as by a
/// [`TokenBucket`](crate::TokenBucket).
///
/// Permits given back can be taken by others for at least three quarters of the time in which the
/// bucket fills, less the time in which as much is earned: see [`Estimate`] for losses. The limiter
/// is laid out for the time in which its first quota fills. After a reconfiguration to a quota that
/// fills in a quarter of that time or less, most returns are lost; with one that takes longer, no
/// more is kept than is earned in the first time. For a quota that is so different make a new
/// limiter.
///
/// A denial tells the least wait that suffices, to the nanosecond, with returned permits; if
/// somebody settles in the meantime, it may be less. The `remaining` of a grant may leave out
/// returned permits, and so does `Debug`; [`peek`](SettleableBucket::peek) counts them. A lease
/// takes none of them, nor do `force` and a [`Snapshot`](crate::bucket::Snapshot). While another
/// caller is in the middle of taking returned permits, a denial may come too early, and its wait be
/// too long.
///
/// # Cost
///
/// A grant costs as much as a `TokenBucket`'s, with or without an estimate to settle, as long as
/// the bucket itself has the permits. If it has too few, returned permits are taken, by up to four
/// more compare-and-swaps. To give permits back is one or two compare-and-swaps, and one more for
/// each quarter of the burst.
///
/// # Fairness
///
/// None: a caller that asks when there are permits gets them. A `Queued` around it is a line in which
/// callers wait for permits and for estimates, first come, first served.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants if both took permits that nobody had given back. A denial
/// does not synchronize.
pub struct SettleableBucket<C = DefaultClock> {
    core: SettleCore<C>,
}

#[cfg(feature = "std")]
impl SettleableBucket {
    /// Creates a bucket of `quota` on a clock of its own.
    #[must_use]
    pub fn new(quota: impl Into<Quota>) -> SettleableBucket {
        SettleableBucket::with_clock(quota, DefaultClock::default())
    }
}

impl<C: Clock> SettleableBucket<C> {
    /// Creates a bucket of `quota` on `clock`, which is read once.
    #[must_use]
    pub fn with_clock(quota: impl Into<Quota>, clock: C) -> SettleableBucket<C> {
        SettleableBucket { core: SettleCore::new(Terms::of_quota(quota.into()), clock) }
    }

    /// Makes the limiter start with `tokens` tokens instead of full: for a new limiter, as what it
    /// has granted before no longer counts. Does not block or allocate. Reads the clock twice.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Initial`] if that is more than the burst.
    pub fn starting_with(self, tokens: u64) -> Result<SettleableBucket<C>, ConfigError> {
        Ok(SettleableBucket { core: self.core.starting_with(tokens)? })
    }

    /// Takes all of `permits`, or none if too few are available.
    ///
    /// Lock-free; does not allocate; reads the clock once. A request for 0 permits is always
    /// granted and changes nothing. A denial leaves everything as it was, unless it heals the
    /// limiter: see [`Clock`]. Two callers that need returned permits may both be denied where one
    /// could have been granted.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] if there are too few now. It carries the shortest wait that suffices.
    /// * [`Denied::TooLarge`] if the limiter can never hold that many.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::*;
    /// use sluicegate::bucket::SettleableBucket;
    ///
    /// let limiter = SettleableBucket::with_clock(quota!(2 / second), ManualClock::new());
    /// assert_eq!(limiter.try_acquire(2)?.remaining(), 0);
    /// let denied = limiter.try_acquire(1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(500)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "check", alias = "allow")]
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.core.try_acquire(permits)
    }
}

settles!(
    SettleableBucket<C>,
    core,
    "bucket::SettleableBucket::with_clock(quota!(10 / minute), ManualClock::new())"
);

verbs!(
    SettleableBucket,
    show_quota,
    "bucket::SettleableBucket::with_clock(quota!(2 / second, max_debt 2), &clock)"
);

leaving!(SettleableBucket<C>, "bucket::SettleableBucket::with_clock(quota!(2 / second), &clock)");

impl<C: Clock> SettleableBucket<C> {
    /// Enforces `quota` from now on; `carry` decides what happens to the tokens.
    ///
    /// Unless the quota stays as it is, earlier returns are lost, and earlier grants cannot be
    /// given back any more. All else is as for
    /// [`TokenBucket::reconfigure`](crate::TokenBucket::reconfigure).
    pub fn reconfigure(&self, quota: impl Into<Quota>, carry: Carry) {
        self.core.reconfigure(&Terms::of_quota(quota.into()), carry);
    }

    /// Returns the quota in force.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.core.terms().quota()
    }
}

/// Reservations: of all permits, returned ones too, if they are enough now; otherwise on credit,
/// when returned permits do not count. Reads the clock up to three times.
#[cfg(feature = "wait")]
impl<C: Clock + Send + Sync> crate::wait::traits::Reserve for SettleableBucket<C> {
    fn reserve_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<crate::wait::reservation::Reservation<'_>, crate::wait::error::AcquireError> {
        self.core.reserve_within(permits, longest)
    }
}
