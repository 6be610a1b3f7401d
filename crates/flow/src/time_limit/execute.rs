//! The calls of a time limiter with futures.

use std::sync::Arc;

use sluicegate::wait::Timer;

use super::error::{CallError, TimedOut};
use super::future::{Placed, TimeLimited};
use super::limit::OnTimeout;
use super::limiter::TimeLimiter;

impl<T: Timer + Clone> TimeLimiter<T> {
    /// Returns a future of the result of `operation`, or of [`TimedOut`].
    ///
    /// The operation begins with the first poll, and runs in the caller's task. At its time-out it
    /// is dropped, or goes on where the limiter's [`Spawn`](crate::time_limit::Spawn) runs it, with its result
    /// for the hook of [`on_late`](TimeLimited::on_late). That it may have to move to another
    /// thread is why it must be `Send` and own what it uses; for another future there is
    /// [`execute_cancelling`](TimeLimiter::execute_cancelling).
    ///
    /// Does not allocate if the operation is dropped at its time-out, except for the sleep of its
    /// timer; allocates a place for it if it is let finish. See [`TimeLimited`] for what dropping
    /// the future does, and for panics.
    ///
    /// # Errors
    ///
    /// [`TimedOut`].
    #[doc(alias = "executeCompletionStage")]
    pub fn execute<F>(&self, operation: F) -> TimeLimited<F, T, Result<F::Output, TimedOut>>
    where
        F: Future + Send + 'static,
    {
        self.limited(self.placed(operation), |answer| answer)
    }

    /// Does the same as [`execute`](TimeLimiter::execute) with an operation that may fail, and
    /// counts an `Err` as a failure.
    ///
    /// # Errors
    ///
    /// [`CallError::Failed`] with the operation's own error, or [`CallError::TimedOut`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::time_limit::{CallError, TimeLimit, TimeLimiter};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let limiter = TimeLimiter::new("parse", TimeLimit::default());
    /// let error = limiter.try_execute(async { "six".parse::<u32>() }).await.unwrap_err();
    /// assert!(matches!(error, CallError::Failed(_)));
    /// assert_eq!(error.to_string(), "invalid digit found in string");
    /// assert_eq!(limiter.counts().failed, 1);
    /// # }
    /// ```
    pub fn try_execute<F, R, E>(&self, operation: F) -> TimeLimited<F, T, Result<R, CallError<E>>>
    where
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let answer = |answer: Result<Result<R, E>, TimedOut>| match answer {
            Ok(result) => result.map_err(CallError::Failed),
            Err(timed_out) => Err(CallError::TimedOut(timed_out)),
        };
        self.limited(self.placed(operation), answer).failing_when(Result::is_err)
    }

    /// Does the same as [`execute`](TimeLimiter::execute), but always drops the operation at its
    /// time-out, whatever the configuration says: for a future that borrows from its caller or is
    /// not `Send`, and so cannot finish elsewhere.
    ///
    /// # Errors
    ///
    /// [`TimedOut`].
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), sluicegate_flow::time_limit::TimedOut> {
    /// let limiter = TimeLimiter::new("local", TimeLimit::default());
    /// let mut buffer = Vec::new();
    /// limiter.execute_cancelling(async { buffer.push(1) }).await?;
    /// assert_eq!(buffer, [1]);
    /// # Ok(()) }
    /// ```
    pub fn execute_cancelling<F: Future>(
        &self,
        operation: F,
    ) -> TimeLimited<F, T, Result<F::Output, TimedOut>> {
        self.limited(Placed::here(operation), |answer| answer)
    }

    /// Returns a function that calls `operation` with the time limit: one argument, or a tuple for
    /// several, and a future of [`execute`](TimeLimiter::execute).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
    ///
    /// async fn double(number: u32) -> u32 {
    ///     2 * number
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), sluicegate_flow::time_limit::TimedOut> {
    /// let limiter = TimeLimiter::new("double", TimeLimit::default());
    /// let double = limiter.decorate(double);
    /// assert_eq!((double(6).await?, double(7).await?), (12, 14));
    /// # Ok(()) }
    /// ```
    #[doc(alias = "decorateCompletionStage")]
    pub fn decorate<A, F, C>(
        &self,
        operation: C,
    ) -> impl Fn(A) -> TimeLimited<F, T, Result<F::Output, TimedOut>> + use<A, F, C, T>
    where
        C: Fn(A) -> F,
        F: Future + Send + 'static,
    {
        let limiter = self.clone();
        move |argument| limiter.execute(operation(argument))
    }

    /// Places `operation` as the configuration needs it.
    fn placed<F: Future + Send + 'static>(&self, operation: F) -> Placed<F> {
        match self.limit.on_timeout() {
            OnTimeout::Cancel => Placed::here(operation),
            OnTimeout::LetFinish => Placed::apart(operation),
        }
    }

    fn limited<F: Future, O>(
        &self,
        placed: Placed<F>,
        answer: fn(Result<F::Output, TimedOut>) -> O,
    ) -> TimeLimited<F, T, O> {
        let (timer, timeout) = (self.timer.clone(), self.limit.timeout());
        TimeLimited::new(placed, timer, timeout, Arc::clone(&self.record), answer)
    }
}
