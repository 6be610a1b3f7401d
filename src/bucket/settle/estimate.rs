//! Grants of an estimate, which are settled when it is known what was used.

use core::error::Error;
use core::fmt;

use crate::decision::grant::Grant;
use crate::decision::pieces::Pieces;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::{SettleCore, Taken};

/// A grant of as many permits as a caller expects to use, to be settled when it knows.
///
/// [`settle`](Estimate::settle) gives back what was not used, or takes what was used beyond it.
/// **Dropping an estimate keeps it charged as it is**: a caller that is cancelled, or that fails
/// without a word about what it used, has paid for all of it.
///
/// # What is given back
///
/// Other callers can take it at once, whatever the limiter has granted in the meantime, and the
/// limiter's bound holds with what is kept: what was given back counts for those that take it then,
/// and no longer for the estimate. It is never more than was taken, however often, in whatever order
/// and by whichever thread.
///
/// Permits do not keep for ever: a bucket that is full loses what it earns, so permits that were
/// given back too late would be lost to a full bucket too. What is given back is good for at least
/// **three quarters of the time in which the bucket fills** (the burst over the rate), less
/// the time in which as much is earned as is given back; both count from the grant, if the bucket
/// was empty after it. It is lost bit by bit after that, as fast as the bucket earns. If the bucket
/// had permits left, these times are shorter by the time in which it earns as many: of a grant from a
/// bucket that was more than three quarters full, all may be lost at once. If nobody has taken anything since,
/// nothing is lost at all: it is as if it had never been taken. What was itself taken from what
/// others gave back keeps its age.
///
/// A change of the limiter (`reconfigure`, `reset`, `restore`, `credit`, healing) ends all that: what
/// was taken before it is not given back, and what was given back before it is lost.
///
/// # Examples
///
/// ```
/// use sluicegate::{ManualClock, SettleableBucket, quota};
///
/// let clock = ManualClock::new();
/// let tokens = SettleableBucket::with_clock(quota!(10_000 / minute), &clock);
///
/// let first = tokens.try_acquire_settleable(4_000)?;
/// let second = tokens.try_acquire_settleable(6_000)?;
/// assert!(tokens.try_acquire(1).is_err());
///
/// // The first has used less than expected, the second as much.
/// first.settle(1_500)?;
/// second.settle(6_000)?;
/// assert!(tokens.try_acquire(2_400).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "to drop an estimate is to keep all of it charged"]
pub struct Estimate<'a, C = DefaultClock> {
    core: &'a SettleCore<C>,
    grant: Grant,
    pieces: Pieces,
    token: u64,
    permits: u64,
}

impl<'a, C: Clock> Estimate<'a, C> {
    pub(crate) fn new(core: &'a SettleCore<C>, taken: &Taken) -> Estimate<'a, C> {
        let Taken { grant, pieces, token } = *taken;
        Estimate { core, grant, pieces, token, permits: grant.permits() }
    }

    /// Returns the grant. What remained then counts the permits that were given back only if the
    /// grant took some of these; `peek` always does.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Returns the permits that are charged: those of the grant, less those given back.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Settles with what was used in fact: gives back the rest of the estimate, or takes what
    /// is lacking, if need be by going into debt, by at most the quota's `max_debt`.
    ///
    /// `settle(0)` gives back all. Lock-free; does not allocate. Reads no clock, unless more was used
    /// than estimated: then once, and once more to go into debt (and again if it heals the limiter).
    ///
    /// # Errors
    ///
    /// [`Unpaid`] if more was used than the debt may be deep. The estimate is settled all the same:
    /// as much was taken as could be, and the error says how many permits were not. (The
    /// `max_debt` is the burst if the quota does not say otherwise. If it is 0, what the bucket holds
    /// is taken, and no more.)
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, SettleableBucket, quota};
    ///
    /// let clock = ManualClock::new();
    /// let tokens = SettleableBucket::with_clock(quota!(100 / second, max_debt 50), &clock);
    ///
    /// // 30 more than estimated: callers wait until the bucket has earned them.
    /// tokens.try_acquire_settleable(100)?.settle(130)?;
    /// let denied = tokens.try_acquire(1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(310)));
    ///
    /// let unpaid = tokens.try_acquire_settleable(0)?.settle(1_000).unwrap_err();
    /// assert_eq!(unpaid.permits(), 980);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settle(mut self, actual: u64) -> Result<(), Unpaid> {
        match actual.checked_sub(self.permits) {
            None => {
                self.give_back(self.permits - actual);
                Ok(())
            }
            Some(0) => Ok(()),
            Some(more) => match more - self.core.force_up_to(more) {
                0 => Ok(()),
                permits => Err(Unpaid { permits }),
            },
        }
    }

    /// Gives back `permits` of those that are charged, or all if there are fewer. The estimate
    /// keeps the others, and can be settled later.
    ///
    /// Lock-free; does not allocate; reads no clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, SettleableBucket, quota};
    ///
    /// let tokens = SettleableBucket::with_clock(quota!(10 / second), ManualClock::new());
    /// let mut estimate = tokens.try_acquire_settleable(8)?;
    /// estimate.give_back(5);
    /// assert_eq!((estimate.permits(), tokens.peek(0)?.remaining()), (3, 7));
    /// // No more than there are.
    /// estimate.give_back(5);
    /// assert_eq!((estimate.permits(), tokens.peek(0)?.remaining()), (0, 10));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "refund")]
    pub fn give_back(&mut self, permits: u64) {
        let permits = permits.min(self.permits);
        self.permits -= permits;
        // They were granted at this price, so the product does not overflow.
        let cut = self.pieces.cut(permits.wrapping_mul(self.token));
        self.core.give_back(cut);
    }
}

impl<C> fmt::Debug for Estimate<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Estimate");
        shown.field("permits", &self.permits).field("grant", &self.grant).finish_non_exhaustive()
    }
}

/// Permits that were used, and could not be charged when an [`Estimate`] was settled, because the
/// limiter's debt would have become too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpaid {
    permits: u64,
}

impl Unpaid {
    /// Returns how many permits were not charged.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }
}

impl fmt::Display for Unpaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let permits = self.permits;
        write!(f, "settled, except for {permits} permits beyond the limiter's debt")
    }
}

impl Error for Unpaid {}
