//! The Generic Cell Rate Algorithm, in terms of cells.

use core::fmt;
use core::time::Duration;

use crate::bucket::BucketCore;
use crate::bucket::carry::Carry;
use crate::bucket::terms::Terms;
use crate::config::error::ConfigError;
use crate::config::rate::Rate;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::lease::Lease;
use crate::decision::receipt::Receipt;
use crate::decision::snapshot::Snapshot;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use crate::decision::undo::{Debit, Undo};
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::time::units;
use crate::time::units::MAX_PERIOD_NANOS;

use super::verbs::verbs;
use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::wait::traits::waits;

/// Lets one cell pass per emission interval, and each up to a tolerance early.
///
/// `GCRA(T, tau)` of ITU-T I.371: a cell conforms if it arrives no more than the
/// tolerance before its theoretical arrival time. A limiter that has been idle
/// passes `1 + tolerance / interval` cells at once, rounded down, so a tolerance
/// of zero is a plain minimum distance.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Gcra, ManualClock};
///
/// let clock = ManualClock::new();
/// let gcra = Gcra::with_clock(Duration::from_secs(1), Duration::from_secs(4), &clock)?;
/// assert_eq!(gcra.drain().permits(), 5);
///
/// clock.advance(Duration::from_millis(999));
/// assert!(gcra.try_acquire(1).is_err());
/// clock.advance(Duration::from_millis(1));
/// assert!(gcra.try_acquire(1).is_ok());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
///
/// # Accuracy
///
/// Exact to the nanosecond, as long as the sum of interval, tolerance and debt is below
/// 36 years; beyond that as a [`TokenBucket`](crate::TokenBucket). In any span
/// of `t` it admits at most `1 + (tolerance + t) / interval` cells, whatever
/// threads and clocks do.
///
/// # Fairness
///
/// Not first come, first served, unless callers wait in line (`Wait`): a caller that asks when a
/// cell conforms passes. After several lost races for one word, a caller has priority over
/// later ones, which back off for it once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: what a caller did before it was granted permits
/// happens before what callers granted later do afterwards. A denial does not synchronize.
pub struct Gcra<C = DefaultClock> {
    core: BucketCore<C>,
}

#[cfg(feature = "std")]
impl Gcra {
    /// Creates the limiter of [`with_clock`](Gcra::with_clock), on a clock of its own.
    ///
    /// # Errors
    ///
    /// As for [`with_clock`](Gcra::with_clock).
    pub fn new(interval: Duration, tolerance: Duration) -> Result<Gcra, ConfigError> {
        Gcra::with_clock(interval, tolerance, DefaultClock::default())
    }
}

impl<C: Clock> Gcra<C> {
    /// Creates a limiter that lets a cell pass every `interval`, up to `tolerance` early.
    /// Reads `clock` once.
    ///
    /// # Errors
    ///
    /// [`ConfigError::EmissionInterval`] or [`ConfigError::Tolerance`], each with the
    /// rejected value and the allowed range.
    pub fn with_clock(
        interval: Duration,
        tolerance: Duration,
        clock: C,
    ) -> Result<Gcra<C>, ConfigError> {
        Ok(Gcra { core: BucketCore::new(terms(interval, tolerance)?, clock) })
    }

    /// Lets `permits` cells pass at once, or none.
    ///
    /// Lock-free; does not allocate; reads the clock once. A request for 0 cells is always granted
    /// and changes nothing. A denial writes nothing, unless it heals the limiter: see [`Clock`].
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] if that many do not conform now. It carries the shortest wait that
    ///   suffices.
    /// * [`Denied::TooLarge`] if that many never do: more than `1 + tolerance / interval`.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::*;
    ///
    /// let clock = ManualClock::new();
    /// let half = Duration::from_millis(500);
    /// let limiter = Gcra::with_clock(half, half, &clock)?;
    /// assert_eq!(limiter.try_acquire(2)?.remaining(), 0);
    ///
    /// let denied = limiter.try_acquire(1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(half));
    /// clock.advance(half);
    /// assert!(limiter.try_acquire(1).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "check", alias = "allow")]
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.core.try_acquire(permits)
    }
}

verbs!(
    Gcra,
    show_cells,
    "Gcra::with_clock(std::time::Duration::from_millis(500), std::time::Duration::from_millis(500), &clock)?"
);

leaving!(
    Gcra<C>,
    "Gcra::with_clock(std::time::Duration::from_millis(500), std::time::Duration::from_millis(500), &clock)?"
);

waits!(Gcra);

impl<C: Clock> Gcra<C> {
    /// Enforces `interval` and `tolerance` from now on; `carry` decides what happens to
    /// the cells that could have passed.
    ///
    /// Otherwise the same as [`TokenBucket::reconfigure`](crate::TokenBucket::reconfigure).
    ///
    /// # Errors
    ///
    /// As for [`with_clock`](Gcra::with_clock); the limiter is then unchanged.
    pub fn reconfigure(
        &self,
        interval: Duration,
        tolerance: Duration,
        carry: Carry,
    ) -> Result<(), ConfigError> {
        self.core.reconfigure(&terms(interval, tolerance)?, carry, 0);
        Ok(())
    }

    /// Returns the emission interval in force.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.core.terms().rate.period()
    }

    /// Returns the tolerance in force; within one unit of it if interval and tolerance
    /// are beyond the exact range.
    #[must_use]
    pub fn tolerance(&self) -> Duration {
        self.core.terms().tolerance()
    }
}

fn terms(interval: Duration, tolerance: Duration) -> Result<Terms, ConfigError> {
    let rate = Rate::every(interval).map_err(|_| ConfigError::EmissionInterval { interval })?;
    let tolerance_nanos = units::nanos(tolerance);
    if tolerance_nanos > MAX_PERIOD_NANOS
        || tolerance_nanos / rate.period_nanos() > u64::from(u32::MAX)
    {
        return Err(ConfigError::Tolerance { tolerance, interval });
    }
    Ok(Terms::of_cells(rate, tolerance_nanos))
}

/// Shows the interval and the tolerance of `terms`.
fn show_cells(terms: &Terms, shown: &mut fmt::DebugStruct<'_, '_>) {
    shown.field("interval", &terms.rate.period()).field("tolerance", &terms.tolerance());
}
