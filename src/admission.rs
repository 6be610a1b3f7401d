//! Admission of a call by several kinds of limits.

mod enter;
mod error;

use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::future::Future;

use crate::decision::grant::Grant;
use crate::limiter::{Limiter, Unlimited};
use crate::time_limit::{CallError, CancelToken, TimeLimiter};
use crate::wait::timer::Timer;
use crate::wait::timer::thread::ThreadTimer;

pub use self::enter::Enter;
pub use self::error::AdmissionError;

/// Admits calls by a rate, by their number in flight, and by a time limit, in this one place; each
/// of the three may be absent, and names itself in its refusal.
///
/// A call first takes its place among those in flight, then its permits of the rate, and then runs
/// with the time limit. So one that is refused is charged to nothing: the place is free again, and
/// the permits were not taken. Permits of a call that then times out or fails stay spent.
///
/// The place in flight belongs to the operation, not to the caller. It is free once the operation
/// has ended or is dropped; that of one which is let finish after its time-out, once it has
/// finished.
///
/// Does not block or allocate by itself, except for what its limits do; reads the rate's clock.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Admission, AdmissionError, TimeLimit, TimeLimiter, TokenBucket, quota};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let admission = Admission::new()
///     .rate("searches", TokenBucket::new(quota!(2 / hour)))
///     .time(TimeLimiter::new("search time", TimeLimit::new(Duration::from_millis(5))?));
///
/// assert_eq!(admission.execute(1, async { 42 }).await?, 42);
/// let slow = admission.execute(1, std::future::pending::<()>()).await.unwrap_err();
/// assert_eq!(slow.limit_name(), Some("search time"));
/// let refused = admission.execute(1, async { 42 }).await.unwrap_err();
/// assert_eq!(refused.limit_name(), Some("searches"));
/// assert!(matches!(refused, AdmissionError::Rate { .. }));
/// # Ok(()) }
/// ```
#[doc(alias = "bulkhead")]
pub struct Admission<L = Unlimited, I = (), T = ThreadTimer> {
    rate: (Arc<str>, L),
    in_flight: (Arc<str>, I),
    time: Option<TimeLimiter<T>>,
}

/// A call that was admitted, for a caller that runs the operation by itself.
///
/// Dropping it frees its place in flight. The permits stay spent.
#[derive(Debug)]
#[must_use = "the place in flight is free again once this is dropped"]
pub struct Admitted<G> {
    grant: Grant,
    guard: G,
}

impl<G> Admitted<G> {
    /// Returns the grant of the rate.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Returns the place in flight, which is free once it is dropped.
    pub fn into_guard(self) -> G {
        self.guard
    }
}

impl Admission {
    /// Creates an admission without limits: it admits everything.
    #[must_use]
    pub fn new() -> Admission {
        Admission { rate: ("".into(), Unlimited), in_flight: ("".into(), ()), time: None }
    }
}

impl Default for Admission {
    fn default() -> Admission {
        Admission::new()
    }
}

impl<L, I, T> Admission<L, I, T> {
    /// Sets the limiter of the rate, and its name. Take an [`All`](crate::All) for several rates.
    #[must_use]
    pub fn rate<M: Limiter>(self, name: impl Into<String>, limiter: M) -> Admission<M, I, T> {
        let Admission { in_flight, time, .. } = self;
        Admission { rate: (name.into().into(), limiter), in_flight, time }
    }

    /// Sets the limit of calls in flight, and its name.
    #[must_use]
    pub fn in_flight<J: Enter>(self, name: impl Into<String>, limit: J) -> Admission<L, J, T> {
        let Admission { rate, time, .. } = self;
        Admission { rate, in_flight: (name.into().into(), limit), time }
    }

    /// Sets the time limit, which has a name already.
    #[must_use]
    pub fn time<U>(self, limiter: TimeLimiter<U>) -> Admission<L, I, U> {
        let Admission { rate, in_flight, .. } = self;
        Admission { rate, in_flight, time: Some(limiter) }
    }
}

impl<L: Limiter, I: Enter, T> Admission<L, I, T> {
    /// Admits a call of so many permits, which the caller runs by itself, without the time limit.
    ///
    /// Never blocks.
    ///
    /// # Errors
    ///
    /// [`AdmissionError::InFlight`] or [`AdmissionError::Rate`]; nothing is charged then.
    pub fn try_admit(
        &self,
        permits: u64,
    ) -> Result<Admitted<I::Guard>, AdmissionError<I::Refusal>> {
        self.admit(permits)
    }

    fn admit<E>(&self, permits: u64) -> Result<Admitted<I::Guard>, AdmissionError<I::Refusal, E>> {
        let (name, in_flight) = &self.in_flight;
        let guard = in_flight
            .try_enter()
            .map_err(|refusal| AdmissionError::InFlight { name: Arc::clone(name), refusal })?;
        let (name, rate) = &self.rate;
        match rate.try_acquire(permits) {
            Ok(grant) => Ok(Admitted { grant, guard }),
            Err(denied) => Err(AdmissionError::Rate { name: Arc::clone(name), denied }),
        }
    }

    /// Runs a closure that may block, if it is admitted; see [`TimeLimiter::run`].
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
    pub fn run<C, R>(&self, permits: u64, operation: C) -> Result<R, AdmissionError<I::Refusal>>
    where
        C: FnOnce(&CancelToken) -> R + Send + 'static,
        R: Send + 'static,
    {
        let guard = self.admit(permits)?.guard;
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

impl<L: Limiter, I: Enter, T: Timer + Clone> Admission<L, I, T> {
    /// Runs a future, if it is admitted; see [`TimeLimiter::execute`].
    ///
    /// Nothing is taken before the first poll.
    ///
    /// # Errors
    ///
    /// [`AdmissionError`], which names the limit that refused.
    ///
    /// # Cancel safety
    ///
    /// Dropping it does what dropping a [`TimeLimited`](crate::TimeLimited) does. The permits stay
    /// spent.
    pub async fn execute<F>(
        &self,
        permits: u64,
        operation: F,
    ) -> Result<F::Output, AdmissionError<I::Refusal>>
    where
        F: Future + Send + 'static,
    {
        let operation = held(self.admit(permits)?.guard, operation);
        match &self.time {
            Some(time) => time.execute(operation).await.map_err(AdmissionError::TimedOut),
            None => Ok(operation.await),
        }
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
        let operation = held(self.admit(permits)?.guard, operation);
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

impl<L: fmt::Debug, I: fmt::Debug, T> fmt::Debug for Admission<L, I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("rate", &self.rate)
            .field("in_flight", &self.in_flight)
            .field("time", &self.time)
            .finish()
    }
}

impl<I, E> From<CallError<E>> for AdmissionError<I, E> {
    fn from(error: CallError<E>) -> AdmissionError<I, E> {
        match error {
            CallError::TimedOut(timed_out) => AdmissionError::TimedOut(timed_out),
            CallError::NotRun { name } => AdmissionError::NotRun { name },
            CallError::Failed(error) => AdmissionError::Failed(error),
        }
    }
}
