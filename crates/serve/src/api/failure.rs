//! Answers to requests that are wrong.

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use sluicegate_http::fields::{Problem, ProblemType};

use crate::decision::CheckError;

/// A request that cannot be answered, told as problem details (RFC 9457). Nothing was charged.
#[derive(Debug)]
pub(crate) struct Failure {
    status: StatusCode,
    detail: String,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Failure {
        Failure { status, detail: detail.into() }
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

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut problem = Problem::new(ProblemType::Blank).explained(self.detail);
        problem.status = Some(self.status);
        // The title of a problem that has no type is that of its status (RFC 9457, section 4.2.1).
        problem.title = self.status.canonical_reason().map(str::to_owned);
        let media_type = HeaderValue::from_static(Problem::CONTENT_TYPE);
        (self.status, [(header::CONTENT_TYPE, media_type)], problem.to_json()).into_response()
    }
}
