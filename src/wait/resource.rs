//! A line before a resource of the user's own, whose permits come back at any time and not by a clock, such as calls in
//! flight or connections.
//!
//! ```text
//! take at once    one step of the resource, which fails while the gate is closed
//! wait            a ResourceCaller stands in line: under the line's lock, `take_turn` for the first in it
//! give back       one step of the resource; if that finds the gate closed, `ResourceLine::serve`
//! change          one step of the resource; if that finds the gate closed, `ResourceLine::limit_changed`
//! ```
//!
//! There is no clock here: a caller's turn comes when enough has come back, and nobody knows when that will be.
//! So no caller has an instant of its own; each sleeps until it is woken, or until its time is over by the timer
//! that it sleeps on. And every event that may bring a turn serves the line.

pub(crate) mod caller;

use crate::decision::denied::{Denied, Shortfall};
use crate::decision::forecast::Forecast;
use crate::decision::forecast::known::KnownForecast;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

use super::charged::Charged;
use super::line;
use super::line_handle::Line;
use super::line_lock::LineLock;
use super::turn::{Taken, TakesTurns, Turn};

/// A resource with permits that are held and come back, which a [`ResourceLine`] puts a line before.
///
/// Its state has a **gate**, which is closed while callers stand in line. An implementation promises:
///
/// * While the gate is closed, only [`take_turn`](Resource::take_turn) takes permits.
/// * Only [`take_turn`](Resource::take_turn) and [`open_gate`](Resource::open_gate) move the gate. The line calls
///   them, one at a time.
/// * Each step sees the gate and the permits of one moment, and no step overwrites another: as in one atomic
///   word, changed by compare-and-swap and subtraction, or behind one lock.
/// * A caller that gives permits back, and finds the gate closed in that step, calls
///   [`serve`](ResourceLine::serve) after it; one that changes the limit,
///   [`limit_changed`](ResourceLine::limit_changed).
///
/// Its methods are called under the line's lock, so none of them may wait for the line.
///
/// [`ResourceLine`] has an example.
pub trait Resource {
    /// Returns the most permits that may be held at a time.
    fn limit(&self) -> u64;

    /// Returns whether the gate is closed. Only a hint, unless the line calls it.
    fn is_gated(&self) -> bool;

    /// Takes `permits` for the first in line, and leaves the gate closed if it `has_others` behind it, else open. If
    /// they are not there, closes the gate: in the same step in which it finds that.
    fn take_turn(&self, permits: u64, has_others: bool) -> ResourceTurn;

    /// Opens the gate, if it is closed.
    fn open_gate(&self);

    /// Gives permits back that a caller in line was granted and was not told of. The line is served after it.
    fn give_back(&self, permits: u64);
}

/// The result of a [turn](Resource::take_turn).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceTurn {
    /// The permits are taken. The number is passed on to the caller, with a meaning that the resource gives it.
    Granted(u64),
    /// Too few are there; the gate is closed.
    NotYet,
    /// More than the limit.
    TooLarge {
        /// The limit.
        limit: u64,
    },
}

/// A resource and the line before it, for threads and tasks, first come, first served.
///
/// # Guarantees
///
/// * **Order.** Callers are granted permits in the order in which they came to stand, whatever they ask for.
/// * **Nobody overtakes.** No other call takes permits while somebody stands in line, if the resource keeps its
///   [promises](Resource).
/// * **Nobody is forgotten.** When all calls that gave permits back or changed the limit have returned, nobody in
///   line could be granted permits.
/// * **To leave is exact.** A [`ResourceCaller`](crate::wait::ResourceCaller) that is dropped leaves the line. Permits that it was granted and not
///   told of are given back.
///
/// A line that nobody waits in costs nothing, and has allocated nothing. It takes about eighty bytes for each
/// caller in it. While callers wait, each arrival, departure and [`serve`](ResourceLine::serve) takes a lock for a
/// moment; only callers that are granted permits, or refused, are woken.
///
/// # Examples
///
/// ```
/// use std::sync::{Mutex, MutexGuard};
/// use std::task::{Poll, Waker};
/// use sluicegate::wait::{Resource, ResourceCaller, ResourceLine, ResourceTurn};
///
/// /// Two seats.
/// struct Seats(Mutex<State>);
///
/// struct State {
///     free: u64,
///     is_gated: bool,
/// }
///
/// impl Seats {
///     fn state(&self) -> MutexGuard<'_, State> {
///         self.0.lock().unwrap()
///     }
/// }
///
/// impl Resource for Seats {
///     fn limit(&self) -> u64 {
///         2
///     }
///
///     fn is_gated(&self) -> bool {
///         self.state().is_gated
///     }
///
///     fn take_turn(&self, permits: u64, has_others: bool) -> ResourceTurn {
///         let mut state = self.state();
///         if permits > 2 {
///             return ResourceTurn::TooLarge { limit: 2 };
///         }
///         state.is_gated = has_others || permits > state.free;
///         match state.free.checked_sub(permits) {
///             Some(free) => {
///                 state.free = free;
///                 ResourceTurn::Granted(free)
///             }
///             None => ResourceTurn::NotYet,
///         }
///     }
///
///     fn open_gate(&self) {
///         self.state().is_gated = false;
///     }
///
///     fn give_back(&self, permits: u64) {
///         self.state().free += permits;
///     }
/// }
///
/// /// Gives a seat back, and serves the line if anybody waits.
/// fn leave(seats: &ResourceLine<Seats>) {
///     let is_gated = {
///         let mut state = seats.resource().state();
///         state.free += 1;
///         state.is_gated
///     };
///     if is_gated {
///         seats.serve();
///     }
/// }
///
/// let seats = ResourceLine::new(Seats(Mutex::new(State { free: 2, is_gated: false })));
/// let [mut both, mut one] = [2, 1].map(|permits| ResourceCaller::new(&seats, permits));
/// assert_eq!(both.poll_turn(Waker::noop()), Poll::Ready(Ok(0)));
/// assert_eq!(one.poll_turn(Waker::noop()), Poll::Pending);
/// assert_eq!(seats.line().waiters(), 1);
/// leave(&seats);
/// assert_eq!(one.poll_turn(Waker::noop()), Poll::Ready(Ok(0)));
/// ```
#[derive(Debug)]
pub struct ResourceLine<R> {
    resource: R,
    line_lock: LineLock,
}

