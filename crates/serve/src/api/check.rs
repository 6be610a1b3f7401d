//! Questions to limiters.

use arc_swap::Guard;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Deserializer, Serialize};
use sluicegate_http::fields::write_retry_after;
use utoipa::ToSchema;

use super::body::{JsonBody, Object};
use super::failure::{ASK_AGAIN, Failure, ProblemDetails};
use crate::body_share::BodyShare;
use crate::decision::{AllOrNone, Answer, Ask, Check, side_by_side};
use crate::service::Service;

/// Bytes of an answer: most have fewer.
const ANSWER_BYTES: usize = 192;

/// Several checks.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Batch<'b> {
    /// The checks, at most 1,000 unless the service is set up otherwise.
    #[serde(borrow, deserialize_with = "each_an_object")]
    checks: Vec<Check<'b>>,
    /// True to take the permits of all, or of none. Otherwise each check is answered by itself.
    #[serde(default)]
    all_or_none: bool,
}

/// Reads a list of which each element is an object.
fn each_an_object<'de, D: Deserializer<'de>>(list: D) -> Result<Vec<Check<'de>>, D::Error> {
    let checks = Vec::<Object<Check<'de>>>::deserialize(list)?;
    Ok(checks.into_iter().map(|Object(check)| check).collect())
}

/// The answers to checks, each by itself.
// By the schema, an answer with one decision for all is not one of these.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answers<'l> {
    /// The answers in the order of the checks.
    answers: Vec<Answer<'l>>,
}

/// The answer to a batch: with `all_or_none` one decision beside the answers.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum BatchAnswer<'l> {
    /// All of the checks, or none.
    AllOrNone(AllOrNone<'l>),
    /// Each check by itself.
    Each(Answers<'l>),
}

/// Takes permits of a limiter, or none. With `wait`, stands in line for them.
#[utoipa::path(
    post,
    path = "/v1/check",
    tag = "decisions",
    request_body = Check,
    responses(
        (status = 200, description = "The decision, granted or denied", body = Answer),
        (status = 400, description = "The body, its key or its cost is wrong", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 404, description = "No limiter has this name", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 413, description = "The body has more than 1 MiB", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON by its `Content-Type`", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 503, description = "Too many checks wait already, or there is no space for the body now; or the server of the limiter gives no answer, and its policy refuses then", content((ProblemDetails = "application/problem+json"), (Answer = "application/json"))),
    )
)]
pub(super) async fn check(
    State(service): State<Service>,
    body: JsonBody,
) -> Result<Response, Failure> {
    take(&service, body, None).await
}

/// Answers a check. If it waits, it keeps neither the body nor its `share` of the space for bodies.
pub(super) async fn take(
    service: &Service,
    body: JsonBody,
    share: Option<BodyShare>,
) -> Result<Response, Failure> {
    let mut check: Check<'_> = body.read()?;
    let wait = check.wait.take();
    let in_force = service.limiters().load();
    if let Some(longest) = wait {
        // Kept for as long as the caller waits.
        let in_force = Guard::into_inner(in_force);
        let check = check.into_owned();
        drop((body, share));
        let ask = check.resolve(&in_force, service.limiters().registry())?;
        let Some(_place) = service.place_to_wait() else {
            let detail = "so many checks wait that there is no space for another: ask again in a second, or without `wait`";
            return Err(Failure::busy(detail));
        };
        return Ok(one(&ask.wait(longest.0).await));
    }
    let ask = check.resolve(&in_force, service.limiters().registry())?;
    Ok(one(&ask.take().await))
}

/// Tells what a check would be answered, and takes nothing.
#[utoipa::path(
    post,
    path = "/v1/peek",
    tag = "decisions",
    request_body = Check,
    responses(
        (status = 200, description = "The decision that a check would get", body = Answer),
        (status = 400, description = "The body, its key or its cost is wrong", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 404, description = "No limiter has this name", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 413, description = "The body has more than 1 MiB", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON by its `Content-Type`", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 503, description = "There is no space for the body now; or the server of the limiter gives no answer, and its policy refuses then", content((ProblemDetails = "application/problem+json"), (Answer = "application/json"))),
    )
)]
pub(super) async fn peek(
    State(service): State<Service>,
    body: JsonBody,
) -> Result<Response, Failure> {
    look(&service, &body).await
}

/// Answers a peek.
pub(super) async fn look(service: &Service, body: &JsonBody) -> Result<Response, Failure> {
    let check: Check<'_> = body.read()?;
    let in_force = service.limiters().load();
    let ask = check.resolve(&in_force, service.limiters().registry())?;
    Ok(one(&ask.peek().await))
}

/// Answers several checks at once, each by itself or all together. If one of them is wrong, none is
/// answered and nothing is taken.
#[utoipa::path(
    post,
    path = "/v1/check/batch",
    tag = "decisions",
    request_body = Batch,
    responses(
        (status = 200, description = "The answers in the order of the checks; with `all_or_none`, one decision besides", body = BatchAnswer),
        (status = 400, description = "The body or one of the checks is wrong", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 404, description = "No limiter has one of the names", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 413, description = "The body has more than 1 MiB, or too many checks", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON by its `Content-Type`", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 503, description = "There is no space for the body now", body = ProblemDetails, content_type = "application/problem+json"),
    )
)]
pub(super) async fn batch(
    State(service): State<Service>,
    body: JsonBody,
) -> Result<Response, Failure> {
    take_several(&service, &body).await
}

/// Answers a batch.
pub(super) async fn take_several(service: &Service, body: &JsonBody) -> Result<Response, Failure> {
    let batch: Batch<'_> = body.read()?;
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
        let answer = AllOrNone::take(&asks).await;
        return Ok(json(&BatchAnswer::AllOrNone(answer), given));
    }
    let answers = side_by_side(asks.iter().map(Ask::take)).await;
    Ok(json(&BatchAnswer::Each(Answers { answers }), given))
}

/// Writes a response with one answer. If the server of the limiter gives none, the status says so to whoever looks at that alone.
fn one(answer: &Answer<'_>) -> Response {
    let mut response = json(answer, 1);
    if answer.is_unavailable() {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        write_retry_after(response.headers_mut(), Some(ASK_AGAIN));
    }
    response
}

/// Writes a response with so many answers.
fn json(answers: &impl Serialize, number: usize) -> Response {
    let mut text = Vec::with_capacity(number.saturating_mul(ANSWER_BYTES));
    if let Err(error) = serde_json::to_writer(&mut text, answers) {
        // Nothing in an answer can be the cause.
        return Failure::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response();
    }
    let mut response = Response::new(Body::from(text));
    let media_type = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, media_type);
    response
}
