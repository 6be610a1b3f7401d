//! Grants of which what is not used can be given back.

use sluicegate::Grant;

use crate::error::TryAcquireError;
use crate::limiter::RedisLimiter;
use crate::request::Verb;
use crate::run_script::{RunScript, RunScriptBlocking};

/// A grant for an estimate, of which what was not used can be given back.
///
/// Permits that are given back are those of the grant, not new ones: they come back to where they were taken
/// from. So no span of time admits more than without, whatever is given back, and in whatever order.
///
/// | limit | gives back | too late for it |
/// |---|---|---|
/// | smooth token bucket | each permit as long as the bucket would still hold it if it had not been taken, or for less by a token | after the burst is earned once more |
/// | fixed window, window from the first | all | after the window |
/// | sliding counter | all | after the window that follows |
/// | sliding window | all | when they do not count any more |
/// | interval bucket, GCRA, log | nothing | |
///
/// If it is dropped, it keeps its permits.
#[derive(Debug)]
#[must_use = "gives nothing back by itself"]
pub struct RedisEstimate<'a, R> {
    limiter: &'a RedisLimiter<R>,
    name: String,
    grant: Grant,
    charged: Option<Vec<i64>>,
}

impl<R> RedisEstimate<'_, R> {
    /// Returns the grant.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }
}

impl<R: RunScript> RedisEstimate<'_, R> {
    /// Gives `unused` permits of the grant back, and returns how many of them others can take; the rest is lost.
    /// More permits than were granted count as all of them.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Store`] if the server does not answer. They may have been given back.
    pub async fn give_back(self, unused: u64) -> Result<u64, TryAcquireError> {
        let unused = unused.min(self.grant.permits());
        let Some(charged) = self.charged.filter(|_| unused > 0) else { return Ok(0) };
        let request = self.limiter.keyed().give_back(&self.name, unused, &charged);
        let reply = self.limiter.send(&request).await?;
        Ok(request.given_back(&reply)?)
    }
}

impl<R: RunScriptBlocking> RedisEstimate<'_, R> {
    /// Does the same as [`give_back`](RedisEstimate::give_back). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`give_back`](RedisEstimate::give_back).
    pub fn give_back_blocking(self, unused: u64) -> Result<u64, TryAcquireError> {
        let unused = unused.min(self.grant.permits());
        let Some(charged) = self.charged.filter(|_| unused > 0) else { return Ok(0) };
        let request = self.limiter.keyed().give_back(&self.name, unused, &charged);
        let reply = self.limiter.send_blocking(&request)?;
        Ok(request.given_back(&reply)?)
    }
}

impl<R: RunScript> RedisLimiter<R> {
    /// Takes all of `permits` for the key, or none, and returns an estimate that can give a part back.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use sluicegate_redis::{RedisLimiter, RunScript, TryAcquireError};
    /// # async fn call(limiter: RedisLimiter<impl RunScript>) -> Result<(), TryAcquireError> {
    /// // A reply may have 4,000 tokens; it has 1,500.
    /// let estimate = limiter.try_acquire_settleable("tenant:7", 4_000).await?;
    /// estimate.give_back(2_500).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn try_acquire_settleable(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<RedisEstimate<'_, R>, TryAcquireError> {
        let request = self.keyed().request(key, Verb::Take, permits)?;
        let reply = self.send(&request).await?;
        let (grant, charged) = (request.answer(&reply)?, request.charged(&reply));
        Ok(RedisEstimate { limiter: self, name: request.name().to_owned(), grant, charged })
    }
}

impl<R: RunScriptBlocking> RedisLimiter<R> {
    /// Does the same as [`try_acquire_settleable`](RedisLimiter::try_acquire_settleable). Blocks until the server
    /// answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub fn try_acquire_settleable_blocking(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<RedisEstimate<'_, R>, TryAcquireError> {
        let request = self.keyed().request(key, Verb::Take, permits)?;
        let reply = self.send_blocking(&request)?;
        let (grant, charged) = (request.answer(&reply)?, request.charged(&reply));
        Ok(RedisEstimate { limiter: self, name: request.name().to_owned(), grant, charged })
    }
}
