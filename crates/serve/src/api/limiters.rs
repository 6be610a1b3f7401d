//! The limiters of the service.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use sluicegate_policy::LevelPolicy;
use utoipa::ToSchema;

use crate::limiters::{Handle, NamedLimiter};
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
    /// True if its keys are on a server, for all machines that ask it; false if they are in the memory of this process.
    shared: bool,
    /// True if this process spends leases of keys that are asked for often, so that few decisions ask the server.
    leased: bool,
}

/// A level of the hierarchy of the policy file in force.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LevelDescription {
    /// Its name.
    name: String,
    /// Its algorithm and numbers, in words.
    kind: String,
    /// Names of the fields of a request that its key is made of.
    key: Vec<String>,
    /// Names of the amounts of a request that it counts the sum of. Empty if each request counts 1.
    counts: Vec<String>,
}

/// All limiters.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Descriptions {
    /// They are in the order of their names.
    limiters: Vec<Description>,
    /// The levels of the hierarchy, in the order of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    levels: Vec<LevelDescription>,
}

/// Lists the limiters of the policy file in force, and the levels of its hierarchy.
#[utoipa::path(
    get,
    path = "/v1/limiters",
    tag = "decisions",
    responses((status = 200, description = "The limiters, in the order of their names", body = Descriptions))
)]
pub(super) async fn limiters(State(service): State<Service>) -> Response {
    let limiters = service.limiters().load().all().iter().map(describe).collect();
    let levels = service.limiters().registry().hierarchy().levels();
    let levels = levels.iter().map(describe_level).collect();
    Json(Descriptions { limiters, levels }).into_response()
}

fn describe_level(level: &LevelPolicy) -> LevelDescription {
    LevelDescription {
        name: level.name.clone(),
        kind: level.kind.to_string(),
        key: level.key.clone(),
        counts: level.counts.clone(),
    }
}

fn describe(limiter: &NamedLimiter) -> Description {
    let policy = limiter.policy();
    let key = if limiter.has_keys() {
        policy.key.iter().map(ToString::to_string).collect()
    } else {
        Vec::new()
    };
    let leases = match limiter.handle() {
        Handle::Remote(handle) => Some(handle.leases()),
        _ => None,
    };
    Description {
        name: limiter.name().to_owned(),
        kind: policy.kind.to_string(),
        key,
        shadow: policy.shadow,
        shared: leases.is_some(),
        leased: leases.flatten().is_some(),
    }
}
