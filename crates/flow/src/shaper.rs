//! The leaky bucket as a queue: requests leave at a fixed rate, in the order in which they came.
//!
//! A [`Shaper`] tells each request its [`Departure`]; a full queue refuses.

// The leaky bucket as a queue: requests leave at a fixed rate, in the order in which they came.
//
// | | |
// |---|---|
// | [`queue`] | who leaves when, and how many are queued |
// | [`error`] | the refusals |
//
// **Theorem.** In any span (s, t] of the clock at most `burst + 1 + r(s, t)` permits leave, where
// `r` is what the rates in force for them let through in the span.
//
// *Proof.* Without a credit, each permit leaves at least an interval of its stretch after the one
// before it, and the first of a stretch no earlier than an interval after the end of the stretch
// before: so no more than `1 + r` leave. A credit makes a stretch start earlier, by at most `burst`
// intervals before the present, and never before the last permit of the stretch before it left. So
// it lets at most `burst` permits leave before their turn. ∎
//
// Progress: each call takes a lock for a moment. Memory: a queue of any size takes the same, and
// some 80 bytes more for each change of the rate whose permits have not left yet.

pub(crate) mod error;
mod queue;

pub use self::error::ShaperError;

use std::fmt;
use std::time::Duration;

use sluicegate::clock::{DefaultClock, Timeline};
use sluicegate::wait::Timer;
use sluicegate::{Clock, Rate};

use crate::latest::{LatestReading, ToldInstant};
use crate::scheduled::{Scheduled, Schedules, Taken};
use crate::sleep::Look;
use crate::sync::Lock;
use crate::units::{duration, nanos};

use self::queue::DrainQueue;

/// A leaky bucket as a bounded queue: requests leave it at a fixed rate, first come, first served,
/// and requests for which it has no room are refused.
///
/// It smooths bursts, where a limiter would refuse the rest of a burst. Each permit leaves an
/// interval (`period / permits` of the rate) after the one before it. A request that finds the
/// queue empty leaves an interval after it came, or at once [if there is a
/// burst](Shaper::with_burst). A request of several permits leaves with the last of them.
///
/// No thread drains the queue. A request is told its instant of departure when it comes, and sleeps
/// until then by itself, as a thread or as a task; or its caller does something else.
///
/// | verb | does |
/// |---|---|
/// | [`shape`](Shaper::shape) | takes a place, and tells when it leaves |
/// | [`acquire_blocking`](Shaper::acquire_blocking) | takes a place, and blocks the thread until it leaves |
/// | [`acquire`](Shaper::acquire) | does so for a task |
///
/// # Accuracy
///
/// Exact: instants are kept as fractions of a nanosecond and rounded up when they are told, so the
/// rate is neither missed nor exceeded in the long run. At a change of the rate, up to a nanosecond
/// is added.
///
/// A clock that goes back by more than a second starts the shaper anew with an empty queue; that is
/// counted in [`healed`](Shaper::healed). The instants that were told move back with the clock, so
/// that requests leave in the order and after the time that they were told, and no caller sleeps for
/// longer; newcomers may leave between them. If the clock goes back by less, it stands still.
///
/// # Examples
///
/// Four places, of which one leaves every two seconds:
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, rate};
/// use sluicegate_flow::shaper::{Shaper, ShaperError};
///
/// let clock = ManualClock::new();
/// let shaper = Shaper::with_clock(rate!(1 / 2 seconds), 4, &clock);
/// for second in [2, 4, 6, 8] {
///     assert_eq!(shaper.shape(1)?.ready_after(), Duration::from_secs(second));
/// }
/// let refused = shaper.shape(1).unwrap_err();
/// assert_eq!(refused.wait(), Some(Duration::from_secs(10)));
///
/// clock.advance(Duration::from_secs(2));
/// assert_eq!(shaper.queued(), 3);
/// assert_eq!(shaper.shape(1)?.ready_after(), Duration::from_secs(8));
/// # Ok::<(), ShaperError>(())
/// ```
#[doc(alias = "leaky bucket")]
#[doc(alias = "traffic shaping")]
#[doc(alias = "pacing")]
pub struct Shaper<C = DefaultClock> {
    state: Lock<State>,
    clock: C,
}

