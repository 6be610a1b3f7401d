//! Any limiter, with its denials remembered.

use core::fmt;

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::config::error::ConfigError;
use crate::decision::denial_cache::{CachedDenial, DenialCache};
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Release};
use crate::thread_index::{MAX_PLACES, thread_index};
use crate::time::clock::Clock;

use super::Limiter;

/// Any limiter, with its last denial remembered by each thread until it can change.
///
/// Under a flood nearly every call is refused, for the same reason as the one before. Then
/// there is no need to look again: a `Sticky` answers from a cache line of the thread's
/// own, and of what other threads write it reads nothing. That saves what the limiter's
/// lines cost while others are being admitted; and it saves a
/// [`SlidingWindow`](crate::SlidingWindow) or an [`All`](crate::All) the search for the
/// least wait. ([`Sharded`](crate::Sharded) remembers by itself.)
///
/// A denial is remembered for the number of permits that were asked for. It tells what was
/// true when it was first given, less the time that has passed.
///
/// # Accuracy
///
/// That of the limiter: it is asked for each permit that is granted. A denial is repeated
/// only before the instant at which the limiter said that it could change by time alone.
/// What changes it sooner has to be told: [`reset`](Sticky::reset) by way of the `Sticky`
/// is; a receipt that is given back, a limit that was raised, a restored history, or a level
/// that was healed is not, until [`forget`](Sticky::forget) is called.
///
/// It is for floods. A call that is granted pays for a look at the memory, a few
/// nanoseconds; and the first denial of a kind asks the limiter twice.
///
/// # Fairness
///
/// That of the limiter.
///
/// # Memory ordering
///
/// That of the limiter.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, SlidingWindow, Sticky, rate};
///
/// let clock = ManualClock::new();
/// let window = SlidingWindow::with_clock(rate!(100 / minute), 60, &clock)?;
/// let limiter = Sticky::with_places(window, 4, &clock)?;
///
/// assert!(limiter.try_acquire(100).is_ok());
/// assert!(limiter.try_acquire(1).is_err());
/// clock.advance(Duration::from_secs(10));
/// // Remembered.
/// let denied = limiter.try_acquire(1).unwrap_err();
/// assert_eq!(denied.retry_after(), Some(Duration::from_secs(51)));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub struct Sticky<L, C = crate::DefaultClock> {
    limiter: L,
    clock: C,
    memories: Box<[CachePadded<DenialCache>]>,
    /// The number of times that everything was forgotten.
    forgotten: CachePadded<AtomicWord<u64>>,
}

#[cfg(feature = "std")]
impl<L: Limiter> Sticky<L> {
    /// `limiter`, with a memory for each thread that the machine runs at once, on a clock
    /// of its own: for a limiter on a clock that runs as that does.
    #[must_use]
    pub fn new(limiter: L) -> Sticky<L> {
        Sticky::with_clock(limiter, crate::DefaultClock::default())
    }
}

