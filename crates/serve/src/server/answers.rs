//! The answers to the requests of one connection.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::response::{IntoResponse, Response};
use http::Request;
use hyper::body::Incoming;
use sluicegate_flow::concurrency::ConcurrencyLimit;
use tower::Service as _;

use super::activity::Activity;
use super::guard::Guard;
use crate::answer_body::{AnswerBody, Untaken};
use crate::api::{DecisionRoute, Failure};
use crate::body_share::BodyShare;
use crate::bounded_body::BoundedBody;
use crate::metrics::{Metrics, OpenRequest, RouteCounts};
use crate::service::Service;

/// A service whose decisions are made before the routes are looked through.
#[derive(Clone)]
pub(super) struct Decisions {
    service: Service,
    /// The counts of each route.
    counts: Option<[Arc<RouteCounts>; DecisionRoute::ALL.len()]>,
}

impl Decisions {
    pub(super) fn new(service: Service, metrics: Option<&Metrics>) -> Decisions {
        let counts = metrics
            .map(|metrics| DecisionRoute::ALL.map(|route| metrics.requests().route(route.path())));
        Decisions { service, counts }
    }

    async fn answer(
        &self,
        route: DecisionRoute,
        request: Request<BoundedBody<Incoming>>,
        share: BodyShare,
    ) -> Response {
        let counts = self.counts.as_ref();
        let mut open = counts.map(|counts| OpenRequest::new(&*counts[route as usize]));
        let response = route.answer(&self.service, request, share).await;
        if let Some(open) = &mut open {
            open.answered(response.status());
        }
        response
    }
}

/// All that answers need. Each connection has its own, so that its requests share no counter of references with
/// those of others.
pub(super) struct Answers {
    pub(super) routes: Router,
    pub(super) decisions: Option<Decisions>,
    pub(super) refusals: Option<Arc<RouteCounts>>,
    pub(super) guard: Guard,
    pub(super) peer: SocketAddr,
    /// The longest time for a body.
    pub(super) body: Duration,
    /// The bytes of the bodies of all requests under way.
    pub(super) bodies: Arc<ConcurrencyLimit>,
    pub(super) activity: Activity,
    pub(super) untaken: Arc<Untaken>,
}

impl Answers {
    /// Answers a request.
    pub(super) async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<AnswerBody>, Infallible> {
        let _busy = self.activity.begin(request.version());
        let response = self.decide(request).await;
        Ok(response.map(|body| AnswerBody::new(body, &self.untaken)))
    }

    async fn decide(&self, request: Request<Incoming>) -> Response {
        if let Some(refusal) = self.refusal(&request) {
            let open = self.refusals.as_deref().map(OpenRequest::new);
            let response = refusal.into_response();
            if let Some(mut open) = open {
                open.answered(response.status());
            }
            return response;
        }
        // Until the request is answered.
        let share = BodyShare::new(&self.bodies);
        let mut request = request.map(|body| BoundedBody::new(body, share.clone(), self.body));
        if let Some(decisions) = &self.decisions
            && let Some(route) = DecisionRoute::of(&request)
        {
            return decisions.answer(route, request, share).await;
        }
        request.extensions_mut().insert(ConnectInfo(self.peer));
        let Ok(response) = self.routes.clone().call(request).await;
        response
    }

    /// Returns why a request is refused before a route is looked for, if it is.
    fn refusal(&self, request: &Request<Incoming>) -> Option<Failure> {
        let busy = || {
            let detail = "answers that are not read leave no space for another: read them, or ask again in a second";
            Failure::busy(detail)
        };
        let refusal = self.guard.refusal(request);
        refusal.or_else(|| (!self.untaken.has_space()).then(busy))
    }
}
