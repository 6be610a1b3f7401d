//! Bodies of requests.

use axum::Json;
use axum::extract::{FromRequest, Request};
use serde::de::DeserializeOwned;

use super::refused::Refused;

/// A body in JSON. Refused with problem details.
///
/// It has to have the type of JSON, which a page of another origin cannot send without asking first.
pub(super) struct JsonBody<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refused> {
        match Json::from_request(request, state).await {
            Ok(Json(body)) => Ok(JsonBody(body)),
            Err(rejection) => Err(Refused::new(rejection.status(), rejection.body_text())),
        }
    }
}
