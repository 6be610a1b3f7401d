//! The constructors of a sharded limiter, and its builder.

use core::fmt;

use crate::bucket::BucketCore;
use crate::bucket::terms::Terms;
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::thread_index::{MAX_PLACES, places};
use crate::time::clock::Clock;
#[cfg(feature = "std")]
use crate::time::clock::default::DefaultClock;

use super::Sharded;
use super::per_cpu::PerCpu;
use super::shards::Shards;

impl Sharded {
    /// Returns a builder of a limiter of `quota`, to set the number of shards or the clock.
    pub fn builder(quota: impl Into<Quota>) -> ShardedBuilder {
        ShardedBuilder::new(quota.into())
    }

    /// Creates a limiter of `quota` (a bare rate has a burst of one period's permits) on a clock of
    /// its own, with a shard for each thread that the machine runs at once.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn new(quota: impl Into<Quota>) -> Sharded {
        Sharded::with_clock(quota, DefaultClock::default())
    }
}

impl<C: Clock> Sharded<C> {
    /// Creates a limiter of `quota` on `clock`, with a shard for each thread that the machine runs
    /// at once. Reads the clock twice.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_clock(quota: impl Into<Quota>, clock: C) -> Sharded<C> {
        Sharded::with_shards(quota.into(), None, clock)
    }

    /// Makes the limiter start with `tokens` tokens, all of them in the root, instead of full.
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
    /// use sluicegate::*;
    ///
    /// let clock = ManualClock::new();
    /// let limiter = Sharded::builder(quota!(1_000 / second)).shards(4).clock(&clock).build()?.starting_with(10)?;
    /// assert!(limiter.try_acquire(10).is_ok());
    /// assert!(limiter.try_acquire(1).is_err());
    /// # Ok::<(), ConfigError>(())
    /// ```
    pub fn starting_with(self, tokens: u64) -> Result<Sharded<C>, ConfigError> {
        // The root that follows has lent no capacity, so the shards must have none.
        self.change(|_| ());
        let limiter = Sharded { root: self.root.starting_with(tokens)?, shards: self.shards };
        limiter.set_quota_hint();
        Ok(limiter)
    }
}

/// A builder of a [`Sharded`] limiter, made by [`Sharded::builder`].
///
/// | part | default | |
/// |---|---|---|
/// | [`shards`](ShardedBuilder::shards) | as many as the machine runs threads at once, and with `per-cpu` one for each CPU; one without `std` | from 1 to 256, rounded up to a power of two, and none for CPUs |
/// | [`clock`](ShardedBuilder::clock) | a `DefaultClock` of its own; without `std` a clock has to be given | |
///
/// # Examples
///
/// ```
/// use sluicegate::{ManualClock, Sharded, quota};
///
/// let limiter =
///     Sharded::builder(quota!(1_000 / second)).shards(6).clock(ManualClock::new()).build()?;
/// assert_eq!(limiter.shards(), 8);
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[must_use = "a builder builds nothing until `build` is called"]
pub struct ShardedBuilder<C = ()> {
    quota: Quota,
    shards: Option<usize>,
    /// `()` if none was given.
    clock: C,
}

impl ShardedBuilder {
    pub(super) fn new(quota: Quota) -> ShardedBuilder {
        ShardedBuilder { quota, shards: None, clock: () }
    }

    /// Builds the limiter on a clock of its own, which is read twice. Allocates the shards.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Shards`] if the number of shards is not from 1 to 256.
    #[cfg(feature = "std")]
    pub fn build(self) -> Result<Sharded, ConfigError> {
        self.clock(DefaultClock::default()).build()
    }
}

impl<C> ShardedBuilder<C> {
    /// Sets the number of shards, to be rounded up to a power of two. There will be none for
    /// [CPUs](Sharded#shards-of-cpus).
    pub fn shards(self, shards: usize) -> ShardedBuilder<C> {
        ShardedBuilder { shards: Some(shards), ..self }
    }

    /// Reads the time from `clock`.
    pub fn clock<D: Clock>(self, clock: D) -> ShardedBuilder<D> {
        ShardedBuilder { quota: self.quota, shards: self.shards, clock }
    }
}

impl<C: Clock> ShardedBuilder<C> {
    /// Builds the limiter. Reads the clock twice; allocates the shards.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Shards`] if the number of shards is not from 1 to 256.
    pub fn build(self) -> Result<Sharded<C>, ConfigError> {
        match self.shards {
            Some(shards) if !(1..=MAX_PLACES).contains(&shards) => {
                Err(ConfigError::Shards { shards })
            }
            shards => Ok(Sharded::with_shards(self.quota, shards, self.clock)),
        }
    }
}

impl<C: Clock> Sharded<C> {
    /// Creates a limiter with so many shards of threads; or if no number is given, with one for each thread that the
    /// machine runs at once, and shards of CPUs, if there can be any.
    fn with_shards(quota: Quota, shards: Option<usize>, clock: C) -> Sharded<C> {
        let per_cpu = if shards.is_none() { PerCpu::new() } else { None };
        Sharded::of(quota, Shards::new(places(shards.unwrap_or(0)), per_cpu), clock)
    }

    /// Creates a limiter with these shards, which are empty.
    pub(super) fn of(quota: Quota, shards: Shards, clock: C) -> Sharded<C> {
        let root = BucketCore::new(Terms::of_quota(quota), clock);
        let limiter = Sharded { root, shards };
        limiter.set_quota_hint();
        limiter
    }
}

/// Creates a limiter with shards of so many threads and processors of a model.
#[cfg(all(feature = "per-cpu", sluicegate_loom))]
pub fn modelled<C: Clock>(quota: Quota, shards: usize, cpus: usize, clock: C) -> Sharded<C> {
    Sharded::of(quota, Shards::new(places(shards), Some(PerCpu::modelled(cpus))), clock)
}

impl<C> fmt::Debug for ShardedBuilder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShardedBuilder")
            .field("quota", &self.quota)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}