impl<R: Resource> ResourceLine<R> {
    /// Puts a line before `resource`, whose gate is open. Does not allocate.
    pub fn new(resource: R) -> ResourceLine<R> {
        ResourceLine { resource, line_lock: LineLock::new() }
    }

    /// Returns the resource.
    #[inline]
    pub fn resource(&self) -> &R {
        &self.resource
    }

    /// Grants those in line what has come back, and wakes them. Takes the line's lock, and may allocate; a panic of
    /// a waker goes on from here, after all are granted.
    #[cold]
    pub fn serve(&self) {
        line::serve(self);
    }

    /// Serves the line after a change of the limit: a caller that wants more than the new one is refused.
    #[cold]
    pub fn limit_changed(&self) {
        line::poke(self);
    }
}

impl<R: Resource + Sync> ResourceLine<R> {
    /// Returns the line, to ask about it, to bound it or to close it.
    #[must_use]
    pub fn line(&self) -> Line<'_> {
        Line::of(self)
    }
}

impl<R> AsRef<ResourceLine<R>> for ResourceLine<R> {
    fn as_ref(&self) -> &ResourceLine<R> {
        self
    }
}

/// A clock that always reads the same instant: what comes back at any time has no other.
struct NoTime;

impl Clock for NoTime {
    fn now_nanos(&self) -> u64 {
        0
    }
}

impl<R: Resource> TakesTurns for ResourceLine<R> {
    fn line_lock(&self) -> &LineLock {
        &self.line_lock
    }

    fn clock(&self) -> &dyn Clock {
        &NoTime
    }

    fn is_gated(&self) -> bool {
        self.resource.is_gated()
    }

    fn limit(&self) -> u64 {
        self.resource.limit()
    }

    /// Never: all that come by the line stand in it.
    fn try_now(&self, permits: u64) -> Result<Grant, Denied> {
        let forecast = self.forecast();
        Err(Denied::Wait(Shortfall { wanted: permits as i64, forecast, which: 0 }))
    }

    fn take_turn(&self, Turn { permits, has_others, .. }: Turn) -> Taken {
        match self.resource.take_turn(permits, has_others) {
            ResourceTurn::Granted(told) => {
                // No words of a limiter: what is given back, and what the caller is told.
                let charged = Charged { before: permits, after: told, changes: 0 };
                Taken::Granted(Grant { permits, forecast: self.forecast() }, charged)
            }
            ResourceTurn::NotYet => Taken::NotYet,
            ResourceTurn::TooLarge { limit } => Taken::TooLarge { limit },
        }
    }

    fn open_gate(&self) {
        self.resource.open_gate();
    }

    /// Never, as far as anybody knows.
    fn due_nanos(&self, _: Turn) -> u64 {
        u64::MAX
    }

    fn undo(&self, charged: Charged) -> bool {
        self.resource.give_back(charged.before);
        true
    }

    fn wake_first(&self) {
        if self.is_gated() {
            self.line_lock.wake_first();
        }
    }
}

impl<R: Resource> ResourceLine<R> {
    /// Returns the forecast of a resource that does not know when anything comes back.
    fn forecast(&self) -> Forecast {
        let limit = self.resource.limit();
        let unknown = u64::MAX;
        let (reset_nanos, retry_nanos) = (unknown, unknown);
        Forecast::Known(KnownForecast { limit, used: limit, reset_nanos, retry_nanos })
    }
}
