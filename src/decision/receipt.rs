//! Grants that can be given back.

use core::fmt;

use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, Word};

#[cfg(feature = "alloc")]
use super::all_or_none::{AllOrNone, Revocable};
use super::grant::Grant;
#[cfg(feature = "alloc")]
use super::lease::Lease;
use super::undo::{Debit, Undo};

/// A grant that its limiter may still take back.
///
/// To take a grant back exactly, the limiter must become what it would have been without the grant.
/// That is certain in one case only: **if nothing has happened to the limiter since**. Every other
/// rule that was tried (subtracting the grant, or subtracting it unless the bucket was full in
/// between) admits more than the bound in some history, because later calls were decided with the
/// grant in place.
///
/// So [`give_back`](Receipt::give_back) succeeds if the limiter's word still is as the grant left
/// it. Otherwise the permits stay spent: too many are never admitted, and at most the permits of
/// the receipt are lost.
///
/// The word of a one-word window (`FixedWindow`, `WindowFromFirst`, `SlidingCounter`,
/// `CalendarWindow` and the budgets) may take a value again: after a `reset`, or after its clock
/// was set back and came forward, when as much has been granted again. If an earlier receipt is
/// then given back, later grants are forgotten: at most the permits of the receipt. Buckets notice
/// the difference, and so do sliding windows, unless the count of a sliding window wraps within one
/// tick: it counts to twice the largest limit, and resets raise it, and so do estimates, also those
/// that are given back.
///
/// The word of a key in a `KeyTable` may also take a value again, after the key was removed or
/// reset. Giving back then restores the balance that the key had when the permits were granted; in
/// a table of several tiers that may be more than the permits of the receipt.
///
/// A [`SettleableBucket`](crate::bucket::SettleableBucket) takes a grant back whatever has happened since,
/// by a rule that needs more memory; see [`Estimate`](crate::settle::Estimate). Windows do so for
/// estimates, which note more than a receipt has room for.
///
/// A `Sharded` limiter reserves the capacity of the permits as long as the receipt lives, so the
/// receipt can be given back whatever has happened. That capacity is missing from the burst:
/// **receipts and leases together can hold no more than the burst at a time.** (If the shard and
/// the root had too few permits, so that other shards had to be searched, the grant in general
/// cannot be given back.)
///
/// A [`TopUp`](crate::compose::TopUp) takes back payments of its balance at any time.
///
/// Dropping a receipt keeps the grant.
///
/// # Examples
///
/// ```
/// use sluicegate::{Limiter, ManualClock, TokenBucket, quota};
///
/// let bucket = TokenBucket::with_clock(quota!(10 / second), ManualClock::new());
/// let receipt = bucket.try_acquire_revocable(4)?;
/// assert_eq!(receipt.grant().remaining(), 6);
/// assert!(receipt.give_back());
/// assert_eq!(bucket.peek(0)?.remaining(), 10);
///
/// let late = bucket.try_acquire_revocable(4)?;
/// bucket.try_acquire(1)?;
/// assert!(!late.give_back());
/// assert_eq!(bucket.peek(0)?.remaining(), 5);
/// # Ok::<(), sluicegate::Denied>(())
/// ```
#[must_use = "to drop a receipt is to keep the grant"]
pub struct Receipt<'a> {
    grant: Grant,
    way: Way<'a>,
}

/// The way in which a grant is taken back.
enum Way<'a> {
    /// Nothing to take back.
    Nothing,
    /// The limiter takes the debit back.
    Debit(&'a dyn Undo, Debit<'a>),
    /// Gives back to one limiter after the other, the last first.
    #[cfg(feature = "alloc")]
    Each(alloc::vec::Vec<Receipt<'a>>),
    /// Drops the lease.
    #[cfg(feature = "alloc")]
    Lease(Kept<'a>),
    /// Cannot be taken back.
    Never,
}

/// A lease whose permits are spent when this is dropped, unless the lease was taken out.
#[cfg(feature = "alloc")]
struct Kept<'a>(Option<Lease<'a>>);

