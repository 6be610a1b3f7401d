//! Grants that are settled when it is known what was used.

use sluicegate::Grant;

use crate::decision::Verb;
use crate::error::{StoreError, TryAcquireError};
use crate::limiter::RedisLimiter;
use crate::request::Request;
use crate::run_script::{RunScript, RunScriptBlocking};

/// A grant for an estimate, of which what was not used can be given back, and which can be charged with more.
///
/// Permits that are given back are those of the grant, not new ones: they come back to where they were taken
/// from. So no span of time admits more than without, whatever is given back, and in whatever order. Permits used
/// beyond the estimate are a debt of a bucket or a GCRA, up to its largest; windows and logs count them in the
/// present window, whatever their limit.
///
/// | limit | gives back | too late for it |
/// |---|---|---|
/// | smooth token bucket | each permit as long as the bucket would still hold it if it had not been taken, or for less by a token | after the burst is earned once more |
/// | interval bucket, GCRA | all if nothing else was taken or given back since, and else nothing | when it is full |
/// | fixed window, window from the first | all | after the window |
/// | sliding counter | all | after the window that follows |
/// | sliding window | all | when they do not count any more |
/// | log | nothing | |
///
/// If it is dropped, it keeps its permits. One that a [`Fallback`](crate::Fallback) has granted gives nothing back, and
/// is charged with no more.
#[derive(Debug)]
#[must_use = "gives nothing back by itself"]
pub struct RedisEstimate<'a, R> {
    limiter: &'a RedisLimiter<R>,
    grant: Grant,
    /// The name of the key, if the server has made the grant.
    name: Option<String>,
    charged: Option<Vec<i64>>,
}

/// Permits that a settlement of a [`RedisEstimate`] has moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedisSettled {
    given_back: u64,
    lost: u64,
    taken_beyond: u64,
    unpaid: u64,
}

impl RedisSettled {
    /// Returns the permits of the estimate that others can take.
    #[must_use]
    pub fn given_back(&self) -> u64 {
        self.given_back
    }

    /// Returns the permits of the estimate that were not used, and can be taken by nobody: it was too late for
    /// them.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the permits that were taken beyond the estimate.
    #[must_use]
    pub fn taken_beyond(&self) -> u64 {
        self.taken_beyond
    }

    /// Returns the permits that were used and are charged to nobody: the debt would have become too deep.
    #[must_use]
    pub fn unpaid(&self) -> u64 {
        self.unpaid
    }
}

impl<'a, R> RedisEstimate<'a, R> {
    /// Returns the estimate for the grant that the server made by `reply`, to `request`.
    pub(crate) fn new(
        limiter: &'a RedisLimiter<R>,
        grant: Grant,
        request: &Request<'_>,
        reply: Option<&[i64]>,
    ) -> RedisEstimate<'a, R> {
        let name = reply.map(|_| request.name().to_owned());
        // Nothing was taken by a request for nothing.
        let charged =
            reply.filter(|_| grant.permits() > 0).and_then(|reply| request.charged(reply));
        RedisEstimate { limiter, grant, name, charged }
    }

    /// Returns the grant.
    #[must_use]
    pub fn grant(&self) -> Grant {
        self.grant
    }

    /// Returns the request that gives `unused` permits back; nothing if none come back.
    fn giving_back(&self, unused: u64) -> Option<Request<'a>> {
        let unused = unused.min(self.grant.permits());
        let (name, charged) = (self.name.as_ref()?, self.charged.as_ref()?);
        (unused > 0).then(|| self.limiter.keyed().give_back(name, unused, charged))
    }

    /// Returns the request that charges `more` permits; nothing if there are none to charge.
    fn charging(&self, more: u64) -> Option<Request<'a>> {
        let name = self.name.as_ref()?;
        (more > 0).then(|| self.limiter.keyed().charge(name, more))
    }

    /// Returns the request that settles the grant with what was used.
    fn settling(&self, used: u64) -> Option<Request<'a>> {
        match used.checked_sub(self.grant.permits()) {
            Some(more) => self.charging(more),
            None => self.giving_back(self.grant.permits() - used),
        }
    }

    /// Returns what has become of an estimate that was settled with `used`, by which `moved` permits were moved.
    fn settled(&self, used: u64, moved: u64) -> RedisSettled {
        let mut settled = RedisSettled::default();
        if let Some(more) = used.checked_sub(self.grant.permits()) {
            settled.taken_beyond = moved;
            settled.unpaid = more.saturating_sub(moved);
        } else {
            settled.given_back = moved;
            settled.lost = (self.grant.permits() - used).saturating_sub(moved);
        }
        settled
    }
}

