//! The leaky bucket, as a meter and as a minimum interval.

use core::fmt;
use core::time::Duration;

use crate::bucket::BucketCore;
use crate::bucket::carry::Carry;
use crate::bucket::terms::Terms;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
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

use super::verbs::{show_quota, verbs};
use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::wait::traits::waits;

/// A level that every permit raises, that leaks at the rate, and that must not
/// overflow.
///
/// The same bound as a [`TokenBucket`](crate::TokenBucket), seen from the other
/// side: the tokens of that bucket are the headroom of this one. Two shapes:
///
/// * [`meter`](LeakyBucket::meter_with_clock): overflows at the quota's burst.
/// * [`min_interval`](LeakyBucket::min_interval_with_clock): overflows at one permit, so
///   that permits are at least `period / permits` apart and idle time earns
///   nothing. If that is not a whole number of nanoseconds, an interval may be
///   short by less than one; the mean never is.
///
/// This is not the variant that queues its callers: that is the `Shaper` of `sluicegate-flow`.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{LeakyBucket, ManualClock, rate};
///
/// let clock = ManualClock::new();
/// let spaced = LeakyBucket::min_interval_with_clock(rate!(4 / second), &clock);
/// assert!(spaced.try_acquire(1).is_ok());
/// clock.advance(Duration::from_secs(60));
/// assert!(spaced.try_acquire(1).is_ok());
/// assert_eq!(
///     spaced.try_acquire(1).unwrap_err().retry_after(),
///     Some(Duration::from_millis(250)),
/// );
/// ```
///
/// # Accuracy
///
/// As for [`TokenBucket`](crate::TokenBucket).
///
/// # Fairness
///
/// Not first come, first served, unless callers wait in line (`Wait`): a caller that asks when
/// there is room gets it. After several lost races for one word, a caller has priority over
/// later ones, which back off for it once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: what a caller did before it was granted permits
/// happens before what callers granted later do afterwards. A denial does not synchronize.
///
/// The algorithm is the continuous-state leaky bucket of ITU-T I.371, annex A.
#[doc(alias = "throttle")]
pub struct LeakyBucket<C = DefaultClock> {
    core: BucketCore<C>,
}

#[cfg(feature = "std")]
impl LeakyBucket {
    /// Creates a meter of `quota` on a clock of its own.
    #[must_use]
    pub fn meter(quota: impl Into<Quota>) -> LeakyBucket {
        LeakyBucket::meter_with_clock(quota, DefaultClock::default())
    }

    /// Creates a minimum interval of `period / permits`, on a clock of its own.
    #[must_use]
    pub fn min_interval(rate: Rate) -> LeakyBucket {
        LeakyBucket::min_interval_with_clock(rate, DefaultClock::default())
    }
}

impl<C: Clock> LeakyBucket<C> {
    /// Creates a meter of `quota` on `clock`, which is read once. The bucket is empty: it has
    /// headroom for the whole burst. A bare rate overflows at one period's permits.
    #[must_use]
    pub fn meter_with_clock(quota: impl Into<Quota>, clock: C) -> LeakyBucket<C> {
        LeakyBucket { core: BucketCore::new(Terms::of_quota(quota.into()), clock) }
    }

    /// Creates a minimum interval of `period / permits` on `clock`, which is read once.
    #[must_use]
    pub fn min_interval_with_clock(rate: Rate, clock: C) -> LeakyBucket<C> {
        LeakyBucket::meter_with_clock(Quota::one_at_a_time(rate), clock)
    }

    /// Makes the limiter start with headroom for `tokens` permits, so with a level of the burst
    /// less `tokens`, instead of empty.
    ///
    /// Otherwise the same as [`TokenBucket::starting_with`](crate::TokenBucket::starting_with).
    ///
    /// # Errors
    ///
    /// [`ConfigError::Initial`] if that is more than the burst.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{LeakyBucket, ManualClock, quota};
    ///
    /// let clock = ManualClock::new();
    /// let meter = LeakyBucket::meter_with_clock(quota!(10 / second), &clock).starting_with(4)?;
    /// assert_eq!(meter.level(), 6);
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn starting_with(self, tokens: u64) -> Result<LeakyBucket<C>, ConfigError> {
        Ok(LeakyBucket { core: self.core.starting_with(tokens)? })
    }

    /// Pours in all of `permits`, or none if there is too little headroom.
    ///
    /// Lock-free; does not allocate; reads the clock once. A request for 0 permits is always granted
    /// and changes nothing. A denial writes nothing, unless it heals the limiter: see [`Clock`].
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] if there is too little headroom now. It carries the shortest wait that
    ///   suffices.
    /// * [`Denied::TooLarge`] if the bucket never has headroom for that many: more than the burst.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::*;
    ///
    /// let clock = ManualClock::new();
    /// let limiter = LeakyBucket::meter_with_clock(quota!(2 / second), &clock);
    /// assert_eq!(limiter.try_acquire(2)?.remaining(), 0);
    ///
    /// let denied = limiter.try_acquire(1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(500)));
    /// clock.advance(Duration::from_millis(500));
    /// assert!(limiter.try_acquire(1).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "check", alias = "allow")]
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.core.try_acquire(permits)
    }
}

verbs!(LeakyBucket, show_quota, "LeakyBucket::meter_with_clock(quota!(2 / second), &clock)");

leaving!(LeakyBucket<C>, "LeakyBucket::meter_with_clock(quota!(2 / second), &clock)");

waits!(LeakyBucket);

impl<C: Clock> LeakyBucket<C> {
    /// Returns the permits that have not leaked out yet, with a fraction rounded up.
    ///
    /// Lock-free; does not allocate; reads the clock; writes nothing, unless it heals the
    /// limiter: see [`Clock`].
    #[must_use]
    pub fn level(&self) -> u64 {
        self.core.level()
    }

    /// Enforces `quota` from now on; `carry` decides what happens to the remaining
    /// headroom.
    ///
    /// Otherwise the same as [`TokenBucket::reconfigure`](crate::TokenBucket::reconfigure).
    pub fn reconfigure(&self, quota: impl Into<Quota>, carry: Carry) {
        self.core.reconfigure(&Terms::of_quota(quota.into()), carry, 0);
    }

    /// Returns the quota in force.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.core.terms().quota()
    }
}
