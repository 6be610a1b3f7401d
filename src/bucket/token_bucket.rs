//! The token bucket: it earns tokens at a rate, and holds at most a burst of them.

use core::fmt;
use core::time::Duration;

use crate::bucket::BucketCore;
use crate::bucket::carry::Carry;
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
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;
use crate::time::units;

use super::verbs::{show_quota, verbs};
use crate::limiter::Limiter;
use crate::limiter::leaving::leaving;
use crate::wait::traits::waits;

/// A token bucket: it earns tokens at the quota's rate, holds at most the quota's
/// burst of them, and spends one per permit.
///
/// A new bucket is full; [`starting_with`](TokenBucket::starting_with) gives it less. A bare
/// [`Rate`](crate::Rate) in place of a quota has a burst of one period's permits. Smooth refill earns
/// continuously, to the nanosecond; interval refill earns all tokens of a period at its end.
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
///
/// # Accuracy
///
/// In any span of time it admits at most the burst plus the tokens earned in that
/// span, whatever threads and clocks do. The tokens earned are the exact product of
/// the rate and the time since the limiter began. If the rate in lowest terms is one
/// or two permits per period (1/s, 1000/s, 1 per 15 minutes), the product is a whole
/// number of the *units* in which the bucket counts, and nothing is rounded. For other
/// rates it is rounded down to a unit, which is less than a nanosecond's worth (2^-27
/// of a token if the burst is too large for that), so the tokens of a span may be off
/// by less than one unit. Errors accumulate neither with calls nor with years.
///
/// A request can be granted from the very instant at which its tokens are earned.
///
/// # Fairness
///
/// Not first come, first served, unless callers wait in line (`Wait`): a caller that asks when
/// there are tokens gets them. Small requests can keep overtaking a large one for ever. A caller
/// that has lost several races for the bucket's word gets priority: later callers back off for it
/// once, for a bounded time.
///
/// # Memory ordering
///
/// A grant synchronizes with later grants: everything that a caller did before its grant
/// happens before everything that a caller with a later grant does after that. A denial does
/// not synchronize.
///
/// The algorithm is the virtual-scheduling form of the Generic Cell Rate
/// Algorithm (ITU-T I.371, annex A), with the theoretical arrival time counted in
/// tokens instead of seconds, so that a change of rate keeps the balance.
#[doc(alias = "RateLimiter")]
pub struct TokenBucket<C = DefaultClock> {
    core: BucketCore<C>,
}

#[cfg(feature = "std")]
impl TokenBucket {
    /// Creates a bucket of `quota` on a clock of its own.
    #[must_use]
    pub fn new(quota: impl Into<Quota>) -> TokenBucket {
        TokenBucket::with_clock(quota, DefaultClock::default())
    }
}

impl<C: Clock> TokenBucket<C> {
    /// Creates a bucket of `quota` on `clock`, which is read once.
    #[must_use]
    pub fn with_clock(quota: impl Into<Quota>, clock: C) -> TokenBucket<C> {
        TokenBucket { core: BucketCore::new(Terms::of_quota(quota.into()), clock) }
    }

    /// Makes the limiter start with `tokens` tokens instead of full: for a new limiter, as what it
    /// has granted before no longer counts.
    ///
    /// Takes the limiter, so no other call is in progress. Steps of an interval refill are counted
    /// from now on. Does not block or allocate. Reads the clock twice.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Initial`] if that is more than the burst.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{ManualClock, TokenBucket, quota};
    ///
    /// let clock = ManualClock::new();
    /// let bucket = TokenBucket::with_clock(quota!(100 / second, burst 20), &clock).starting_with(5)?;
    /// assert!(bucket.try_acquire(5).is_ok());
    /// assert!(bucket.try_acquire(1).is_err());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    pub fn starting_with(self, tokens: u64) -> Result<TokenBucket<C>, ConfigError> {
        Ok(TokenBucket { core: self.core.starting_with(tokens)? })
    }

    /// Takes all of `permits`, or none if too few are available.
    ///
    /// Lock-free; does not allocate; reads the clock once. A request for 0 permits is always granted
    /// and changes nothing. A denial writes nothing. (The exception is a clock that has gone back by
    /// more than a second: a call that grants nothing then *heals* the limiter. It writes, and reads
    /// the clock twice more, or more often under contention. See [`Clock`].)
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
    ///
    /// let clock = ManualClock::new();
    /// let limiter = TokenBucket::with_clock(quota!(2 / second), &clock);
    /// assert_eq!(limiter.try_acquire(2)?.remaining(), 0);
    ///
    /// let denied = limiter.try_acquire(1).unwrap_err();
    /// assert_eq!(denied.retry_after(), Some(Duration::from_millis(500)));
    /// clock.advance(Duration::from_millis(500));
    /// assert!(limiter.try_acquire(1).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[doc(alias = "check", alias = "check_n", alias = "allow")]
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.core.try_acquire(permits)
    }
}

verbs!(TokenBucket, show_quota, "TokenBucket::with_clock(quota!(2 / second), &clock)");

leaving!(TokenBucket<C>, "TokenBucket::with_clock(quota!(2 / second), &clock)");

waits!(TokenBucket);

impl<C: Clock> TokenBucket<C> {
    /// Enforces `quota` from now on; `carry` decides what happens to the tokens.
    ///
    /// The change is live: each call sees all of the old quota or all of the new one. It
    /// is never retroactive: the time until now has earned at the old rate. With interval
    /// refill, the elapsed part of the period counts for the tokens that it was worth.
    ///
    /// Waits for other changes of this limiter that are in progress; only such changes wait
    /// for it. Does not allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    /// use sluicegate::bucket::Carry;
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
    pub fn reconfigure(&self, quota: impl Into<Quota>, carry: Carry) {
        self.core.reconfigure(&Terms::of_quota(quota.into()), carry, 0);
    }

    /// Returns the quota in force.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.core.terms().quota()
    }
}
