//! Servers that are asked within a time limit, and left alone for a while when they fail.

mod breaker;
mod change;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::error::StoreError;
#[cfg(feature = "async")]
use crate::run_script::RunScript;
use crate::run_script::{Run, RunScriptBlocking};
#[cfg(feature = "policy")]
use crate::script::PROBE;

use self::breaker::Breaker;
pub use self::breaker::BreakerState;
#[cfg(feature = "policy")]
pub(crate) use self::change::Causes;
use self::change::Observer;
pub use self::change::ServerChange;

/// A client whose requests have a time limit, with a circuit breaker in front of it.
///
/// It runs scripts as the client does, so every limiter of this crate can be on one. One guard, whose clones share
/// their state, serves all limiters on the same server: what one of them finds out about the server, the others
/// need not find out again.
///
/// A request that is not answered within the time limit fails. So does one that the client cannot send, and one
/// that the server answers with an error. After such a failure the breaker is open: for a pause, requests fail at
/// once with [`StoreError::Skipped`], so that callers do not wait for the server one after the other. Then
/// one request asks it again; each answer lets two more pass, and after 32 answers all do, so a server that comes
/// back is not met by everybody at once. Errors that concern one request only, such as a key of another type, do
/// not open the breaker.
///
/// A server or a proxy may end a connection that nobody uses, which the next request finds. So a request of a task whose connection
/// ends before its answer is sent once more at once, within the same time limit, and only what becomes of that counts. If it
/// was the answer that was lost, its permits are charged twice, and granted once. A give-back is not sent again unless a marker on the
/// server lets it run once, or it was not sent at all.
///
/// [`RedisLimiter::with_fallback`](crate::RedisLimiter::with_fallback) gives limiters an answer for the
/// requests that fail.
///
/// # Cancel safety
///
/// If a future is dropped, the script may have been run, or may yet be. It counts as a request that timed out if it has
/// lasted for half of the time limit, and no other has been answered since. If it was the one that asked again after a pause,
/// the next one asks after another pause.
///
/// # Examples
///
/// ```no_run
/// # #[cfg(feature = "async")]
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use sluicegate::quota;
/// use sluicegate_redis::{Async, Fallback, Guarded, KeySpace, RedisLimit, RedisLimiter};
///
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let server = Guarded::new(Async::new(client)).with_time_limit(Duration::from_millis(50));
/// let limit = RedisLimit::token_bucket(quota!(100 / second))?;
/// let limiter = RedisLimiter::new(limit, KeySpace::new("app:api")?, server.clone())
///     .with_fallback(Fallback::Open);
/// limiter.try_acquire("user:42", 1).await?;
/// println!("{:?}, {:?}", server.state(), server.counts());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Guarded<R> {
    runner: R,
    #[cfg(feature = "async")]
    time_limit: Duration,
    shared: Arc<Shared>,
}

/// The state that clones share.
#[derive(Debug)]
struct Shared {
    breaker: Breaker,
    observer: Observer,
    answered: AtomicU64,
    /// By reason.
    failed: [AtomicU64; FAILURES.len()],
    skipped: AtomicU64,
    opened: AtomicU64,
}

/// The reasons of failures, as [`GuardCounts`] and metrics have them: the server could not be reached; the connection broke; there
/// was no answer in time; the answer was an error.
pub const FAILURES: [&str; 4] = ["unreachable", "disconnected", "timed_out", "error"];

/// The index in [`FAILURES`] of answers by an error.
const ANSWERED_BY_ERROR: usize = 3;

/// Returns the index in [`FAILURES`] of an error.
fn reason(error: &StoreError) -> usize {
    match error {
        StoreError::Unreachable(_) | StoreError::Skipped => 0,
        StoreError::Disconnected(_) => 1,
        StoreError::TimedOut => 2,
        StoreError::Server { .. } | StoreError::Reply { .. } => ANSWERED_BY_ERROR,
    }
}

/// Numbers of requests since a [`Guarded`] was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardCounts {
    /// Requests that the server answered, by grants and denials.
    pub answered: u64,
    /// Requests that were sent, or were to be, and failed.
    pub failed: u64,
    /// The failed ones by reason, in the order of [`FAILURES`].
    pub failures: [u64; FAILURES.len()],
    /// Requests for which the server was not asked, because others had failed shortly before.
    pub skipped: u64,
    /// Times that the circuit breaker has opened.
    pub opened: u64,
}

