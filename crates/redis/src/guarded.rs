//! Limiters that answer also while their server does not.

mod breaker;
mod fallback;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use sluicegate::{Denied, Grant};

use crate::error::{StoreError, TryAcquireError};
use crate::limiter::RedisLimiter;
use crate::request::Verb;
#[cfg(feature = "async")]
use crate::run_script::RunScript;
use crate::run_script::RunScriptBlocking;

use self::breaker::Breaker;
pub use self::fallback::{Fallback, share_of};

/// A limiter on a server, with an answer for the time in which the server gives none.
///
/// A request fails if the server cannot be reached, answers with an error, or does not answer within the time
/// limit. Then the [`Fallback`] answers. After such a failure the server is left alone for a pause, so that callers do
/// not wait for it one after the other; then one request asks it again, and if that is answered, so do all.
///
/// # Accuracy
///
/// A request that failed may have taken its permits, and its fallback may take them a second time: so fewer
/// are granted than might be. No request is sent twice.
///
/// | fallback | admitted by all machines together, in a span of `t` in which the server fails, beside what it admits itself |
/// |---|---|
/// | [`Fallback::Closed`] | nothing |
/// | [`Fallback::Open`] | everything |
/// | [`Fallback::Local`] | what the local limiters of all machines admit: burst + what `t` earns, for shares by [`share_of`] |
///
/// A server that lost its data when it failed begins from full: once more the limit, for each such loss.
///
/// # Cancel safety
///
/// If a future is dropped, the permits may have been taken, or may yet be. If it was the one that asked again
/// after a pause, the next one asks after another pause.
#[derive(Clone, Debug)]
pub struct GuardedLimiter<R> {
    limiter: RedisLimiter<R>,
    fallback: Fallback,
    #[cfg(feature = "async")]
    time_limit: Duration,
    shared: Arc<Shared>,
}

/// The state that clones share.
#[derive(Debug)]
struct Shared {
    breaker: Breaker,
    answered: AtomicU64,
    failed: AtomicU64,
    skipped: AtomicU64,
}

impl Shared {
    fn new(pause: Duration) -> Shared {
        let [answered, failed, skipped] = [const { AtomicU64::new(0) }; 3];
        Shared { breaker: Breaker::new(pause), answered, failed, skipped }
    }
}

/// Numbers of requests since a [`GuardedLimiter`] was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardCounts {
    /// Requests that the server answered, by grants and denials.
    pub answered: u64,
    /// Requests that were sent, or were to be, and failed.
    pub failed: u64,
    /// Requests for which the server was not asked, because others had failed shortly before.
    pub skipped: u64,
}

impl<R> GuardedLimiter<R> {
    /// The time limit of a request by default.
    #[cfg(feature = "async")]
    pub const TIME_LIMIT: Duration = Duration::from_millis(250);

    /// The pause after a failure by default.
    pub const PAUSE: Duration = Duration::from_secs(1);

    /// Creates a limiter that is answered for by `fallback`.
    pub fn new(limiter: RedisLimiter<R>, fallback: Fallback) -> GuardedLimiter<R> {
        GuardedLimiter {
            limiter,
            fallback,
            #[cfg(feature = "async")]
            time_limit: GuardedLimiter::<R>::TIME_LIMIT,
            shared: Arc::new(Shared::new(GuardedLimiter::<R>::PAUSE)),
        }
    }

    /// Returns the limiter with another time limit for each request of a task. Requests of threads keep
    /// those of their client.
    #[cfg(feature = "async")]
    #[must_use]
    pub fn with_time_limit(self, time_limit: Duration) -> GuardedLimiter<R> {
        GuardedLimiter { time_limit, ..self }
    }

    /// Returns the limiter with another pause after a failure, and counts from 0. With a pause of zero, each
    /// request asks the server.
    #[must_use]
    pub fn with_pause(self, pause: Duration) -> GuardedLimiter<R> {
        GuardedLimiter { shared: Arc::new(Shared::new(pause)), ..self }
    }

    /// Returns the limiter without its fallback.
    pub fn limiter(&self) -> &RedisLimiter<R> {
        &self.limiter
    }

