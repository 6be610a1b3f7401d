//! Answers of a server that has no policy, but something else to serve.

use axum::Router;
use axum::routing::get;
use http::StatusCode;

use super::failure::Failure;
use super::health;
use super::metrics;
use crate::metrics::Metrics;

/// Returns the routes of a server without a policy: `/healthz`, `/readyz` and `/metrics`, and for all others an answer that says what is
/// missing.
pub fn without_policy(metrics: Metrics) -> Router {
    let page = || async move { metrics::page(&metrics) };
    let routes = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::alive))
        .route("/metrics", get(page));
    routes.fallback(|| async {
        let detail = "there is no such path: without a policy no limiter is served; start with --policy FILE";
        Failure::new(StatusCode::NOT_FOUND, detail)
    })
}
