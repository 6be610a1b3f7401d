//! The time limiter.

pub(super) mod builder;

use std::fmt;
use std::sync::Arc;

use sluicegate::wait::ThreadTimer;

use self::builder::TimeLimiterBuilder;
use super::block::Call;
use super::cancel_token::CancelToken;
use super::counts::CallCounts;
use super::error::CallError;
use super::limit::TimeLimit;
use super::record::CallRecord;
use super::spawn::ThreadSpawner;

/// Limits how long a caller waits for an operation, with a name and counts.
///
/// | operation | method | its own errors |
/// |---|---|---|
/// | a future | [`execute`](TimeLimiter::execute) | [`try_execute`](TimeLimiter::try_execute) |
/// | a future that borrows, or is not `Send` | [`execute_cancelling`](TimeLimiter::execute_cancelling) | |
/// | a function that returns futures | [`decorate`](TimeLimiter::decorate) | |
/// | a closure that blocks | [`run`](TimeLimiter::run), [`call`](TimeLimiter::call) | [`try_run`](TimeLimiter::try_run) |
/// | a function that blocks | [`decorate_blocking`](TimeLimiter::decorate_blocking) | |
///
/// At the time-out the caller gets an error at once. The operation is cancelled, or finishes
/// elsewhere, as [`TimeLimit`] says; its [`Spawn`](crate::time_limit::Spawn) says where.
///
/// A clone is the same limiter. A call takes no lock but its timer's. It writes to a cache line
/// that all callers share three times: it takes a handle of the limiter, counts its end, and drops
/// the handle.
///
/// # Accuracy
///
/// A time-out comes no earlier than the limit, unless the timer ends early, and as late as the
/// timer and the executor let the task run. An operation that blocks its thread in `poll` cannot
/// be interrupted: its time-out is noticed once it returns.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
///
/// async fn search(words: &'static str) -> usize {
///     words.len()
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let limiter = TimeLimiter::new("search", TimeLimit::new(Duration::from_secs(2))?);
/// assert_eq!(limiter.execute(search("sluice")).await?, 6);
///
/// // Cancelled: the future is dropped.
/// let limiter = TimeLimiter::new("stuck", TimeLimit::new(Duration::from_millis(5))?);
/// assert!(limiter.execute(std::future::pending::<()>()).await.is_err());
/// assert_eq!(limiter.counts().timed_out, 1);
/// # Ok(()) }
/// ```
#[doc(alias = "timeout")]
#[derive(Clone)]
pub struct TimeLimiter<T = ThreadTimer> {
    pub(super) limit: TimeLimit,
    pub(super) timer: T,
    pub(super) record: Arc<CallRecord>,
}

impl TimeLimiter {
    /// Creates a limiter with the default timer, spawner and no observer. Allocates.
    #[must_use]
    pub fn new(name: impl Into<String>, limit: TimeLimit) -> TimeLimiter {
        TimeLimiter::builder(name).limit(limit).build()
    }

    /// Returns the configuration of a limiter with this name, to be changed before it is built.
    pub fn builder(name: impl Into<String>) -> TimeLimiterBuilder {
        TimeLimiterBuilder {
            name: name.into(),
            limit: TimeLimit::default(),
            timer: ThreadTimer,
            spawner: Arc::new(ThreadSpawner),
            observer: None,
        }
    }
}

