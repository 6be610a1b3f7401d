//! Limits whose decisions are made elsewhere.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use sluicegate::wait::Timer;
use sluicegate::{Denied, Grant};

use super::limit_by::LimitBy;
use super::refusal::RefusalReason;
use super::request_class::RequestClass;
use super::take::{Later, Take, Taken, Turn, Waits};
use super::timer::SharedTimer;
use crate::fields::PolicyState;

/// A limiter whose decisions are made elsewhere, such as in a database that several servers share; for keys
/// of the form `Q`: `str`, [`ClientKey`](crate::client_address::ClientKey), or [`All`](super::All).
pub trait RemoteLimiter<Q: ?Sized>: Send + Sync {
    /// The error of a decision that could not be made.
    type Error;

    /// Takes all of `permits` for the key, or none.
    ///
    /// The future may be dropped at any time: when the time of the decision is over, and when the client goes
    /// away. It does not matter whether the permits are spent then.
    ///
    /// # Errors
    ///
    /// [`RemoteError::Denied`] if there are too few, and [`RemoteError::Failed`] if it cannot decide.
    /// [`Standing`](sluicegate::penalty::Standing) makes grants and denials.
    fn try_acquire(
        &self,
        key: &Q,
        permits: u64,
    ) -> impl Future<Output = Result<Grant, RemoteError<Self::Error>>> + Send;

    /// Returns the name of the class of requests with this key, of a limit that refuses some classes before others: the layer
    /// [tells](super::RequestClass) it. By default there are no classes.
    fn class(&self, key: &Q) -> Option<&str> {
        let _ = key;
        None
    }
}

/// The reason for which a [`RemoteLimiter`] has granted nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteError<E> {
    /// It has decided so.
    Denied(Denied),
    /// It could not decide.
    Failed(E),
}

impl<E> From<Denied> for RemoteError<E> {
    fn from(denied: Denied) -> RemoteError<E> {
        RemoteError::Denied(denied)
    }
}

/// The failure of a decision that was to be made elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFailure<'e, E> {
    /// The limiter has failed.
    Failed(&'e E),
    /// There was no answer in the time that it has.
    TimedOut,
}

/// A limit whose decisions are made elsewhere, by a [`RemoteLimiter`], each in a bounded time.
///
/// | if there is no decision | |
/// |---|---|
/// | by default, or [`fail_closed`](Remote::fail_closed) | the request is refused with the status 503 |
/// | [`fail_open`](Remote::fail_open) | the request passes, and responses tell nothing of this limit |
/// | [`fall_back_to`](Remote::fall_back_to) | a limiter of this process decides |
///
/// In a layer with several limits it is asked after all that decide at once, so that what they refuse costs it
/// nothing, and before those that requests wait for in line. What it has granted is not given back.
///
/// Allocates for each request.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{Grant, KeyTable, quota};
/// use sluicegate::penalty::Standing;
/// use sluicegate_http::layer::{Limit, Remote, RemoteError, RemoteLimiter};
///
/// struct Database;
///
/// impl RemoteLimiter<str> for Database {
///     type Error = std::io::Error;
///
///     async fn try_acquire(
///         &self,
///         key: &str,
///         permits: u64,
///     ) -> Result<Grant, RemoteError<std::io::Error>> {
///         // ... a call over the network, which answers this, say:
///         let (limit, used, reset_after) = (100, 7, Duration::from_secs(1));
/// #       let _ = key;
///         Ok(Standing::new(limit, used, reset_after).grant(permits))
///     }
/// }
///
/// // While the database is down, each of five servers grants a fifth of its rate.
/// let own = KeyTable::<str>::with_keys(quota!(20 / second), 100_000)?;
/// let users = Remote::new(Database, Duration::from_millis(50)).fall_back_to(own);
/// let limit = Limit::per_key(users, |request| {
///     request.headers.get("x-api-key").and_then(|key| key.to_str().ok()).into()
/// });
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub struct Remote<R: RemoteLimiter<Q>, Q: ?Sized> {
    limiter: R,
    timeout: Duration,
    when_failing: WhenFailing<Q>,
    on_failure: Option<OnFailure<R::Error>>,
}

