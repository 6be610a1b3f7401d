//! Counters that many threads add to, each on a cache line of its own.

use core::fmt;

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Relaxed, Release};
use crate::thread_index::{places, thread_index};

/// `N` counters, each of them spread over a slot for each thread that the machine runs at once.
///
/// A thread adds on a cache line of its own, so that counting costs one load and one store whatever other
/// threads do, without a locked instruction. Threads beyond the number of slots share as many others, and
/// add by a locked one. A reader adds the slots up. Up to 16 counters of a slot are on one pair of cache
/// lines, of 128 bytes.
///
/// # Examples
///
/// ```
/// use sluicegate::compose::StripedCounters;
///
/// const HITS: usize = 0;
/// const BYTES: usize = 1;
/// let counters = StripedCounters::<2>::new();
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| {
///             counters.add(HITS, 1);
///             counters.add(BYTES, 512);
///         });
///     }
/// });
/// assert_eq!((counters.sum(HITS), counters.sum(BYTES)), (4, 2_048));
/// ```
///
/// # Memory ordering
///
/// Everything that a thread did before an addition happens before everything that a reader does whose sum
/// has that addition.
///
/// # Signal handlers
///
/// If a signal handler interrupts an addition and adds to the same counter, its own addition may be lost.
#[doc(alias = "LongAdder")]
pub struct StripedCounters<const N: usize> {
    /// Twice a power of two of them, of which each in the first half is one thread's. They only grow.
    slots: Box<[CachePadded<[AtomicWord<u64>; N]>]>,
}

/// The counters to which a thread adds.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a, const N: usize> {
    words: &'a [AtomicWord<u64>; N],
    /// True if no other thread adds to them.
    is_own: bool,
}

impl<const N: usize> Slot<'_, N> {
    #[inline(always)]
    pub(crate) fn add(self, counter: usize, more: u64) {
        let Some(word) = self.words.get(counter) else { return };
        if self.is_own {
            // ORDERING: Relaxed: the last value is this thread's, or that of one that ended before, and
            // handed its number over under a lock.
            // MODEL: `a_thread_adds_to_a_slot_of_its_own_without_a_locked_instruction`.
            let sum = word.load(Relaxed);
            // ORDERING: Release, so that a reader that sees a call counted sees what the call did to the
            // limiter: the counts never run ahead of it. Pairs with `sum`.
            // MODEL: `a_thread_adds_to_a_slot_of_its_own_without_a_locked_instruction`.
            word.store(sum.wrapping_add(more), Release);
            return;
        }
        // ORDERING: Release, as above. Not Acquire: nothing is decided by the sum.
        // MODEL: `every_call_is_counted_and_none_before_it_is_answered`.
        word.fetch_add(more, Release);
    }
}

impl<const N: usize> StripedCounters<N> {
    /// Returns counters of 0, with a slot for each thread that the machine runs at once, and as many that others
    /// share. Allocates.
    #[must_use]
    pub fn new() -> StripedCounters<N> {
        StripedCounters::with_slots(0)
    }

    /// Returns counters of 0 with so many `slots`, rounded up to a power of two, at most 256; 0 stands
    /// for one for each thread that the machine runs at once. Threads beyond them share as many others.
    /// Allocates.
    #[must_use]
    pub fn with_slots(slots: usize) -> StripedCounters<N> {
        let slot = |_| CachePadded::new(core::array::from_fn(|_| AtomicWord::new(0)));
        StripedCounters { slots: (0..2 * places(slots)).map(slot).collect() }
    }

    /// Adds `more` to a counter. Wait-free; does not allocate. Without effect for a `counter` that is
    /// not below `N`.
    #[inline(always)]
    pub fn add(&self, counter: usize, more: u64) {
        self.slot().add(counter, more);
    }

    /// Returns the calling thread's slot.
    #[inline(always)]
    pub(crate) fn slot(&self) -> Slot<'_, N> {
        let (number, own) = (thread_index(), self.slots.len() / 2);
        let is_own = number < own;
        let shared = own | (number & (own - 1));
        Slot { words: &self.slots[if is_own { number } else { shared }], is_own }
    }

    /// Returns the sum of a counter over all slots, modulo 2^64; 0 for a `counter` that is not below
    /// `N`. Wait-free; does not allocate; writes nothing.
    ///
    /// It is at least what was added by calls of [`add`](StripedCounters::add) that had returned before
    /// this one began, and it never falls.
    #[must_use]
    pub fn sum(&self, counter: usize) -> u64 {
        let seen = |word: &AtomicWord<u64>| {
            // ORDERING: Acquire; pairs with `add`.
            // MODEL: `every_call_is_counted_and_none_before_it_is_answered`.
            word.load(Acquire)
        };
        let words = self.slots.iter().filter_map(|slot| slot.get(counter));
        words.map(seen).fold(0, u64::wrapping_add)
    }

    /// Returns the sums of all counters: see [`sum`](StripedCounters::sum).
    #[must_use]
    pub fn sums(&self) -> [u64; N] {
        core::array::from_fn(|counter| self.sum(counter))
    }
}

impl<const N: usize> Default for StripedCounters<N> {
    fn default() -> Self {
        StripedCounters::new()
    }
}

/// Shows the sums.
impl<const N: usize> fmt::Debug for StripedCounters<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StripedCounters").field(&self.sums()).finish()
    }
}
