//! A call that waits to be admitted.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use crate::concurrency::InFlightError;
use pin_project_lite::pin_project;
use sluicegate::Grant;
use sluicegate::compose::Unlimited;
use sluicegate::wait::{AcquireError, ThreadTimer, Timer, Waiting};

use crate::block_on::block_on_until;
use crate::time_limit::CancelToken;

use super::enter::Enter;
use super::enter_in_line::EnterInLine;
use super::error::{AdmissionError, AdmitError};
use super::rate::WaitOrUnlimited;
use super::{Admission, Admitted};

pin_project! {
    /// A call that waits to be admitted by an [`Admission`]: for a place in flight, and then for the
    /// permits of its rate.
    ///
    /// | | then |
    /// |---|---|
    /// | `.await`, [`wait_blocking`](Admitting::wait_blocking) for threads | the caller runs the operation by itself |
    /// | [`execute`](Admitting::execute), [`try_execute`](Admitting::try_execute) | a future runs, with the time limit |
    /// | [`run`](Admitting::run) | a closure runs, with the time limit |
    ///
    /// Does nothing until it is polled. A caller comes to the first line at its first poll, and to
    /// the second one at the poll at which it has its place in flight. While it stands in the
    /// second line it keeps that place: see [`Admission`]. If it is polled again after its answer,
    /// it asks anew.
    ///
    /// Does not allocate by itself, but as the two lines and the timer do.
    ///
    /// # Errors
    ///
    /// [`AdmissionError::InFlight`] and [`AdmissionError::Rate`], which name the limit. A call that is
    /// refused by either has a place in neither line, and has taken nothing.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time. A caller that waits for a place has taken nothing; one that had
    /// been granted a place, without its having been polled since, gives it back. A caller that
    /// waits for the rate gives its place back, and has taken no permits; permits that had been
    /// granted to it, without its having been polled since, are given back if nothing else was
    /// granted in between, as by a [`Waiting`], and otherwise lost. An operation of
    /// [`execute`](Admitting::execute) that has begun is dropped, or goes on, as a
    /// [`TimeLimited`](crate::time_limit::TimeLimited) has it.
    ///
    /// # Fairness
    ///
    /// First come, first served, in both lines. A future that is not polled keeps what it has: its
    /// place in flight, if it waits for the rate.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate_flow::admission::{Admission, AdmitError};
    /// use sluicegate_flow::concurrency::ConcurrencyLimit;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), AdmitError> {
    /// let admission = Admission::new()
    ///     .in_flight("connections", Arc::new(ConcurrencyLimit::new(8)))
    ///     .rate("queries", TokenBucket::new(quota!(1_000 / second, burst 1)));
    ///
    /// for number in 0..3 {
    ///     // Up to a second for the place and the permit together.
    ///     let call = admission.admit(1).timeout(Duration::from_secs(1));
    ///     assert_eq!(call.execute(async move { number }).await?, number);
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use = "a future does nothing until it is polled"]
    pub struct Admitting<'a, L, I: EnterInLine, T: Timer = ThreadTimer> {
        admission: &'a Admission<L, I, T>,
        permits: u64,
        timeout: Option<Duration>,
        // Reading of the rate's clock when the caller came to wait for a place, if it has a timeout.
        since_nanos: Option<u64>,
        #[pin]
        stage: Stage<'a, I, T>,
        #[pin]
        sleep: Option<T::Sleep>,
    }
}

