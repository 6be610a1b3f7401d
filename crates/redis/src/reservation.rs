//! Permits that are taken for a later instant.

use std::time::{Duration, Instant};

use crate::decision::Verb;
use crate::error::{StoreError, TryAcquireError};
use crate::estimate::RedisEstimate;
use crate::limiter::RedisLimiter;
use crate::request::Request;
use crate::run_script::{RunScript, RunScriptBlocking};

/// Permits that are the caller's, to be used from an instant on.
///
/// To drop a reservation is to keep its permits.
#[derive(Debug)]
#[must_use = "to drop a reservation is to keep its permits"]
pub struct RedisReservation<'a, R> {
    estimate: RedisEstimate<'a, R>,
    ready_after: Duration,
    at: Option<Instant>,
}

impl<'a, R> RedisReservation<'a, R> {
    fn new(
        limiter: &'a RedisLimiter<R>,
        (key, permits): (&str, u64),
        request: &Request<'_>,
        reply: Result<Vec<i64>, StoreError>,
    ) -> Result<RedisReservation<'a, R>, TryAcquireError> {
        let ready_after = match &reply {
            // If it is not one of the script's answers, the estimate says so.
            Ok(reply) => request.ready_after(reply).unwrap_or_default(),
            Err(_) => Duration::ZERO,
        };
        let at = Instant::now().checked_add(ready_after);
        let estimate = limiter.estimate((Verb::Take, key, permits), request, reply)?;
        Ok(RedisReservation { estimate, ready_after, at })
    }

    /// Returns the number of permits.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.estimate.grant().permits()
    }

    /// Returns the wait that there was when the server made the reservation.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Returns the instant from which the permits may be used; nothing if the clock has none that late.
    ///
    /// It counts from the time at which the answer came: so it is later than the server's by the time that the
    /// answer took.
    #[must_use]
    pub fn at(&self) -> Option<Instant> {
        self.at
    }
}

impl<R: RunScript> RedisReservation<'_, R> {
    /// Gives the permits back, as far as [`RedisEstimate`] says. Returns how many of them others can take.
    ///
    /// The last reservation of a key is as if it had never been made. (Intervals that began with it stay as they are.)
    ///
    /// # Errors
    ///
    /// [`StoreError`] if the server does not answer. They may have been given back.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, they may have been given back, or may yet be.
    pub async fn cancel(self) -> Result<u64, StoreError> {
        self.estimate.give_back(u64::MAX).await
    }
}

impl<R: RunScriptBlocking> RedisReservation<'_, R> {
    /// Does the same as [`cancel`](RedisReservation::cancel). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`cancel`](RedisReservation::cancel).
    pub fn cancel_blocking(self) -> Result<u64, StoreError> {
        self.estimate.give_back_blocking(u64::MAX)
    }
}

/// # Reservations, for callers in tasks
impl<R: RunScript> RedisLimiter<R> {
    /// Takes all of `permits` for the earliest instant at which they are earned, if that is at most `longest` away,
    /// which is rounded down to whole microseconds.
    ///
    /// Buckets and GCRAs go into debt for it, by at most the `max_debt` of the quota; a GCRA by as many cells as may
    /// pass at once. Whoever asks later waits until the debt is paid. Windows and logs cannot promise a later instant:
    /// they grant what is there now, or nothing. So does a [`Fallback`](crate::Fallback).
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire). The
    /// [`retry_after`](sluicegate::Denied::retry_after) of a denial is the time after which the same reservation
    /// would be made, if no other permits are taken.
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](RedisLimiter::try_acquire).
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # use std::time::Duration;
    /// # use sluicegate_redis::{RedisLimiter, RunScript, TryAcquireError};
    /// # async fn call(limiter: RedisLimiter<impl RunScript>) -> Result<(), TryAcquireError> {
    /// let reservation = limiter.reserve_within("api", 1, Duration::from_secs(2)).await?;
    /// if let Some(at) = reservation.at() {
    ///     tokio::time::sleep_until(at.into()).await;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn reserve_within(
        &self,
        key: &str,
        permits: u64,
        longest: Duration,
    ) -> Result<RedisReservation<'_, R>, TryAcquireError> {
        let request = self.keyed().reserve(key, permits, longest)?;
        let reply = self.send(&request).await;
        RedisReservation::new(self, (key, permits), &request, reply)
    }
}

/// # Reservations, for callers on threads
impl<R: RunScriptBlocking> RedisLimiter<R> {
    /// Does the same as [`reserve_within`](RedisLimiter::reserve_within). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`reserve_within`](RedisLimiter::reserve_within).
    pub fn reserve_within_blocking(
        &self,
        key: &str,
        permits: u64,
        longest: Duration,
    ) -> Result<RedisReservation<'_, R>, TryAcquireError> {
        let request = self.keyed().reserve(key, permits, longest)?;
        let reply = self.send_blocking(&request);
        RedisReservation::new(self, (key, permits), &request, reply)
    }
}
