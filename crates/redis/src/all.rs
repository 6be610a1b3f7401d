//! Several limits that decide together.

use sluicegate::{ConfigError, Denied, Grant};

use crate::decision::Verb;
use crate::error::{LimitError, StoreError, TryAcquireAllError, TryAcquireError};
use crate::key_space::KeySpace;
use crate::limit::RedisLimit;
use crate::request::{KeyedLimit, Request};
use crate::run_script::{Run, RunScript, RunScriptBlocking};
use crate::script::{ALL, RESET};

/// The largest number of limits.
const MAX: usize = 64;

/// Several limits for each key, of which all grant a request or none.
///
/// All decide in one script, so nothing comes between: what one of them denies costs the others nothing, and a call is
/// one round trip. The names of a key have the same hash tag, so that they are on one node of a cluster.
///
/// Each limit may also be used separately, by a [`RedisLimiter`](crate::RedisLimiter) with the same [`KeySpace`].
///
/// # Accuracy
///
/// The bound of each limit holds, and no permits are lost.
///
/// # Examples
///
/// ```no_run
/// # #[cfg(feature = "async")]
/// # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
/// use sluicegate::{quota, rate};
/// use sluicegate_redis::{Async, KeySpace, RedisAll, RedisLimit, TryAcquireAllError};
///
/// let client = redis::Client::open("redis://127.0.0.1/")?;
/// let requests = RedisLimit::token_bucket(quota!(10 / second))?;
/// let tokens = RedisLimit::fixed_window(rate!(1_000_000 / day))?;
/// let keys = [KeySpace::new("app:requests")?, KeySpace::new("app:tokens")?];
/// let both = RedisAll::new([requests, tokens].into_iter().zip(keys), Async::new(client))?;
///
/// // One request, and 1,500 tokens.
/// match both.try_acquire_each("tenant:7", &[1, 1_500]).await {
///     Ok(grants) => println!("{} tokens left", grants[1].remaining()),
///     Err(TryAcquireAllError::Denied { which, denied }) => println!("limit {which}: {denied}"),
///     Err(error) => println!("{error}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RedisAll<R> {
    limits: Box<[KeyedLimit]>,
    runner: R,
}

/// A request to all limits.
pub(crate) struct RequestToAll<'a> {
    verb: Verb,
    claims: Vec<Request<'a>>,
}

impl<R> RedisAll<R> {
    /// Combines `limits`, each with the keys in which it counts. Sends nothing.
    ///
    /// # Errors
    ///
    /// * [`LimitError::Config`] if there are none, or more than 64.
    /// * [`LimitError::SameKeys`] if two limits of a kind have the same space of keys.
    pub fn new(
        limits: impl IntoIterator<Item = (RedisLimit, KeySpace)>,
        runner: R,
    ) -> Result<RedisAll<R>, LimitError> {
        let limits: Box<[_]> =
            limits.into_iter().map(|(limit, keys)| KeyedLimit { limit, keys }).collect();
        if limits.is_empty() || limits.len() > MAX {
            return Err(ConfigError::Count { count: limits.len() }.into());
        }
        for (second, limit) in limits.iter().enumerate() {
            if let Some(first) = limits[..second].iter().position(|other| other.shares_keys(limit))
            {
                return Err(LimitError::SameKeys { first, second });
            }
        }
        Ok(RedisAll { limits, runner })
    }

    /// Returns the limits, in the order of the index of a denial.
    pub fn limits(&self) -> impl ExactSizeIterator<Item = &RedisLimit> {
        self.limits.iter().map(|keyed| &keyed.limit)
    }

    /// Returns the client that runs the scripts.
    pub fn runner(&self) -> &R {
        &self.runner
    }

