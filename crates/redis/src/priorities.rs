//! Classes of requests on a server, each of which leaves a reserve to the more important ones.

use std::borrow::Cow;

use sluicegate::share::{Priorities, PriorityClass};
use sluicegate::{Grant, ManualClock, Quota, Rate, TokenBucket};

use crate::error::{LimitError, TryAcquireError};
use crate::limiter::RedisLimiter;
use crate::run_script::{RunScript, RunScriptBlocking};

/// The key of all classes, unless there is another one.
pub(crate) const ALL: &str = "all";

/// Classes of requests over one limit that several machines share: a class is refused while less than its reserve would
/// remain.
///
/// Gives the answers of the engine's [`Priorities`]: they tell what is above the reserve of the class. The limit can be any that
/// a [`RedisLimiter`] enforces; all classes count against one of its keys. Each call is one round trip, in which the server
/// decides and takes at once ([`try_acquire_leaving`](RedisLimiter::try_acquire_leaving)), so the reserve is exact, whatever
/// other machines do. While the server gives no answer, the limiter's [`Fallback`](crate::Fallback) does.
///
/// # Examples
///
/// ```no_run
/// # #[cfg(feature = "async")]
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use sluicegate::quota;
/// use sluicegate_redis::{Async, KeySpace, RedisLimit, RedisLimiter, RedisPriorities};
///
/// const USER: usize = 0;
/// const BATCH: usize = 1;
///
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let limit = RedisLimit::token_bucket(quota!(100 / second))?;
/// let limiter = RedisLimiter::new(limit, KeySpace::new("app:api")?, Async::new(client));
/// // Batches of all machines leave half of it to users.
/// let priorities = RedisPriorities::by_percent(limiter, [("user", 0), ("batch", 50)])?;
/// match priorities.try_acquire(BATCH, 1).await {
///     Ok(grant) => println!("{} left for batches", grant.remaining()),
///     Err(error) => println!("{error}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisPriorities<R> {
    limiter: RedisLimiter<R>,
    key: String,
    classes: Box<[PriorityClass]>,
}

impl<R> RedisPriorities<R> {
    /// Creates classes that leave so many permits of the limit. Sends nothing.
    ///
    /// # Errors
    ///
    /// [`LimitError::Config`] as for [`Priorities::new`].
    pub fn new(
        limiter: RedisLimiter<R>,
        classes: impl IntoIterator<Item = PriorityClass>,
    ) -> Result<RedisPriorities<R>, LimitError> {
        let checked = Priorities::new(like(&limiter)?, classes)?;
        Ok(RedisPriorities { limiter, key: ALL.to_owned(), classes: checked.classes().into() })
    }

    /// Creates classes that leave so many percent of the limit, rounded up to whole permits. Sends nothing.
    ///
    /// # Errors
    ///
    /// [`LimitError::Config`] as for [`Priorities::new`].
    pub fn by_percent<N: Into<Cow<'static, str>>>(
        limiter: RedisLimiter<R>,
        classes: impl IntoIterator<Item = (N, u8)>,
    ) -> Result<RedisPriorities<R>, LimitError> {
        let checked = Priorities::by_percent(like(&limiter)?, classes)?;
        Ok(RedisPriorities { limiter, key: ALL.to_owned(), classes: checked.classes().into() })
    }

    /// Counts all classes against this key of the limiter, in place of the key `all`.
    #[must_use]
    pub fn with_key(self, key: impl Into<String>) -> RedisPriorities<R> {
        RedisPriorities { key: key.into(), ..self }
    }

    /// Returns the classes, the most important one first if they were given so.
    #[must_use]
    pub fn classes(&self) -> &[PriorityClass] {
        &self.classes
    }

    /// Returns the limiter, to be asked past the classes or reset.
    #[must_use]
    pub fn limiter(&self) -> &RedisLimiter<R> {
        &self.limiter
    }

    /// Returns the index of the class of this name, or of the last class.
    #[cfg(feature = "http")]
    pub(crate) fn index(&self, name: &str) -> usize {
        let found = self.classes.iter().position(|class| class.name == name);
        found.unwrap_or(self.classes.len() - 1)
    }

    /// Returns the reserve of a class, or of the last one.
    fn reserve(&self, class: usize) -> u64 {
        self.classes.get(class).or(self.classes.last()).map_or(0, |class| class.reserve)
    }
}

/// # For callers in tasks
impl<R: RunScript> RedisPriorities<R> {
    /// Takes all of `permits` for a request of a class, or none if less than the reserve of the class would remain.
    ///
    /// A class that there is not counts as the last one. A request for 0 permits is always granted.
    ///
    /// # Errors
    ///
    /// As for [`RedisLimiter::try_acquire_leaving`], with a denial that tells what is above the reserve.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the permits may have been taken, or may yet be.
    pub async fn try_acquire(&self, class: usize, permits: u64) -> Result<Grant, TryAcquireError> {
        let reserve = self.reserve(class);
        let answer = self.limiter.try_acquire_leaving(&self.key, permits, reserve).await;
        above(answer, reserve)
    }

    /// Returns the answer that [`try_acquire`](RedisPriorities::try_acquire) would give. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisPriorities::try_acquire).
    pub async fn peek(&self, class: usize, permits: u64) -> Result<Grant, TryAcquireError> {
        let reserve = self.reserve(class);
        let answer = self.limiter.peek_leaving(&self.key, permits, reserve).await;
        above(answer, reserve)
    }
}

/// # For callers on threads
impl<R: RunScriptBlocking> RedisPriorities<R> {
    /// Does the same as [`try_acquire`](RedisPriorities::try_acquire). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisPriorities::try_acquire).
    pub fn try_acquire_blocking(
        &self,
        class: usize,
        permits: u64,
    ) -> Result<Grant, TryAcquireError> {
        let reserve = self.reserve(class);
        let answer = self.limiter.try_acquire_leaving_blocking(&self.key, permits, reserve);
        above(answer, reserve)
    }

    /// Does the same as [`peek`](RedisPriorities::peek). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisPriorities::try_acquire).
    pub fn peek_blocking(&self, class: usize, permits: u64) -> Result<Grant, TryAcquireError> {
        let reserve = self.reserve(class);
        let answer = self.limiter.peek_leaving_blocking(&self.key, permits, reserve);
        above(answer, reserve)
    }
}

/// Returns a bucket of the same limit, whose classes the engine checks.
fn like<R>(limiter: &RedisLimiter<R>) -> Result<TokenBucket<ManualClock>, LimitError> {
    let quota = Quota::new(Rate::new(1, std::time::Duration::from_secs(1))?);
    let quota = quota.with_burst(limiter.limit().limit())?;
    Ok(TokenBucket::with_clock(quota, ManualClock::new()))
}

/// Returns an answer as it is for a class that leaves `reserve` permits.
fn above(answer: Result<Grant, TryAcquireError>, reserve: u64) -> Result<Grant, TryAcquireError> {
    match answer {
        Ok(grant) => Ok(grant.above(reserve)),
        Err(TryAcquireError::Denied(denied)) => Err(denied.above(reserve).into()),
        Err(error) => Err(error),
    }
}
