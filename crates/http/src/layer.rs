//! Limits for a server, as a layer of tower: for axum, hyper and all else that is a tower `Service`.
//!
//! | file | |
//! |---|---|
//! | `limit`, `request_key` | one limit: a limiter, and the key of a request |
//! | `limit_by`, `take` | limiters that a limit can ask, and what a request takes from them |
//! | `wait_up_to`, `settled`, `concurrency` | limits that requests wait for, that are settled, and of what is in flight |
//! | `by_share`, `request_class` | shares of tenants, and classes of requests with reserves |
//! | `penalized` | refusals for a time after a number of offences |
//! | `remote` | limits whose decisions are made elsewhere |
//! | `by_policy` | limits of a registry: the costs, the waits and the penalties of their policies |
//! | `cost` | costs of requests |
//! | `claim`, `decision`, `waiting` | what a request asks of one limit, and the answer of all: at once, or after a wait |
//! | `charge`, `response_end` | what is settled when the response is known, and the end of a response |
//! | `held`, `body` | what is held while the response is made, and the body whose end ends that |
//! | `counts` | counts of decisions, for a monitor |
//! | `refusal`, `refusal_response`, `grpc` | refusals, and the responses that tell them, in HTTP and gRPC |
//! | `service`, `future` | the service, and its responses |
//! | `options`, `skip` | the options of a layer, and the requests that pass without a limit |
//! | `plain` | the short way of a request through a layer of one limit |
//! | `after`, `timed_call` | the work that is left when the service has responded, and services with a time limit |
//! | `timer` | what requests sleep on while they wait |
//! | `peer` | the address of the other end of a connection |

mod after;
mod body;
#[cfg(feature = "policy")]
mod by_policy;
mod by_share;
mod charge;
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
mod options;
mod peer;
mod penalized;
mod plain;
mod refusal;
mod refusal_response;
mod remote;
mod request_class;
mod request_key;
mod response_end;
mod service;
mod settled;
mod skip;
mod take;
mod timed_call;
mod timer;
mod wait_up_to;
mod waiting;

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderMap, Response};
use sluicegate::wait::ThreadTimer;
use sluicegate_flow::time_limit::TimeLimiter;
use tower_layer::Layer;

use crate::fields::{FieldError, FieldVersion, FieldWriter, PolicyState};

use self::counts::LayerCounters;
use self::skip::SkipRules;
use self::timer::SharedTimer;

pub use self::body::LimitedBody;
#[cfg(feature = "policy")]
pub use self::by_policy::ByPolicy;
pub use self::by_share::{ByPriority, ByShare};
pub use self::charge::Charge;
pub use self::concurrency::Concurrency;
pub use self::counts::{LayerCounts, RefusalCount};
pub use self::future::RateLimitFuture;
pub use self::limit::Limit;
pub use self::limit_by::LimitBy;
pub use self::peer::Peer;
pub use self::penalized::Penalized;
pub use self::refusal::{Refusal, RefusalReason};
pub use self::remote::{Remote, RemoteError, RemoteFailure, RemoteLimiter};
pub use self::request_class::RequestClass;
pub use self::request_key::RequestKey;
pub use self::response_end::{BodyEnd, NoResponse, ResponseEnd};
pub use self::service::RateLimit;
pub use self::settled::{SettleByKey, Settled};
pub use self::take::All;
pub use self::wait_up_to::{WaitByKey, WaitUpTo};

type Respond = Arc<dyn Fn(&Refusal<'_>, &Parts) -> Response<Vec<u8>> + Send + Sync>;
type EditFields = Arc<dyn Fn(&mut HeaderMap, &[PolicyState<'_>]) + Send + Sync>;
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
///   allocate), unless it waits, is decided elsewhere, is settled, holds a place in flight, has an answer that
///   may be an offence or a [time limit](RateLimitLayer::time_limit), or the service is told its [class](RequestClass)
///   or share, or `fields` is set: then for the values of
///   the fields, and for the state of the limit until the response is there. A layer with a single limit of all
///   requests or of each client, and without any option that looks at requests but
///   [`skip_preflight`](RateLimitLayer::skip_preflight), adds least to a request: it is not taken apart.
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
    skips: SkipRules,
    respond: Respond,
    edit_fields: Option<EditFields>,
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
            skips: SkipRules::default(),
            respond: Arc::new(response_to),
            edit_fields: None,
            observe: None,
            timer: SharedTimer::new(ThreadTimer),
            time_limit: None,
            counters,
        };
        shared.is_plain = shared.find_is_plain();
        RateLimitLayer { shared: Arc::new(shared) }
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
