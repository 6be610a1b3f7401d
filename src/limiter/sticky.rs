//! Any limiter, with a cache of its denials.

pub(crate) mod builder;
#[cfg(feature = "wait")]
mod wait;

use core::fmt;

use alloc::boxed::Box;

use crossbeam_utils::CachePadded;

use crate::decision::denial_cache::{CachedDenial, DenialCache};
use crate::decision::denied::Denied;
use crate::decision::estimate::detached::Detached;
use crate::decision::estimate::{Estimate, ForgetsDenials};
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::sync::AtomicWord;
use crate::sync::Ordering::{Acquire, Release};
#[cfg(feature = "std")]
use crate::thread_index::places;
use crate::thread_index::thread_index;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::Limiter;
use super::settle::Settle;

use self::builder::StickyBuilder;

/// Wraps a limiter so that each thread caches its last denial until it can change.
///
/// Under a flood nearly every call is denied, for the same reason as the one before, so
/// there is no need to ask the limiter again. A `Sticky` answers from a cache line of the
/// thread's own and reads nothing that admissions write. That saves the cost of the
/// limiter's contended lines while other requests are being admitted; and it saves a
/// [`SlidingWindow`](crate::SlidingWindow) or an [`All`](crate::All) the search for the
/// shortest wait. ([`Sharded`](crate::Sharded) caches denials by itself.)
///
/// A denial is cached for the number of permits that were requested. It repeats what was
/// true when it was first given, less the time that has passed.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, SlidingWindow, Sticky, rate};
///
/// let clock = ManualClock::new();
/// let window = SlidingWindow::with_clock(rate!(100 / minute), 60, &clock)?;
/// let limiter = Sticky::builder(window).places(4).clock(&clock).build()?;
///
/// assert!(limiter.try_acquire(100).is_ok());
/// assert!(limiter.try_acquire(1).is_err());
/// clock.advance(Duration::from_secs(10));
/// // Remembered.
/// let denied = limiter.try_acquire(1).unwrap_err();
/// assert_eq!(denied.retry_after(), Some(Duration::from_secs(51)));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
///
/// # Accuracy
///
/// That of the limiter, which is asked for each permit that is granted. A denial is repeated
/// only before the instant at which the limiter said that time alone could change it.
/// Anything that changes it sooner has to be reported. [`reset`](Sticky::reset) called on the
/// `Sticky` reports itself, and so does an estimate that was taken from it when it gives permits back. A
/// receipt or a reservation that is given back, a limit that was raised,
/// a restored history, or a level that was healed does not: call [`forget`](Sticky::forget). While
/// callers wait in line for the limiter, a repeated denial tells the wait without them. Callers of a
/// `Sticky` can wait if they can for the limiter: in its line, whatever is cached.
///
/// Use it for floods. A call that is granted pays a few nanoseconds to check the cache,
/// and the first denial of a kind asks the limiter twice.
///
/// # Fairness
///
/// That of the limiter.
///
/// # Memory ordering
///
/// That of the limiter.
pub struct Sticky<L, C = DefaultClock> {
    limiter: L,
    clock: C,
    memories: Box<[CachePadded<DenialCache>]>,
    /// Number of times that all denials were forgotten.
    forgotten: CachePadded<AtomicWord<u64>>,
}

impl<L: Limiter> Sticky<L> {
    /// Returns a builder of a wrapper around `limiter`, to set the number of caches or the clock.
    pub fn builder(limiter: L) -> StickyBuilder<L> {
        StickyBuilder::new(limiter)
    }

    /// Wraps `limiter`, with a cache for each thread that the machine runs at once, on a clock
    /// of its own. The limiter's clock must advance as that one does.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn new(limiter: L) -> Sticky<L> {
        Sticky::with_clock(limiter, DefaultClock::default())
    }
}

impl<L: Limiter, C: Clock> Sticky<L, C> {
    /// Wraps `limiter`, with a cache for each thread that the machine runs at once, on `clock`,
    /// which should be the limiter's.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn with_clock(limiter: L, clock: C) -> Sticky<L, C> {
        Sticky::of(limiter, places(0), clock)
    }

    /// Wraps `limiter`, with `places` caches, a power of two.
    fn of(limiter: L, places: usize, clock: C) -> Sticky<L, C> {
        let denials = |_| CachePadded::new(DenialCache::new());
        Sticky {
            limiter,
            clock,
            memories: (0..places).map(denials).collect(),
            forgotten: CachePadded::new(AtomicWord::new(0)),
        }
    }

    /// Returns the answer of `ask` to a request for `permits`, or the cached denial.
    #[inline]
    fn ask<T>(&self, permits: u64, ask: impl FnOnce() -> Result<T, Denied>) -> Result<T, Denied> {
        let denials = &self.memories[thread_index() & (self.memories.len() - 1)];
        // ORDERING: Acquire; pairs with `forget`. It precedes the call to the limiter, so that a
        // denial from before a change is stored with the count from before it.
        // MODEL: `a_sticky_denial_of_before_a_change_is_not_remembered_after_it`.
        let forgotten = self.forgotten.load(Acquire);
        if let Some(remembered) = denials.cached_denial(permits, forgotten) {
            match remembered.at(self.clock.now_nanos()) {
                Some(denied) => return Err(denied),
                // Otherwise every later grant would read the clock here.
                None => denials.clear(),
            }
        }
        let answer = ask();
        if let Err(Denied::Wait(_)) = &answer {
            self.remember(denials, permits, forgotten);
        }
        answer
    }

    /// Caches the limiter's denial of a request for `permits`.
    ///
    /// It asks the limiter once more: the clock must be read before the answer, and the first
    /// answer may be stale by any time for which this thread was suspended.
    #[cold]
    fn remember(&self, denials: &DenialCache, permits: u64, forgotten: u64) {
        let now_nanos = self.clock.now_nanos();
        if let Err(Denied::Wait(shortfall)) = self.limiter.peek(permits) {
            // For no more permits than were requested: among several limiters, a larger
            // request may be denied by another one.
            denials.note(&CachedDenial::new(permits, permits, forgotten, now_nanos, &shortfall));
        }
    }
}

