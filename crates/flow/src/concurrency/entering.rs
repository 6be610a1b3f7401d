//! Waiting for permits in flight: the futures for tasks, and the verbs of both.

pub(crate) mod error;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;
use sluicegate::wait::{Line, ThreadTimer, Timer};

use self::error::InFlightError;
use super::ConcurrencyLimit;
use super::in_flight::{Home, InFlight};
use super::queueing::Queueing;

pin_project! {
    /// A caller that waits for permits of a [`ConcurrencyLimit`], first come, first served: a
    /// future for tasks, and [`wait_blocking`](Entering::wait_blocking) for threads. Both stand in one line.
    ///
    /// Does nothing until it is polled. A caller comes to the line at its first poll. If it is
    /// polled again after its answer, it asks anew.
    ///
    /// A future of [`acquire_owned`](ConcurrencyLimit::acquire_owned) is an
    /// `Entering<'static>`: it keeps the limit alive, and so does its guard.
    ///
    /// # Errors
    ///
    /// All of [`InFlightError`]. A caller that is refused has taken nothing.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time. A caller that still stands in line leaves it, and has taken
    /// nothing. Permits that had been granted to it, without its having been polled since, come back
    /// at once, as if their guard had been dropped.
    ///
    /// # Fairness
    ///
    /// Callers are granted permits in the order of their first polls, whatever they ask for.
    /// Permits granted to a future that is not polled are in flight until it is dropped.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlightError};
    ///
    /// async fn send(limit: &ConcurrencyLimit) -> Result<(), InFlightError> {
    ///     let _guard = limit.acquire(3).timeout(Duration::from_secs(1)).await?;
    ///     Ok(()) // the request, with three of the permits in flight
    /// }
    ///
    /// let limit = ConcurrencyLimit::new(4);
    /// assert_eq!(limit.acquire(4).wait_blocking()?.permits(), 4);
    /// # Ok::<(), InFlightError>(())
    /// ```
    #[must_use = "a future does nothing until it is polled"]
    pub struct Entering<'a, T: Timer = ThreadTimer> {
        #[pin]
        queueing: Queueing<'a, ConcurrencyLimit, T>,
    }
}

impl<'a> Entering<'a> {
    pub(super) fn new(home: Home<'a, ConcurrencyLimit>, permits: u64) -> Entering<'a> {
        Entering { queueing: Queueing::new(home, permits, ThreadTimer) }
    }
}

impl<'a, T: Timer> Entering<'a, T> {
    /// Waits for no longer than `timeout`, counted from when the caller comes to stand in line: by
    /// the timer, or for threads by the system's monotonic clock. If it waits already, the time is
    /// counted anew.
    ///
    /// With a timeout of zero it tries once and does not stand in line. Any other timeout, however
    /// short, lets it stand: a line that [evicts](sluicegate::wait::WhenLineFull::EvictOldest) makes room for it
    /// then, even if it gives up a moment later.
    pub fn timeout(self, timeout: Duration) -> Entering<'a, T> {
        Entering { queueing: self.queueing.timeout(timeout) }
    }

    /// Measures the timeout by `timer` instead of [`ThreadTimer`]. A caller without a timeout needs
    /// no timer.
    pub fn timer<U: Timer>(self, timer: U) -> Entering<'a, U> {
        Entering { queueing: self.queueing.timer(timer) }
    }

    /// Blocks the thread until there is an answer.
    ///
    /// # Errors
    ///
    /// All of [`InFlightError`].
    pub fn wait_blocking(self) -> Result<InFlight<'a>, InFlightError> {
        self.queueing.wait_blocking()
    }

    /// Waits as [`wait_blocking`](Entering::wait_blocking) does, for no longer than until `deadline`. A call that
    /// begins at the deadline or after it takes nothing.
    ///
    /// # Errors
    ///
    /// [`InFlightError::TimedOut`], and all others.
    pub fn wait_blocking_until(self, deadline: Instant) -> Result<InFlight<'a>, InFlightError> {
        self.queueing.wait_blocking_until(deadline)
    }
}

