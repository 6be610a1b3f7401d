//! Answers of a settlement.

use core::error::Error;
use core::fmt;

/// Permits that a settlement of an [`Estimate`](crate::settle::Estimate) has moved.
///
/// | used | `given_back` + `lost` | `taken_beyond` |
/// |---|---|---|
/// | less than estimated | the rest of the estimate | 0 |
/// | as estimated | 0 | 0 |
/// | more | 0 | the overrun |
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{FixedWindow, ManualClock, rate};
///
/// let clock = ManualClock::new();
/// let window = FixedWindow::with_clock(rate!(100 / minute), &clock)?;
/// let [one, two, three] = [20, 30, 40].map(|permits| window.try_acquire_settleable(permits));
///
/// let settled = one?.settle(5)?;
/// assert_eq!((settled.given_back(), settled.lost(), settled.taken_beyond()), (15, 0, 0));
/// let settled = two?.settle(37)?;
/// assert_eq!((settled.given_back(), settled.lost(), settled.taken_beyond()), (0, 0, 7));
/// // Too late for the minute that was charged.
/// clock.advance(Duration::from_secs(60));
/// let settled = three?.settle(25)?;
/// assert_eq!((settled.given_back(), settled.lost(), settled.taken_beyond()), (0, 15, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    pub(crate) given_back: u64,
    pub(crate) lost: u64,
    pub(crate) taken_beyond: u64,
}

impl Settled {
    /// Returns the permits of the estimate that others can take. (A bucket reads no clock here, and
    /// counts permits too that are too old to be taken: see [`Estimate`](crate::settle::Estimate).)
    #[must_use]
    pub fn given_back(&self) -> u64 {
        self.given_back
    }

    /// Returns the permits of the estimate that were not used, and can be taken by nobody: it was
    /// too late for them. For a bucket, permits whose place younger ones have taken.
    ///
    /// Later losses do not count here, such as permits that nobody takes before a window ends.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the permits that were taken beyond the estimate.
    #[must_use]
    pub fn taken_beyond(&self) -> u64 {
        self.taken_beyond
    }
}

/// Permits that were used, and could not be charged when an [`Estimate`](crate::settle::Estimate) was settled:
/// the debt of a bucket would have become too deep, or the count of a window too large for its word.
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate::bucket::SettleableBucket;
///
/// let bucket = SettleableBucket::new(quota!(100 / hour, max_debt 50));
/// let unpaid = bucket.try_acquire_settleable(100)?.settle(1_000).unwrap_err();
/// assert!(unpaid.permits() >= 850);
/// # Ok::<(), sluicegate::Denied>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpaid {
    pub(crate) permits: u64,
    pub(crate) settled: Settled,
}

impl Unpaid {
    /// Returns how many permits were not charged.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the outcome of the others.
    #[must_use]
    pub fn settled(&self) -> Settled {
        self.settled
    }
}

impl fmt::Display for Unpaid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let permits = self.permits;
        write!(f, "settled, except for {permits} permits beyond what the limiter can charge")
    }
}

impl Error for Unpaid {}
