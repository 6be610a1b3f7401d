//! One shard, by name.

use core::fmt;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::lease::Lease;
use crate::decision::receipt::Receipt;
use crate::limiter::Limiter;
use crate::time::clock::Clock;

use super::Sharded;

/// A [`Sharded`] limiter, by way of one of its shards.
///
/// For programs that know better than the number of a thread who works beside whom: a
/// runtime with a thread per core names the core's, and where there is no `std` it is the
/// only way to have more than one. The limiter is the same whichever shard is asked.
pub struct Shard<'a, C> {
    pub(super) limiter: &'a Sharded<C>,
    pub(super) index: usize,
}

impl<C: Clock> Shard<'_, C> {
    /// As [`Sharded::try_acquire`].
    ///
    /// # Errors
    ///
    /// The same.
    #[inline(always)]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.acquire_at(self.index, permits)
    }

    /// As [`Sharded::try_acquire_up_to`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.acquire_up_to_at(self.index, permits)
    }
}

impl<'a, C: Clock + Sync> Shard<'a, C> {
    /// As [`Sharded::lease`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn lease(&self, permits: u64) -> Result<Lease<'a>, Denied> {
        self.limiter.lease_at(self.index, permits)
    }

    /// As [`Sharded::try_acquire_revocable`].
    ///
    /// # Errors
    ///
    /// The same.
    pub fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'a>, Denied> {
        self.limiter.acquire_revocable_at(self.index, permits)
    }
}

impl<C: Clock + Sync> Limiter for Shard<'_, C> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.acquire_at(self.index, permits)
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
