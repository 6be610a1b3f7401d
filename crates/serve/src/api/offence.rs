//! Offences that gateways report.

use std::borrow::Cow;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::{Deserialize, Serialize};
use sluicegate_policy::{KeyField, OffenceError, RequestFields, path_of_target};
use utoipa::ToSchema;

use super::body::JsonBody;
use super::failure::{Failure, ProblemDetails};
use crate::decision::{Check, Key, Seconds, whole};
use crate::service::Service;

/// Offences of a caller, or the answer to a request that may be one.
#[derive(Clone, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Report<'b> {
    /// Name of the limiter in the policy file, which has a `penalty`.
    #[serde(borrow)]
    #[schema(example = "log-ins")]
    limiter: Cow<'b, str>,
    /// Key of the caller, for a limiter with keys.
    #[serde(borrow, default)]
    key: Option<Key<'b>>,
    /// Number of offences: 1 by default. Not beside `status`.
    #[serde(default, deserialize_with = "whole::optional")]
    offences: Option<u64>,
    /// Status of the answer that the caller got. Then the policy's `by` says whether that is an offence, and its `match` and
    /// `except` whether the limiter judges the request, as far as that is told: a gateway can report every answer.
    #[serde(default, deserialize_with = "whole::optional")]
    #[schema(minimum = 100, maximum = 999)]
    status: Option<u64>,
    /// Method of the request that was answered. A limiter whose `match` has others counts nothing.
    #[serde(default)]
    method: Option<Cow<'b, str>>,
    /// Path of that request, likewise.
    #[serde(default)]
    path: Option<Cow<'b, str>>,
}

/// The outcome of a report.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Reported<'l> {
    /// Name of the limiter.
    limiter: &'l str,
    /// True if offences were counted. Not if the policy says that the answer is none or that the limiter does not judge the
    /// request, and not during a penalty, which they do not make longer.
    counted: bool,
    /// True if a penalty runs now.
    penalized: bool,
    /// Number of further offences that begin a penalty.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<u64>,
    /// Time until the penalty ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<Seconds>,
}

/// The answer to a request, as a gateway reports it.
struct Answered<'r> {
    report: &'r Report<'r>,
    status: Option<String>,
}

impl RequestFields for Answered<'_> {
    fn field(&self, field: KeyField) -> Option<&[u8]> {
        match field {
            KeyField::Status => self.status.as_deref().map(str::as_bytes),
            KeyField::Method => self.report.method.as_deref().map(str::as_bytes),
            // Without the query.
            KeyField::Path => {
                self.report.path.as_deref().map(|path| path_of_target(path.as_bytes()))
            }
            _ => None,
        }
    }
}

/// Reports offences of a caller, which is refused for a time once there are enough: as the `penalty` of the policy
/// says.
#[utoipa::path(
    post,
    path = "/v1/offence",
    tag = "decisions",
    request_body = Report,
    responses(
        (status = 200, description = "The outcome", body = Reported),
        (status = 400, description = "The body or its key is wrong", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 404, description = "No limiter has this name", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 409, description = "The limiter has no penalty", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 413, description = "The body has more than 1 MiB", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 415, description = "The body is not JSON by its `Content-Type`", body = ProblemDetails, content_type = "application/problem+json"),
        (status = 503, description = "There is no space for another offender, or for the body now", body = ProblemDetails, content_type = "application/problem+json"),
    )
)]
pub(super) async fn offence(
    State(service): State<Service>,
    body: JsonBody,
) -> Result<Response, Failure> {
    let report: Report<'_> = body.read()?;
    let bad = |detail: String| Failure::new(StatusCode::BAD_REQUEST, detail);
    if report.offences.is_some() && report.status.is_some() {
        return Err(bad("`offences` and `status` are both given: give one of them".to_owned()));
    }
    if let Some(status) = report.status.filter(|status| !(100..=999).contains(status)) {
        return Err(bad(format!("`status` is {status}: must be from 100 to 999")));
    }
    let (limiter, key) = (report.limiter.clone(), report.key.clone());
    let check = Check { limiter, key, cost: None, wait: None };
    let in_force = service.limiters().load();
    let ask = check.resolve(&in_force, service.limiters().registry())?.with_whole_key()?;
    let policy = ask.limiter().policy();
    let status = report.status.map(|status| status.to_string());
    let answered = Answered { report: &report, status };
    let offences = match (&policy.penalty, report.status) {
        _ if !policy.may_judge(&answered) => 0,
        (Some(penalty), Some(_)) => u64::from(penalty.is_offence(&answered)),
        _ => report.offences.unwrap_or(1),
    };
    let outcome = ask.offend(offences).map_err(|error| match error {
        OffenceError::NoPenalty { .. } => Failure::new(StatusCode::CONFLICT, error.to_string()),
        error => Failure::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
    })?;
    let (counted, remaining) = match outcome {
        sluicegate::penalty::Offence::Counted { remaining } => (offences > 0, Some(remaining)),
        sluicegate::penalty::Offence::Ignored { .. } => (false, None),
        _ => (true, None),
    };
    let reported = Reported {
        limiter: ask.limiter().name(),
        counted,
        penalized: outcome.retry_after().is_some(),
        remaining,
        retry_after: outcome.retry_after().map(Seconds),
    };
    Ok(Json(reported).into_response())
}
