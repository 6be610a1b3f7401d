//! Metrics and traces of sluicegate.
//!
//! * [`Publisher`] publishes the counts and the states of limiters, stores of keys, registries (feature
//!   `policy`) and layers of HTTP (feature `http`) through the [`metrics`] facade: to Prometheus, `StatsD` or
//!   any other recorder. It reads them when it is told to, so a decision costs nothing more than its counts.
//! * With the feature `prometheus`, a publisher is a collector of `prometheus-client` too.
//! * `RefusalLog` (feature `tracing`) logs refusals as events of `tracing`, at a rate of its own.
//! * [`METRICS`] lists all metrics. `docs/metrics.md` explains them, and has a dashboard.
//!
//! | | |
//! |---|---|
//! | `publisher`, `every` | publishing, now or regularly |
//! | `collector` | a collector of `prometheus-client` |
//! | `sources`, `sample` | where values are read, and the values of one moment |
//! | `names` | the metrics |
//! | `refusal_log` | events of refusals |

#[cfg(feature = "prometheus")]
mod collector;
mod every;
mod names;
#[cfg(all(doctest, feature = "http", feature = "policy", feature = "tracing"))]
mod pages;
mod publisher;
#[cfg(feature = "tracing")]
mod refusal_log;
mod sample;
mod sources;

pub use self::every::Publishing;
pub use self::names::{Kind, METRICS, Metric};
pub use self::publisher::Publisher;
#[cfg(feature = "tracing")]
pub use self::refusal_log::RefusalLog;

/// Buckets for a histogram of `sluicegate_wait_seconds`, in seconds: a part of those in which waits are
/// counted ([`WaitCounts::BOUNDS`](sluicegate::compose::WaitCounts::BOUNDS)), so that it is exact.
///
/// For `set_buckets_for_metric` of `metrics-exporter-prometheus`, which without buckets makes summaries.
pub const WAIT_BUCKETS: &[f64] = &[
    0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
    20.0, 50.0, 100.0, 500.0,
];
