//! Limiters whose keys are on a server.

use sluicegate::{Denied, Grant};

use crate::decision::{Decision, Verb};
use crate::error::{KeyError, StoreError, TryAcquireError};
use crate::fallback::Fallback;
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::request::{KeyedLimit, Request};
use crate::run_script::{Run, RunScript, RunScriptBlocking};
use crate::script::RESET;

/// A limit for each key, kept on a server that other processes share.
///
/// Each call is one round trip, in which the server decides and writes at once. With a [`RunScript`], calls are
/// futures; with a [`RunScriptBlocking`], they are the methods whose names end in `_blocking`.
///
/// While the server gives no answer, the [`Fallback`] does. On a [`Guarded`](crate::Guarded) client no call takes
/// longer than its time limit.
///
/// A clone is as cheap as one of its runner.
#[derive(Clone, Debug)]
pub struct RedisLimiter<R> {
    keyed: KeyedLimit,
    runner: R,
    fallback: Fallback,
}

impl<R> RedisLimiter<R> {
    /// Creates a limiter of `limit` for each of the `keys`, with [`Fallback::Closed`]. Sends nothing.
    ///
    /// Limiters of the same limit and the same space of keys are the same, on whatever machines they are.
    pub fn new(limit: RedisLimit, keys: KeySpace, runner: R) -> RedisLimiter<R> {
        let (keyed, fallback) = (KeyedLimit { limit, keys }, Fallback::Closed);
        RedisLimiter { keyed, runner, fallback }
    }

    /// Returns the limiter with another answer for the time in which the server gives none.
    #[must_use]
    pub fn with_fallback(self, fallback: Fallback) -> RedisLimiter<R> {
        RedisLimiter { fallback, ..self }
    }

    /// Returns the limiter of another limit of the same kind.
    pub(crate) fn with_limit(self, limit: RedisLimit) -> RedisLimiter<R> {
        RedisLimiter { keyed: KeyedLimit { limit, ..self.keyed }, ..self }
    }

    /// Returns the limit.
    pub fn limit(&self) -> &RedisLimit {
        &self.keyed.limit
    }

    /// Returns the client that runs the scripts.
    pub fn runner(&self) -> &R {
        &self.runner
    }

    /// Returns the name of a key on the server.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if the key is too long.
    pub fn name(&self, key: &str) -> Result<String, KeyError> {
        self.keyed.name(key)
    }

    pub(crate) fn keyed(&self) -> &KeyedLimit {
        &self.keyed
    }

    /// Returns the decision: the server's answer, or that of the fallback if there is none.
    pub(crate) fn decision(
        &self,
        (verb, key, permits): (Verb, &str, u64),
        answer: Result<Result<Grant, Denied>, StoreError>,
    ) -> Result<Decision, TryAcquireError> {
        match answer {
            Ok(answer) => Ok(Decision::of_server(answer)),
            Err(failure) => match self.fallback.answer(verb, key, permits, self.limit().limit()) {
                Some(answer) => Ok(Decision::of_fallback(answer, failure)),
                None => Err(failure.into()),
            },
        }
    }
}

impl<R> RedisLimiter<R> {
    /// Returns the answer to a request that leaves a reserve: the server's, or that of the fallback if there is none.
    fn answer_leaving(
        &self,
        asked: (Verb, &str),
        permits: (u64, u64),
        answer: Result<Result<Grant, Denied>, StoreError>,
    ) -> Result<Grant, TryAcquireError> {
        let answer = match answer {
            Ok(answer) => answer,
            Err(failure) => {
                let limit = self.limit().limit();
                self.fallback.answer_leaving(asked, permits, limit).ok_or(failure)?
            }
        };
        Ok(answer?)
    }
}

/// # For callers in tasks
impl<R: RunScript> RedisLimiter<R> {
    /// Takes all of `permits` for the key, or none. A request for 0 permits is always granted.
    ///
    /// # Errors
    ///
    /// * [`TryAcquireError::Denied`] as for a limiter of the engine, by the server or by the fallback. More permits
    ///   than the limit are denied without a round trip.
    /// * [`TryAcquireError::Key`] if the key is too long.
    /// * [`TryAcquireError::Store`] if the server does not answer and the fallback is [`Fallback::Closed`].
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the permits may have been taken, or may yet be.
    pub async fn try_acquire(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.decide(Verb::Take, key, permits).await?.result()
    }

    /// Takes as many of `permits` as are available for the key, at least one.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire) of one permit.
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub async fn try_acquire_up_to(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        self.decide(Verb::UpTo, key, permits).await?.result()
    }

