//! A handle to one shard.

use core::fmt;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::lease::Lease;
use crate::decision::receipt::Receipt;
use crate::limiter::Limiter;
use crate::limiter::leaving::Leaving;
use crate::time::clock::Clock;

use super::Sharded;

/// A [`Sharded`] limiter, used through one of its shards.
///
/// For programs that know better than the thread's number which callers should share a shard: a
/// runtime with a thread per core uses the core's index. Without `std` it is the only way to use
/// more than one shard. The limiter is the same whichever shard is used. If it has
/// [shards of CPUs](Sharded#shards-of-cpus), callers spend from these first.
///
/// # Examples
///
/// ```
/// use sluicegate::{Sharded, quota};
///
/// let limiter = Sharded::new(quota!(1_000_000 / second));
/// for core in 0..4 {
///     assert!(limiter.shard(core).try_acquire(1).is_ok());
/// }
/// ```
pub struct Shard<'a, C> {
    pub(super) limiter: &'a Sharded<C>,
    pub(super) index: usize,
}

impl<C: Clock> Shard<'_, C> {
    /// Does the same as [`Sharded::try_acquire`], through this shard.
    ///
    /// # Errors
    ///
    /// As for [`Sharded::try_acquire`].
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.acquire_by(|| self.index, permits)
    }

    /// Does the same as [`Sharded::try_acquire_up_to`], through this shard.
    ///
    /// # Errors
    ///
    /// As for [`Sharded::try_acquire_up_to`].
    pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.acquire_up_to_at(self.index, permits)
    }

    /// Does the same as [`Sharded::try_acquire_leaving`], through this shard.
    ///
    /// # Errors
    ///
    /// As for [`Sharded::try_acquire_leaving`].
    pub fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.limiter.acquire_leaving(|| self.index, permits, reserve)
    }
}

impl<'a, C: Clock + Sync> Shard<'a, C> {
    /// Does the same as [`Sharded::lease`], through this shard.
    ///
    /// # Errors
    ///
    /// As for [`Sharded::lease`].
    pub fn lease(&self, permits: u64) -> Result<Lease<'a>, Denied> {
        self.limiter.lease_at(self.index, permits)
    }

    /// Does the same as [`Sharded::try_acquire_revocable`], through this shard.
    ///
    /// # Errors
    ///
    /// As for [`Sharded::try_acquire_revocable`].
    pub fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'a>, Denied> {
        self.limiter.acquire_revocable_at(self.index, permits)
    }
}

impl<C: Clock + Send + Sync> Limiter for Shard<'_, C> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.acquire_by(|| self.index, permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.acquire_up_to_at(self.index, permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.limiter.acquire_revocable_at(self.index, permits)
    }

    fn reset(&self) {
        self.limiter.reset();
    }

    fn healed(&self) -> u64 {
        self.limiter.healed()
    }
}

impl<C: Clock + Send + Sync> Leaving for Shard<'_, C> {
    fn try_acquire_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.try_acquire_leaving(permits, reserve)
    }

    fn peek_leaving(&self, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.limiter.peek_leaving(permits, reserve)
    }
}

impl<C> Clone for Shard<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Shard<'_, C> {}

impl<C> fmt::Debug for Shard<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shard").field("index", &self.index).finish_non_exhaustive()
    }
}