type OnFailure<E> = Arc<dyn Fn(RemoteFailure<'_, E>) + Send + Sync>;

/// The answer to a request for which there is no decision.
enum WhenFailing<Q: ?Sized> {
    Pass,
    Refuse,
    Ask(Box<dyn Take<Q>>),
}

impl<R: RemoteLimiter<Q>, Q: ?Sized> Remote<R, Q> {
    /// Asks `limiter`, and waits for its decision for no longer than `timeout`.
    #[must_use]
    pub fn new(limiter: R, timeout: Duration) -> Remote<R, Q> {
        Remote { limiter, timeout, when_failing: WhenFailing::Refuse, on_failure: None }
    }

    /// Lets requests pass for which there is no decision.
    #[must_use]
    pub fn fail_open(self) -> Remote<R, Q> {
        Remote { when_failing: WhenFailing::Pass, ..self }
    }

    /// Refuses requests for which there is no decision, with the status 503: the default.
    #[must_use]
    pub fn fail_closed(self) -> Remote<R, Q> {
        Remote { when_failing: WhenFailing::Refuse, ..self }
    }

    /// Lets a limiter of this process decide while there is no decision from elsewhere, on as many permits. What a
    /// `ByPolicy` says of costs, and of answers that are offences, is not in force here.
    #[must_use]
    pub fn fall_back_to(self, limiter: impl LimitBy<Q>) -> Remote<R, Q> {
        Remote { when_failing: WhenFailing::Ask(Box::new(limiter)), ..self }
    }

    /// Calls `on_failure` whenever there is no decision: for a log or a metric.
    #[must_use]
    pub fn on_failure(
        self,
        on_failure: impl Fn(RemoteFailure<'_, R::Error>) + Send + Sync + 'static,
    ) -> Remote<R, Q> {
        Remote { on_failure: Some(Arc::new(on_failure)), ..self }
    }

    /// Returns the decision, if there is one in time.
    async fn decision(
        &self,
        key: &Q,
        permits: u64,
        timer: &SharedTimer,
    ) -> Option<Result<Grant, Denied>> {
        let answer = within(timer, self.timeout, self.limiter.try_acquire(key, permits)).await;
        let failure = match &answer {
            Some(Ok(grant)) => return Some(Ok(*grant)),
            Some(Err(RemoteError::Denied(denied))) => return Some(Err(*denied)),
            Some(Err(RemoteError::Failed(error))) => RemoteFailure::Failed(error),
            None => RemoteFailure::TimedOut,
        };
        if let Some(on_failure) = &self.on_failure {
            on_failure(failure);
        }
        None
    }
}

/// Returns the output of a future, or `None` if it takes longer than `timeout`.
async fn within<F: Future>(timer: &SharedTimer, timeout: Duration, future: F) -> Option<F::Output> {
    let (mut future, mut sleep) = (pin!(future), pin!(timer.sleep(timeout)));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => sleep.as_mut().poll(context).map(|()| None),
    })
    .await
}

impl<R, Q> Take<Q> for Remote<R, Q>
where
    R: RemoteLimiter<Q, Error: Send + Sync + 'static> + 'static,
    Q: Sync + ?Sized + 'static,
{
    fn try_take(&self, _: &Q, _: u64) -> Result<Taken<'_>, RefusalReason> {
        Err(RefusalReason::Unavailable)
    }

    fn look(&self, _: &Q, _: u64) -> Result<PolicyState<'static>, RefusalReason> {
        Ok(PolicyState::UNKNOWN)
    }

    fn class(&self, key: &Q) -> Option<RequestClass> {
        self.limiter.class(key).map(RequestClass::new)
    }

    fn turn(&self) -> Turn {
        Turn::Elsewhere
    }

    fn take_later<'a>(&'a self, key: &'a Q, permits: u64, waits: Waits<'a>) -> Later<'a> {
        Box::pin(async move {
            match (self.decision(key, permits, waits.timer).await, &self.when_failing) {
                (Some(Ok(grant)), _) => Ok(Taken::spent(&grant)),
                (Some(Err(denied)), _) => Err(RefusalReason::Denied(denied)),
                (None, WhenFailing::Pass) => Ok(Taken::UNKNOWN),
                (None, WhenFailing::Refuse) => Err(RefusalReason::Unavailable),
                (None, WhenFailing::Ask(own)) => match own.try_take(key, permits) {
                    Err(reason) if own.may_wait(&reason) => {
                        if waits.for_turns {
                            return own.take_later(key, permits, waits).await;
                        }
                        own.note_unwaited(key, permits, &reason);
                        Err(reason)
                    }
                    answer => answer,
                },
            }
        })
    }
}

impl<R: RemoteLimiter<Q> + fmt::Debug, Q: ?Sized> fmt::Debug for Remote<R, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when_failing = match self.when_failing {
            WhenFailing::Pass => "pass",
            WhenFailing::Refuse => "refuse",
            WhenFailing::Ask(_) => "ask another limiter",
        };
        f.debug_struct("Remote")
            .field("limiter", &self.limiter)
            .field("timeout", &self.timeout)
            .field("when_failing", &when_failing)
            .finish_non_exhaustive()
    }
}
