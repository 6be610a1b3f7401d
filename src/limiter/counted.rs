//! Any limiter, with counts of its answers.

#[cfg(feature = "wait")]
mod wait;

use core::fmt;

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::decision::denied::Denied;
use crate::decision::estimate::Estimate;
use crate::decision::estimate::detached::Detached;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Release};
use crate::thread_index::{places, thread_index};

use super::Limiter;
use super::settle::Settle;

/// Wraps a limiter and counts what it grants and denies.
///
/// Each thread counts on a cache line of its own, so that counting adds no line that all callers
/// write: two additions to a grant, one to a denial. A [`Sharded`](crate::Sharded) or a
/// [`Sticky`](crate::Sticky) inside scales as it does alone.
///
/// A limiter is called through the trait [`Limiter`]. Calls of `try_acquire`, `try_acquire_up_to` and
/// `try_acquire_revocable` are counted, and so is `try_acquire_settleable` if the limiter has it
/// ([`Settle`](crate::Settle)). `peek`, `is_idle`, `reset` and `healed` are not, nor are calls
/// of the wrapped limiter by [`limiter`](Counted::limiter) or by other references to it. Permits
/// that a receipt gives back stay counted, and an estimate stays counted as it was granted: settling it
/// changes no count.
///
/// Inside an `Each` of a `Keyed` each key has counts of its own: use
/// [`with_slots`](Counted::with_slots) there, as a slot takes as much memory as a small limiter. They
/// are forgotten when the key is evicted.
///
/// Callers can wait for it if they can for the limiter: one that has waited is counted once, when it is
/// told its answer, and a refusal (of a deadline, of a full or closed line) as a denial. One that is dropped
/// before that is not counted. A reservation is counted when it is made.
///
/// # Examples
///
/// ```
/// use sluicegate::{Counted, Counts, Limiter, TokenBucket, quota};
///
/// let limiter = Counted::new(TokenBucket::new(quota!(10 / hour)));
/// assert_eq!(limiter.try_acquire_up_to(15)?.permits(), 10);
/// assert!(limiter.try_acquire(1).is_err());
/// assert_eq!(limiter.counts(), Counts { granted: 1, denied: 1, permits: 10 });
/// # Ok::<(), sluicegate::Denied>(())
/// ```
///
/// # Accuracy
///
/// Every call is counted, once its limiter has answered. See [`counts`](Counted::counts).
///
/// # Fairness
///
/// That of the limiter.
///
/// # Memory ordering
///
/// That of the limiter. Besides, what a caller did before a call that is in the counts happens before
/// what their reader does afterwards.
pub struct Counted<L> {
    limiter: L,
    /// A power of two of them.
    slots: Box<[CachePadded<CountSlot>]>,
}

/// The sums of a [`Counted`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Calls that were granted.
    pub granted: u64,
    /// Calls that were denied, for whatever reason.
    pub denied: u64,
    /// Permits that were granted.
    pub permits: u64,
}

/// The counts of the threads with one number. They only grow.
struct CountSlot {
    granted: AtomicWord<u64>,
    denied: AtomicWord<u64>,
    permits: AtomicWord<u64>,
}

impl<L> Counted<L> {
    /// Wraps `limiter`, with a slot of counts for each thread that the machine runs at once: a pair of
    /// cache lines each. Allocates; reads no clock.
    #[must_use]
    pub fn new(limiter: L) -> Counted<L> {
        Counted::with_slots(limiter, 0)
    }

    /// Wraps `limiter`, with so many `slots` of counts, rounded up to a power of two, at most 256; 0
    /// stands for one for each thread that the machine runs at once. Threads beyond them share slots.
    #[must_use]
    pub fn with_slots(limiter: L, slots: usize) -> Counted<L> {
        let slot = |_| CachePadded::new(CountSlot::new());
        Counted { limiter, slots: (0..places(slots)).map(slot).collect() }
    }

    /// Returns the sums of all slots, modulo 2^64.
    ///
    /// Lock-free; does not allocate; reads no clock; writes nothing.
    ///
    /// While other threads call the limiter, the three are not those of one instant. Each is at least
    /// the number of calls that had returned before this one began, and at most the number of those
    /// that were answered before it returns. None ever falls.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.slots.iter().fold(Counts::default(), |sum, slot| Counts {
            granted: sum.granted.wrapping_add(seen(&slot.granted)),
            denied: sum.denied.wrapping_add(seen(&slot.denied)),
            permits: sum.permits.wrapping_add(seen(&slot.permits)),
        })
    }

    /// Returns the wrapped limiter. Calls of it are not counted.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.limiter
    }

    /// Returns the wrapped limiter, and forgets the counts.
    #[must_use]
    pub fn into_inner(self) -> L {
        self.limiter
    }

    /// Counts an answer, of so many `permits` if it grants.
    #[inline(always)]
    fn count<E: Copy>(&self, permits: Result<u64, E>) {
        let slot = &self.slots[thread_index() & (self.slots.len() - 1)];
        match permits {
            Ok(permits) => {
                add(&slot.granted, 1);
                add(&slot.permits, permits);
            }
            Err(_) => add(&slot.denied, 1),
        }
    }
}

impl CountSlot {
    fn new() -> CountSlot {
        let zero = || AtomicWord::new(0);
        CountSlot { granted: zero(), denied: zero(), permits: zero() }
    }
}

#[inline(always)]
fn add(count: &AtomicWord<u64>, more: u64) {
    // ORDERING: Release, so that a reader that sees a call counted sees what the call did to the
    // limiter: the counts never run ahead of it. Pairs with `seen`. Not Acquire: nothing is decided
    // by the sum. An addition and not a store: threads may share a slot.
    // MODEL: `every_call_is_counted_and_none_before_it_is_answered`.
    count.fetch_add(more, Release);
}

#[inline]
fn seen(count: &AtomicWord<u64>) -> u64 {
    // ORDERING: Acquire; pairs with `add`.
    // MODEL: `every_call_is_counted_and_none_before_it_is_answered`.
    count.load(Acquire)
}

impl<L: Limiter> Limiter for Counted<L> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        let answer = self.limiter.try_acquire(permits);
        self.count(answer.map(|grant| grant.permits()));
        answer
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        let answer = self.limiter.try_acquire_up_to(permits);
        self.count(answer.map(|grant| grant.permits()));
        answer
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits)
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek_ahead(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        let answer = self.limiter.try_acquire_revocable(permits);
        let counted = answer.as_ref().map(|receipt| receipt.grant().permits());
        self.count(counted.map_err(|denied| *denied));
        answer
    }

    fn reset(&self) {
        self.limiter.reset();
    }

    fn is_idle(&self) -> bool {
        self.limiter.is_idle()
    }

    fn healed(&self) -> u64 {
        self.limiter.healed()
    }
}

/// An estimate counts as a grant of all its permits. Settling it changes no count.
impl<L: Settle> Settle for Counted<L> {
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        let answer = self.limiter.try_acquire_settleable(permits);
        let counted = answer.as_ref().map(|estimate| estimate.grant().permits());
        self.count(counted.map_err(|denied| *denied));
        answer
    }

    fn forget_denials(&self) {
        self.limiter.forget_denials();
    }

    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        self.limiter.take_up(slot)
    }
}

impl<L: fmt::Debug> fmt::Debug for Counted<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counts { granted, denied, permits } = self.counts();
        f.debug_struct("Counted")
            .field("limiter", &self.limiter)
            .field("granted", &granted)
            .field("denied", &denied)
            .field("permits", &permits)
            .finish()
    }
}
