//! Permits that a caller holds.

use core::fmt;

use super::grant::Grant;

/// Permits taken from a limiter at once, for its holder to spend one by one.
///
/// To spend is a subtraction in the holder's own memory: no atomic operation, no clock,
/// nothing that another thread could be slowed down by. What is left when the lease is
/// dropped goes back to its limiter:
///
/// | of a | its permits are admitted | what is left when it is dropped |
/// |---|---|---|
/// | `Sharded` | when each is spent | goes back, whatever happened since. Until then there is no room for others in its place: all that leases took is missing from the burst, what they have spent too. (What a lowered burst has no place for is lost; and so is a lease of one permit, if others borrowed all there is at the same instant, four times over) |
/// | `TokenBucket`, `Gcra`, `LeakyBucket` | all when the lease is taken | goes back if nothing has happened to the limiter since, as with a [`Receipt`](crate::Receipt); if something has, all of it is lost |
///
/// Either way the limiter's bound holds for permits that are admitted at those times. Of
/// the second kind, a holder that spends late may do so beside a bucket that is full
/// again: more than the burst at one instant, by at most what leases hold.
///
/// A lease that is forgotten (`core::mem::forget`) never goes back; of a `Sharded` nor
/// does its room, so that limiter holds that many less for ever.
///
/// A request that needs room which leases of a `Sharded` hold is refused with
/// [`Denied::Leased`](crate::Denied::Leased), and no wait is named.
///
/// # Examples
///
/// ```
/// use sluicegate::{ManualClock, Sharded, quota};
///
/// let limiter = Sharded::with_shards(quota!(1_000 / second), 2, ManualClock::new())?;
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

/// Where what is left goes.
#[derive(Clone, Copy)]
enum LeaseOrigin<'a> {
    /// Nowhere.
    Spent,
    /// Off the level of `word`, if that still is what was `written`.
    Word { word: &'a dyn LeasedWord, written: u64, token: u64 },
    /// Into a shard, with its room.
    #[cfg(feature = "alloc")]
    Shard(ShardHome<'a>),
}

/// Where what a lease leaves is put down.
#[cfg(feature = "alloc")]
pub(crate) trait PutBack: Sync {
    /// Puts back the room of a lease, with the `tokens` that are left in it.
    fn put_back(&self, home: ShardHome<'_>, tokens: u64);
}

/// The shard that a lease came from, the room that it took with it, and the limit that
/// was in force then.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy)]
pub(crate) struct ShardHome<'a> {
    pub(crate) limiter: &'a dyn PutBack,
    pub(crate) index: usize,
    pub(crate) room: u64,
    pub(crate) limit: u64,
}

/// A word that permits were taken from, to be held by a lease.
pub(crate) trait LeasedWord: Sync {
    /// Takes `unspent` units off what was `written`, if nothing has happened to the word since.
    fn give_back(&self, written: u64, unspent: u64);
}

impl<'a> Lease<'a> {
    /// The most that one lease holds.
    pub const MAX: u64 = (1 << 31) - 1;

    /// Of a word that was `written`, if it was, at `token` half-units per permit.
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

    /// Of tokens that are to be put back `home`.
    #[cfg(feature = "alloc")]
    pub(crate) fn of_shard(grant: Grant, home: ShardHome<'a>) -> Lease<'a> {
        Lease { left: grant.permits(), grant, source: LeaseOrigin::Shard(home) }
    }

    /// Of permits that cannot be put back.
    #[cfg(feature = "alloc")]
    pub(crate) fn spent(grant: Grant) -> Lease<'a> {
        Lease { left: grant.permits(), grant, source: LeaseOrigin::Spent }
    }

    /// Spends `permits` of those that are left, all or none; whether there were as many.
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

    /// The permits that are left.
    #[must_use]
    #[inline]
    pub fn left(&self) -> u64 {
        self.left
    }

    /// What was granted, and the limiter as it was then.
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