    /// Prepares a request of as many permits from each limit as `permits` says for its index.
    pub(crate) fn request(
        &self,
        verb: Verb,
        key: &str,
        permits: impl Fn(usize) -> u64,
    ) -> Result<RequestToAll<'_>, TryAcquireAllError> {
        let mut claims = Vec::with_capacity(self.limits.len());
        let mut denial = None;
        for (which, keyed) in self.limits.iter().enumerate() {
            match keyed.request(key, verb, permits(which)) {
                Ok(claim) => claims.push(claim),
                Err(TryAcquireError::Denied(denied)) => denial = worse(denial, which, denied),
                Err(TryAcquireError::Key(error)) => return Err(error.into()),
                Err(TryAcquireError::Store(error)) => return Err(error.into()),
            }
        }
        match denial {
            Some((which, denied)) => Err(TryAcquireAllError::Denied { which, denied }),
            None => Ok(RequestToAll { verb, claims }),
        }
    }

    fn names(&self, key: &str) -> Result<Vec<String>, TryAcquireAllError> {
        Ok(self.limits.iter().map(|keyed| keyed.name(key)).collect::<Result<_, _>>()?)
    }

    fn check(&self, permits: &[u64]) -> Result<(), TryAcquireAllError> {
        let (amounts, limits) = (permits.len(), self.limits.len());
        if amounts == limits {
            Ok(())
        } else {
            Err(TryAcquireAllError::Amounts { amounts, limits })
        }
    }
}

/// Returns the denial with the longer wait; if none of both can wait, that of the lower limit.
fn worse(one: Option<(usize, Denied)>, which: usize, denied: Denied) -> Option<(usize, Denied)> {
    let other = Some((which, denied));
    let Some((_, first)) = one else { return other };
    let is_worse = match (first.retry_after(), denied.retry_after()) {
        (Some(wait), Some(longer)) => longer > wait,
        (None, Some(_)) => false,
        (Some(_), None) => true,
        (None, None) => denied.limit() < first.limit(),
    };
    if is_worse { other } else { one }
}

impl RequestToAll<'_> {
    /// Has the script count from `micros` instead of the server's time.
    #[cfg(test)]
    pub(crate) fn at(self, micros: u64) -> Self {
        let claims = self.claims.into_iter().map(|claim| claim.at(micros)).collect();
        RequestToAll { claims, ..self }
    }

    pub(crate) fn keys(&self) -> Vec<&str> {
        self.claims.iter().map(Request::name).collect()
    }

    pub(crate) fn arguments(&self) -> Vec<&[u8]> {
        let verb = match self.verb {
            Verb::Take => "take",
            Verb::UpTo => "up_to",
            Verb::Peek => "peek",
        };
        let time = self.claims.first().map_or("", Request::time);
        // Each limit has permits of its own.
        let mut arguments = vec![b"".as_slice(), verb.as_bytes(), b"", time.as_bytes()];
        for claim in &self.claims {
            let (script, permits) = (claim.script().name(), claim.permits());
            arguments.extend([script.as_bytes(), permits.as_bytes(), claim.numbers()]);
        }
        arguments
    }

    /// Reads the answer: a grant of each limit, or the worst denial.
    pub(crate) fn answer(&self, reply: &[i64]) -> Result<Vec<Grant>, TryAcquireAllError> {
        let mut rest = reply;
        let mut grants = Vec::with_capacity(self.claims.len());
        let mut denial = None;
        for (which, claim) in self.claims.iter().enumerate() {
            let (&length, numbers) = rest.split_first().ok_or_else(|| not_an_answer(reply))?;
            let length = usize::try_from(length).ok().filter(|&length| length <= numbers.len());
            let (numbers, others) = numbers.split_at(length.ok_or_else(|| not_an_answer(reply))?);
            rest = others;
            match claim.answer(numbers)? {
                Ok(grant) => grants.push(grant),
                Err(denied) => denial = worse(denial, which, denied),
            }
        }
        match denial {
            Some((which, denied)) => Err(TryAcquireAllError::Denied { which, denied }),
            None => Ok(grants),
        }
    }

    /// Reads the answer, and returns the grant with the least left; among equals the first.
    fn scarcest(&self, reply: &[i64]) -> Result<Grant, TryAcquireAllError> {
        let grants = self.answer(reply)?.into_iter();
        grants.min_by_key(Grant::remaining).ok_or_else(|| not_an_answer(reply).into())
    }
}

fn not_an_answer(reply: &[i64]) -> StoreError {
    StoreError::Reply { script: ALL.name(), reply: reply.to_vec() }
}

