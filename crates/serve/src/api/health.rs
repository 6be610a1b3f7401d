//! The health of the service.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;

use super::failure::{Failure, ProblemDetails};
use crate::service::Service;

/// Tells that the process answers.
#[utoipa::path(
    get,
    path = "/healthz",
    tag = "service",
    responses((status = 200, description = "The process answers", body = str, content_type = "text/plain"))
)]
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// Tells that there are limiters to ask, and if the service was told so, that the servers of those that several machines share
/// answer.
#[utoipa::path(
    get,
    path = "/readyz",
    tag = "service",
    responses(
        (status = 200, description = "There are limiters", body = str, content_type = "text/plain"),
        (status = 503, description = "The policy file has no limiter and no level, or a server of limiters does not answer", body = ProblemDetails, content_type = "application/problem+json"),
    )
)]
pub(super) async fn ready(State(service): State<Service>) -> Response {
    let limiters = service.limiters();
    if limiters.load().all().is_empty() && limiters.registry().hierarchy().levels().is_empty() {
        let detail = "the policy file has no limiter and no level";
        return Failure::new(StatusCode::SERVICE_UNAVAILABLE, detail).into_response();
    }
    if service.needs_servers()
        && let Err(failure) = limiters.registry().probe_servers().await
    {
        return Failure::new(StatusCode::SERVICE_UNAVAILABLE, failure.to_string()).into_response();
    }
    "ok\n".into_response()
}