/// The limiter's methods. They block or allocate as the limiter does, except that the
/// first call of a thread takes a process-wide lock to get a number.
impl<L: Limiter, C: Clock> Sticky<L, C> {
    /// Takes all of `permits` or none, as the limiter does. Reads the clock if a denial is
    /// cached, and to cache one.
    ///
    /// # Errors
    ///
    /// The limiter's error, or the cached one.
    #[inline]
    pub fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.ask(permits, || self.limiter.try_acquire(permits))
    }

    /// Takes as many of `permits` as are available, as the limiter does. A denial is that of
    /// a request for one permit.
    ///
    /// # Errors
    ///
    /// The limiter's error, or the cached one.
    pub fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.ask(permits.min(1), || self.limiter.try_acquire_up_to(permits))
    }

    /// Returns the answer that the limiter would give. Caches nothing.
    ///
    /// # Errors
    ///
    /// The limiter's error.
    pub fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits)
    }

    /// Does the same as [`try_acquire`](Sticky::try_acquire), and returns a [`Receipt`].
    /// The cache does not learn of permits that it gives back: see [`forget`](Sticky::forget).
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](Sticky::try_acquire).
    pub fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.ask(permits, || self.limiter.try_acquire_revocable(permits))
    }

    /// Does the same as [`try_acquire`](Sticky::try_acquire), and returns an [`Estimate`] to be settled.
    /// All cached denials are forgotten when it gives permits back.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](Sticky::try_acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{FixedWindow, ManualClock, Sticky, rate};
    ///
    /// let clock = ManualClock::new();
    /// let window = FixedWindow::with_clock(rate!(10 / minute), &clock)?;
    /// let limiter = Sticky::builder(window).places(4).clock(&clock).build()?;
    ///
    /// let estimate = limiter.try_acquire_settleable(10)?;
    /// assert!(limiter.try_acquire(1).is_err());
    /// estimate.settle(9)?;
    /// assert!(limiter.try_acquire(1).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied>
    where
        L: Settle,
        C: Sync,
    {
        let estimate = self.ask(permits, || self.limiter.try_acquire_settleable(permits))?;
        Ok(estimate.behind(self))
    }

    /// Makes the limiter full again, and forgets all cached denials.
    pub fn reset(&self) {
        self.limiter.reset();
        self.forget();
    }
}

impl<L: Limiter, C: Clock> Sticky<L, C> {
    /// Forgets all cached denials. Call it after a change by which permits may become
    /// available before their time.
    pub fn forget(&self) {
        // ORDERING: Release, so that a thread that sees this sees the change; pairs with the
        // load in `ask`.
        // MODEL: `a_sticky_denial_is_forgotten_when_it_is_said_so`.
        self.forgotten.fetch_add(1, Release);
    }

    /// Returns the wrapped limiter.
    #[must_use]
    pub fn limiter(&self) -> &L {
        &self.limiter
    }
}

impl<L: Limiter, C: Clock + Send + Sync> Limiter for Sticky<L, C> {
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

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek_ahead(permits)
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

    fn healed(&self) -> u64 {
        self.limiter.healed()
    }
}

impl<L: Settle, C: Clock + Send + Sync> Settle for Sticky<L, C> {
    fn try_acquire_settleable(&self, permits: u64) -> Result<Estimate<'_>, Denied> {
        self.try_acquire_settleable(permits)
    }

    fn forget_denials(&self) {
        ForgetsDenials::forget_denials(self);
    }

    fn take_up(&self, slot: &mut Option<Detached>) -> Option<Estimate<'_>> {
        self.limiter.take_up(slot).map(|estimate| estimate.behind(self))
    }
}

impl<L: Settle, C: Clock + Sync> ForgetsDenials for Sticky<L, C> {
    fn forget_denials(&self) {
        self.forget();
        self.limiter.forget_denials();
    }
}

impl<L: fmt::Debug, C> fmt::Debug for Sticky<L, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sticky").field("limiter", &self.limiter).finish_non_exhaustive()
    }
}