/// # For callers in tasks
impl<R: RunScript> RedisAll<R> {
    /// Takes all of `permits` from each limit for the key, or nothing from any. Returns the grant of the limit with
    /// the least left. A request for 0 permits is always granted.
    ///
    /// # Errors
    ///
    /// * [`TryAcquireAllError::Denied`] if a limit denies: of those that do, the one with the longest wait. More permits
    ///   than a limit are denied without a round trip.
    /// * [`TryAcquireAllError::Key`] if the key is too long, and [`TryAcquireAllError::Store`] if the server does not
    ///   answer.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the permits may have been taken, or may yet be.
    pub async fn try_acquire(&self, key: &str, permits: u64) -> Result<Grant, TryAcquireAllError> {
        let request = self.request(Verb::Take, key, |_| permits)?;
        request.scarcest(&self.send(&request).await?)
    }

    /// Takes from each limit as many permits as `permits` says for its index, or nothing from any. Returns the grants of
    /// all.
    ///
    /// # Errors
    ///
    /// [`TryAcquireAllError::Amounts`] if there is not one amount for each limit; and as for
    /// [`try_acquire`](RedisAll::try_acquire).
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](RedisAll::try_acquire).
    pub async fn try_acquire_each(
        &self,
        key: &str,
        permits: &[u64],
    ) -> Result<Vec<Grant>, TryAcquireAllError> {
        self.check(permits)?;
        let request = self.request(Verb::Take, key, |which| permits[which])?;
        request.answer(&self.send(&request).await?)
    }

    /// Takes as many of `permits` as all limits have for the key, at least one. Returns the grant of the limit with the
    /// least left.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisAll::try_acquire) of one permit.
    ///
    /// # Cancel safety
    ///
    /// The same as for [`try_acquire`](RedisAll::try_acquire).
    pub async fn try_acquire_up_to(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<Grant, TryAcquireAllError> {
        let request = self.request(Verb::UpTo, key, |_| permits)?;
        request.scarcest(&self.send(&request).await?)
    }

    /// Returns the grants that [`try_acquire`](RedisAll::try_acquire) would make. Takes nothing.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisAll::try_acquire).
    pub async fn peek(&self, key: &str, permits: u64) -> Result<Vec<Grant>, TryAcquireAllError> {
        let request = self.request(Verb::Peek, key, |_| permits)?;
        request.answer(&self.send(&request).await?)
    }

    /// Makes all limits of the key full, by forgetting them.
    ///
    /// # Errors
    ///
    /// [`TryAcquireAllError::Key`] and [`TryAcquireAllError::Store`].
    pub async fn reset(&self, key: &str) -> Result<(), TryAcquireAllError> {
        let names = self.names(key)?;
        let keys: Vec<_> = names.iter().map(String::as_str).collect();
        self.runner.run(Run { script: &RESET, keys: &keys, arguments: &[] }).await?;
        Ok(())
    }

    async fn send(&self, request: &RequestToAll<'_>) -> Result<Vec<i64>, StoreError> {
        let arguments = request.arguments();
        self.runner.run(Run { script: &ALL, keys: &request.keys(), arguments: &arguments }).await
    }
}

/// # For callers on threads
impl<R: RunScriptBlocking> RedisAll<R> {
    /// Does the same as [`try_acquire`](RedisAll::try_acquire). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire`](RedisAll::try_acquire).
    pub fn try_acquire_blocking(
        &self,
        key: &str,
        permits: u64,
    ) -> Result<Grant, TryAcquireAllError> {
        let request = self.request(Verb::Take, key, |_| permits)?;
        request.scarcest(&self.send_blocking(&request)?)
    }

    /// Does the same as [`try_acquire_each`](RedisAll::try_acquire_each). Blocks until the server answers.
    ///
    /// # Errors
    ///
    /// The same as for [`try_acquire_each`](RedisAll::try_acquire_each).
    pub fn try_acquire_each_blocking(
        &self,
        key: &str,
        permits: &[u64],
    ) -> Result<Vec<Grant>, TryAcquireAllError> {
        self.check(permits)?;
        let request = self.request(Verb::Take, key, |which| permits[which])?;
        request.answer(&self.send_blocking(&request)?)
    }

    fn send_blocking(&self, request: &RequestToAll<'_>) -> Result<Vec<i64>, StoreError> {
        let arguments = request.arguments();
        let run = Run { script: &ALL, keys: &request.keys(), arguments: &arguments };
        self.runner.run_blocking(run)
    }
}
