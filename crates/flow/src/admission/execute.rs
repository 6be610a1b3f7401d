//! Operations that are admitted, with their time limit.

use std::convert::Infallible;

use sluicegate::Limiter;
use sluicegate::wait::Timer;

use crate::time_limit::CancelToken;

use super::Admission;
use super::enter::Enter;
use super::error::AdmissionError;

impl<L: Limiter, I: Enter, T> Admission<L, I, T> {
    /// Runs a closure that may block, if it is admitted; see [`TimeLimiter::run`]. It does not wait to
    /// be admitted; [`Admitting::run`](crate::admission::Admitting::run) does.
    ///
    /// Blocks at most for the time limit. Without one the closure runs on the calling thread, with
    /// a token that nobody cancels.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`], which names the limit that refused.
    ///
    /// # Panics
    ///
    /// If the closure panics in time, with its panic.
    ///
    /// [`TimeLimiter::run`]: crate::time_limit::TimeLimiter::run
    pub fn run<C, R>(&self, permits: u64, operation: C) -> Result<R, AdmissionError<I::Refusal>>
    where
        C: FnOnce(&CancelToken) -> R + Send + 'static,
        R: Send + 'static,
    {
        let guard = self.try_admit(permits)?.into_guard();
        self.run_admitted(guard, operation)
    }
}

impl<L: Limiter, I: Enter, T: Timer + Clone> Admission<L, I, T> {
    /// Runs a future, if it is admitted; see [`TimeLimiter::execute`]. It does not wait to be
    /// admitted; [`Admitting::execute`](crate::admission::Admitting::execute) does.
    ///
    /// Nothing is taken before the first poll.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`], which names the limit that refused.
    ///
    /// # Cancel safety
    ///
    /// Dropping it does what dropping a [`TimeLimited`](crate::time_limit::TimeLimited) does. The permits stay
    /// spent.
    ///
    /// [`TimeLimiter::execute`]: crate::time_limit::TimeLimiter::execute
    pub async fn execute<F>(
        &self,
        permits: u64,
        operation: F,
    ) -> Result<F::Output, AdmissionError<I::Refusal>>
    where
        F: Future + Send + 'static,
    {
        let guard = self.try_admit(permits)?.into_guard();
        self.execute_admitted(guard, operation).await
    }

    /// Does the same as [`execute`](Admission::execute) with an operation that may fail, and counts
    /// an `Err` as a failure of the time limiter's.
    ///
    /// # Errors
    ///
    /// [`AdmissionError::Failed`] with the operation's own error; else those of `execute`.
    pub async fn try_execute<F, R, E>(
        &self,
        permits: u64,
        operation: F,
    ) -> Result<R, AdmissionError<I::Refusal, E>>
    where
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let admitted = self.try_admit(permits).map_err(AdmissionError::with_error)?;
        let guard = admitted.into_guard();
        self.try_execute_admitted(guard, operation).await
    }
}

/// Runs calls that were admitted, with waiting or without: `guard` is the call's place.
impl<L, I, T> Admission<L, I, T> {
    pub(super) fn run_admitted<G, C, R, J, D>(
        &self,
        guard: G,
        operation: C,
    ) -> Result<R, AdmissionError<J, Infallible, D>>
    where
        G: Send + 'static,
        C: FnOnce(&CancelToken) -> R + Send + 'static,
        R: Send + 'static,
    {
        let operation = move |token: &CancelToken| {
            let _place = guard;
            operation(token)
        };
        match &self.time {
            Some(time) => time.run(operation).map_err(AdmissionError::from),
            None => Ok(operation(&CancelToken::default())),
        }
    }
}

impl<L, I, T: Timer + Clone> Admission<L, I, T> {
    pub(super) async fn execute_admitted<G, F, J, D>(
        &self,
        guard: G,
        operation: F,
    ) -> Result<F::Output, AdmissionError<J, Infallible, D>>
    where
        G: Send + 'static,
        F: Future + Send + 'static,
    {
        let operation = held(guard, operation);
        match &self.time {
            Some(time) => time.execute(operation).await.map_err(AdmissionError::TimedOut),
            None => Ok(operation.await),
        }
    }

    pub(super) async fn try_execute_admitted<G, F, R, E, J, D>(
        &self,
        guard: G,
        operation: F,
    ) -> Result<R, AdmissionError<J, E, D>>
    where
        G: Send + 'static,
        F: Future<Output = Result<R, E>> + Send + 'static,
    {
        let operation = held(guard, operation);
        match &self.time {
            Some(time) => time.try_execute(operation).await.map_err(AdmissionError::from),
            None => operation.await.map_err(AdmissionError::Failed),
        }
    }
}

/// Keeps `guard` until `operation` has ended.
async fn held<G, F: Future>(guard: G, operation: F) -> F::Output {
    let _place = guard;
    operation.await
}
