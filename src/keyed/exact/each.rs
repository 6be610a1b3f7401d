//! Any limiter, one for each key.

use alloc::boxed::Box;
use core::fmt;
use core::marker::PhantomData;
use core::time::Duration;

use crate::limiter::Limiter;
use crate::limiter::leaving::Leaving;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::per_key::{Answer, Engine, LeavingPerKey, RenewedTerms};

/// A limiter of its own for each key, made by a function of the key.
///
/// For windows, GCRA, limiters of several windows, and quotas that differ from key to key. A
/// key's limiter lies in memory of its own, allocated when the key becomes known. The key may
/// be evicted when the limiter [is idle](Limiter::is_idle): an `Arc` that is held elsewhere is not, so
/// a function that returns clones of one `Arc` makes keys that stay. One that returns a reference to a
/// limiter that all keys share does not.
///
/// The limiters should read the same clock.
///
/// # Examples
///
/// ```
/// use sluicegate::{Keyed, SlidingLog, rate};
/// use sluicegate::keyed::Each;
///
/// // At most 3 in any minute, exactly.
/// let each = Each::new(|_key: &u64| SlidingLog::new(rate!(3 / minute)).expect("a small limit"));
/// let keyed = Keyed::with(each);
/// for _ in 0..3 {
///     assert!(keyed.try_acquire(&7, 1).is_ok());
/// }
/// assert!(keyed.try_acquire(&7, 1).is_err());
/// assert!(keyed.try_acquire(&8, 1).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Accuracy
///
/// As for the limiter, for each key. If the clocks of threads disagree, a key that was
/// evicted by a thread whose clock is ahead, and comes back on one whose clock is behind, may
/// have the difference in time twice.
pub struct Each<L, F, C = DefaultClock> {
    make: F,
    clock: C,
    limiters: PhantomData<fn() -> L>,
}

impl<L: Limiter, F> Each<L, F> {
    /// Creates limiters by `make`, one for each key.
    pub fn new<K>(make: F) -> Each<L, F>
    where
        F: Fn(&K) -> L,
    {
        Each::with_clock(make, DefaultClock::default())
    }
}

impl<L: Limiter, F, C: Clock> Each<L, F, C> {
    /// Does the same as [`Each::new`], with a clock for what belongs to no key: the bucket of
    /// [`WhenFull::Share`](crate::keyed::WhenFull::Share).
    pub fn with_clock<K>(make: F, clock: C) -> Each<L, F, C>
    where
        F: Fn(&K) -> L,
    {
        Each { make, clock, limiters: PhantomData }
    }
}

impl<K, L, F, C> Engine<K> for Each<L, F, C>
where
    L: Limiter,
    F: Fn(&K) -> L,
    C: Clock,
{
    type Clock = C;
    type Terms = ();
    type State = Box<L>;

    fn clock(&self) -> &C {
        &self.clock
    }

    fn terms(&self) {}

    #[inline(always)]
    fn now_nanos(&self) -> u64 {
        0
    }

    fn fresh(&self, (): &(), key: &K, _: u64) -> Box<L> {
        Box::new((self.make)(key))
    }

    #[inline]
    fn acquire<const SPEND: bool>(&self, (): &(), state: &Box<L>, permits: u64, _: u64) -> Answer {
        Answer::Said(if SPEND { state.try_acquire(permits) } else { state.peek(permits) })
    }

    fn acquire_up_to(&self, (): &(), state: &Box<L>, permits: u64, _: u64) -> Answer {
        Answer::Said(state.try_acquire_up_to(permits))
    }

    fn is_begun(&self, (): &(), _: &Box<L>, _: u64) -> bool {
        false
    }

    fn is_idle(&self, (): &(), state: &Box<L>, _: u64) -> bool {
        state.is_idle()
    }

    fn idle_after(&self, (): &(), state: &Box<L>, _: u64) -> Duration {
        state.peek(0).map_or(Duration::ZERO, |grant| grant.reset_after())
    }

    fn fill(&self, (): &(), state: &mut Box<L>, _: u64) {
        state.reset();
    }

    fn is_impossible(&self, (): &(), _: &Box<L>, _: u64) -> bool {
        false
    }

    fn is_out_of_range(&self, (): &(), _: &Box<L>, _: u64) -> bool {
        false
    }

    fn renewed_terms(&self, (): &(), _: u64, _: u64) -> Option<RenewedTerms<()>> {
        None
    }
}

impl<K, L, F, C> LeavingPerKey<K> for Each<L, F, C>
where
    L: Leaving,
    F: Fn(&K) -> L,
    C: Clock,
{
    fn acquire_leaving<const SPEND: bool>(
        &self,
        (): &(),
        state: &Box<L>,
        (permits, reserve): (u64, u64),
        _: u64,
    ) -> Answer {
        Answer::Said(if SPEND {
            state.try_acquire_leaving(permits, reserve)
        } else {
            state.peek_leaving(permits, reserve)
        })
    }
}

impl<L, F, C: fmt::Debug> fmt::Debug for Each<L, F, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Each").field("clock", &self.clock).finish_non_exhaustive()
    }
}
