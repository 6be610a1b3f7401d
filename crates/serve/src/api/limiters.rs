//! The limiters of the service.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::limiters::NamedLimiter;
use crate::service::Service;

/// A limiter of the policy file in force.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Description {
    /// Its name.
    name: String,
    /// Its algorithm and numbers, in words.
    #[schema(example = "fixed window: 100 per 1m")]
    kind: String,
    /// The parts of its key, in words. Empty for a limiter of all callers.
    key: Vec<String>,
    /// True if it only counts what it would deny.
    shadow: bool,
}

/// All limiters.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Descriptions {
    /// They are in the order of their names.
    limiters: Vec<Description>,
}

/// Lists the limiters of the policy file in force.
#[utoipa::path(
    get,
    path = "/v1/limiters",
    tag = "decisions",
    responses((status = 200, description = "The limiters, in the order of their names", body = Descriptions))
)]
pub(super) async fn limiters(State(service): State<Service>) -> Response {
    let limiters = service.limiters().load().all().iter().map(describe).collect();
    Json(Descriptions { limiters }).into_response()
}

fn describe(limiter: &NamedLimiter) -> Description {
    let policy = limiter.policy();
    let key = if limiter.has_keys() {
        policy.key.iter().map(ToString::to_string).collect()
    } else {
        Vec::new()
    };
    Description {
        name: limiter.name().to_owned(),
        kind: policy.kind.to_string(),
        key,
        shadow: policy.shadow,
    }
}