    /// Returns the answer that [`try_acquire`](RedisLimiter::try_acquire) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub async fn peek(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.decide(Verb::Peek, key, permits).await?.result()
    }

    /// Takes all of `permits` for the key, or none if fewer than `reserve` would remain to it.
    ///
    /// The decision and the grant are one step on the server: no other caller comes in between. A reserve is no reservation:
    /// [`try_acquire`](RedisLimiter::try_acquire) may take it. A [`Fallback::Local`] decides in two steps, so callers of this
    /// machine that ask at the same time may leave less.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire) of `permits` and `reserve` together. The limit of a
    /// [`Denied::TooLarge`] is without the reserve.
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub async fn try_acquire_leaving(
        &self,
        key: &str,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, TryAcquireError> {
        self.leaving(Verb::Take, key, permits, reserve).await
    }

    /// Returns the answer that [`try_acquire_leaving`](RedisLimiter::try_acquire_leaving) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire_leaving`](RedisLimiter::try_acquire_leaving).
    pub async fn peek_leaving(
        &self,
        key: &str,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, TryAcquireError> {
        self.leaving(Verb::Peek, key, permits, reserve).await
    }

    async fn leaving(
        &self,
        verb: Verb,
        key: &str,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, TryAcquireError> {
        let request = self.keyed.leaving(key, verb, permits, reserve)?;
        let answer = self.send(&request).await.and_then(|reply| request.answer(&reply));
        self.answer_leaving((verb, key), (permits, reserve), answer)
    }

    /// Does what `verb` says, and tells whether the server has answered or the fallback.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Key`] and [`TryAcquireError::Store`] as for [`try_acquire`](RedisLimiter::try_acquire).
    /// More permits than the limit are [`TryAcquireError::Denied`]; other denials are a decision.
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub async fn decide(
        &self,
        verb: Verb,
        key: &str,
        permits: u64,
    ) -> Result<Decision, TryAcquireError> {
        let request = self.keyed.request(key, verb, permits)?;
        let answer = self.send(&request).await.and_then(|reply| request.answer(&reply));
        self.decision((verb, key, permits), answer)
    }

    /// Makes the limiter of the key full, by forgetting it. The fallback stays as it is.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Key`] and [`TryAcquireError::Store`].
    pub async fn reset(&self, key: &str) -> Result<(), TryAcquireError> {
        let name = self.keyed.name(key)?;
        let run = Run { script: &RESET, keys: &[&name], arguments: &[] };
        self.runner.run(run).await?;
        Ok(())
    }

    pub(crate) async fn send(&self, request: &Request<'_>) -> Result<Vec<i64>, StoreError> {
        let (keys, arguments) = ([request.name()], request.arguments());
        let run = Run { script: request.script(), keys: &keys, arguments: &arguments };
        self.runner.run(run).await
    }
}

/// # For callers on threads
impl<R: RunScriptBlocking> RedisLimiter<R> {
    /// Does the same as [`try_acquire`](RedisLimiter::try_acquire). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub fn try_acquire_blocking(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.decide_blocking(Verb::Take, key, permits)?.result()
    }

    /// Does the same as [`try_acquire_up_to`](RedisLimiter::try_acquire_up_to). Blocks until the server
    /// answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire) of one permit.
    pub fn try_acquire_up_to_blocking(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        self.decide_blocking(Verb::UpTo, key, permits)?.result()
    }

    /// Does the same as [`peek`](RedisLimiter::peek). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub fn peek_blocking(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.decide_blocking(Verb::Peek, key, permits)?.result()
    }

    /// Does the same as [`try_acquire_leaving`](RedisLimiter::try_acquire_leaving). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire_leaving`](RedisLimiter::try_acquire_leaving).
    pub fn try_acquire_leaving_blocking(
        &self,
        key: &str,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, TryAcquireError> {
        self.leaving_blocking(Verb::Take, key, permits, reserve)
    }

    /// Does the same as [`peek_leaving`](RedisLimiter::peek_leaving). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire_leaving`](RedisLimiter::try_acquire_leaving).
    pub fn peek_leaving_blocking(
        &self,
        key: &str,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, TryAcquireError> {
        self.leaving_blocking(Verb::Peek, key, permits, reserve)
    }

    fn leaving_blocking(
        &self,
        verb: Verb,
        key: &str,
        permits: u64,
        reserve: u64,
    ) -> Result<Grant, TryAcquireError> {
        let request = self.keyed.leaving(key, verb, permits, reserve)?;
        let answer = self.send_blocking(&request).and_then(|reply| request.answer(&reply));
        self.answer_leaving((verb, key), (permits, reserve), answer)
    }

    /// Does the same as [`decide`](RedisLimiter::decide). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`decide`](RedisLimiter::decide).
    pub fn decide_blocking(
        &self,
        verb: Verb,
        key: &str,
        permits: u64,
    ) -> Result<Decision, TryAcquireError> {
        let request = self.keyed.request(key, verb, permits)?;
        let answer = self.send_blocking(&request).and_then(|reply| request.answer(&reply));
        self.decision((verb, key, permits), answer)
    }

    /// Does the same as [`reset`](RedisLimiter::reset). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`reset`](RedisLimiter::reset).
    pub fn reset_blocking(&self, key: &str) -> Result<(), TryAcquireError> {
        let name = self.keyed.name(key)?;
        let run = Run { script: &RESET, keys: &[&name], arguments: &[] };
        self.runner.run_blocking(run)?;
        Ok(())
    }

    pub(crate) fn send_blocking(&self, request: &Request<'_>) -> Result<Vec<i64>, StoreError> {
        let (keys, arguments) = ([request.name()], request.arguments());
        let run = Run { script: request.script(), keys: &keys, arguments: &arguments };
        self.runner.run_blocking(run)
    }
}
