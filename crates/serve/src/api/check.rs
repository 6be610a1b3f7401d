//! Questions to limiters.

use arc_swap::Guard;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::JsonBody;
use super::failure::Failure;
use crate::decision::{AllOrNone, Answer, Check};
use crate::service::Service;

/// Several checks.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch {
    /// The checks, at most 1,000 unless the service is set up otherwise.
    checks: Vec<Check>,
    /// True to take the permits of all, or of none. Otherwise each check is answered by itself.
    #[serde(default)]
    all_or_none: bool,
}

/// The answers to checks, each by itself.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Answers<'l> {
    /// The answers in the order of the checks.
    answers: Vec<Answer<'l>>,
}

/// Takes permits of a limiter, or none. With `wait`, stands in line for them.
#[utoipa::path(
    post,
    path = "/v1/check",
    tag = "decisions",
    request_body = Check,
    responses(
        (status = 200, description = "The decision, granted or denied", body = Answer),
        (status = 400, description = "The body, its key or its cost is wrong", content_type = "application/problem+json"),
        (status = 404, description = "No limiter has this name", content_type = "application/problem+json"),
    )
)]
pub(super) async fn check(
    State(service): State<Service>,
    JsonBody(mut check): JsonBody<Check>,
) -> Result<Response, Failure> {
    let wait = check.wait.take();
    let in_force = service.limiters().load();
    if let Some(longest) = wait {
        // Kept for as long as the caller waits.
        let in_force = Guard::into_inner(in_force);
        let ask = check.resolve(&in_force, service.limiters().registry())?;
        return Ok(Json(ask.wait(longest.0).await).into_response());
    }
    let ask = check.resolve(&in_force, service.limiters().registry())?;
    Ok(Json(ask.take().await).into_response())
}

/// Tells what a check would be answered, and takes nothing.
#[utoipa::path(
    post,
    path = "/v1/peek",
    tag = "decisions",
    request_body = Check,
    responses(
        (status = 200, description = "The decision that a check would get", body = Answer),
        (status = 400, description = "The body, its key or its cost is wrong", content_type = "application/problem+json"),
        (status = 404, description = "No limiter has this name", content_type = "application/problem+json"),
    )
)]
pub(super) async fn peek(
    State(service): State<Service>,
    JsonBody(check): JsonBody<Check>,
) -> Result<Response, Failure> {
    let in_force = service.limiters().load();
    let ask = check.resolve(&in_force, service.limiters().registry())?;
    Ok(Json(ask.peek().await).into_response())
}

/// Answers several checks at once, each by itself or all together. If one of them is wrong, none is
/// answered and nothing is taken.
#[utoipa::path(
    post,
    path = "/v1/check/batch",
    tag = "decisions",
    request_body = Batch,
    responses(
        (status = 200, description = "The answers in the order of the checks; with `all_or_none`, one decision besides", body = AllOrNone),
        (status = 400, description = "The body or one of the checks is wrong", content_type = "application/problem+json"),
        (status = 404, description = "No limiter has one of the names", content_type = "application/problem+json"),
        (status = 413, description = "There are too many checks", content_type = "application/problem+json"),
    )
)]
pub(super) async fn batch(
    State(service): State<Service>,
    JsonBody(batch): JsonBody<Batch>,
) -> Result<Response, Failure> {
    let (given, most) = (batch.checks.len(), service.most_checks());
    if given > most {
        let detail = format!("`checks` has {given} elements: must be at most {most}");
        return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    let in_force = service.limiters().load();
    let mut asks = Vec::with_capacity(given);
    for (place, check) in batch.checks.iter().enumerate() {
        let ask = check.resolve(&in_force, service.limiters().registry());
        asks.push(ask.map_err(|error| Failure::from(error).of_check(place))?);
    }
    if batch.all_or_none {
        return Ok(Json(AllOrNone::take(&asks).await).into_response());
    }
    let mut answers = Vec::with_capacity(given);
    for ask in &asks {
        answers.push(ask.take().await);
    }
    Ok(Json(Answers { answers }).into_response())
}
