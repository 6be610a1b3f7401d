//! Requests by route and status, and the time until they are answered.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use http::StatusCode;
use pin_project_lite::pin_project;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry as Page;
use tower::{Layer, Service};

/// Upper bounds of the times, in seconds: decisions take microseconds, waits take as long as the policy allows.
const BOUNDS: [f64; 16] = [
    0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0,
    5.0, 10.0, 60.0,
];

/// Route of requests for paths that are not there, and of those that are refused before one is looked for.
const NO_ROUTE: &str = "none";

/// Statuses are from 100 to 999.
const STATUSES: usize = 900;

type RouteLabel = [(&'static str, String); 1];
type RouteAndStatus = [(&'static str, String); 2];

/// A layer that counts the requests of each route by their status, and measures the time until they are answered.
///
/// For [`Router::layer`](axum::Router::layer). A request whose client goes away before there is an answer
/// has the status `dropped`.
#[derive(Clone)]
pub struct MeasureRequests {
    requests: Family<RouteAndStatus, Counter>,
    times: Family<RouteLabel, Histogram, fn() -> Histogram>,
}

impl MeasureRequests {
    pub(super) fn registered(page: &mut Page) -> MeasureRequests {
        let histogram: fn() -> Histogram = || Histogram::new(BOUNDS);
        let measure = MeasureRequests {
            requests: Family::default(),
            times: Family::new_with_constructor(histogram),
        };
        let help = "Requests by route and status";
        page.register("sluicegate_serve_requests", help, measure.requests.clone());
        let help = "Time from the fields of a request until the fields of its answer";
        page.register("sluicegate_serve_request_seconds", help, measure.times.clone());
        measure
    }

    /// Returns the counts of requests that lead to no route.
    pub(crate) fn without_route(&self) -> Arc<RouteCounts> {
        self.route(NO_ROUTE)
    }

    /// Returns the counts of a route.
    pub(crate) fn route(&self, route: &str) -> Arc<RouteCounts> {
        let label = || ("route", route.to_owned());
        let dropped = [label(), ("status", "dropped".to_owned())];
        Arc::new(RouteCounts {
            name: route.to_owned(),
            all: self.requests.clone(),
            by_status: std::array::from_fn(|_| OnceLock::new()),
            dropped: self.requests.get_or_create_owned(&dropped),
            times: self.times.get_or_create_owned(&[label()]),
        })
    }
}

impl fmt::Debug for MeasureRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeasureRequests").finish_non_exhaustive()
    }
}

impl<S> Layer<S> for MeasureRequests {
    type Service = Measured<S>;

    fn layer(&self, service: S) -> Measured<S> {
        Measured { service, all: self.clone(), route: Arc::default() }
    }
}

/// The counts of a route.
pub(crate) struct RouteCounts {
    name: String,
    all: Family<RouteAndStatus, Counter>,
    /// Each is found once, at the first answer with that status.
    by_status: [OnceLock<Counter>; STATUSES],
    dropped: Counter,
    times: Histogram,
}

impl RouteCounts {
    fn answered(&self, status: StatusCode, since: Instant) {
        let number = status.as_u16();
        // A status has three digits, so that each has its place.
        if let Some(counter) = self.by_status.get(usize::from(number.saturating_sub(100))) {
            let find = || {
                let labels = [("route", self.name.clone()), ("status", number.to_string())];
                self.all.get_or_create_owned(&labels)
            };
            counter.get_or_init(find).inc();
        }
        self.times.observe(since.elapsed().as_secs_f64());
    }
}

/// The service of a route, whose requests are counted.
#[derive(Clone)]
pub struct Measured<S> {
    service: S,
    all: MeasureRequests,
    /// Known at the first request. Clones of the service have it in common.
    route: Arc<OnceLock<Arc<RouteCounts>>>,
}

impl<S: fmt::Debug> fmt::Debug for Measured<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Measured").field("service", &self.service).finish_non_exhaustive()
    }
}

impl<S> Service<Request> for Measured<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Answering<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let route = self.route.get_or_init(|| {
            let path = request.extensions().get::<MatchedPath>();
            self.all.route(path.map_or(NO_ROUTE, MatchedPath::as_str))
        });
        let open = OpenRequest::new(Arc::clone(route));
        Answering { answer: self.service.call(request), open }
    }
}

pin_project! {
    /// The answer to a request that is counted.
    pub struct Answering<F> {
        #[pin]
        answer: F,
        open: OpenRequest<Arc<RouteCounts>>,
    }
}

/// A request without an answer yet.
pub(crate) struct OpenRequest<R: Borrow<RouteCounts>> {
    route: R,
    since: Instant,
    is_answered: bool,
}

impl<R: Borrow<RouteCounts>> OpenRequest<R> {
    /// Notes that a request has come.
    pub(crate) fn new(route: R) -> OpenRequest<R> {
        OpenRequest { route, since: Instant::now(), is_answered: false }
    }

    /// Counts the answer.
    pub(crate) fn answered(&mut self, status: StatusCode) {
        self.is_answered = true;
        self.route.borrow().answered(status, self.since);
    }
}

impl<R: Borrow<RouteCounts>> Drop for OpenRequest<R> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.route.borrow().dropped.inc();
        }
    }
}

impl<F: Future<Output = Result<Response, Infallible>>> Future for Answering<F> {
    type Output = Result<Response, Infallible>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.answer.poll(context));
        if let Ok(response) = &answer {
            this.open.answered(response.status());
        }
        Poll::Ready(answer)
    }
}

impl<F> fmt::Debug for Answering<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answering").finish_non_exhaustive()
    }
}