    /// Returns the numbers of requests so far, of all clones together.
    pub fn counts(&self) -> GuardCounts {
        GuardCounts {
            answered: self.shared.answered.load(Relaxed),
            failed: self.shared.failed.load(Relaxed),
            skipped: self.shared.skipped.load(Relaxed),
        }
    }

    /// Returns the answer of the fallback if the server is to be left alone.
    fn skip(&self, key: &str, verb: Verb, permits: u64) -> Option<Result<Grant, TryAcquireError>> {
        if self.shared.breaker.may_ask(Instant::now()) {
            return None;
        }
        self.shared.skipped.fetch_add(1, Relaxed);
        let limit = self.limiter.limit().limit();
        Some(self.fallback.answer(key, verb, permits, limit, StoreError::Skipped))
    }

    /// Returns `answer`, or that of the fallback if it is a failure.
    fn settle(
        &self,
        answer: Result<Grant, TryAcquireError>,
        key: &str,
        verb: Verb,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        match answer {
            Err(TryAcquireError::Store(error)) => {
                self.shared.failed.fetch_add(1, Relaxed);
                self.shared.breaker.failed(Instant::now());
                let limit = self.limiter.limit().limit();
                self.fallback.answer(key, verb, permits, limit, error)
            }
            // The server was not asked.
            Err(TryAcquireError::Key(_) | TryAcquireError::Denied(Denied::TooLarge { .. })) => {
                answer
            }
            Ok(_) | Err(TryAcquireError::Denied(_)) => {
                self.shared.answered.fetch_add(1, Relaxed);
                self.shared.breaker.answered();
                answer
            }
        }
    }
}

#[cfg(feature = "async")]
impl<R: RunScript> GuardedLimiter<R> {
    /// Takes all of `permits` for the key, or none; from the fallback if the server does not answer.
    ///
    /// Returns within the time limit. Must be called within a runtime of tokio that has a timer.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Denied`] by the server or by the fallback, [`TryAcquireError::Key`] if the key is too long,
    /// and [`TryAcquireError::Store`] if the server does not answer and the fallback is [`Fallback::Closed`].
    pub async fn try_acquire(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.ask(key, Verb::Take, permits).await
    }

    /// Takes as many of `permits` as are available for the key, at least one; from the fallback if the server
    /// does not answer.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](GuardedLimiter::try_acquire).
    pub async fn try_acquire_up_to(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        self.ask(key, Verb::UpTo, permits).await
    }

    /// Returns the answer that [`try_acquire`](GuardedLimiter::try_acquire) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](GuardedLimiter::try_acquire).
    pub async fn peek(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.ask(key, Verb::Peek, permits).await
    }

    async fn ask(&self, key: &str, verb: Verb, permits: u64) -> Result<Grant, TryAcquireError> {
        if let Some(answer) = self.skip(key, verb, permits) {
            return answer;
        }
        let asked = self.limiter.ask(key, verb, permits);
        let answer = tokio::time::timeout(self.time_limit, asked)
            .await
            .unwrap_or_else(|_| Err(StoreError::TimedOut.into()));
        self.settle(answer, key, verb, permits)
    }
}

impl<R: RunScriptBlocking> GuardedLimiter<R> {
    /// Does the same as [`try_acquire`](GuardedLimiter::try_acquire), for callers on threads. Blocks until the
    /// server answers, or until a time-out of the client.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](GuardedLimiter::try_acquire).
    pub fn try_acquire_blocking(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.ask_blocking(key, Verb::Take, permits)
    }

    /// Does the same as [`try_acquire_up_to`](GuardedLimiter::try_acquire_up_to), for callers on threads.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](GuardedLimiter::try_acquire).
    pub fn try_acquire_up_to_blocking(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        self.ask_blocking(key, Verb::UpTo, permits)
    }

    fn ask_blocking(&self, key: &str, verb: Verb, permits: u64) -> Result<Grant, TryAcquireError> {
        if let Some(answer) = self.skip(key, verb, permits) {
            return answer;
        }
        self.settle(self.limiter.ask_blocking(key, verb, permits), key, verb, permits)
    }
}