pin_project! {
    #[project = StageMut]
    #[project_replace = StageLeft]
    enum Stage<'a, I: EnterInLine, T: Timer> {
        Begin,
        ForPlace { #[pin] entering: I::Entering },
        // Dropped in this order: the caller leaves the rate's line before others can come to it by
        // the place.
        ForRate { #[pin] waiting: Waiting<'a, T>, guard: I::Guard },
    }
}

type Answer<I> = Result<Admitted<<I as Enter>::Guard>, AdmitError>;

impl<'a, L: WaitOrUnlimited, I: EnterInLine, T: Timer + Clone> Admitting<'a, L, I, T> {
    pub(super) fn new(admission: &'a Admission<L, I, T>, permits: u64) -> Admitting<'a, L, I, T> {
        let stage = Stage::Begin;
        Admitting { admission, permits, timeout: None, since_nanos: None, stage, sleep: None }
    }

    /// Waits for no longer than `timeout` for the place and the permits together, counted from the
    /// first poll. Waiting for the place is measured by the timer, and for threads by the system's
    /// monotonic clock. Waiting for the rate is measured by the rate's clock, and so is, for tasks,
    /// the time that the first wait has left; if the permits are not due by the end of it, the
    /// caller is refused at once.
    ///
    /// With a timeout of zero it tries once, and does not stand in the line in flight. A caller
    /// that waits already asks anew, with all of this timeout.
    pub fn timeout(self, timeout: Duration) -> Admitting<'a, L, I, T> {
        Admitting { timeout: Some(timeout), ..Admitting::new(self.admission, self.permits) }
    }

    /// Blocks the thread until there is an answer.
    ///
    /// # Errors
    ///
    /// As for the future.
    pub fn wait_blocking(self) -> Result<Admitted<I::Guard>, AdmitError> {
        let Admitting { admission, permits, timeout, .. } = self;
        // It may have been polled, and have a place.
        drop(self);
        let mut end = None;
        let entered = if has_no_time(timeout) {
            admission.in_flight.1.enter_now()
        } else {
            // `None` is for ever, or beyond the end of the clock.
            let set_end = || {
                end = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
                end
            };
            block_on_until(admission.in_flight.1.enter(), set_end)
                .unwrap_or(Err(InFlightError::TimedOut))
        };
        let guard = entered.map_err(|error| admission.refused_place(error))?;
        let left = end.map(|end| end.saturating_duration_since(Instant::now())).or(timeout);
        let granted = match admission.rate.1.waiting(permits) {
            None => Ok(Unlimited::grant(permits)),
            Some(waiting) => within(waiting, left).wait_blocking(),
        };
        admission.admitted(guard, granted)
    }

    /// Waits as [`wait_blocking`](Admitting::wait_blocking) does, for no longer than until `deadline`. After the
    /// deadline, takes nothing.
    ///
    /// # Errors
    ///
    /// As for the future.
    pub fn wait_blocking_until(self, deadline: Instant) -> Result<Admitted<I::Guard>, AdmitError> {
        let Admitting { admission, permits, .. } = self;
        if let Some(timeout) = deadline.checked_duration_since(Instant::now()) {
            return self.timeout(timeout).wait_blocking();
        }
        if !admission.in_flight.1.is_unlimited() {
            return Err(admission.refused_place(InFlightError::TimedOut));
        }
        if permits > 0
            && let Some(waiting) = admission.rate.1.waiting(permits)
            && let Err(refused) = waiting.wait_blocking_until(deadline)
        {
            return Err(admission.refused_permits(refused));
        }
        self.wait_blocking()
    }

    /// Waits to be admitted, and then runs a future, with the time limit; see
    /// [`TimeLimiter::execute`](crate::time_limit::TimeLimiter::execute). Its time begins when it has been admitted.
    ///
    /// Nothing is taken before the first poll.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`], which names the limit that refused.
    ///
    /// # Cancel safety
    ///
    /// As for this future until the operation begins. From then on dropping it does what dropping a
    /// [`TimeLimited`](crate::time_limit::TimeLimited) does, and the permits stay spent.
    pub async fn execute<F>(self, operation: F) -> Result<F::Output, AdmitError>
    where
        F: Future + Send + 'static,
    {
        let admission = self.admission;
        let guard = self.await?.into_guard();
        admission.execute_admitted(guard, operation).await
    }

    /// Runs an operation that may fail as [`execute`](Admitting::execute) does, and counts an `Err`
    /// as a failure of the time limiter's.
    ///
    /// # Errors
    ///
    /// [`AdmissionError::Failed`] with the operation's own error; else as for `execute`.
    ///
    /// # Cancel safety
    ///
    /// As for [`execute`](Admitting::execute).
    pub async fn try_execute<F, R, E>(self, operation: F) -> Result<R, AdmitError<E>>
    where
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let admission = self.admission;
        let guard = self.await.map_err(AdmissionError::with_error)?.into_guard();
        admission.try_execute_admitted(guard, operation).await
    }

    /// Waits to be admitted, and then runs a closure that may block, with the time limit; see
    /// [`TimeLimiter::run`](crate::time_limit::TimeLimiter::run). Its time begins when it has been admitted.
    ///
    /// Blocks the thread for both. Without a time limit the closure runs on the calling thread, with a
    /// token that nobody cancels.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`], which names the limit that refused.
    ///
    /// # Panics
    ///
    /// If the closure panics in time, with its panic.
    pub fn run<C, R>(self, operation: C) -> Result<R, AdmitError>
    where
        C: FnOnce(&CancelToken) -> R + Send + 'static,
        R: Send + 'static,
    {
        let admission = self.admission;
        let guard = self.wait_blocking()?.into_guard();
        admission.run_admitted(guard, operation)
    }
}

