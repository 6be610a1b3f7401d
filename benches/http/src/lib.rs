//! Services with and without limits, for measurements of what a layer costs.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::routing::get;
use http::{Request, Response};
use sluicegate::{KeyTable, Keyed, Quota, quota};
use sluicegate_http::client_address::ClientKey;
use sluicegate_http::layer::{Limit, RateLimitLayer};
use tower::{Layer, Service, service_fn};
use tower_governor::GovernorLayer;
use tower_governor::governor::{GovernorConfig, GovernorConfigBuilder};
use tower_governor::key_extractor::PeerIpKeyExtractor;

/// A layer around a service that says hello, which limits each client by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// No layer.
    Bare,
    /// Ours, with a `KeyTable` for a million keys.
    Table,
    /// Ours, with a `Keyed`.
    Keyed,
    /// `tower_governor`.
    Governor,
}

impl Subject {
    /// All of them, the bare service first.
    pub const ALL: [Subject; 4] =
        [Subject::Bare, Subject::Table, Subject::Keyed, Subject::Governor];

    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Subject::Bare => "bare",
            Subject::Table => "table",
            Subject::Keyed => "keyed",
            Subject::Governor => "tower_governor",
        }
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(name: &str) -> Result<Subject, String> {
        let found = Subject::ALL.into_iter().find(|subject| subject.name() == name);
        found.ok_or_else(|| format!("{name:?}: must be bare, table, keyed or tower_governor"))
    }
}

/// The answer to the requests of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of them.
    Allow,
    /// None but the first.
    Deny,
}

impl Outcome {
    fn quota(self) -> Quota {
        match self {
            Outcome::Allow => quota!(1_000_000 / second),
            Outcome::Deny => quota!(1 / day),
        }
    }

    /// Returns the same quota as [`quota`](Outcome::quota) for `tower_governor`.
    fn config(self) -> Arc<GovernorConfig<PeerIpKeyExtractor, NoState>> {
        let mut builder = GovernorConfigBuilder::default();
        match self {
            Outcome::Allow => builder.per_nanosecond(1_000).burst_size(1_000_000),
            Outcome::Deny => builder.per_second(86_400).burst_size(1),
        };
        Arc::new(builder.finish().expect("neither is zero"))
    }
}

type NoState = governor::middleware::NoOpMiddleware;

/// Returns our layer with a store.
fn ours(subject: Subject, outcome: Outcome) -> RateLimitLayer {
    let quota = outcome.quota();
    RateLimitLayer::new(match subject {
        Subject::Keyed => Limit::per_client(Keyed::<ClientKey>::new(quota)),
        _ => Limit::per_client(
            KeyTable::<ClientKey>::with_keys(quota, 1_000_000).expect("the quota is in range"),
        ),
    })
}

/// Returns an axum server behind a layer.
pub fn router(subject: Subject, outcome: Outcome) -> Router {
    let app = Router::new().route("/", get(|| async { "hello" }));
    match subject {
        Subject::Bare => app,
        Subject::Governor => app.layer(GovernorLayer::new(outcome.config())),
        Subject::Table | Subject::Keyed => app.layer(ours(subject, outcome)),
    }
}

/// A call of a service, which returns the status.
pub type Call = Box<dyn FnMut(Request<Body>) -> u16>;

/// Returns a service behind a layer and nothing else.
#[must_use]
pub fn service(subject: Subject, outcome: Outcome) -> Call {
    let hello = service_fn(async |_: Request<Body>| {
        Ok::<_, Infallible>(Response::new(Body::from("hello")))
    });
    match subject {
        Subject::Bare => caller(hello),
        Subject::Governor => caller(GovernorLayer::new(outcome.config()).layer(hello)),
        Subject::Table | Subject::Keyed => caller(ours(subject, outcome).layer(hello)),
    }
}

/// Returns a call of a service that answers at once.
///
/// # Panics
///
/// The call panics if the service does not.
pub fn caller<S, B>(mut service: S) -> Call
where
    S: Service<Request<Body>, Response = Response<B>, Error = Infallible> + 'static,
{
    Box::new(move |request| {
        let mut context = Context::from_waker(Waker::noop());
        assert!(service.poll_ready(&mut context).is_ready());
        match pin!(service.call(request)).poll(&mut context) {
            Poll::Ready(Ok(response)) => response.status().as_u16(),
            Poll::Ready(Err(error)) => match error {},
            Poll::Pending => unreachable!("the service answers at once"),
        }
    })
}

/// Returns a request of a client, as axum hands it to a layer.
#[must_use]
pub fn request(client: SocketAddr) -> Request<Body> {
    let mut request = Request::new(Body::empty());
    request.extensions_mut().insert(ConnectInfo(client));
    request
}
