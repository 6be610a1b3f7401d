//! Answers to requests that are wrong.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use sluicegate_http::fields::{Problem, ProblemType, write_retry_after};
use utoipa::ToSchema;

use crate::bounded_body::BodyRefused;
use crate::decision::CheckError;

/// The wait that is told while the service has no space for a request, or a limiter's server gives no answer.
pub(super) const ASK_AGAIN: Duration = Duration::from_secs(1);

/// A request that cannot be answered, told as problem details (RFC 9457). Nothing was charged.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    detail: String,
    /// Wait after which the same request may be answered.
    retry_after: Option<Duration>,
}

/// Problem details (RFC 9457).
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes the text that is written")]
pub(super) struct ProblemDetails {
    /// Always `about:blank`.
    r#type: String,
    /// The status of the answer.
    #[schema(minimum = 400, maximum = 599)]
    status: u16,
    /// The name of the status.
    title: String,
    /// The field, its value, and the range that is allowed.
    detail: String,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Failure {
        Failure { status, detail: detail.into(), retry_after: None }
    }

    /// Returns the answer of a server that has no space for a request now, but may have in a second.
    pub(crate) fn busy(detail: impl Into<String>) -> Failure {
        let retry_after = Some(ASK_AGAIN);
        Failure { retry_after, ..Failure::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }

    /// Returns the same for the check at an index of a batch.
    pub(crate) fn of_check(self, place: usize) -> Failure {
        Failure { detail: format!("checks[{place}]: {}", self.detail), ..self }
    }

    pub(crate) fn no_such_path() -> Failure {
        Failure::new(StatusCode::NOT_FOUND, "there is no such path; GET /openapi.json lists them")
    }

    pub(crate) fn wrong_method() -> Failure {
        Failure::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "the path has other methods: see the field Allow, and GET /openapi.json",
        )
    }
}

impl From<CheckError> for Failure {
    fn from(error: CheckError) -> Failure {
        let status = match error {
            CheckError::Unknown(_) => StatusCode::NOT_FOUND,
            _ => StatusCode::BAD_REQUEST,
        };
        Failure::new(status, error.to_string())
    }
}

impl From<BodyRefused> for Failure {
    fn from(refused: BodyRefused) -> Failure {
        match refused {
            BodyRefused::TimedOut => Failure::new(StatusCode::REQUEST_TIMEOUT, refused.to_string()),
            BodyRefused::NoSpace => Failure::busy(refused.to_string()),
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut problem = Problem::new(ProblemType::Blank).explained(self.detail);
        problem.status = Some(self.status);
        // The title of a problem that has no type is that of its status (RFC 9457, section 4.2.1).
        problem.title = self.status.canonical_reason().map(str::to_owned);
        let media_type = HeaderValue::from_static(Problem::CONTENT_TYPE);
        let fields = [(header::CONTENT_TYPE, media_type)];
        let mut response = (self.status, fields, problem.to_json()).into_response();
        if self.retry_after.is_some() {
            write_retry_after(response.headers_mut(), self.retry_after);
        }
        response
    }
}
