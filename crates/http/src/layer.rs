//! Limits for a server, as a layer of tower: for axum, hyper and all else that is a tower `Service`.
//!
//! | file | |
//! |---|---|
//! | `limit`, `request_key` | one limit: a limiter, and the key of a request |
//! | `limit_by`, `take` | limiters that a limit can ask, and what a request takes from them |
//! | `wait_up_to`, `settled`, `concurrency` | limits that requests wait for, that are settled, and of what is in flight |
//! | `penalized` | refusals for a time after a number of offences |
//! | `remote` | limits whose decisions are made elsewhere |
//! | `by_policy` | limits of a registry: the costs, the waits and the penalties of their policies |
//! | `cost` | costs of requests |
//! | `claim`, `decision`, `waiting` | what a request asks of one limit, and the answer of all: at once, or after a wait |
//! | `held`, `body` | what is held while the response is made, and the body whose end ends that |
//! | `counts` | counts of decisions, for a monitor |
//! | `refusal`, `grpc` | refusals, and the responses that tell them, in HTTP and gRPC |
//! | `service`, `future` | the service, and its responses |
//! | `plain` | the short way of a request through a layer of one limit |
//! | `after`, `timed_call` | the work that is left when the service has responded, and services with a time limit |
//! | `timer` | what requests sleep on while they wait |
//! | `peer` | the address of the other end of a connection |

mod after;
mod body;
#[cfg(feature = "policy")]
mod by_policy;
mod claim;
mod concurrency;
pub mod cost;
mod counts;
mod decision;
mod future;
#[cfg(feature = "grpc")]
mod grpc;
mod held;
mod limit;
mod limit_by;
mod peer;
mod penalized;
mod plain;
mod refusal;
mod remote;
mod request_key;
mod service;
mod settled;
mod take;
mod timed_call;
mod timer;
mod wait_up_to;
mod waiting;

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use http::{Method, Response, header};
use sluicegate::{ThreadTimer, TimeLimiter, Timer};
use tower_layer::Layer;

use crate::fields::{FieldError, FieldVersion, FieldWriter};

use self::counts::LayerCounters;
use self::timer::SharedTimer;

pub use self::body::LimitedBody;
#[cfg(feature = "policy")]
pub use self::by_policy::ByPolicy;
pub use self::concurrency::Concurrency;
pub use self::counts::{LayerCounts, RefusalCount};
pub use self::future::RateLimitFuture;
pub use self::held::{BodyEnd, ResponseEnd};
pub use self::limit::Limit;
pub use self::limit_by::LimitBy;
pub use self::peer::Peer;
pub use self::penalized::Penalized;
pub use self::refusal::{Refusal, RefusalReason};
pub use self::remote::{Remote, RemoteError, RemoteFailure, RemoteLimiter};
pub use self::request_key::RequestKey;
pub use self::service::RateLimit;
pub use self::settled::{Charge, SettleByKey, Settled};
pub use self::take::All;
pub use self::wait_up_to::{WaitByKey, WaitUpTo};