impl<T> TimeLimiter<T> {
    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.record.name()
    }

    /// Returns how long callers wait, and whether the operation then goes on.
    #[must_use]
    pub fn limit(&self) -> TimeLimit {
        self.limit
    }

    /// Returns the counts so far, each read by itself: while calls end, they are not of one
    /// instant. Does not allocate, lock or write.
    #[doc(alias = "metrics")]
    #[must_use]
    pub fn counts(&self) -> CallCounts {
        self.record.counts()
    }

    /// Returns the timer that futures sleep on.
    #[must_use]
    pub fn timer(&self) -> &T {
        &self.timer
    }

    /// Returns the limiter with another timer. Both share their counts.
    #[must_use]
    pub fn with_timer<U>(self, timer: U) -> TimeLimiter<U> {
        let TimeLimiter { limit, record, .. } = self;
        TimeLimiter { limit, timer, record }
    }

    /// Returns a call of `operation`, to be given a hook for its late result before it is
    /// [run](Call::run).
    pub fn call<C, R>(&self, operation: C) -> Call<C, R>
    where
        C: FnOnce(&CancelToken) -> R + Send + 'static,
        R: Send + 'static,
    {
        Call::new(operation, self.limit, Arc::clone(&self.record))
    }

    /// Runs a closure that may block on another thread, and waits for its result.
    ///
    /// Blocks at most for the time-out. See [`Call::run`] for its cost, and for tasks.
    ///
    /// # Errors
    ///
    /// [`CallError::TimedOut`], while the closure goes on, or stops because it looks at its
    /// [`CancelToken`]; [`CallError::NotRun`] if no thread takes it.
    ///
    /// # Panics
    ///
    /// If the closure panics in time, with its panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
    ///
    /// let limiter = TimeLimiter::new("lookup", TimeLimit::default());
    /// let names = limiter.run(|_| vec!["ada", "bob"])?;
    /// assert_eq!(names.len(), 2);
    /// # Ok::<(), sluicegate_flow::time_limit::CallError>(())
    /// ```
    #[doc(alias = "executeFutureSupplier")]
    pub fn run<C, R>(&self, operation: C) -> Result<R, CallError>
    where
        C: FnOnce(&CancelToken) -> R + Send + 'static,
        R: Send + 'static,
    {
        self.call(operation).run()
    }

    /// Runs a closure that may fail as [`run`](TimeLimiter::run) does, and counts an `Err` as a
    /// failure.
    ///
    /// # Errors
    ///
    /// [`CallError::Failed`] with the closure's own error; else as for `run`.
    ///
    /// # Panics
    ///
    /// If the closure panics in time, with its panic.
    pub fn try_run<C, R, E>(&self, operation: C) -> Result<R, CallError<E>>
    where
        C: FnOnce(&CancelToken) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: Send + 'static,
    {
        match self.call(operation).failing_when(Result::is_err).run() {
            Ok(result) => result.map_err(CallError::Failed),
            Err(CallError::TimedOut(timed_out)) => Err(CallError::TimedOut(timed_out)),
            Err(CallError::NotRun { name }) => Err(CallError::NotRun { name }),
            Err(CallError::Failed(none)) => match none {},
        }
    }

    /// Returns a function that runs `operation` with the time limit each time it is called, with
    /// one argument; a tuple for several. See [`run`](TimeLimiter::run).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
    ///
    /// let limiter = TimeLimiter::new("sum", TimeLimit::default());
    /// let sum = limiter.decorate_blocking(|(a, b): (u32, u32), _| a + b);
    /// assert_eq!(sum((6, 7))?, 13);
    /// # Ok::<(), sluicegate_flow::time_limit::CallError>(())
    /// ```
    #[doc(alias = "decorateFutureSupplier")]
    pub fn decorate_blocking<A, R, C>(&self, operation: C) -> impl Fn(A) -> Result<R, CallError>
    where
        C: Fn(A, &CancelToken) -> R + Send + Sync + 'static,
        A: Send + 'static,
        R: Send + 'static,
    {
        let (limit, record) = (self.limit, Arc::clone(&self.record));
        let operation = Arc::new(operation);
        move |argument| {
            let operation = Arc::clone(&operation);
            let once = move |token: &CancelToken| operation(argument, token);
            Call::new(once, limit, Arc::clone(&record)).run()
        }
    }
}

impl<T> fmt::Debug for TimeLimiter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TimeLimiter")
            .field("name", &self.name())
            .field("limit", &self.limit)
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}