impl Shared {
    fn new(pause: Duration, failures: u32) -> Shared {
        let [answered, skipped, opened] = [const { AtomicU64::new(0) }; 3];
        let failed = [const { AtomicU64::new(0) }; FAILURES.len()];
        let (breaker, observer) = (Breaker::new(pause, failures), Observer::default());
        Shared { breaker, observer, answered, failed, skipped, opened }
    }
}

impl<R> Guarded<R> {
    /// The time limit of a request by default.
    #[cfg(feature = "async")]
    pub const TIME_LIMIT: Duration = Duration::from_millis(250);

    /// The pause after a failure by default.
    pub const PAUSE: Duration = Duration::from_secs(1);

    /// Creates a guard in front of `runner`, with the time limit and the pause by default.
    pub fn new(runner: R) -> Guarded<R> {
        Guarded {
            runner,
            #[cfg(feature = "async")]
            time_limit: Guarded::<R>::TIME_LIMIT,
            shared: Arc::new(Shared::new(Guarded::<R>::PAUSE, 1)),
        }
    }

    /// Returns the guard with another time limit for each request of a task. Requests of threads keep
    /// those of their client.
    #[cfg(feature = "async")]
    #[must_use]
    pub fn with_time_limit(self, time_limit: Duration) -> Guarded<R> {
        Guarded { time_limit, ..self }
    }

    /// Returns the guard with another pause after a failure, for requests from now on: it counts from 0, and
    /// clones that were made before do not share its state. With a pause of zero, each request is sent.
    #[must_use]
    pub fn with_pause(self, pause: Duration) -> Guarded<R> {
        let failures = self.shared.breaker.failures();
        Guarded { shared: Arc::new(Shared::new(pause, failures)), ..self }
    }

    /// Returns the guard with a breaker that opens after so many failures in a row, at least 1, which is also
    /// the default. As [`with_pause`](Guarded::with_pause), it counts from 0.
    #[must_use]
    pub fn with_failures(self, failures: u32) -> Guarded<R> {
        let pause = self.shared.breaker.pause();
        Guarded { shared: Arc::new(Shared::new(pause, failures)), ..self }
    }