impl<L: WaitOrUnlimited, I: EnterInLine, T: Timer + Clone> Future for Admitting<'_, L, I, T> {
    type Output = Result<Admitted<I::Guard>, AdmitError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let admission = *this.admission;
        let (permits, timeout) = (*this.permits, *this.timeout);
        loop {
            let entered = match this.stage.as_mut().project() {
                StageMut::Begin => {
                    *this.since_nanos = None;
                    if !has_no_time(timeout) {
                        let entering = admission.in_flight.1.enter();
                        this.stage.set(Stage::ForPlace { entering });
                        continue;
                    }
                    admission.in_flight.1.enter_now()
                }
                StageMut::ForPlace { entering } => match entering.poll(context) {
                    Poll::Ready(entered) => entered,
                    Poll::Pending => {
                        let Some(timeout) = timeout else { return Poll::Pending };
                        if this.sleep.is_none() {
                            *this.since_nanos = admission.now_nanos(permits);
                            this.sleep.set(Some(admission.timer.sleep(timeout)));
                        }
                        let sleep = this.sleep.as_mut().as_pin_mut();
                        if sleep.is_some_and(|sleep| sleep.poll(context).is_pending()) {
                            return Poll::Pending;
                        }
                        Err(InFlightError::TimedOut)
                    }
                },
                StageMut::ForRate { waiting, .. } => {
                    let granted = ready!(waiting.poll(context));
                    match this.stage.as_mut().project_replace(Stage::Begin) {
                        StageLeft::ForRate { guard, .. } => {
                            return Poll::Ready(admission.admitted(guard, granted));
                        }
                        // It was just there.
                        _ => continue,
                    }
                }
            };
            // What is dropped here is a user's, and may panic: while the guard can still be.
            this.sleep.set(None);
            this.stage.set(Stage::Begin);
            let guard = match entered {
                Ok(guard) => guard,
                Err(error) => return Poll::Ready(Err(admission.refused_place(error))),
            };
            let Some(waiting) = admission.rate.1.waiting(permits) else {
                return Poll::Ready(admission.admitted(guard, Ok(Unlimited::grant(permits))));
            };
            let elapsed = this.since_nanos.map_or(Duration::ZERO, |since_nanos| {
                Duration::from_nanos(waiting.now_nanos().saturating_sub(since_nanos))
            });
            let left = timeout.map(|timeout| timeout.saturating_sub(elapsed));
            let waiting = within(waiting, left).timer(admission.timer.clone());
            this.stage.set(Stage::ForRate { waiting, guard });
        }
    }
}

impl<L: WaitOrUnlimited, I: EnterInLine, T> Admission<L, I, T> {
    /// Reads the clock of the rate, if there is one.
    fn now_nanos(&self, permits: u64) -> Option<u64> {
        self.rate.1.waiting(permits).map(|waiting| waiting.now_nanos())
    }

    fn refused_place(&self, refusal: InFlightError) -> AdmitError {
        AdmissionError::InFlight { name: Arc::clone(&self.in_flight.0), refusal }
    }

    fn refused_permits(&self, denied: AcquireError) -> AdmitError {
        AdmissionError::Rate { name: Arc::clone(&self.rate.0), denied }
    }

    /// Answers a caller with a place. The place is free again if the rate has refused.
    fn admitted(&self, guard: I::Guard, granted: Result<Grant, AcquireError>) -> Answer<I> {
        let grant = granted.map_err(|denied| self.refused_permits(denied))?;
        Ok(Admitted { grant, guard })
    }
}

/// Lets a caller wait for no longer than `left`, if that is given.
fn within(waiting: Waiting<'_>, left: Option<Duration>) -> Waiting<'_> {
    match left {
        Some(left) => waiting.timeout(left),
        None => waiting,
    }
}

/// Returns true for a caller that is not to wait at all.
fn has_no_time(timeout: Option<Duration>) -> bool {
    timeout.is_some_and(|timeout| timeout.is_zero())
}

impl<L, I: EnterInLine, T: Timer> fmt::Debug for Admitting<'_, L, I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admitting").field("permits", &self.permits).finish_non_exhaustive()
    }
}
