//! The options of a layer.

use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Response};
use sluicegate::wait::Timer;
use sluicegate_flow::time_limit::TimeLimiter;

#[cfg(doc)]
use sluicegate::wait::ThreadTimer;

use super::counts::LayerCounters;
use super::refusal::Refusal;
use super::timer::SharedTimer;
use super::{RateLimitLayer, Shared};
#[cfg(doc)]
use crate::fields::FieldWriter;
use crate::fields::{FieldVersion, PolicyState};

impl RateLimitLayer {
    /// Writes fields of this version into every response. Without it, only refusals have fields, those of
    /// [`FieldVersion::Draft8`].
    ///
    /// Fields of the same version that a response has already, from a layer or a server further inside, are kept
    /// beside them, or in their place if they are stricter: see [`FieldWriter::add`].
    #[must_use]
    pub fn fields(self, version: FieldVersion) -> RateLimitLayer {
        self.change(|shared| {
            shared.writer = shared.writer.with_version(version);
            shared.is_on_every_response = true;
        })
    }

    /// Calls `edit` with the fields of each response into which the layer has written its own: to add the fields
    /// of a vendor, or to rename others. It also gets the states of the limits, in their order: `which` of a state is
    /// the index of its limit, and `limit` is `None` if that is the quota of the limit's
    /// [policy](super::Limit::policy). A limit that the request was not put to has none.
    ///
    /// Called for every refusal, and with [`fields`](RateLimitLayer::fields) for all responses to requests that
    /// were limited, where the response is made: so it should be quick. A request that was refused before any
    /// limiter was asked has no states, and no fields of the layer either.
    ///
    /// # Examples
    ///
    /// Fields as GitHub has them:
    ///
    /// ```
    /// use std::time::Duration;
    /// use http::HeaderValue;
    /// use sluicegate::{TokenBucket, rate};
    /// use sluicegate_http::fields::{FieldVersion, QuotaPolicy, ResetAs};
    /// use sluicegate_http::layer::{Limit, RateLimitLayer};
    ///
    /// const QUOTA: u64 = 5_000;
    /// let policy = QuotaPolicy::new(QUOTA).per(Duration::from_secs(3_600));
    /// let limit = Limit::of_all(TokenBucket::new(rate!(5_000 / hour))).policy(policy);
    /// let layer = RateLimitLayer::new(limit)
    ///     .fields(FieldVersion::Legacy(ResetAs::UnixTime))
    ///     .edit_fields(|headers, states| {
    ///         let Some(remaining) = states.first().and_then(|state| state.remaining) else { return };
    ///         let used = QUOTA.saturating_sub(remaining);
    ///         headers.insert("x-ratelimit-used", HeaderValue::from(used));
    ///         headers.insert("x-ratelimit-resource", HeaderValue::from_static("core"));
    ///     });
    /// ```
    #[must_use]
    pub fn edit_fields(
        self,
        edit: impl Fn(&mut HeaderMap, &[PolicyState<'_>]) + Send + Sync + 'static,
    ) -> RateLimitLayer {
        self.change(|shared| shared.edit_fields = Some(Arc::new(edit)))
    }

    /// Refuses nothing. Limits are charged as ever, and [`observe`](RateLimitLayer::observe) is told what
    /// would be refused, or would have to wait: nobody waits. Responses get no fields.
    #[must_use]
    pub fn shadow(self) -> RateLimitLayer {
        self.change(|shared| {
            shared.is_shadow = true;
            // Clones of before may refuse.
            shared.counters = Arc::new(LayerCounters::new(shared.limits.len()));
        })
    }

    /// Lets requests pass without a limit if `skip` says so: those of an allow list, or to a path for
    /// health checks. Can be set several times; one that says so is enough.
    #[must_use]
    pub fn skip(self, skip: impl Fn(&Parts) -> bool + Send + Sync + 'static) -> RateLimitLayer {
        self.change(|shared| shared.skips.add(skip))
    }

    /// Lets the preflight requests of browsers pass: `OPTIONS` with `Origin` and
    /// `Access-Control-Request-Method`. (Anybody can send these fields, but no other method.)
    #[must_use]
    pub fn skip_preflight(self) -> RateLimitLayer {
        self.change(|shared| shared.skips.add_preflight())
    }

    /// Answers a refusal by a response of its own, such as one with another body, made of nothing or of
    /// [`Refusal::response_to`], which is the default. The status and the body are the caller's; the fields
    /// of limits and `Retry-After` are added to it.
    ///
    /// A service of gRPC needs a response that gRPC understands: see [`Refusal::response_to`].
    #[must_use]
    pub fn respond(
        self,
        respond: impl Fn(&Refusal<'_>, &Parts) -> Response<Vec<u8>> + Send + Sync + 'static,
    ) -> RateLimitLayer {
        self.change(|shared| shared.respond = Arc::new(respond))
    }

    /// Calls `observe` for each refusal, also of what is only counted: for a log or a metric. It is
    /// called where the request is decided, so it should be quick.
    #[must_use]
    pub fn observe(
        self,
        observe: impl Fn(&Refusal<'_>, &Parts) + Send + Sync + 'static,
    ) -> RateLimitLayer {
        self.change(|shared| shared.observe = Some(Arc::new(observe)))
    }

    /// Sets the timer that requests sleep on while they wait. The default is [`ThreadTimer`], which works
    /// with every executor.
    #[must_use]
    pub fn timer<T>(self, timer: T) -> RateLimitLayer
    where
        T: Timer<Sleep: Send + 'static> + Send + Sync + 'static,
    {
        self.change(|shared| shared.timer = SharedTimer::new(timer))
    }

    /// Limits the time from when a request is admitted until the service has responded. One that takes longer
    /// is refused with the status 503 and the name of the limiter, and what the service does for it is dropped
    /// (also if the limiter is to [let it finish](sluicegate_flow::time_limit::OnTimeout::LetFinish)). Its places in flight are
    /// given back, and its permits stay spent. The time in which a request waits for its limits, and the body of
    /// the response, do not count.
    ///
    /// A layer in [shadow](RateLimitLayer::shadow) has no time limit, and so have requests that are
    /// [skipped](RateLimitLayer::skip). The limiter counts the calls. Allocates for each request: its sleep, and a
    /// copy of the request's head for the refusal.
    ///
    /// # Examples
    ///
    /// A gateway says 504:
    ///
    /// ```
    /// use std::time::Duration;
    /// use http::StatusCode;
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
    /// use sluicegate_http::layer::{Limit, RateLimitLayer, RefusalReason};
    ///
    /// let search = TimeLimiter::new("search", TimeLimit::new(Duration::from_secs(2))?);
    /// let layer = RateLimitLayer::new(Limit::of_all(TokenBucket::new(quota!(100 / second))))
    ///     .time_limit(search)
    ///     .respond(|refusal, request| {
    ///         let mut response = refusal.response_to(request);
    ///         let is_grpc = response.status() == StatusCode::OK;
    ///         if !is_grpc && matches!(refusal.reason(), RefusalReason::TimedOut { .. }) {
    ///             *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
    ///         }
    ///         response
    ///     });
    /// # Ok::<(), sluicegate_flow::ConfigError>(())
    /// ```
    #[must_use]
    pub fn time_limit<T>(self, limiter: TimeLimiter<T>) -> RateLimitLayer
    where
        T: Timer<Sleep: Send + 'static> + Clone + Send + Sync + 'static,
    {
        let timer = SharedTimer::new(limiter.timer().clone());
        self.change(|shared| shared.time_limit = Some(limiter.with_timer(timer)))
    }

    /// Changes the options of this layer, and not those of its clones. Limits stay the same ones.
    fn change(mut self, change: impl FnOnce(&mut Shared)) -> RateLimitLayer {
        let shared = Arc::make_mut(&mut self.shared);
        change(shared);
        shared.is_plain = shared.find_is_plain();
        self
    }
}
