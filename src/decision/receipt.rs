//! Grants that can be given back.

use core::fmt;

use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, Word};

use super::grant::Grant;
#[cfg(feature = "alloc")]
use super::lease::Lease;
use super::pieces::Pieces;

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
    undo: Undo<'a>,
}

/// The way in which a grant is taken back.
enum Undo<'a> {
    /// Nothing to take back.
    Nothing,
    /// Puts the word back to the first value, if it still has the second.
    Word(&'a dyn Slot, u64, u64),
    /// Puts back units of a limiter that can be settled.
    Pieces(&'a dyn TakesPieces, Pieces),
    /// Adds the permits to a balance.
    Permits(&'a dyn TakesPermits),
    /// Asks the store of a key. The slot held the first value before the grant, and the second
    /// after.
    #[cfg(feature = "alloc")]
    Store(&'a dyn TakeBack, &'a dyn Slot, u64, u64),
    /// Gives back to one limiter after the other, the last first.
    #[cfg(feature = "alloc")]
    Each(alloc::vec::Vec<Receipt<'a>>),
    /// Drops the lease.
    #[cfg(feature = "alloc")]
    Lease(Kept<'a>),
    /// Cannot be taken back.
    Never,
}

/// A store of keys that takes grants back by a rule of its own.
#[cfg(feature = "alloc")]
pub(crate) trait TakeBack: Sync {
    /// Puts `before` back into `slot`, at its present worth, if the slot still is as it was `after`
    /// the grant. Returns whether it did.
    fn take_back(&self, slot: &dyn Slot, before: u64, after: u64) -> bool;
}

/// A limiter that takes units back whatever has happened since.
pub(crate) trait TakesPieces: Sync {
    /// Gives the units of `pieces` back. Returns how many were lost at once.
    fn take_pieces(&self, pieces: Pieces) -> u64;
}

/// A balance of permits, to which a grant can be added at any time.
pub(crate) trait TakesPermits: Sync {
    /// Adds `permits`.
    fn take_permits(&self, permits: u64);
}

/// A word that a grant has changed.
pub(crate) trait Slot: Sync {
    /// Replaces `seen` by `next`, if the word still holds `seen`. Returns whether it did.
    fn replace(&self, seen: u64, next: u64) -> bool;
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
    /// Creates a receipt for a grant that changed `word` from the first of the values to the
    /// second.
    pub(crate) fn of_word(
        grant: Grant,
        word: &'a dyn Slot,
        (before, after): (u64, u64),
    ) -> Receipt<'a> {
        let undo = if before == after { Undo::Nothing } else { Undo::Word(word, before, after) };
        Receipt { grant, undo }
    }

    /// Creates a receipt for a grant of `limiter` that took `pieces`.
    pub(crate) fn of_pieces(
        grant: Grant,
        limiter: &'a dyn TakesPieces,
        pieces: Pieces,
    ) -> Receipt<'a> {
        Receipt { grant, undo: Undo::Pieces(limiter, pieces) }
    }

    /// Creates a receipt for a grant that was taken from `balance`.
    pub(crate) fn of_permits(grant: Grant, balance: &'a dyn TakesPermits) -> Receipt<'a> {
        Receipt { grant, undo: Undo::Permits(balance) }
    }

    /// Creates a receipt for a grant that `store` takes back, and that changed `slot` from the
    /// first of the values to the second.
    #[cfg(feature = "alloc")]
    pub(crate) fn of_store(
        grant: Grant,
        store: &'a dyn TakeBack,
        slot: &'a dyn Slot,
        (before, after): (u64, u64),
    ) -> Receipt<'a> {
        Receipt { grant, undo: Undo::Store(store, slot, before, after) }
    }

    /// Creates a receipt for the permits of a lease.
    #[cfg(feature = "alloc")]
    pub(crate) fn of_lease(lease: Lease<'a>) -> Receipt<'a> {
        Receipt { grant: lease.grant(), undo: Undo::Lease(Kept(Some(lease))) }
    }

    /// Creates a receipt for a grant that consists of `parts`.
    #[cfg(feature = "alloc")]
    pub(crate) fn each(grant: Grant, parts: alloc::vec::Vec<Receipt<'a>>) -> Receipt<'a> {
        Receipt { grant, undo: Undo::Each(parts) }
    }

    /// Creates a receipt for a grant that was charged to nothing.
    pub(crate) fn free(grant: Grant) -> Receipt<'a> {
        Receipt { grant, undo: Undo::Nothing }
    }

    /// Creates a receipt that cannot be given back, for a limiter that cannot take grants back.
    pub fn spent(grant: Grant) -> Receipt<'a> {
        Receipt { grant, undo: if grant.permits() == 0 { Undo::Nothing } else { Undo::Never } }
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
        match self.undo {
            Undo::Nothing => true,
            Undo::Word(word, before, after) => word.replace(after, before),
            Undo::Pieces(limiter, pieces) => {
                let units = pieces.units();
                limiter.take_pieces(pieces) < units || units == 0
            }
            Undo::Permits(balance) => {
                balance.take_permits(self.grant.permits());
                true
            }
            #[cfg(feature = "alloc")]
            Undo::Store(store, slot, before, after) => store.take_back(slot, before, after),
            #[cfg(feature = "alloc")]
            Undo::Each(parts) => {
                let mut is_all = true;
                for part in parts.into_iter().rev() {
                    is_all &= part.give_back();
                }
                is_all
            }
            #[cfg(feature = "alloc")]
            Undo::Lease(mut kept) => {
                drop(kept.0.take());
                true
            }
            Undo::Never => false,
        }
    }
}

impl Slot for AtomicWord<u64> {
    fn replace(&self, seen: u64, next: u64) -> bool {
        revert(self, seen, next)
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
