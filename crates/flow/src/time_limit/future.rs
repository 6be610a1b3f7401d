//! A future with a time limit.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use sluicegate::wait::Timer;

use super::error::TimedOut;
use super::events::CallEvent;
use super::late::{Late, LateTask};
use super::record::CallRecord;

pin_project! {
    /// The future of a call of [`TimeLimiter::execute`](crate::time_limit::TimeLimiter::execute) and its
    /// siblings: the operation, or [`TimedOut`] if it takes too long.
    ///
    /// The time begins with the first poll. At each poll the operation goes first, so one that
    /// ends at the instant of its time-out has ended in time. A future that is ready when it is
    /// first polled sets no timer.
    ///
    /// # Cancel safety
    ///
    /// Dropping it before its end counts as [`CallEvent::Dropped`](crate::time_limit::CallEvent::Dropped), and
    /// does with the operation what a time-out would: drops it, or lets it finish elsewhere.
    /// Before the first poll nothing has begun; then the operation is dropped, and nothing is
    /// counted.
    ///
    /// # Panics
    ///
    /// A panic of the operation reaches the caller, and counts as a failure.
    #[must_use = "a future does nothing unless it is polled"]
    pub struct TimeLimited<F, T, O>
    where
        F: Future,
        T: Timer,
    {
        #[pin]
        operation: Operation<F>,
        #[pin]
        sleep: Option<T::Sleep>,
        timer: T,
        timeout: Duration,
        stage: Stage,
        record: Arc<CallRecord>,
        is_failure: fn(&F::Output) -> bool,
        on_late: Option<Box<dyn FnOnce(F::Output) + Send>>,
        // Makes a task of what goes on; `None` if the operation is dropped.
        let_finish: Option<LetFinish<F>>,
        answer: fn(Result<F::Output, TimedOut>) -> O,
    }

    impl<F, T, O> PinnedDrop for TimeLimited<F, T, O>
    where
        F: Future,
        T: Timer,
    {
        fn drop(mut this: Pin<&mut Self>) {
            match this.stage {
                Stage::New | Stage::Ended => {}
                Stage::Polled => this.record.note(CallEvent::Failed),
                Stage::Waiting => {
                    this.record.note(CallEvent::Dropped);
                    this.as_mut().leave();
                }
            }
        }
    }
}

/// Runs a future elsewhere. Made where the future is known to be `Send`.
type LetFinish<F> = fn(Pin<Box<F>>, Late<<F as Future>::Output>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    /// The operation or the timer is being polled, or a poll has panicked.
    Polled,
    Waiting,
    Ended,
}

pin_project! {
    #[project = OperationProjection]
    enum Operation<F> {
        /// It ends with its caller, and so has its place there.
        Here { #[pin] future: F },
        /// It may go on alone, so it has to have a place of its own from the beginning.
        Apart { future: Option<Pin<Box<F>>> },
        Gone,
    }
}

/// An operation in the place that it needs for what is to become of it.
pub(super) struct Placed<F: Future> {
    operation: Operation<F>,
    let_finish: Option<LetFinish<F>>,
}

impl<F: Future> Placed<F> {
    /// Places an operation that is dropped at its time-out.
    pub(super) fn here(future: F) -> Placed<F> {
        Placed { operation: Operation::Here { future }, let_finish: None }
    }

    /// Places an operation that goes on after its time-out. Allocates.
    pub(super) fn apart(future: F) -> Placed<F>
    where
        F: Send + 'static,
    {
        fn let_finish<F: Future + Send + 'static>(future: Pin<Box<F>>, late: Late<F::Output>) {
            let record = Arc::clone(&late.record);
            record.spawn(Box::pin(LateTask::new(future, late)));
        }
        let operation = Operation::Apart { future: Some(Box::pin(future)) };
        Placed { operation, let_finish: Some(let_finish) }
    }
}

impl<F: Future, T: Timer, O> TimeLimited<F, T, O> {
    pub(super) fn new(
        placed: Placed<F>,
        timer: T,
        timeout: Duration,
        record: Arc<CallRecord>,
        answer: fn(Result<F::Output, TimedOut>) -> O,
    ) -> TimeLimited<F, T, O> {
        let Placed { operation, let_finish } = placed;
        TimeLimited {
            operation,
            sleep: None,
            timer,
            timeout,
            stage: Stage::New,
            record,
            is_failure: |_| false,
            on_late: None,
            let_finish,
            answer,
        }
    }

