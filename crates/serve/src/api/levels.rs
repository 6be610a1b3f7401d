//! Questions to the levels of a hierarchy.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Deserialize;
use sluicegate_policy::LevelRequestError;
use utoipa::ToSchema;

use super::admin::Admin;
use super::body::JsonBody;
use super::failure::{Failure, ProblemDetails};
use crate::bounded_key::bound_text;
use crate::decision::{LevelsAnswer, LevelsCheck};
use crate::service::Service;

/// The key of one level that is to be full again.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct LevelReset {
    /// Name of the level.
    #[schema(example = "user")]
    level: String,
    /// A value for each name in the `key` of a level.
    fields: BTreeMap<String, String>,
}

impl From<LevelRequestError> for Failure {
    fn from(error: LevelRequestError) -> Failure {
        let status = match error {
            LevelRequestError::NoLevels | LevelRequestError::NoSuchLevel { .. } => {
                StatusCode::NOT_FOUND
            }
            _ => StatusCode::BAD_REQUEST,
        };
        Failure::new(status, error.to_string())
    }
}

/// Takes what a request uses from all levels of the hierarchy, or nothing from any.
#[utoipa::path(
    post,
    path = "/v1/levels/check",
    operation_id = "check_levels",
    tag = "decisions",
    request_body = LevelsCheck,
    responses(
        (status = 200, description = "The decision, granted or denied", body = LevelsAnswer),
        (status = 400, description = "The body is wrong, or a name is missing or belongs to no level", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 404, description = "The policy file has no levels", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 413, description = "The body has more than 1 MiB", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON by its `Content-Type`", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 503, description = "There is no space for the body now", body = ProblemDetails, content_type = "application/problem+json"),
    )
)]
pub(super) async fn check(
    State(service): State<Service>,
    body: JsonBody,
) -> Result<Response, Failure> {
    let check = body.read::<LevelsCheck>()?.bounded();
    let told = service.limiters().registry().hierarchy();
    let told = told.try_acquire(&check.fields, &check.amounts)?;
    let answer = LevelsAnswer::of(&told);
    service.metrics().levels().count(answer.which);
    Ok(Json(answer).into_response())
}

/// Tells what all levels would answer, and takes nothing.
#[utoipa::path(
    post,
    path = "/v1/levels/peek",
    operation_id = "peek_levels",
    tag = "decisions",
    request_body = LevelsCheck,
    responses(
        (status = 200, description = "The decision that a check would get", body = LevelsAnswer),
        (status = 400, description = "The body is wrong, or a name is missing or belongs to no level", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 404, description = "The policy file has no levels", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 413, description = "The body has more than 1 MiB", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON by its `Content-Type`", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 503, description = "There is no space for the body now", body = ProblemDetails, content_type = "application/problem+json"),
    )
)]
pub(super) async fn peek(
    State(service): State<Service>,
    body: JsonBody,
) -> Result<Response, Failure> {
    let check = body.read::<LevelsCheck>()?.bounded();
    let told = service.limiters().registry().hierarchy().peek(&check.fields, &check.amounts)?;
    Ok(Json(LevelsAnswer::of(&told)).into_response())
}

/// Makes the key of one level full again.
#[utoipa::path(
    post,
    path = "/v1/levels/reset",
    operation_id = "reset_level",
    tag = "administration",
    request_body = LevelReset,
    responses(
        (status = 204, description = "It is full"),
        (status = 400, description = "The body is wrong, or a name is missing or belongs to no level", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 401, description = "The token is missing or wrong", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 403, description = "The service has no token, or a page of another site has sent this", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 404, description = "There is no such level", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 413, description = "The body has more than 1 MiB", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON by its `Content-Type`", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 503, description = "There is no space for the body now", body = ProblemDetails, content_type = "application/problem+json"),
    )
)]
pub(super) async fn reset(
    _: Admin,
    State(service): State<Service>,
    body: JsonBody,
) -> Result<StatusCode, Failure> {
    let LevelReset { level, mut fields } = body.read()?;
    fields.values_mut().for_each(bound_text);
    service.limiters().registry().hierarchy().reset(&level, &fields)?;
    Ok(StatusCode::NO_CONTENT)
}