type Skip = Arc<dyn Fn(&Parts) -> bool + Send + Sync>;
type Respond = Arc<dyn Fn(&Refusal<'_>, &Parts) -> Response<Vec<u8>> + Send + Sync>;
type Observe = Arc<dyn Fn(&Refusal<'_>, &Parts) + Send + Sync>;

/// Limits the requests to a service, by one [`Limit`] or several.
///
/// Clones share everything, and so do the services that the layer makes: it does not matter that axum
/// clones a service for each connection.
///
/// * **Decision.** Made when the request arrives, before its body is read. A request of several limits
///   passes all of them or takes nothing from any, as far as [`Limit`] says.
/// * **Refusals** have the status 429, `Retry-After`, the fields of
///   [drafts 8 to 10](FieldVersion::Draft8), and problem details as their body. What is refused for
///   another reason than its rate has another status: see [`RefusalReason`]. A request of gRPC gets a
///   status of gRPC: see [`Refusal::response_to`].
/// * **Responses to requests that pass** are left as they are, unless
///   [`fields`](RateLimitLayer::fields) is set.
/// * **Waiting.** A request that has to wait for a [`WaitUpTo`] or a [`Concurrency`] does so before its body
///   is read, with the service that is ready for it. If the client goes away, it gives back its place in line
///   and its permits, as [`Limit`] says.
/// * **Cost.** Nothing is allocated for a request that passes a single limit (of a limiter that does not
///   allocate), unless it waits, is settled or holds a place in flight, or `fields` is set: then for the
///   values of the fields, and for the state of the limit until the response is there. A layer with a single
///   limit of all requests or of each client, and without any option that looks at requests, adds least to a
///   request: it is not taken apart.
///
/// # Examples
///
/// ```
/// use axum::{Router, routing::get};
/// use sluicegate::{KeyTable, quota};
/// use sluicegate_http::layer::{Limit, RateLimitLayer};
///
/// // 100 requests a second for each client, at most 20 at once; room for a million clients in 12 MB.
/// let clients = KeyTable::with_keys(quota!(100 / second, burst 20), 1_000_000)?;
/// let app: Router = Router::new()
///     .route("/", get(|| async { "hello" }))
///     .layer(RateLimitLayer::new(Limit::per_client(clients)));
/// // The layer needs the address of the client:
/// let service = app.into_make_service_with_connect_info::<std::net::SocketAddr>();
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct RateLimitLayer {
    shared: Arc<Shared>,
}

/// The state that all clones share. Its own clones share the limits.
#[derive(Clone)]
struct Shared {
    limits: Arc<[Limit]>,
    writer: FieldWriter,
    /// True if responses to requests that pass have fields, too.
    is_on_every_response: bool,
    is_shadow: bool,
    /// True if requests may take the [short way](plain).
    is_plain: bool,
    skips: Vec<Skip>,
    respond: Respond,
    observe: Option<Observe>,
    timer: SharedTimer,
    time_limit: Option<TimeLimiter<SharedTimer>>,
    counters: Arc<LayerCounters>,
}

impl RateLimitLayer {
    /// Returns a layer with one limit.
    #[must_use]
    pub fn new(limit: Limit) -> RateLimitLayer {
        let writer = FieldWriter::single(FieldVersion::Draft8, limit.advertised());
        RateLimitLayer::with(Arc::new([limit]), writer)
    }

    /// Returns a layer with several limits, each of which has to grant a request.
    ///
    /// # Errors
    ///
    /// [`FieldError::SameName`] if two limits have policies of the same name, or two have none: see
    /// [`Limit::policy`]. [`FieldError::TooManyPolicies`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{FixedWindow, KeyTable, quota, rate};
    /// use sluicegate_http::fields::QuotaPolicy;
    /// use sluicegate_http::layer::{Limit, RateLimitLayer};
    ///
    /// let each = KeyTable::with_keys(quota!(5 / second), 100_000)?;
    /// let all = FixedWindow::new(rate!(1_000_000 / day))?;
    /// let layer = RateLimitLayer::all_of([
    ///     Limit::per_client(each).policy(QuotaPolicy::from(quota!(5 / second)).named("client")?),
    ///     Limit::of_all(all).policy(QuotaPolicy::from(quota!(1_000_000 / day)).named("day")?),
    /// ])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn all_of(limits: impl IntoIterator<Item = Limit>) -> Result<RateLimitLayer, FieldError> {
        let limits: Arc<[Limit]> = limits.into_iter().collect();
        let policies = limits.iter().map(Limit::advertised);
        let writer = FieldWriter::new(FieldVersion::Draft8, policies)?;
        Ok(RateLimitLayer::with(limits, writer))
    }

    fn with(limits: Arc<[Limit]>, writer: FieldWriter) -> RateLimitLayer {
        let counters = Arc::new(LayerCounters::new(limits.len()));
        let mut shared = Shared {
            limits,
            writer,
            is_on_every_response: false,
            is_shadow: false,
            is_plain: false,
            skips: Vec::new(),
            respond: Arc::new(response_to),
            observe: None,
            timer: SharedTimer::new(ThreadTimer),
            time_limit: None,
            counters,
        };
        shared.is_plain = shared.find_is_plain();
        RateLimitLayer { shared: Arc::new(shared) }
    }

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
        self.change(|shared| shared.skips.push(Arc::new(skip)))
    }

    /// Lets the preflight requests of browsers pass: `OPTIONS` with `Origin` and
    /// `Access-Control-Request-Method`. (Anybody can send these fields, but no other method.)
    #[must_use]
    pub fn skip_preflight(self) -> RateLimitLayer {
        self.skip(|parts| {
            parts.method == Method::OPTIONS
                && parts.headers.contains_key(header::ORIGIN)
                && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        })
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

    /// Returns the counts of its decisions. Allocates for what was refused.
    ///
    /// A decision takes one addition on a cache line of the thread's own, and a refusal a second one. A
    /// request that waits is counted when it is decided; one whose client goes away before is not counted.
    /// Clones and services of the layer share the counts, but for a clone of before
    /// [`shadow`](RateLimitLayer::shadow).
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{TokenBucket, quota};
    /// use sluicegate_http::layer::{Limit, RateLimitLayer};
    ///
    /// let layer = RateLimitLayer::new(Limit::of_all(TokenBucket::new(quota!(100 / second))));
    /// let counts = layer.counts();
    /// assert_eq!((counts.passed, counts.refused, counts.refusals.len()), (0, 0, 0));
    /// ```
    #[must_use]
    pub fn counts(&self) -> LayerCounts {
        self.shared.counters.counts(&self.shared.limits)
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
    /// (also if the limiter is to [let it finish](sluicegate::OnTimeout::LetFinish)). Its places in flight are
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
    /// use sluicegate::{TimeLimit, TimeLimiter, TokenBucket, quota};
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
    /// # Ok::<(), sluicegate::ConfigError>(())
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

/// Returns the response to a refusal unless another one is set.
fn response_to(refusal: &Refusal<'_>, request: &Parts) -> Response<Vec<u8>> {
    refusal.response_to(request)
}

impl<S> Layer<S> for RateLimitLayer {
    type Service = RateLimit<S>;

    fn layer(&self, inner: S) -> RateLimit<S> {
        RateLimit { inner, shared: Arc::clone(&self.shared) }
    }
}

/// Shows the limits and the options.
impl fmt::Debug for RateLimitLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer")
            .field("limits", &self.shared.limits)
            .field("version", &self.shared.writer.version())
            .field("is_on_every_response", &self.shared.is_on_every_response)
            .field("is_shadow", &self.shared.is_shadow)
            .finish_non_exhaustive()
    }
}