    /// Lets the operation finish elsewhere, or drops it.
    fn leave(self: Pin<&mut Self>) {
        let mut this = self.project();
        let operation = match this.operation.as_mut().project() {
            OperationProjection::Apart { future } => future.take(),
            _ => None,
        };
        this.operation.set(Operation::Gone);
        if let (Some(operation), Some(let_finish)) = (operation, *this.let_finish) {
            let record = Arc::clone(this.record);
            let_finish(
                operation,
                Late { record, is_failure: *this.is_failure, hook: this.on_late.take() },
            );
        }
    }

    /// Hands the result of an operation that ends after its time-out, or after this future was
    /// dropped, to `hook`, on the thread where it ends.
    ///
    /// Only of an operation that is let finish; else `hook` is never called. Allocates.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use std::time::Duration;
    /// use sluicegate_flow::time_limit::{OnTimeout, TimeLimit, TimeLimiter};
    /// use tokio::sync::oneshot;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let limit = TimeLimit::new(Duration::from_millis(1))?.with_on_timeout(OnTimeout::LetFinish);
    /// let limiter = TimeLimiter::new("payments", limit);
    /// let (confirm, confirmed) = oneshot::channel();
    /// let pay = async {
    ///     confirmed.await.ok();
    ///     "paid"
    /// };
    /// let (sender, late) = mpsc::channel();
    /// let call = limiter.execute(pay).on_late(move |result| drop(sender.send(result)));
    /// assert!(call.await.unwrap_err().may_finish());
    /// confirm.send(()).ok();
    /// assert_eq!(late.recv()?, "paid");
    /// # Ok(()) }
    /// ```
    pub fn on_late(mut self, hook: impl FnOnce(F::Output) + Send + 'static) -> Self {
        self.on_late = Some(Box::new(hook));
        self
    }

    /// Counts an operation as failed if `is_failure` is true of its result. By default only
    /// `try_execute` counts any result as a failure: an `Err`.
    #[doc(alias = "transformResult")]
    pub fn failing_when(mut self, is_failure: fn(&F::Output) -> bool) -> Self {
        self.is_failure = is_failure;
        self
    }
}

impl<F: Future, T: Timer, O> Future for TimeLimited<F, T, O> {
    type Output = O;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<O> {
        let mut this = self.as_mut().project();
        if this.sleep.is_none() {
            this.sleep.set(Some(this.timer.sleep(*this.timeout)));
        }
        let polled = match this.operation.as_mut().project() {
            OperationProjection::Here { future } => {
                *this.stage = Stage::Polled;
                future.poll(context)
            }
            OperationProjection::Apart { future: Some(future) } => {
                *this.stage = Stage::Polled;
                future.as_mut().poll(context)
            }
            // It has ended, and must not be polled again.
            _ => return Poll::Pending,
        };
        if let Poll::Ready(output) = polled {
            let is_failure = (this.is_failure)(&output);
            this.operation.set(Operation::Gone);
            *this.stage = Stage::Ended;
            this.record.note(if is_failure { CallEvent::Failed } else { CallEvent::Succeeded });
            return Poll::Ready((this.answer)(Ok(output)));
        }
        let is_over = match this.sleep.as_mut().as_pin_mut() {
            Some(sleep) => sleep.poll(context).is_ready(),
            None => false,
        };
        if !is_over {
            *this.stage = Stage::Waiting;
            return Poll::Pending;
        }
        let (name, may_finish) = (Arc::clone(this.record.name()), this.let_finish.is_some());
        let timed_out = TimedOut { name, timeout: *this.timeout, may_finish };
        *this.stage = Stage::Ended;
        this.record.note(CallEvent::TimedOut);
        let answer = (this.answer)(Err(timed_out));
        self.leave();
        Poll::Ready(answer)
    }
}

impl<F: Future, T: Timer, O> fmt::Debug for TimeLimited<F, T, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeLimited")
            .field("limiter", self.record.name())
            .field("timeout", &self.timeout)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