impl<R: RunScript> RedisEstimate<'_, R> {
    /// Settles the grant with what was used: gives back the rest, or charges what was used beyond it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server does not answer. The grant may have been settled.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the grant may have been settled, or may yet be.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use sluicegate_redis::{RedisLimiter, RunScript, TryAcquireError};
    /// # async fn call(limiter: RedisLimiter<impl RunScript>) -> Result<(), TryAcquireError> {
    /// // A reply may have 4,000 tokens; it has 1,500.
    /// let estimate = limiter.try_acquire_settleable("tenant:7", 4_000).await?;
    /// let settled = estimate.settle(1_500).await?;
    /// println!("{} come back", settled.given_back());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn settle(self, used: u64) -> Result<RedisSettled, StoreError> {
        let moved = self.send(self.settling(used)).await?;
        Ok(self.settled(used, moved))
    }

    /// Gives `unused` permits of the grant back, and returns how many of them others can take; the rest is lost.
    /// More permits than were granted count as all of them.
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server does not answer. They may have been given back.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, they may have been given back, or may yet be.
    pub async fn give_back(self, unused: u64) -> Result<u64, StoreError> {
        self.send(self.giving_back(unused)).await
    }

    async fn send(&self, request: Option<Request<'_>>) -> Result<u64, StoreError> {
        let Some(request) = request else { return Ok(0) };
        request.moved(&self.limiter.send(&request).await?)
    }
}

impl<R: RunScriptBlocking> RedisEstimate<'_, R> {
    /// Does the same as [`settle`](RedisEstimate::settle). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`settle`](RedisEstimate::settle).
    pub fn settle_blocking(self, used: u64) -> Result<RedisSettled, StoreError> {
        let moved = self.send_blocking(self.settling(used))?;
        Ok(self.settled(used, moved))
    }

    /// Does the same as [`give_back`](RedisEstimate::give_back). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`give_back`](RedisEstimate::give_back).
    pub fn give_back_blocking(self, unused: u64) -> Result<u64, StoreError> {
        self.send_blocking(self.giving_back(unused))
    }

    fn send_blocking(&self, request: Option<Request<'_>>) -> Result<u64, StoreError> {
        let Some(request) = request else { return Ok(0) };
        request.moved(&self.limiter.send_blocking(&request)?)
    }
}

/// # Settlement, for callers in tasks
impl<R: RunScript> RedisLimiter<R> {
    /// Takes all of `permits` for the key, or none, and returns an estimate that can be settled with what was used.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    pub async fn try_acquire_settleable(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<RedisEstimate<'_, R>, TryAcquireError> {
        let request = self.keyed().request(key, Verb::Take, permits)?;
        let reply = self.send(&request).await;
        self.estimate((Verb::Take, key, permits), &request, reply)
    }
}

/// # Settlement, for callers on threads
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
        let reply = self.send_blocking(&request);
        self.estimate((Verb::Take, key, permits), &request, reply)
    }
}

impl<R> RedisLimiter<R> {
    /// Returns the estimate that the server's reply grants, or the fallback.
    pub(crate) fn estimate(
        &self,
        asked: (Verb, &str, u64),
        request: &Request<'_>,
        reply: Result<Vec<i64>, StoreError>,
    ) -> Result<RedisEstimate<'_, R>, TryAcquireError> {
        let (reply, answer) = match reply {
            Ok(reply) => {
                let answer = request.answer(&reply);
                (Some(reply).filter(|_| answer.is_ok()), answer)
            }
            Err(failure) => (None, Err(failure)),
        };
        let grant = self.decision(asked, answer)?.result()?;
        Ok(RedisEstimate::new(self, grant, request, reply.as_deref()))
    }
}
