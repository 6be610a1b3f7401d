//! Counters that many threads add to, each on a cache line of its own.

use core::fmt;

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Release};
use crate::thread_index::{places, thread_index};

/// `N` counters, each of them spread over a slot for each thread that the machine runs at once.
///
/// A thread adds on a cache line of its own, so that counting costs one uncontended addition whatever
/// other threads do; a reader adds the slots up. Up to 16 counters of a slot are on one pair of cache
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
#[doc(alias = "LongAdder")]
pub struct StripedCounters<const N: usize> {
    /// A power of two of them. They only grow.
    slots: Box<[CachePadded<[AtomicWord<u64>; N]>]>,
}

/// The counters of one thread.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a, const N: usize>(&'a [AtomicWord<u64>; N]);

impl<const N: usize> Slot<'_, N> {
    #[inline(always)]
    pub(crate) fn add(self, counter: usize, more: u64) {
        let Some(word) = self.0.get(counter) else { return };
        // ORDERING: Release, so that a reader that sees a call counted sees what the call did to the
        // limiter: the counts never run ahead of it. Pairs with `sum`. Not Acquire: nothing is decided
        // by the sum. An addition and not a store: threads may share a slot.
        // MODEL: `every_call_is_counted_and_none_before_it_is_answered`.
        word.fetch_add(more, Release);
    }
}

impl<const N: usize> StripedCounters<N> {
    /// Returns counters of 0, with a slot for each thread that the machine runs at once. Allocates.
    #[must_use]
    pub fn new() -> StripedCounters<N> {
        StripedCounters::with_slots(0)
    }

    /// Returns counters of 0 with so many `slots`, rounded up to a power of two, at most 256; 0 stands
    /// for one for each thread that the machine runs at once. Threads beyond them share slots.
    /// Allocates.
    #[must_use]
    pub fn with_slots(slots: usize) -> StripedCounters<N> {
        let slot = |_| CachePadded::new(core::array::from_fn(|_| AtomicWord::new(0)));
        StripedCounters { slots: (0..places(slots)).map(slot).collect() }
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
        Slot(&self.slots[thread_index() & (self.slots.len() - 1)])
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