/// A place in the queue of a [`Shaper`], and the instant at which it leaves.
pub type Departure<'a, C> = Scheduled<'a, Shaper<C>>;

struct State {
    queue: DrainQueue,
    latest: LatestReading,
}

impl Shaper {
    /// Creates a shaper from which requests leave at `rate`, with a queue of `size` permits, on a
    /// clock of its own. A size above [`MAX`](Shaper::MAX) is taken as that.
    #[must_use]
    pub fn new(rate: Rate, size: u64) -> Shaper {
        Shaper::with_clock(rate, size, DefaultClock::default())
    }
}

impl<C: Clock> Shaper<C> {
    /// The largest size of a queue, and the largest burst.
    pub const MAX: u64 = DrainQueue::MAX;

    /// Creates one as [`new`](Shaper::new) does, on `clock`, which is read once.
    #[must_use]
    pub fn with_clock(rate: Rate, size: u64, clock: C) -> Shaper<C> {
        let now_nanos = clock.now_nanos();
        let queue = DrainQueue::new(rate, size, 0, now_nanos);
        let latest = LatestReading::new(now_nanos);
        Shaper { state: Lock::new(State { queue, latest }), clock }
    }

    /// Lets `burst` permits leave at once at the start, and as many as there have been intervals,
    /// at most `burst`, after a time in which the queue was empty. With a burst of 1, a request that
    /// comes an interval or more after the last departure does not wait. Reads the clock.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, rate};
    /// use sluicegate_flow::shaper::Shaper;
    ///
    /// let shaper = Shaper::with_clock(rate!(2 / second), 4, ManualClock::new()).with_burst(1);
    /// assert_eq!(shaper.shape(1)?.ready_after(), Duration::ZERO);
    /// assert_eq!(shaper.shape(1)?.ready_after(), Duration::from_millis(500));
    /// # Ok::<(), sluicegate_flow::shaper::ShaperError>(())
    /// ```
    #[must_use]
    pub fn with_burst(self, burst: u64) -> Shaper<C> {
        let with = |state: &mut State| {
            let State { latest, ref queue } = *state;
            state.queue = DrainQueue::new(queue.rate(), queue.size, burst, latest.nanos());
        };
        self.advanced(with);
        self
    }

