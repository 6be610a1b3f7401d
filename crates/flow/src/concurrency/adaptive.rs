//! A concurrency limit that is chosen by how calls end.

pub(super) mod entering;
pub(super) mod timed;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use sluicegate::Clock;
use sluicegate::clock::DefaultClock;

use crate::sync::AtomicU64;
use crate::sync::Lock;
use crate::sync::Ordering::Relaxed;

use self::timed::TimedInFlight;
use super::ConcurrencyLimit;
use super::algorithm::{LimitAlgorithm, Sample};
use super::denied::ConcurrencyDenied;
use super::in_flight::Home;

/// A limit of calls in flight that is chosen by an algorithm, from how long calls take and whether
/// they are dropped.
///
/// Use it in front of a service that has a limit which nobody knows, or which changes: with more in
/// flight it does not do more, its calls only take longer. A call holds a [`TimedInFlight`] and
/// [ends](TimedInFlight::end) it with an [`Outcome`](crate::concurrency::Outcome); each success and
/// each drop is a [`Sample`] for the [`LimitAlgorithm`], which sets the limit.
///
/// | algorithm | takes for too much in flight |
/// |---|---|
/// | [`Aimd`](crate::concurrency::Aimd) | a drop, or a call that takes too long |
/// | [`Vegas`](crate::concurrency::Vegas) | a queue, by the shortest time that a call took |
/// | [`Gradient2`](crate::concurrency::Gradient2) | calls that take longer than on a long average |
/// | [`Windowed`](crate::concurrency::Windowed) of one of them | as that one, for all calls of a second at once |
///
/// A `try_acquire` never blocks or allocates (but for an `Arc`). A grant reads the clock once, and
/// so does an end with a sample: the time that a caller waits in line is not part of its call. No
/// caller waits for the algorithm: it is run by the caller whose call ends, and if another one is
/// running it, then
///
/// * a success is left out: it is one of many, and the one that is being taken into account is of
///   that moment;
/// * a drop is remembered and counts for the next sample, because that may be the only one.
///
/// # Accuracy
///
/// Never is a permit granted beyond the limit in force; see [`ConcurrencyLimit`]. If the algorithm
/// lowers it below the permits in flight, nothing is granted until enough has ended. If the clock
/// goes back during a call, its time is not known, and a success is left out.
///
/// # Fairness
///
/// As for a [`ConcurrencyLimit`].
///
/// # Memory ordering
///
/// As for a [`ConcurrencyLimit`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::ManualClock;
/// use sluicegate_flow::concurrency::{Adaptive, Aimd, Outcome};
///
/// let adaptive = Adaptive::with_clock(Aimd::new().with_initial(10), ManualClock::new());
/// let call = adaptive.try_acquire(5)?;
/// adaptive.clock().advance(Duration::from_millis(80));
/// call.end(Outcome::Success);
/// assert_eq!(adaptive.limit(), 11);
///
/// adaptive.try_acquire(1)?.end(Outcome::Dropped);
/// assert_eq!(adaptive.limit(), 9);
/// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
/// ```
#[doc(alias = "adaptive concurrency")]
#[doc(alias = "SimpleLimiter")]
pub struct Adaptive<A, C = DefaultClock> {
    limit: ConcurrencyLimit,
    algorithm: Lock<A>,
    /// Drops that found the algorithm in use and have not been taken into account.
    drops: AtomicU64,
    clock: C,
}

impl<A: LimitAlgorithm> Adaptive<A> {
    /// Creates a limit that `algorithm` chooses, on the default clock.
    #[must_use]
    pub fn new(algorithm: A) -> Adaptive<A> {
        Adaptive::with_clock(algorithm, DefaultClock::default())
    }
}

impl<A: LimitAlgorithm, C: Clock> Adaptive<A, C> {
    /// Creates one on a clock.
    #[must_use]
    pub fn with_clock(algorithm: A, clock: C) -> Adaptive<A, C> {
        let limit = ConcurrencyLimit::new(algorithm.limit().max(1));
        let (algorithm, drops) = (Lock::new(algorithm), AtomicU64::new(0));
        Adaptive { limit, algorithm, drops, clock }
    }

