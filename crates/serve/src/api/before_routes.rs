//! Decisions that a server makes before it looks through its routes: `POST /v1/check`, `/v1/check/batch`, `/v1/peek`.

use axum::BoxError;
use axum::body::{Bytes, HttpBody};
use axum::response::{IntoResponse, Response};
use http::{Method, Request};

use super::body::JsonBody;
use super::check;
use super::failure::Failure;
use crate::body_share::BodyShare;
use crate::service::Service;

/// A route that is asked for most decisions, by `POST`, and that the table of routes has too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecisionRoute {
    Check,
    Batch,
    Peek,
}

impl DecisionRoute {
    pub(crate) const ALL: [DecisionRoute; 3] =
        [DecisionRoute::Check, DecisionRoute::Batch, DecisionRoute::Peek];

    /// Returns the path.
    pub(crate) fn path(self) -> &'static str {
        match self {
            DecisionRoute::Check => "/v1/check",
            DecisionRoute::Batch => "/v1/check/batch",
            DecisionRoute::Peek => "/v1/peek",
        }
    }

    /// Returns the route of a request, if it is for one of these.
    pub(crate) fn of<B>(request: &Request<B>) -> Option<DecisionRoute> {
        if request.method() != Method::POST {
            return None;
        }
        let path = request.uri().path();
        DecisionRoute::ALL.into_iter().find(|route| route.path() == path)
    }

    /// Answers a request. Gives its share of the space for bodies back when its body is needed no more.
    pub(crate) async fn answer<B>(
        self,
        service: &Service,
        request: Request<B>,
        share: BodyShare,
    ) -> Response
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>>,
    {
        self.try_answer(service, request, share).await.unwrap_or_else(Failure::into_response)
    }

    async fn try_answer<B>(
        self,
        service: &Service,
        request: Request<B>,
        share: BodyShare,
    ) -> Result<Response, Failure>
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>>,
    {
        let body = JsonBody::of(request).await?;
        match self {
            DecisionRoute::Check => check::take(service, body, Some(share)).await,
            DecisionRoute::Batch => check::take_several(service, &body).await,
            DecisionRoute::Peek => check::look(service, &body).await,
        }
    }
}