#[cfg(feature = "alloc")]
impl Drop for Kept<'_> {
    fn drop(&mut self) {
        if let Some(lease) = &mut self.0 {
            lease.spend_all();
        }
    }
}

impl<'a> Receipt<'a> {
    /// Creates a receipt for a grant that `limiter` was charged with.
    pub(crate) fn new(grant: Grant, limiter: &'a dyn Undo, debit: Debit<'a>) -> Receipt<'a> {
        let way = match debit {
            Debit::Word { before, after } if before == after => Way::Nothing,
            _ => Way::Debit(limiter, debit),
        };
        Receipt { grant, way }
    }

    /// Creates a receipt for the permits of a lease.
    #[cfg(feature = "alloc")]
    pub(crate) fn of_lease(lease: Lease<'a>) -> Receipt<'a> {
        Receipt { grant: lease.grant(), way: Way::Lease(Kept(Some(lease))) }
    }

    /// Creates a receipt for a grant that consists of `parts`.
    #[cfg(feature = "alloc")]
    pub(crate) fn each(grant: Grant, parts: alloc::vec::Vec<Receipt<'a>>) -> Receipt<'a> {
        Receipt { grant, way: Way::Each(parts) }
    }

    /// Creates a receipt for a grant that was charged to nothing.
    pub(crate) fn free(grant: Grant) -> Receipt<'a> {
        Receipt { grant, way: Way::Nothing }
    }

    /// Creates a receipt that cannot be given back, for a limiter that cannot take grants back.
    pub fn spent(grant: Grant) -> Receipt<'a> {
        Receipt { grant, way: if grant.permits() == 0 { Way::Nothing } else { Way::Never } }
    }

    /// Returns the grant.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Gives the permits back if nothing has happened to the limiter since, and returns whether it
    /// did. If not, all of them stay spent.
    ///
    /// A `SettleableBucket` gives back the permits that have not expired, whatever has happened: it
    /// returns false only if all of them stay spent.
    ///
    /// Lock-free; does not allocate; reads no clock, except for a key of a `KeyTable`. For several
    /// limiters (see `All`) it gives back to each, and returns whether all succeeded.
    #[doc(alias = "refund")]
    #[expect(clippy::must_use_candidate, reason = "most callers can do no more about it")]
    pub fn give_back(self) -> bool {
        match self.way {
            Way::Nothing => true,
            Way::Debit(limiter, debit) => limiter.undo(debit),
            #[cfg(feature = "alloc")]
            Way::Each(parts) => AllOrNone::from(parts).give_back(),
            #[cfg(feature = "alloc")]
            Way::Lease(mut kept) => {
                drop(kept.0.take());
                true
            }
            Way::Never => false,
        }
    }
}

#[cfg(feature = "alloc")]
impl Revocable for Receipt<'_> {
    fn revoke(self) -> bool {
        self.give_back()
    }
}

impl Undo for AtomicWord<u64> {
    fn undo(&self, debit: Debit<'_>) -> bool {
        let Debit::Word { before, after } = debit else { return false };
        revert(self, after, before)
    }
}

/// Puts `word` back to `before`, if it still is as `written`. Returns whether it did.
pub(crate) fn revert<W: Word>(word: &AtomicWord<W>, written: W, before: W) -> bool {
    // ORDERING: Relaxed. The CAS puts back an earlier value, and no data is read through it. A load
    // that acquires that value still synchronizes with the CAS that first wrote it: a
    // read-modify-write continues the release sequence that it finds. For a ring: no boundary can
    // have been written since, because that takes a seal, and no word from before a seal comes
    // back.
    // MODEL: `a_grant_of_a_compact_ring_given_back_was_never_there`,
    // `a_reservation_of_a_key_that_is_cancelled_beside_grants_was_never_there`.
    word.compare_exchange(written, before, Relaxed, Relaxed).is_ok()
}

impl fmt::Debug for Receipt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt").field("grant", &self.grant).finish_non_exhaustive()
    }
}