    /// Takes all of `permits` or none, until the guard ends.
    ///
    /// Never blocks or allocates; reads the clock once if granted. Asking for 0 permits is always
    /// granted, and its end is no sample.
    ///
    /// # Errors
    ///
    /// [`ConcurrencyDenied`] if fewer than `permits` are left, or if others [wait in
    /// line](ConcurrencyDenied::others_wait).
    #[inline]
    pub fn try_acquire(&self, permits: u64) -> Result<TimedInFlight<'_, A, C>, ConcurrencyDenied> {
        let in_flight = self.limit.admit(permits)?.in_flight();
        Ok(TimedInFlight::begin(Home::Borrowed(self), permits, in_flight))
    }

    /// Takes permits as [`try_acquire`](Adaptive::try_acquire) does, with a guard that keeps the limit
    /// alive: for tasks, and for structs that hold a guard. Clones the `Arc`, if granted.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Adaptive::try_acquire).
    #[inline]
    pub fn try_acquire_owned(
        self: &Arc<Self>,
        permits: u64,
    ) -> Result<TimedInFlight<'static, A, C>, ConcurrencyDenied>
    where
        A: 'static,
        C: 'static,
    {
        let in_flight = self.limit.admit(permits)?.in_flight();
        Ok(TimedInFlight::begin(Home::Owned(Arc::clone(self)), permits, in_flight))
    }

    /// Calls `act` with the algorithm, to look at it or to change it, and then sets the limit by
    /// it. Returns `None`, and calls nothing, if the algorithm is in use.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::concurrency::{Adaptive, Aimd};
    ///
    /// let adaptive = Adaptive::new(Aimd::new().with_initial(40));
    /// adaptive.with_algorithm(|aimd| *aimd = Aimd::new().with_initial(10).with_max(15));
    /// assert_eq!(adaptive.limit(), 10);
    /// ```
    pub fn with_algorithm<R>(&self, act: impl FnOnce(&mut A) -> R) -> Option<R> {
        let (result, others_wait) = self.algorithm.try_with(|algorithm| {
            let result = act(algorithm);
            let chosen = algorithm.limit().clamp(1, ConcurrencyLimit::MAX);
            // Before the lock is released, so that limits are set in the order of the samples. Only
            // the holder of the lock sets them, so one that stays the same is not written.
            let others_wait = chosen != self.limit.limit() && self.limit.change_limit(chosen);
            (result, others_wait)
        })?;
        // After it: those that are woken may run here, and have samples of their own.
        if others_wait {
            self.limit.tell_line();
        }
        Some(result)
    }

    /// Takes a call of `permits` into account that began at `began_nanos` with `in_flight` permits,
    /// its own included.
    fn observe(&self, began_nanos: u64, in_flight: u64, was_dropped: bool) {
        let ended_nanos = self.clock.now_nanos();
        let rtt_nanos = match ended_nanos.checked_sub(began_nanos) {
            Some(rtt_nanos) => rtt_nanos,
            // The clock has gone back. A drop is one however long it took.
            None if was_dropped => 0,
            None => return,
        };
        let taken = self.with_algorithm(|algorithm| {
            let was_dropped = self.take_drops() || was_dropped;
            algorithm.sample(&Sample {
                rtt: Duration::from_nanos(rtt_nanos),
                in_flight,
                was_dropped,
                ended: Duration::from_nanos(ended_nanos),
            });
        });
        if taken.is_none() && was_dropped {
            // ORDERING: Relaxed. The count publishes nothing. Additions and subtractions see each
            // other under any ordering, so none is lost; and a call that begins after this one has
            // ended finds it.
            // MODEL: `a_drop_beside_another_sample_is_not_lost`.
            self.drops.fetch_add(1, Relaxed);
        }
    }

    /// Returns whether drops were remembered, and forgets them: together they are one, as they are
    /// of one moment.
    fn take_drops(&self) -> bool {
        // ORDERING: Relaxed, as in `observe`. Only the caller that has the lock subtracts, and
        // never more than it has seen.
        // MODEL: `a_drop_beside_another_sample_is_not_lost`.
        let seen = self.drops.load(Relaxed);
        if seen > 0 {
            // ORDERING: Relaxed, as above.
            // MODEL: `a_drop_beside_another_sample_is_not_lost`.
            self.drops.fetch_sub(seen, Relaxed);
        }
        seen > 0
    }
}

impl<A, C> Adaptive<A, C> {
    /// Returns the limit in force.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit.limit()
    }

    /// Returns the number of permits in flight. More than the limit, if that was lowered.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.limit.in_flight()
    }

    /// Returns the number of permits that are left: the largest request that would be granted now,
    /// if nobody waits in line.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.limit.available()
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &C {
        &self.clock
    }
}

impl<A: fmt::Debug, C> fmt::Debug for Adaptive<A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Adaptive");
        shown.field("limit", &self.limit()).field("in_flight", &self.in_flight());
        match self.algorithm.try_with(|algorithm| shown.field("algorithm", algorithm).finish()) {
            Some(result) => result,
            None => shown.finish_non_exhaustive(),
        }
    }
}