impl<L: Limiter, C: Clock> Sticky<L, C> {
    /// `limiter`, with a memory for each thread that the machine runs at once, on `clock`,
    /// which is to be the limiter's.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_clock(limiter: L, clock: C) -> Sticky<L, C> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Sticky::of(limiter, threads.min(MAX_PLACES), clock)
    }

    /// `limiter`, with so many `places` for a memory, or as many more as make a power of
    /// two, on `clock`, which is to be the limiter's.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Shards`] if they are not from 1 to 256.
    pub fn with_places(limiter: L, places: usize, clock: C) -> Result<Sticky<L, C>, ConfigError> {
        if !(1..=MAX_PLACES).contains(&places) {
            return Err(ConfigError::Shards { shards: places });
        }
        Ok(Sticky::of(limiter, places, clock))
    }

    fn of(limiter: L, places: usize, clock: C) -> Sticky<L, C> {
        let memory = |_| CachePadded::new(DenialCache::new());
        Sticky {
            limiter,
            clock,
            memories: (0..places.next_power_of_two()).map(memory).collect(),
            forgotten: CachePadded::new(AtomicWord::new(0)),
        }
    }

    /// The limiter.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.limiter
    }

    /// Forgets all denials: after a change of the limiter by which some of it may come
    /// back before its time.
    pub fn forget(&self) {
        // ORDERING: Release, so that who sees this sees the change; pairs with the load
        // in `ask`.
        // MODEL: `a_sticky_denial_is_forgotten_when_it_is_said_so`.
        self.forgotten.fetch_add(1, Release);
    }

    /// The answer of `ask` to a request for `permits`, or its last one.
    #[inline]
    fn ask<T>(&self, permits: u64, ask: impl FnOnce() -> Result<T, Denied>) -> Result<T, Denied> {
        let memory = &self.memories[thread_index() & (self.memories.len() - 1)];
        // ORDERING: Acquire; pairs with `forget`. Before the limiter is asked, so that a
        // denial from before a change counts as one.
        // MODEL: `a_sticky_denial_of_before_a_change_is_not_remembered_after_it`.
        let forgotten = self.forgotten.load(Acquire);
        if let Some(remembered) = memory.recall(permits, forgotten) {
            match remembered.at(self.clock.now_nanos()) {
                Some(denied) => return Err(denied),
                // Or every grant to come would read the clock here.
                None => memory.clear(),
            }
        }
        let answer = ask();
        if let Err(Denied::Wait(_)) = &answer {
            self.remember(memory, permits, forgotten);
        }
        answer
    }

    /// Remembers what the limiter says to a request for `permits`.
    ///
    /// It is asked once more: its first answer is from some instant before now, which may
    /// be late by what this thread was held up; the clock is to be read before the answer.
    #[cold]
    fn remember(&self, memory: &DenialCache, permits: u64, forgotten: u64) {
        let now_nanos = self.clock.now_nanos();
        if let Err(Denied::Wait(shortfall)) = self.limiter.peek(permits) {
            // For no more permits than were asked for: of several limiters another may be the
            // one that has too few of them.
            memory.note(&CachedDenial::new(permits, permits, forgotten, now_nanos, &shortfall));
        }
    }
}

/// The verbs. What they do besides, such as to block or to allocate, is what the limiter
/// does; but the first call of a thread takes a lock of the process, to get it a number.
impl<L: Limiter, C: Clock> Sticky<L, C> {
    /// Takes all of `permits` or none, as the limiter does. Reads the clock if a denial is
    /// remembered, and to remember one.
    ///
    /// # Errors
    ///
    /// As that of the limiter, or as it was last time.
    #[inline]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.ask(permits, || self.limiter.try_acquire(permits))
    }

    /// Takes as many of `permits` as there are, as the limiter does. A denial is that of
    /// one permit.
    ///
    /// # Errors
    ///
    /// As that of the limiter, or as it was last time.
    pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.ask(permits.min(1), || self.limiter.try_acquire_up_to(permits))
    }

    /// The answer that the limiter would give. Remembers nothing.
    ///
    /// # Errors
    ///
    /// As that of the limiter.
    pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits)
    }

    /// As [`try_acquire`](Sticky::try_acquire), with a [`Receipt`]. What is given back by it
    /// is not known here: see [`forget`](Sticky::forget).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Sticky::try_acquire).
    pub fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.ask(permits, || self.limiter.try_acquire_revocable(permits))
    }

    /// Makes the limiter full again, and forgets all denials.
    pub fn reset(&self) {
        self.limiter.reset();
        self.forget();
    }
}

impl<L: Limiter, C: Clock> Limiter for Sticky<L, C> {
    #[inline]
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.peek(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire_revocable(permits)
    }

    fn reset(&self) {
        self.reset();
    }

    fn is_idle(&self) -> bool {
        self.limiter.is_idle()
    }
}

impl<L: fmt::Debug, C> fmt::Debug for Sticky<L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sticky").field("limiter", &self.limiter).finish_non_exhaustive()
    }
}
