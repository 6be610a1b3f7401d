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
use foldhash::quality::RandomState;
use governor::middleware::{NoOpMiddleware, StateInformationMiddleware};
use http::{Request, Response};
use sluicegate::{KeyTable, Keyed, Quota, quota};
use sluicegate_http::client_address::ClientKey;
use sluicegate_http::fields::FieldVersion;
use sluicegate_http::layer::{Limit, LimitedBody, RateLimitLayer};
use tower::util::{MapFutureLayer, MapResponse};
use tower::{Layer, Service, service_fn};
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::key_extractor::PeerIpKeyExtractor;

/// A layer around a service that says hello, which limits each client by its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// No layer.
    Bare,
    /// A layer that does nothing: the least that any layer costs.
    Nothing,
    /// Ours, with a `KeyTable` for a million keys.
    Table,
    /// The same with a hasher that is quicker than the default one, and not made to withstand attacks.
    Foldhash,
    /// The same as `Table`, with fields in every response.
    TableFields,
    /// Ours, with a `Keyed`.
    Keyed,
    /// `tower_governor`.
    Governor,
    /// `tower_governor` with fields in every response.
    GovernorFields,
}

impl Subject {
    /// All of them, the bare service first.
    pub const ALL: [Subject; 8] = [
        Subject::Bare,
        Subject::Nothing,
        Subject::Table,
        Subject::Foldhash,
        Subject::TableFields,
        Subject::Keyed,
        Subject::Governor,
        Subject::GovernorFields,
    ];

    /// Returns the name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Subject::Bare => "bare",
            Subject::Nothing => "nothing",
            Subject::Table => "table",
            Subject::Foldhash => "foldhash",
            Subject::TableFields => "table_fields",
            Subject::Keyed => "keyed",
            Subject::Governor => "tower_governor",
            Subject::GovernorFields => "tower_governor_fields",
        }
    }

    /// Returns true if it refuses what is beyond its quota.
    #[must_use]
    pub fn has_limit(self) -> bool {
        !matches!(self, Subject::Bare | Subject::Nothing)
    }
}

impl FromStr for Subject {
    type Err = String;

    fn from_str(name: &str) -> Result<Subject, String> {
        let found = Subject::ALL.into_iter().find(|subject| subject.name() == name);
        found.ok_or_else(|| {
            format!("{name:?}: must be one of {:?}", Subject::ALL.map(Subject::name))
        })
    }
}

/// The answer to the requests of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of them pass.
    Allow,
    /// None of a client's pass but the first.
    Deny,
    /// So many of a client's pass, which are the first.
    AllowFirst(u32),
}

impl Outcome {
    fn quota(self) -> Quota {
        match self {
            Outcome::Allow => quota!(1_000_000 / second),
            Outcome::Deny => quota!(1 / day),
            Outcome::AllowFirst(burst) => {
                quota!(1 / day).with_burst(burst.into()).expect("the burst is in range")
            }
        }
    }

    /// Returns the same quota as [`quota`](Outcome::quota) for `tower_governor`.
    fn config(self) -> GovernorConfigBuilder<PeerIpKeyExtractor, NoOpMiddleware> {
        let mut builder = GovernorConfigBuilder::default();
        match self {
            Outcome::Allow => builder.per_nanosecond(1_000).burst_size(1_000_000),
            Outcome::Deny => builder.per_second(86_400).burst_size(1),
            Outcome::AllowFirst(burst) => builder.per_second(86_400).burst_size(burst),
        };
        builder
    }

    fn governor<R>(self) -> GovernorLayer<PeerIpKeyExtractor, NoOpMiddleware, R> {
        GovernorLayer::new(Arc::new(self.config().finish().expect("neither is zero")))
    }

    fn governor_with_fields<R>(
        self,
    ) -> GovernorLayer<PeerIpKeyExtractor, StateInformationMiddleware, R> {
        let config = self.config().use_headers().finish();
        GovernorLayer::new(Arc::new(config.expect("neither is zero")))
    }
}

/// Returns our layer with a store.
fn ours(subject: Subject, outcome: Outcome) -> RateLimitLayer {
    const KEYS: usize = 1_000_000;
    let quota = outcome.quota();
    let limit = match subject {
        Subject::Keyed => Limit::per_client(Keyed::<ClientKey>::new(quota)),
        Subject::Foldhash => {
            let table = KeyTable::<ClientKey>::builder(quota).hasher(RandomState::default());
            Limit::per_client(table.keys(KEYS).expect("the quota is in range"))
        }
        _ => {
            let table = KeyTable::<ClientKey>::with_keys(quota, KEYS);
            Limit::per_client(table.expect("the quota is in range"))
        }
    };
    let layer = RateLimitLayer::new(limit);
    if subject == Subject::TableFields { layer.fields(FieldVersion::Draft8) } else { layer }
}

/// Returns an axum server behind a layer.
pub fn router(subject: Subject, outcome: Outcome) -> Router {
    let app = Router::new().route("/", get(|| async { "hello" }));
    match subject {
        Subject::Bare => app,
        Subject::Nothing => app.layer(MapFutureLayer::new(|response| response)),
        Subject::Governor => app.layer(outcome.governor()),
        Subject::GovernorFields => app.layer(outcome.governor_with_fields()),
        _ => app.layer(ours(subject, outcome)),
    }
}

/// Returns an axum server with a layer around the whole router, in the form that `axum::serve` takes.
#[must_use]
pub fn around(subject: Subject, outcome: Outcome) -> Call {
    let app = router(Subject::Bare, outcome);
    match subject {
        Subject::Bare => caller(app),
        Subject::Nothing => caller(MapFutureLayer::new(|response| response).layer(app)),
        Subject::Governor => caller(outcome.governor().layer(app)),
        Subject::GovernorFields => caller(outcome.governor_with_fields().layer(app)),
        _ => {
            let into_axum = |response: Response<LimitedBody<Body>>| response.map(Body::new);
            caller(MapResponse::new(ours(subject, outcome).layer(app), into_axum))
        }
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
        Subject::Nothing => caller(MapFutureLayer::new(|response| response).layer(hello)),
        Subject::Governor => caller(outcome.governor().layer(hello)),
        Subject::GovernorFields => caller(outcome.governor_with_fields().layer(hello)),
        _ => caller(ours(subject, outcome).layer(hello)),
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
