//! Grants that can be given back.

use core::fmt;

use crate::Grant;

/// What takes a grant back: a limiter whose state is one word.
pub(crate) trait Revoke {
    /// Puts the word back to what was `seen`, if it still is what was `written`.
    fn revoke(&self, seen: u64, written: u64) -> bool;
}

/// A grant that its limiter may still take back.
///
/// To take a charge back exactly, the limiter must be as it would have been
/// without it. That is certain in one case only: **if nothing has happened to it
/// since**. Every other rule that was tried (to subtract what was added, to
/// subtract unless the bucket was full in between) admits more than the bound in
/// some history, because what happened since was decided with the charge in it.
///
/// So [`give_back`](Receipt::give_back) succeeds if the limiter's word still is what
/// the grant made it, and otherwise the permits stay spent: never too many are
/// admitted, and at most the permits of the receipt are lost.
///
/// One thing can bring such a word back: a `reset` of a window that is one word
/// (`FixedWindow`, `WindowFromFirst`, `SlidingCounter`, `CalendarWindow` and the
/// budgets), after which as much is granted again. To give back a receipt from
/// before is then to make the reset forget that too, at most the permits of the
/// receipt. Buckets and sliding windows tell the two apart.
///
/// To drop a receipt is to keep the grant.
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

/// How a grant is taken back.
enum Undo<'a> {
    /// Nothing was taken.
    Nothing,
    /// By the limiter, if its word is still the second of these; it becomes the
    /// first.
    Word(&'a dyn Revoke, u64, u64),
    /// By one limiter after the other.
    #[cfg(feature = "alloc")]
    Each(alloc::vec::Vec<Receipt<'a>>),
    /// Not at all.
    Never,
}

impl<'a> Receipt<'a> {
    /// A grant that moved the word of `limiter` from the first of `words` to the
    /// second.
    pub(crate) fn revocable(
        grant: Grant,
        (seen, written): (u64, u64),
        limiter: &'a dyn Revoke,
    ) -> Receipt<'a> {
        let undo = if seen == written { Undo::Nothing } else { Undo::Word(limiter, seen, written) };
        Receipt { grant, undo }
    }

    /// A grant that was made of `parts`.
    #[cfg(feature = "alloc")]
    pub(crate) fn each(grant: Grant, parts: alloc::vec::Vec<Receipt<'a>>) -> Receipt<'a> {
        Receipt { grant, undo: Undo::Each(parts) }
    }

    /// A grant that cannot be given back: what a limiter returns that has no way
    /// to.
    pub fn spent(grant: Grant) -> Receipt<'a> {
        Receipt { grant, undo: if grant.permits() == 0 { Undo::Nothing } else { Undo::Never } }
    }

    /// What was granted.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Gives the permits back, if nothing has happened to the limiter since, and
    /// says whether it did. If not, they stay spent.
    ///
    /// Lock-free; does not allocate; reads no clock. Of several limiters (see
    /// `All`) each is asked, and the answer is whether all did.
    #[allow(clippy::must_use_candidate, reason = "most callers can do no more about it")]
    pub fn give_back(self) -> bool {
        match self.undo {
            Undo::Nothing => true,
            Undo::Word(limiter, seen, written) => limiter.revoke(seen, written),
            #[cfg(feature = "alloc")]
            Undo::Each(parts) => {
                let mut is_all = true;
                for part in parts {
                    is_all &= part.give_back();
                }
                is_all
            }
            Undo::Never => false,
        }
    }
}

impl fmt::Debug for Receipt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receipt").field("grant", &self.grant).finish_non_exhaustive()
    }
}
