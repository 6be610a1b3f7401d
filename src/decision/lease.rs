//! Leases: permits taken at once and spent one by one.

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use alloc::sync::Arc;
use core::fmt;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use core::mem;

use super::grant::Grant;
use super::pieces::Pieces;
use super::undo::{Debit, Undo};

/// Permits taken from a limiter at once, for the holder to spend one by one.
///
/// Spending is a subtraction in the holder's own memory: no atomic operation, no clock, no
/// contention with other threads. When the lease is dropped, the permits left in it go back to the
/// limiter:
///
/// | limiter | its permits are admitted | permits left when the lease is dropped |
/// |---|---|---|
/// | `Sharded` | when each is spent | go back, whatever has happened since. While the lease lives, all the capacity that it took, for spent permits too, is missing from the burst. (Permits beyond a lowered burst are lost. A lease of one permit cannot return it if others had reserved all capacity at each of four attempts, or if the shards were still being allocated) |
/// | [buckets](crate::bucket) of one word | all when the lease is taken | go back if nothing has happened to the limiter since, as with a [`Receipt`](crate::settle::Receipt); otherwise all of them are lost |
/// | `SettleableBucket` | all when the lease is taken | go back whatever has happened since, as with an [`Estimate`](crate::settle::Estimate) |
///
/// Either way the limiter's bound holds if permits count as admitted at the time in the second
/// column. The holder of a lease of a bucket may spend it late, when the bucket is full
/// again: more than the burst is then spent at one instant, by at most the permits in leases.
///
/// The permits of a forgotten lease (`core::mem::forget`) never go back. Neither does the capacity
/// that it took from a `Sharded`, so that limiter holds that many permits fewer for ever.
///
/// A lease borrows its limiter. `lease_owned` of an `Arc` of the limiter takes a `Lease<'static>`
/// instead, which keeps the limiter alive: for tasks, and for structs that hold a lease.
/// `lease_exact` takes all of the permits that are asked for, or none.
///
/// A request that needs capacity held by leases of a `Sharded` is refused with
/// [`Denied::Leased`](crate::Denied::Leased), without a wait.
///
/// # Examples
///
/// ```
/// use sluicegate::{ManualClock, Sharded, quota};
///
/// let limiter = Sharded::builder(quota!(1_000 / second)).shards(2).clock(ManualClock::new()).build()?;
/// let mut lease = limiter.lease(100)?;
/// for _ in 0..60 {
///     assert!(lease.spend(1));
/// }
/// assert_eq!(lease.left(), 40);
/// drop(lease);
/// assert_eq!(limiter.peek(0)?.remaining(), 940);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "to drop a lease is to give its permits back"]
pub struct Lease<'a> {
    left: u64,
    grant: Grant,
    home: Home<'a>,
}

/// The limiter to which unspent permits return.
enum Home<'a> {
    /// None: they are lost.
    Nowhere,
    Borrowed(&'a dyn Undo, Leased),
    /// It is kept alive.
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    Owned(Arc<dyn Undo + Send>, Leased),
}

/// The place in a limiter that was charged with a lease.
#[derive(Clone, Copy)]
pub(crate) enum Leased {
    /// The level that the grant has `written`, at `token` quarter-units per permit.
    Level { written: u64, token: u64 },
    /// The shard at `index`, when `limit` was in force. The lease takes along a shard's capacity for its
    /// permits.
    Shard { index: usize, limit: u64 },
}

impl<'a> Lease<'a> {
    /// The largest number of permits that one lease holds.
    pub const MAX: u64 = (1 << 31) - 1;

    /// Creates a lease of permits that return to `limiter`.
    pub(crate) fn new(grant: Grant, limiter: &'a dyn Undo, leased: Leased) -> Lease<'a> {
        Lease { left: grant.permits(), grant, home: Home::Borrowed(limiter, leased) }
    }

    /// Creates a lease of permits that cannot return.
    pub(crate) fn spent(grant: Grant) -> Lease<'a> {
        Lease { left: grant.permits(), grant, home: Home::Nowhere }
    }

    /// Makes the lease keep `limiter` alive, which it was taken from.
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    pub(crate) fn owned(mut self, limiter: Arc<dyn Undo + Send>) -> Lease<'static> {
        let home = match mem::replace(&mut self.home, Home::Nowhere) {
            Home::Nowhere => Home::Nowhere,
            Home::Borrowed(_, leased) | Home::Owned(_, leased) => Home::Owned(limiter, leased),
        };
        Lease { left: self.left, grant: self.grant, home }
    }

    /// Spends `permits` of those left, or none if fewer are left. Returns whether it spent them.
    ///
    /// Does not allocate; reads no clock; does no atomic operation.
    #[inline(always)]
    #[must_use = "permits that are not there must not be used"]
    pub fn spend(&mut self, permits: u64) -> bool {
        let is_enough = permits <= self.left;
        if is_enough {
            self.left -= permits;
        }
        is_enough
    }

    pub(crate) fn spend_all(&mut self) {
        self.left = 0;
    }

    /// Returns the number of permits that are left.
    #[must_use]
    #[inline]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Returns the grant, which describes the limiter when the lease was taken.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let (limiter, leased): (&dyn Undo, _) = match &self.home {
            Home::Nowhere => return,
            Home::Borrowed(limiter, leased) => (*limiter, leased),
            #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
            Home::Owned(limiter, leased) => (&**limiter, leased),
        };
        limiter.undo(match *leased {
            Leased::Level { written, token } => {
                Debit::Units(Pieces::of_word(written, self.left.saturating_mul(token)))
            }
            Leased::Shard { index, limit } => {
                Debit::Shard { index, capacity: self.grant.permits(), tokens: self.left, limit }
            }
        });
    }
}

impl fmt::Debug for Lease<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("left", &self.left)
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}