impl<'a, T: Timer> Future for Entering<'a, T> {
    type Output = Result<InFlight<'a>, InFlightError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().queueing.poll(context)
    }
}

impl<T: Timer> fmt::Debug for Entering<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entering")
            .field("permits", &self.queueing.permits())
            .finish_non_exhaustive()
    }
}

/// Waiting. Callers stand in one line for threads and tasks, first come,
/// first served.
///
/// A limit that nobody waits for costs no more than without. The first caller that waits allocates
/// the line; a line takes about eighty bytes for each caller in it. While callers wait, each
/// arrival, departure and end of a guard takes a lock for a moment; an end wakes the callers that
/// its permits suffice for, and nobody else.
impl ConcurrencyLimit {
    /// Returns the line before this limit, to ask about it, to bound it or to close it. Its
    /// [`AcquireError`](sluicegate::wait::AcquireError) is an [`InFlightError`] here.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlightError};
    /// use sluicegate::wait::LineLimits;
    ///
    /// let limit = ConcurrencyLimit::new(1);
    /// limit.line().set_limits(LineLimits::new().max_waiters(0));
    /// let _held = limit.acquire_blocking(1)?;
    /// assert_eq!(limit.acquire_blocking(1).unwrap_err(), InFlightError::LineFull);
    /// # Ok::<(), InFlightError>(())
    /// ```
    #[must_use]
    pub fn line(&self) -> Line<'_> {
        self.line_of_word().line()
    }

    /// Returns a future of all of `permits`, until the guard is dropped: to `.await`, or for a thread to
    /// [block](Entering::wait_blocking) on.
    ///
    /// Asking for 0 permits is always granted, at once.
    ///
    /// A caller that holds permits and acquires more may wait for itself for ever, or two for each
    /// other: take all at once, and [split](InFlight::split) them.
    ///
    /// # Errors
    ///
    /// The future's: [`InFlightError::TooLarge`] at once for more than the limit;
    /// [`InFlightError::LineFull`], [`InFlightError::Evicted`] and [`InFlightError::Closed`] as the
    /// line has it.
    pub fn acquire(&self, permits: u64) -> Entering<'_> {
        Entering::new(Home::Borrowed(self), permits)
    }

    /// Takes all of `permits`, until the guard is dropped, and blocks the thread until they are there.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](ConcurrencyLimit::acquire).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlightError};
    ///
    /// let limit = ConcurrencyLimit::new(2);
    /// std::thread::scope(|scope| {
    ///     for _ in 0..5 {
    ///         scope.spawn(|| {
    ///             let _guard = limit.acquire_blocking(1)?;
    ///             // ... at most two at a time
    ///             Ok::<(), InFlightError>(())
    ///         });
    ///     }
    /// });
    /// assert_eq!(limit.in_flight(), 0);
    /// ```
    pub fn acquire_blocking(&self, permits: u64) -> Result<InFlight<'_>, InFlightError> {
        self.acquire(permits).wait_blocking()
    }

    /// Waits as [`acquire`](ConcurrencyLimit::acquire) does, with a future and a guard
    /// that keep the limit alive: for tasks that are spawned. Its [`wait_blocking`](Entering::wait_blocking) is for
    /// threads. Clones the `Arc` twice.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlightError};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limit = Arc::new(ConcurrencyLimit::new(1));
    /// let held = limit.try_acquire(1)?;
    /// let entering = limit.acquire_owned(1);
    /// let task = tokio::spawn(async move { entering.await.map(|guard| guard.permits()) });
    /// tokio::task::yield_now().await;
    /// drop(held);
    /// assert_eq!(task.await?, Ok(1));
    /// # Ok(()) }
    /// ```
    pub fn acquire_owned(self: &Arc<Self>, permits: u64) -> Entering<'static> {
        Entering::new(Home::Owned(Arc::clone(self)), permits)
    }
}
