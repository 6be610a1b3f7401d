//! Verbs for those who run the service.

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::response::{IntoResponse, Response};
use http::request::Parts;
use http::{StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use super::body::JsonBody;
use super::failure::{Failure, ProblemDetails};
use crate::decision::Check;
use crate::service::Service;

/// The proof that a request carries the administrative token.
pub(super) struct Admin;

impl FromRequestParts<Service> for Admin {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Admin, Response> {
        let Some(token) = service.admin_token() else {
            let detail =
                "administrative verbs are off: start the service with --admin-token-file FILE";
            return Err(Failure::new(StatusCode::FORBIDDEN, detail).into_response());
        };
        let given = parts.headers.get(header::AUTHORIZATION).map(http::HeaderValue::as_bytes);
        let given = given.and_then(|value| {
            let (scheme, given) = value.split_at_checked("Bearer ".len())?;
            scheme.eq_ignore_ascii_case(b"Bearer ").then_some(given)
        });
        if given.is_some_and(|given| token.is(given)) {
            return Ok(Admin);
        }
        let detail = "the verb needs Authorization: Bearer with the service's token";
        let mut response = Failure::new(StatusCode::UNAUTHORIZED, detail).into_response();
        let challenge = http::HeaderValue::from_static("Bearer");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        Err(response)
    }
}

/// The events of a reload.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Reloaded {
    /// The changes, in words. Empty if the file says the same as before.
    events: Vec<String>,
}

/// Makes a limiter, or the limiter of a key, full again, and ends its penalty. `cost` is of no use here. Of a limiter with
/// classes, all are full again; the share of a tenant stays as it is, since others rely on theirs, and only its penalty ends.
#[utoipa::path(
    post,
    path = "/v1/reset",
    tag = "administration",
    request_body = Check,
    responses(
        (status = 204, description = "It is full, and has no penalty"),
        (status = 400, description = "The body or its key is wrong", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 401, description = "The token is missing or wrong", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 403, description = "The service has no token, or a page of another site has sent this", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 404, description = "No limiter has this name", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 409, description = "The limiter has shares in memory, of which none is made full, and no penalty", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 413, description = "The body has more than 1 MiB", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON by its `Content-Type`", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 503, description = "The server of the limiter gives no answer, or there is no space for the body now", body = ProblemDetails, content_type = "application/problem+json"),
    )
)]
pub(super) async fn reset(
    _: Admin,
    State(service): State<Service>,
    body: JsonBody,
) -> Result<StatusCode, Failure> {
    let check: Check<'_> = body.read()?;
    let in_force = service.limiters().load();
    let ask = check.resolve(&in_force, service.limiters().registry())?.with_whole_key()?;
    if !ask.can_be_reset() {
        let detail = format!(
            "limiter {:?} has shares: none of them is made full, since the others rely on theirs",
            ask.limiter().name()
        );
        return Err(Failure::new(StatusCode::CONFLICT, detail));
    }
    match ask.reset().await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error) => Err(Failure::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())),
    }
}

/// Reads the policy file again. If it has a mistake, everything stays as it was.
#[utoipa::path(
    post,
    path = "/v1/reload",
    tag = "administration",
    responses(
        (status = 200, description = "The file is in force", body = Reloaded),
        (status = 401, description = "The token is missing or wrong", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 403, description = "The service has no token, or a page of another site has sent this", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 409, description = "The service has no file", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 422, description = "The file has mistakes, which are told; the old terms stay in force", body = ProblemDetails, content_type = "application/problem+json"),
    )
)]
pub(super) async fn reload(_: Admin, State(service): State<Service>) -> Result<Response, Failure> {
    match service.reload().await {
        None => {
            let detail = "the limiters were not read from a file";
            Err(Failure::new(StatusCode::CONFLICT, detail))
        }
        Some(Ok(events)) => {
            let events = events.iter().map(ToString::to_string).collect();
            Ok(Json(Reloaded { events }).into_response())
        }
        Some(Err(error)) => Err(Failure::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())),
    }
}
