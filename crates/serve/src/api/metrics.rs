//! The page for Prometheus.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;

use crate::metrics::Metrics;
use crate::service::Service;

/// Tells the counts of the service, in the text format of `OpenMetrics`, which Prometheus reads.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "service",
    responses((status = 200, description = "The counts", body = str, content_type = "application/openmetrics-text"))
)]
pub(super) async fn metrics(State(service): State<Service>) -> Response {
    page(service.metrics())
}

pub(super) fn page(metrics: &Metrics) -> Response {
    ([(header::CONTENT_TYPE, Metrics::CONTENT_TYPE)], metrics.page()).into_response()
}
