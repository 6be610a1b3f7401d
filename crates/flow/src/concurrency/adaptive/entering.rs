//! Waiting for permits of an adaptive limit.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use sluicegate::Clock;
use sluicegate::wait::{Line, ThreadTimer, Timer};

use crate::concurrency::ConcurrencyLimit;
use crate::concurrency::algorithm::LimitAlgorithm;
use crate::concurrency::entering::error::InFlightError;
use crate::concurrency::in_flight::Home;
use crate::concurrency::queueing::{Limited, Queueing};

use super::Adaptive;
use super::timed::TimedInFlight;

impl<A: LimitAlgorithm, C: Clock> Limited for Adaptive<A, C> {
    type Guard<'a>
        = TimedInFlight<'a, A, C>
    where
        Self: 'a;

    fn limit_in_flight(&self) -> &ConcurrencyLimit {
        &self.limit
    }

    fn guard(home: Home<'_, Self>, permits: u64, in_flight: u64) -> TimedInFlight<'_, A, C> {
        TimedInFlight::begin(home, permits, in_flight)
    }
}

pin_project! {
    /// A caller that waits for permits of an [`Adaptive`] limit: what an [`Entering`] is for a
    /// [`ConcurrencyLimit`]. Its guard tells how the call has ended; the call begins when the caller
    /// is told of its permits.
    ///
    /// # Errors
    ///
    /// All of [`InFlightError`]. A caller that is refused has taken nothing.
    ///
    /// # Cancel safety
    ///
    /// That of an [`Entering`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate_flow::concurrency::{Adaptive, InFlightError, Outcome, Vegas};
    ///
    /// async fn call(adaptive: &Adaptive<Vegas>) -> Result<(), InFlightError> {
    ///     let guard = adaptive.acquire(1).timeout(Duration::from_secs(1)).await?;
    ///     guard.end(Outcome::Success);
    ///     Ok(())
    /// }
    ///
    /// let adaptive = Adaptive::new(Vegas::new());
    /// adaptive.acquire(1).wait_blocking()?.end(Outcome::Success);
    /// assert_eq!(adaptive.in_flight(), 0);
    /// # Ok::<(), InFlightError>(())
    /// ```
    ///
    /// [`Entering`]: crate::concurrency::Entering
    #[must_use = "a future does nothing until it is polled"]
    pub struct TimedEntering<'a, A: LimitAlgorithm, C: Clock, T: Timer = ThreadTimer> {
        #[pin]
        queueing: Queueing<'a, Adaptive<A, C>, T>,
    }
}

impl<'a, A: LimitAlgorithm, C: Clock, T: Timer> TimedEntering<'a, A, C, T> {
    /// Waits for no longer than `timeout`; see [`Entering::timeout`](crate::concurrency::Entering::timeout).
    pub fn timeout(self, timeout: Duration) -> TimedEntering<'a, A, C, T> {
        TimedEntering { queueing: self.queueing.timeout(timeout) }
    }

    /// Measures the timeout by `timer` instead of [`ThreadTimer`]. A caller without a timeout needs
    /// no timer.
    pub fn timer<U: Timer>(self, timer: U) -> TimedEntering<'a, A, C, U> {
        TimedEntering { queueing: self.queueing.timer(timer) }
    }

    /// Blocks the thread until there is an answer.
    ///
    /// # Errors
    ///
    /// All of [`InFlightError`].
    pub fn wait_blocking(self) -> Result<TimedInFlight<'a, A, C>, InFlightError> {
        self.queueing.wait_blocking()
    }
}

impl<'a, A: LimitAlgorithm, C: Clock, T: Timer> Future for TimedEntering<'a, A, C, T> {
    type Output = Result<TimedInFlight<'a, A, C>, InFlightError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().queueing.poll(context)
    }
}

impl<A: LimitAlgorithm, C: Clock, T: Timer> fmt::Debug for TimedEntering<'_, A, C, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let permits = self.queueing.permits();
        f.debug_struct("TimedEntering").field("permits", &permits).finish_non_exhaustive()
    }
}

/// Waiting: see the verbs of the same names of a [`ConcurrencyLimit`].
impl<A: LimitAlgorithm, C: Clock> Adaptive<A, C> {
    /// Returns the line before this limit, to ask about it, to bound it or to close it.
    #[must_use]
    pub fn line(&self) -> Line<'_> {
        self.limit.line()
    }

    /// Returns a future of all of `permits`, until the guard ends: to `.await`, or for a thread to
    /// [block](TimedEntering::wait_blocking) on.
    ///
    /// # Errors
    ///
    /// The future's: [`InFlightError::TooLarge`] at once for more than the limit, or as soon as the algorithm
    /// lowers it below `permits`; [`InFlightError::LineFull`], [`InFlightError::Evicted`] and
    /// [`InFlightError::Closed`] as the line has it.
    pub fn acquire(&self, permits: u64) -> TimedEntering<'_, A, C> {
        TimedEntering { queueing: Queueing::new(Home::Borrowed(self), permits, ThreadTimer) }
    }

    /// Takes all of `permits`, until the guard ends, and blocks the thread until they are there.
    ///
    /// # Errors
    ///
    /// As for [`acquire`](Adaptive::acquire).
    pub fn acquire_blocking(&self, permits: u64) -> Result<TimedInFlight<'_, A, C>, InFlightError> {
        self.acquire(permits).wait_blocking()
    }

    /// Does the same as [`acquire`](Adaptive::acquire), with a future and a guard that
    /// keep the limit alive: for tasks that are spawned.
    pub fn acquire_owned(self: &Arc<Self>, permits: u64) -> TimedEntering<'static, A, C>
    where
        A: 'static,
        C: 'static,
    {
        let home = Home::Owned(Arc::clone(self));
        TimedEntering { queueing: Queueing::new(home, permits, ThreadTimer) }
    }
}
