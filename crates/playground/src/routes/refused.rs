//! Answers to requests that are refused.

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use sluicegate::Denied;
use sluicegate_http::fields::{Problem, write_retry_after};

use crate::sessions::NoSession;
use crate::wire::{FieldProblem, Refusal, Scenario};

/// A request that is refused, told as problem details (RFC 9457).
#[derive(Debug)]
pub(super) struct Refused {
    status: StatusCode,
    detail: String,
    errors: Vec<FieldProblem>,
    retry_after: Option<Duration>,
}

impl Refused {
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Refused {
        Refused { status, detail: detail.into(), errors: Vec::new(), retry_after: None }
    }

    pub(super) fn no_such_session() -> Refused {
        let detail = "there is no such session: one ends two minutes after its last event stream, and with the server; POST /playground/sessions makes a new one";
        Refused::new(StatusCode::NOT_FOUND, detail)
    }

    pub(super) fn no_such_scenario(id: &str, scenarios: &[Scenario]) -> Refused {
        let ids: Vec<_> = scenarios.iter().map(|scenario| scenario.id.as_str()).collect();
        let given: String = id.chars().take(crate::bounds::KEY_LENGTH).collect();
        let message = format!("id is {given:?}: must be one of {}", ids.join(", "));
        vec![FieldProblem { side: None, parameter: "id".to_owned(), message }].into()
    }

    pub(super) fn wrong_method() -> Refused {
        let detail = "the path has other methods: see the field Allow";
        Refused::new(StatusCode::METHOD_NOT_ALLOWED, detail)
    }

    pub(super) fn too_many_readers(most: usize) -> Refused {
        let detail = format!("the session has {most} event streams: close one of them first");
        Refused::new(StatusCode::SERVICE_UNAVAILABLE, detail)
    }

    /// Returns the answer if all sessions together have too much to do.
    pub(super) fn busy(denied: Denied) -> Refused {
        let retry_after = denied.retry_after();
        let detail = "all sessions of the playground together have too much to do: send fewer requests, or later";
        Refused { retry_after, ..Refused::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }
}

impl From<Vec<FieldProblem>> for Refused {
    fn from(errors: Vec<FieldProblem>) -> Refused {
        let messages: Vec<_> = errors.iter().map(|error| error.message.as_str()).collect();
        let detail = messages.join("; ");
        Refused { errors, ..Refused::new(StatusCode::UNPROCESSABLE_ENTITY, detail) }
    }
}

impl From<FieldProblem> for Refused {
    fn from(error: FieldProblem) -> Refused {
        vec![error].into()
    }
}

impl From<NoSession> for Refused {
    fn from(error: NoSession) -> Refused {
        let detail = match error {
            NoSession::Full => {
                "every session of the playground has a page open: close one, or come back later"
            }
            NoSession::NoName => "the system has no random numbers for the name of a session",
        };
        let retry_after = Some(Duration::from_secs(10));
        Refused { retry_after, ..Refused::new(StatusCode::SERVICE_UNAVAILABLE, detail) }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let Refused { status, detail, errors, retry_after } = self;
        let title = status.canonical_reason().unwrap_or_default().to_owned();
        let refusal = Refusal { title, status: status.as_u16(), detail, errors };
        let mut response = (status, Json(refusal)).into_response();
        let fields = response.headers_mut();
        fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(Problem::CONTENT_TYPE));
        if retry_after.is_some() {
            write_retry_after(fields, retry_after);
        }
        response
    }
}
