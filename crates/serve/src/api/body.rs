//! Bodies of requests.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::FromRequest;
use http::{HeaderMap, Request, StatusCode, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::failure::Failure;
use crate::bounded_body::BodyRefused;

/// A body in JSON that is not read yet, so that what is read can borrow from it.
pub(super) struct JsonBody(Bytes);

impl JsonBody {
    /// Waits for the body of a request. Does not copy it if it comes in one piece, as most do.
    pub(super) async fn of<B>(request: Request<B>) -> Result<JsonBody, Failure>
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>>,
    {
        // A page in a browser cannot send this type to another origin without asking first.
        if !is_json(request.headers()) {
            return Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body must be JSON: send Content-Type: application/json",
            ));
        }
        let whole = Limited::new(request.into_body(), super::MAX_BODY_BYTES).collect().await;
        whole.map(|body| JsonBody(body.to_bytes())).map_err(|error| broken(&*error))
    }

    /// Reads the value.
    ///
    /// # Errors
    ///
    /// A failure that names the field, and its place in the body.
    pub(super) fn read<'b, T: Deserialize<'b>>(&'b self) -> Result<T, Failure> {
        // To look at all bytes at once costs less than at each text by itself.
        let read = match std::str::from_utf8(&self.0) {
            Ok(text) => serde_json::from_str(text),
            Err(_) => serde_json::from_slice(&self.0),
        };
        read.map(|Object(value)| value).map_err(|error| located::<T>(&self.0, &error))
    }
}

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = Failure;

    async fn from_request(request: Request<Body>, _: &S) -> Result<Self, Failure> {
        JsonBody::of(request).await
    }
}

/// A value that is an object in JSON. A list of the values of its fields, which serde takes as well, is none.
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object<T>, D::Error> {
        deserializer.deserialize_map(Fields(PhantomData)).map(Object)
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

#[cold]
fn broken(error: &(dyn Error + 'static)) -> Failure {
    if let Some(refused) = BodyRefused::source_of(error) {
        return Failure::from(refused);
    }
    if error.is::<LengthLimitError>() {
        let detail = format!("the body must have at most {} bytes", super::MAX_BODY_BYTES);
        return Failure::new(StatusCode::PAYLOAD_TOO_LARGE, detail);
    }
    Failure::new(StatusCode::BAD_REQUEST, format!("the body: {error}"))
}

/// Returns the failure for a body that is no `T`, by reading it again: to note the way to a field costs more than to
/// read it.
#[cold]
fn located<'b, T: Deserialize<'b>>(bytes: &'b [u8], error: &serde_json::Error) -> Failure {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let detail = match serde_path_to_error::deserialize::<_, Object<T>>(&mut json) {
        // "." is the whole body.
        Err(error) if error.path().iter().next().is_some() => {
            format!("`{}`: {}", error.path(), error.inner())
        }
        // The value is right, and something follows it; or it is wrong as a whole.
        _ => format!("the body: {error}"),
    };
    Failure::new(StatusCode::BAD_REQUEST, detail)
}

fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(header::CONTENT_TYPE).map(|value| value.to_str()) else {
        return false;
    };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case("application/json")
}
