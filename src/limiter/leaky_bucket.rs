//! The leaky bucket, as a meter and as a minimum interval.

use crate::bucket::BucketCore;
use crate::bucket::carry::Carry;
use crate::bucket::terms::Terms;
use crate::config::quota::Quota;
use crate::config::rate::Rate;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::verbs::verbs;

/// A level that every permit raises, that leaks at the rate, and that must not
/// overflow.
///
/// The same bound as a [`TokenBucket`](crate::TokenBucket), seen from the other
/// side: what the bucket holds is what the level has left to rise. Two shapes:
///
/// * [`meter`](LeakyBucket::meter_with_clock): overflows at the quota's burst.
/// * [`min_interval`](LeakyBucket::min_interval_with_clock): overflows at one permit, so
///   that permits are at least `period / permits` apart and idle time earns
///   nothing. Where that is no whole number of nanoseconds, an interval may be
///   short by less than one; the mean never is.
///
/// The leaky bucket that queues its callers is another limiter.
///
/// # Accuracy
///
/// As [`TokenBucket`](crate::TokenBucket).
///
/// # Fairness
///
/// No order of asking: whoever asks when there is room gets it. A caller that has
/// lost several races for the same word goes before those that come after; they step back
/// for it once, a bounded time.
///
/// # Memory ordering
///
/// What a caller did before it was granted permits happens before what the
/// callers granted after it do. A denial orders nothing.
///
/// The algorithm is the continuous-state leaky bucket of ITU-T I.371, annex A.
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
pub struct LeakyBucket<C = DefaultClock> {
    core: BucketCore<C>,
}

#[cfg(feature = "std")]
impl LeakyBucket {
    /// A meter of `quota` on a clock of its own.
    #[must_use]
    pub fn meter(quota: Quota) -> LeakyBucket {
        LeakyBucket::meter_with_clock(quota, DefaultClock::default())
    }

    /// A minimum interval of `period / permits`, on a clock of its own.
    #[must_use]
    pub fn min_interval(rate: Rate) -> LeakyBucket {
        LeakyBucket::min_interval_with_clock(rate, DefaultClock::default())
    }
}

impl<C: Clock> LeakyBucket<C> {
    /// A meter of `quota` on `clock`, which is read once. Empty unless the quota
    /// starts with fewer tokens than its burst.
    #[must_use]
    pub fn meter_with_clock(quota: Quota, clock: C) -> LeakyBucket<C> {
        LeakyBucket { core: BucketCore::new(Terms::of_quota(quota), quota.initial(), clock) }
    }

    /// A minimum interval of `period / permits` on `clock`, which is read once.
    #[must_use]
    pub fn min_interval_with_clock(rate: Rate, clock: C) -> LeakyBucket<C> {
        LeakyBucket::meter_with_clock(Quota::one_at_a_time(rate), clock)
    }

    /// The permits that have not leaked out yet, a part of one counted whole.
    ///
    /// Lock-free; does not allocate; reads the clock; writes nothing, unless it heals the
    /// limiter: see [`Clock`](crate::Clock).
    #[must_use]
    pub fn level(&self) -> u64 {
        self.core.level()
    }

    /// Enforces `quota` from now on; `carry` says what becomes of the room that
    /// was left.
    ///
    /// As [`TokenBucket::reconfigure`](crate::TokenBucket::reconfigure).
    pub fn reconfigure(&self, quota: Quota, carry: Carry) {
        self.core.reconfigure(&Terms::of_quota(quota), carry, 0);
    }

    /// The quota in force.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.core.terms().quota()
    }
}

verbs!(LeakyBucket, "LeakyBucket::meter_with_clock(quota!(2 / second), &clock)");
