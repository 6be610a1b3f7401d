//! A bucket that earns tokens at a rate and holds at most a burst of them.

use crate::bucket::BucketCore;
use crate::bucket::carry::Carry;
use crate::bucket::terms::Terms;
use crate::config::quota::Quota;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::verbs::verbs;

/// Earns tokens at the quota's rate, holds at most its burst, and spends one per
/// permit.
///
/// A new bucket is full unless the quota says otherwise. Smooth refill earns
/// continuously, to the nanosecond; interval refill earns a period's tokens at its end.
///
/// # Accuracy
///
/// In any span of time it admits at most the burst plus the tokens earned in it,
/// whatever threads and clocks do. The tokens earned are the exact product of the
/// rate and the time since the limiter began. The product is a whole number of units,
/// and nothing is rounded, if the rate in lowest terms is one or two permits per
/// period: 1/s, 1000/s, 1 per 15 minutes. For other rates it is rounded down to
/// the unit, less than a nanosecond's worth (2^-27 of a token if the burst is
/// too large for that); the tokens of a span may then be off by less than one
/// unit. Errors do not accumulate, neither with the number of calls nor with the years.
///
/// A request can be granted from the very instant at which its tokens are earned.
///
/// # Fairness
///
/// Not first come, first served: a caller that asks when there are tokens gets them. Small
/// requests can overtake a large one for ever. After several lost races for the same word,
/// a caller has priority over later ones, which back off for it once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: what a caller did before it was granted permits
/// happens before what callers granted later do afterwards. A denial does not synchronize.
///
/// The algorithm is the virtual-scheduling form of the Generic Cell Rate
/// Algorithm (ITU-T I.371, annex A), with the theoretical arrival time counted in
/// tokens instead of seconds, so that a change of rate keeps the balance.
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, quota};
///
/// // 100 a second on average, at most 20 at once.
/// let bucket = TokenBucket::new(quota!(100 / second, burst 20));
///
/// assert!(bucket.try_acquire(20).is_ok());
/// if let Err(denied) = bucket.try_acquire(1) {
///     println!("come back in {:?}", denied.retry_after());
/// }
/// ```
pub struct TokenBucket<C = DefaultClock> {
    core: BucketCore<C>,
}

#[cfg(feature = "std")]
impl TokenBucket {
    /// Creates a bucket of `quota` on a clock of its own.
    #[must_use]
    pub fn new(quota: Quota) -> TokenBucket {
        TokenBucket::with_clock(quota, DefaultClock::default())
    }
}

impl<C: Clock> TokenBucket<C> {
    /// Creates a bucket of `quota` on `clock`, which is read once.
    #[must_use]
    pub fn with_clock(quota: Quota, clock: C) -> TokenBucket<C> {
        TokenBucket { core: BucketCore::new(Terms::of_quota(quota), quota.initial(), clock) }
    }

    /// Enforces `quota` from now on; `carry` decides what happens to the tokens.
    ///
    /// Live: each call sees all of the old quota or all of the new one. Never
    /// retroactive: the time until now earned at the old rate. In interval refill,
    /// the part of the period that has passed counts for the tokens it was worth.
    /// The quota's initial tokens are not used.
    ///
    /// Waits for other changes of this limiter in progress; nothing else waits for it.
    /// Does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
    /// bucket.try_acquire(5)?;
    ///
    /// bucket.reconfigure(quota!(100 / second), Carry::Keep);
    /// assert_eq!(bucket.peek(0)?.remaining(), 5);
    /// bucket.reconfigure(quota!(1_000 / second), Carry::Scale);
    /// assert_eq!(bucket.peek(0)?.remaining(), 50);
    /// # Ok::<(), Denied>(())
    /// ```
    pub fn reconfigure(&self, quota: Quota, carry: Carry) {
        self.core.reconfigure(&Terms::of_quota(quota), carry, 0);
    }

    /// Returns the quota in force.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.core.terms().quota()
    }
}

verbs!(TokenBucket, "TokenBucket::with_clock(quota!(2 / second), &clock)");