    /// Calls `observer` for each [`ServerChange`], of all clones: for logs. In the task or thread of the request that made
    /// the change, so it should not take long. Set it after the pause and the number of failures; the first observer stays.
    #[must_use]
    pub fn on_change(
        self,
        observer: impl Fn(&ServerChange<'_>) + Send + Sync + 'static,
    ) -> Guarded<R> {
        self.shared.observer.set(observer);
        self
    }

    /// Returns true if there are clones.
    #[cfg(feature = "policy")]
    pub(crate) fn is_shared(&self) -> bool {
        Arc::strong_count(&self.shared) > 1
    }

    /// Returns the client without its guard.
    pub fn runner(&self) -> &R {
        &self.runner
    }

    /// Returns the state of the circuit breaker.
    pub fn state(&self) -> BreakerState {
        self.shared.breaker.state()
    }

    /// Returns true if the last that was heard of the server is an answer. All requests are sent once the breaker is
    /// [closed](BreakerState::Closed), some answers later.
    pub fn is_answering(&self) -> bool {
        self.shared.breaker.is_answering()
    }

    /// Returns the numbers of requests so far, of all clones together.
    pub fn counts(&self) -> GuardCounts {
        let failures = self.shared.failed.each_ref().map(|count| count.load(Relaxed));
        GuardCounts {
            answered: self.shared.answered.load(Relaxed),
            failed: failures.iter().sum(),
            failures,
            skipped: self.shared.skipped.load(Relaxed),
            opened: self.shared.opened.load(Relaxed),
        }
    }

    /// Fails if the server is to be left alone.
    fn begin(&self) -> Result<(), StoreError> {
        if self.shared.breaker.may_ask(Instant::now()) {
            return Ok(());
        }
        self.shared.skipped.fetch_add(1, Relaxed);
        Err(StoreError::Skipped)
    }

    /// Returns the number of answers so far, errors of single requests among them.
    #[cfg(feature = "async")]
    fn heard(&self) -> u64 {
        self.shared.answered.load(Relaxed) + self.shared.failed[ANSWERED_BY_ERROR].load(Relaxed)
    }

    /// Notes that the server has answered.
    fn note_answer(&self) {
        if self.shared.breaker.answered() {
            self.shared.observer.tell(&ServerChange::Answers);
        }
    }

    /// Notes that the server has not answered.
    fn note_failure(&self, error: &StoreError) {
        let is_end = matches!(error, StoreError::Disconnected(_));
        let Some(had_answered) = self.shared.breaker.failed(Instant::now(), is_end) else { return };
        self.shared.opened.fetch_add(1, Relaxed);
        // Not each time that it is found to be away still.
        if had_answered {
            self.shared.observer.tell(&ServerChange::Failed(error));
        }
    }

    /// Notes what became of a request.
    fn end(&self, answer: Result<Vec<i64>, StoreError>) -> Result<Vec<i64>, StoreError> {
        match &answer {
            Ok(_) => {
                self.shared.answered.fetch_add(1, Relaxed);
                self.note_answer();
            }
            Err(error) => {
                self.shared.failed[reason(error)].fetch_add(1, Relaxed);
                if error.is_of_server() {
                    self.note_failure(error);
                } else {
                    self.note_answer();
                    self.shared.observer.tell_refusal(error, Instant::now());
                }
            }
        }
        answer
    }
}

#[cfg(feature = "policy")]
impl<R: RunScript> Guarded<R> {
    /// Asks the server for a sign of life, within the time limit, and takes nothing. It counts as a request.
    ///
    /// # Errors
    ///
    /// [`StoreError`], which is [`StoreError::Skipped`] while the server is left alone.
    ///
    /// # Cancel safety
    ///
    /// The same as for other requests.
    pub(crate) async fn probe(&self) -> Result<(), StoreError> {
        self.run(Run { script: &PROBE, keys: &[], arguments: &[] }).await?;
        Ok(())
    }
}

#[cfg(feature = "async")]
impl<R: RunScript> RunScript for Guarded<R> {
    /// Runs a script, and returns within the time limit. Must be called within a runtime of tokio that has a
    /// timer.
    async fn run(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        self.begin()?;
        let asked =
            Asked { guarded: self, at: Instant::now(), answered: self.heard(), is_over: false };
        let answer = tokio::time::timeout(self.time_limit, self.ask(run)).await;
        asked.end();
        self.end(answer.unwrap_or(Err(StoreError::TimedOut)))
    }
}

#[cfg(feature = "async")]
impl<R: RunScript> Guarded<R> {
    /// Runs a script, and once more if the connection ends before the answer, or before the request is sent.
    async fn ask(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        let first = self.runner.run(run).await;
        match &first {
            // While a server is away, the client fails at once the second time. A cluster whose nodes have all ended their
            // connections makes new ones.
            Err(StoreError::Unreachable(_)) => return self.runner.run(run).await,
            Err(StoreError::Disconnected(_)) if run.may_come_twice() => {}
            _ => return first,
        }
        match self.runner.run(run).await {
            // The first one may have taken its permits.
            Err(error) if !error.may_have_taken() => first,
            again => again,
        }
    }
}

/// A request that is on its way. Its caller may give it up.
#[cfg(feature = "async")]
struct Asked<'g, R> {
    guarded: &'g Guarded<R>,
    at: Instant,
    /// Answers to anybody until then.
    answered: u64,
    is_over: bool,
}

#[cfg(feature = "async")]
impl<R> Asked<'_, R> {
    fn end(mut self) {
        self.is_over = true;
    }
}

#[cfg(feature = "async")]
impl<R> Drop for Asked<'_, R> {
    /// Counts a request as one without an answer in time if its caller has waited for half of the limit, and nobody has had an
    /// answer since: or callers that wait for less than the limit would hide that the server is away.
    fn drop(&mut self) {
        let guarded = self.guarded;
        if !self.is_over
            && self.at.elapsed() >= guarded.time_limit / 2
            && guarded.heard() == self.answered
        {
            // It has been given up, so it has no answer to give.
            let _ = guarded.end(Err(StoreError::TimedOut));
        }
    }
}

impl<R: RunScriptBlocking> RunScriptBlocking for Guarded<R> {
    fn run_blocking(&self, run: Run<'_>) -> Result<Vec<i64>, StoreError> {
        self.begin()?;
        self.end(self.runner.run_blocking(run))
    }
}