    /// Takes a place in the queue for `permits`, and tells when they leave.
    ///
    /// Takes a lock for a moment; does not allocate; reads the clock once. Asking for 0 permits is
    /// always granted, at once, and changes nothing.
    ///
    /// # Errors
    ///
    /// * [`ShaperError::TooLarge`] for more than the size and the burst together.
    /// * [`ShaperError::Overflow`] if the queue has no room for all of them.
    pub fn shape(&self, permits: u64) -> Result<Departure<'_, C>, ShaperError> {
        self.shape_within(permits, Duration::MAX)
    }

    /// Takes a place as [`shape`](Shaper::shape) does, if the permits leave within `longest`.
    ///
    /// # Errors
    ///
    /// [`ShaperError::TooLate`] if they would not, and the errors of [`shape`](Shaper::shape).
    pub fn shape_within(
        &self,
        permits: u64,
        longest: Duration,
    ) -> Result<Departure<'_, C>, ShaperError> {
        self.advanced(|state| {
            let State { queue, latest } = state;
            let now_nanos = latest.nanos();
            if permits == 0 {
                return Ok(Scheduled::new(self, 0, None, latest.told(now_nanos), Duration::ZERO));
            }
            let limit = queue.size.saturating_add(queue.burst);
            if permits > limit {
                return Err(ShaperError::TooLarge { limit });
            }
            let from_now = |at_nanos: u128| duration(at_nanos.saturating_sub(now_nanos.into()));
            let outlook = queue.outlook(permits, now_nanos);
            let wait = from_now(outlook.leaves_nanos);
            if let Some(room_nanos) = outlook.room_nanos {
                return Err(ShaperError::Overflow { wait, retry_after: from_now(room_nanos) });
            }
            if wait > longest {
                return Err(ShaperError::TooLate { wait });
            }
            let at = latest.told(now_nanos.saturating_add(nanos(wait)));
            Ok(Scheduled::new(self, permits, Some(queue.push(permits)), at, wait))
        })
    }

    /// Takes a place in the queue for `permits`, and lets a task sleep by `timer` until they leave.
    ///
    /// # Errors
    ///
    /// As for [`shape`](Shaper::shape), at the first poll.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before its permits leave gives its place back, if no other request
    /// has come since; otherwise the place passes unused.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::shaper::{Shaper, ShaperError};
    /// use sluicegate::wait::ThreadTimer;
    ///
    /// async fn send(shaper: &Shaper) -> Result<(), ShaperError> {
    ///     shaper.acquire(1, ThreadTimer).await?;
    ///     Ok(()) // the request, at its turn
    /// }
    /// ```
    pub async fn acquire<T: Timer>(&self, permits: u64, timer: T) -> Result<(), ShaperError> {
        self.shape(permits)?.wait_or_cancel(timer).await;
        Ok(())
    }

    /// Takes a place in the queue for `permits`, and blocks the thread until they leave.
    ///
    /// # Errors
    ///
    /// As for [`shape`](Shaper::shape), at once.
    pub fn acquire_blocking(&self, permits: u64) -> Result<(), ShaperError> {
        self.shape(permits).map(Scheduled::wait_blocking)
    }

    /// Changes the rate, for requests that come from now on. Requests in the queue leave when they
    /// have been told, and the others an interval apart after them. The savings of the burst stay.
    ///
    /// Takes a lock for a moment, reads the clock, and may allocate.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{ManualClock, rate};
    /// use sluicegate_flow::shaper::Shaper;
    ///
    /// let shaper = Shaper::with_clock(rate!(1 / 2 seconds), 4, ManualClock::new());
    /// let told = [shaper.shape(1)?, shaper.shape(1)?].map(|departure| departure.at_nanos());
    /// assert_eq!(told, [2_000_000_000, 4_000_000_000]);
    /// shaper.set_rate(rate!(10 / second));
    /// assert_eq!(shaper.shape(1)?.ready_after(), Duration::from_millis(4_100));
    /// # Ok::<(), sluicegate_flow::shaper::ShaperError>(())
    /// ```
    pub fn set_rate(&self, rate: Rate) {
        self.advanced(|state| state.queue.set_rate(rate, state.latest.nanos()));
    }

    /// Changes the size of the queue. Requests in it stay, even if they are more.
    pub fn set_size(&self, size: u64) {
        self.state.lock().queue.size = size.min(Self::MAX);
    }

    /// Returns the number of permits in the queue, which have not left. Takes the lock, and reads the
    /// clock.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.advanced(|state| state.queue.queued(state.latest.nanos()))
    }

    /// Returns the rate in force.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.state.lock().queue.rate()
    }

    /// Returns the size of the queue.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.state.lock().queue.size
    }

    /// Returns how often the shaper has started anew because its clock went back.
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.state.lock().latest.healed()
    }

    /// Returns the clock.
    #[must_use]
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// Calls `act` with the state as of now. Nothing is changed if the clock panics.
    fn advanced<R>(&self, act: impl FnOnce(&mut State) -> R) -> R {
        self.advanced_by(None, act)
    }

    /// Waits for a caller that may have slept until `slept`.
    fn advanced_by<R>(&self, slept: Option<ToldInstant>, act: impl FnOnce(&mut State) -> R) -> R {
        let mut state = self.state.lock();
        let now_nanos = self.clock.now_nanos();
        let State { queue, latest } = &mut *state;
        if latest.note(now_nanos, slept) {
            queue.clear(now_nanos);
        }
        queue.advance(latest.nanos());
        act(&mut state)
    }
}

impl<C: Clock> Schedules for Shaper<C> {
    fn timeline(&self) -> Timeline {
        self.clock.timeline()
    }

    fn look(&self, at: ToldInstant, has_slept: bool) -> Look {
        self.advanced_by(has_slept.then_some(at), |state| Look::at(&state.latest, at))
    }

    fn take_back(&self, taken: Taken) -> bool {
        self.state.lock().queue.take_back(taken)
    }
}

impl<C: Clock> fmt::Debug for Shaper<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, size) = {
            let state = self.state.lock();
            (state.queue.rate(), state.queue.size)
        };
        f.debug_struct("Shaper").field("rate", &rate).field("size", &size).finish_non_exhaustive()
    }
}
