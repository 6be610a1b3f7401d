//! Leases: permits taken at once and spent one by one.

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use alloc::sync::Arc;
use core::fmt;
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
use core::mem;

use super::grant::Grant;

/// Permits taken from a limiter at once, for the holder to spend one by one.
///
/// Spending is a subtraction in the holder's own memory: no atomic operation, no clock, no
/// contention with other threads. When the lease is dropped, the permits left in it go back to the
/// limiter:
///
/// | limiter | its permits are admitted | permits left when the lease is dropped |
/// |---|---|---|
/// | `Sharded` | when each is spent | go back, whatever has happened since. While the lease lives, all the capacity that it took, for spent permits too, is missing from the burst. (Permits beyond a lowered burst are lost. A lease of one permit cannot return it if others had reserved all capacity at each of four attempts, or if the shards were still being allocated) |
/// | `TokenBucket`, `Gcra`, `LeakyBucket`, `SettleableBucket` | all when the lease is taken | go back if nothing has happened to the limiter since, as with a [`Receipt`](crate::settle::Receipt); otherwise all of them are lost |
///
/// Either way the limiter's bound holds if permits count as admitted at the time in the second
/// column. The holder of a lease of the second kind may spend it late, when the bucket is full
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
    source: LeaseOrigin<'a>,
}

/// The place to which unspent permits return.
enum LeaseOrigin<'a> {
    /// Nowhere: they are lost.
    Spent,
    /// The level of `word`, if the word is still what was `written`.
    Word { word: &'a dyn LeasedWord, written: u64, token: u64 },
    /// A shard, together with their capacity.
    #[cfg(feature = "alloc")]
    Shard(ShardHome<'a>),
    /// The limiter that the lease keeps alive.
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    Owned(Arc<dyn Lender>, OwnedOrigin),
}

/// A limiter that is kept alive by the leases that were taken from it.
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
pub(crate) trait Lender: Send + Sync {
    /// Takes the permits `left` in a lease back to where they came from.
    fn take_back(&self, origin: OwnedOrigin, left: u64);
}

/// The place in a limiter to which unspent permits return.
#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
#[derive(Clone, Copy)]
pub(crate) enum OwnedOrigin {
    /// The limiter's word, if it is still what was `written`.
    Word { written: u64, token: u64 },
    /// A shard: its index, the capacity of the lease, and the limit that was in force.
    Shard { index: usize, room: u64, limit: u64 },
}

/// A limiter to which leases return permits.
#[cfg(feature = "alloc")]
pub(crate) trait PutBack: Sync {
    /// Returns the capacity of a lease, with the `tokens` that are left in it.
    fn put_back(&self, home: ShardHome<'_>, tokens: u64);
}

/// The shard that a lease came from, the reserved capacity that it took along, and the limit that
/// was in force then.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy)]
pub(crate) struct ShardHome<'a> {
    pub(crate) limiter: &'a dyn PutBack,
    pub(crate) index: usize,
    pub(crate) room: u64,
    pub(crate) limit: u64,
}

/// A word from which a lease took permits.
pub(crate) trait LeasedWord: Sync {
    /// Takes `unspent` units off what was `written`, if nothing has happened to the word since.
    fn give_back(&self, written: u64, unspent: u64);
}

impl<'a> Lease<'a> {
    /// The largest number of permits that one lease holds.
    pub const MAX: u64 = (1 << 31) - 1;

    /// Creates a lease from a word at `token` quarter-units per permit. `written` is what the grant
    /// wrote, if it wrote.
    pub(crate) fn of_word(
        grant: Grant,
        word: &'a dyn LeasedWord,
        written: Option<u64>,
        token: u64,
    ) -> Lease<'a> {
        let source = match written {
            Some(written) => LeaseOrigin::Word { word, written, token },
            None => LeaseOrigin::Spent,
        };
        Lease { left: grant.permits(), grant, source }
    }

    /// Creates a lease of tokens that return to `home`.
    #[cfg(feature = "alloc")]
    pub(crate) fn of_shard(grant: Grant, home: ShardHome<'a>) -> Lease<'a> {
        Lease { left: grant.permits(), grant, source: LeaseOrigin::Shard(home) }
    }

    /// Creates a lease of permits that cannot return.
    #[cfg(feature = "alloc")]
    pub(crate) fn spent(grant: Grant) -> Lease<'a> {
        Lease { left: grant.permits(), grant, source: LeaseOrigin::Spent }
    }

    /// Makes the lease keep `lender` alive, the limiter that it was taken from.
    #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
    pub(crate) fn owned(mut self, lender: Arc<dyn Lender>) -> Lease<'static> {
        let source = match mem::replace(&mut self.source, LeaseOrigin::Spent) {
            LeaseOrigin::Spent => LeaseOrigin::Spent,
            LeaseOrigin::Word { written, token, .. } => {
                LeaseOrigin::Owned(lender, OwnedOrigin::Word { written, token })
            }
            LeaseOrigin::Shard(ShardHome { index, room, limit, .. }) => {
                LeaseOrigin::Owned(lender, OwnedOrigin::Shard { index, room, limit })
            }
            LeaseOrigin::Owned(lender, origin) => LeaseOrigin::Owned(lender, origin),
        };
        Lease { left: self.left, grant: self.grant, source }
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

    #[cfg(feature = "alloc")]
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
        match self.source {
            LeaseOrigin::Word { word, written, token } if self.left > 0 => {
                word.give_back(written, self.left.saturating_mul(token));
            }
            LeaseOrigin::Spent | LeaseOrigin::Word { .. } => {}
            #[cfg(feature = "alloc")]
            LeaseOrigin::Shard(home) => home.limiter.put_back(home, self.left),
            #[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
            LeaseOrigin::Owned(ref lender, origin) => lender.take_back(origin, self.left),
        }
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
