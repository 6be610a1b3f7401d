//! Bodies of requests.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use http::{HeaderMap, StatusCode, header};
use serde::de::DeserializeOwned;

use super::failure::Failure;
use crate::server::BodyTimedOut;

/// A body in JSON.
pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        // A page in a browser cannot send this type to another origin without asking first.
        if !is_json(request.headers()) {
            return Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body must be JSON: send Content-Type: application/json",
            ));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| {
            if BodyTimedOut::is_source_of(&rejection) {
                return Failure::new(StatusCode::REQUEST_TIMEOUT, BodyTimedOut.to_string());
            }
            let status = rejection.status();
            let detail = match status {
                StatusCode::PAYLOAD_TOO_LARGE => {
                    format!("the body must have at most {} bytes", super::MAX_BODY_BYTES)
                }
                _ => rejection.body_text(),
            };
            Failure::new(status, detail)
        })?;
        parse(&bytes).map(JsonBody)
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Failure> {
    let wrong = |detail: String| Failure::new(StatusCode::BAD_REQUEST, detail);
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        // "." is the whole body.
        wrong(if path == "." { format!("the body: {error}") } else { format!("`{path}`: {error}") })
    })?;
    json.end().map_err(|error| wrong(format!("the body: {error}")))?;
    Ok(value)
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(header::CONTENT_TYPE).map(|value| value.to_str()) else {
        return false;
    };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}
