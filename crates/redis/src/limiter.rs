//! Limiters whose keys are on a server.

use sluicegate::Grant;

use crate::error::{StoreError, TryAcquireError};
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::request::{KeyedLimit, Request, Verb};
use crate::run_script::{Run, RunScript, RunScriptBlocking};
use crate::script::RESET;

/// A limit for each key, kept on a server that other processes share.
///
/// Each call is one round trip, in which the server decides and writes at once. With a [`RunScript`], calls are
/// futures; with a [`RunScriptBlocking`], they are the methods whose names end in `_blocking`.
///
/// A clone is as cheap as one of its runner.
#[derive(Clone, Debug)]
pub struct RedisLimiter<R> {
    keyed: KeyedLimit,
    runner: R,
}

impl<R> RedisLimiter<R> {
    /// Creates a limiter of `limit` for each of the `keys`. Sends nothing.
    ///
    /// Limiters of the same limit and the same space of keys are the same, on whatever machines they are.
    pub fn new(limit: RedisLimit, keys: KeySpace, runner: R) -> RedisLimiter<R> {
        RedisLimiter { keyed: KeyedLimit { limit, keys }, runner }
    }

    /// Returns the limit.
    pub fn limit(&self) -> &RedisLimit {
        &self.keyed.limit
    }

    pub(crate) fn keyed(&self) -> &KeyedLimit {
        &self.keyed
    }

    /// Returns the client that runs the scripts.
    pub fn runner(&self) -> &R {
        &self.runner
    }
}

/// # For callers in tasks
impl<R: RunScript> RedisLimiter<R> {
    /// Takes all of `permits` for the key, or none. A request for 0 permits is always granted.
    ///
    /// # Errors
    ///
    /// * [`TryAcquireError::Denied`] as for a limiter of the engine. More permits than the limit are denied
    ///   without a round trip.
    /// * [`TryAcquireError::Key`] if the key is too long.
    /// * [`TryAcquireError::Store`] if the server does not answer.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the permits may have been taken, or may yet be.
    pub async fn try_acquire(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.ask(key, Verb::Take, permits).await
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
        self.ask(key, Verb::UpTo, permits).await
    }

    /// Returns the answer that [`try_acquire`](RedisLimiter::try_acquire) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub async fn peek(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.ask(key, Verb::Peek, permits).await
    }

    /// Makes the limiter of the key full, by forgetting it.
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

    pub(crate) async fn ask(
        &self,
        key: &str,
        verb: Verb,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        let request = self.keyed.request(key, verb, permits)?;
        request.answer(&self.send(&request).await?)
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
        self.ask_blocking(key, Verb::Take, permits)
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
        self.ask_blocking(key, Verb::UpTo, permits)
    }

    /// Does the same as [`peek`](RedisLimiter::peek). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub fn peek_blocking(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireError> {
        self.ask_blocking(key, Verb::Peek, permits)
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

    pub(crate) fn ask_blocking(
        &self,
        key: &str,
        verb: Verb,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        let request = self.keyed.request(key, verb, permits)?;
        request.answer(&self.send_blocking(&request)?)
    }

    pub(crate) fn send_blocking(&self, request: &Request<'_>) -> Result<Vec<i64>, StoreError> {
        let (keys, arguments) = ([request.name()], request.arguments());
        let run = Run { script: request.script(), keys: &keys, arguments: &arguments };
        self.runner.run_blocking(run)
    }
}
