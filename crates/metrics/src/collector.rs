//! The values as a collector of `prometheus-client`.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use sluicegate::compose::WaitCounts;

use crate::names::{Kind, METRICS, Metric};
use crate::publisher::Publisher;
use crate::sample::{Series, Waits};

/// Reads all values for each page that `prometheus-client` writes, without the `metrics` facade.
///
/// A counter begins anew if what it counts does, which Prometheus expects of counters. The histogram of waits has
/// all buckets in which waits are counted, so it is exact.
impl Collector for Publisher {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let sample = self.read();
        let encoder = &mut encoder;
        for metric in METRICS {
            match metric.kind {
                Kind::Counter => family(encoder, metric, &sample.counters, |value, encoder| {
                    ConstCounter::new(*value).encode(encoder)
                })?,
                Kind::Gauge => family(encoder, metric, &sample.gauges, |value, encoder| {
                    ConstGauge::new(*value).encode(encoder)
                })?,
                Kind::Histogram => family(encoder, metric, &sample.waits, histogram)?,
            }
        }
        Ok(())
    }
}

/// Writes all series of a metric, if it has any.
fn family<V>(
    encoder: &mut DescriptorEncoder<'_>,
    metric: &Metric,
    all: &BTreeMap<Series, V>,
    write: impl Fn(&V, MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    let mut series = all.iter().filter(|((name, _), _)| *name == metric.name).peekable();
    if series.peek().is_none() {
        return Ok(());
    }
    let (name, kind) = match metric.kind {
        // The encoder puts the suffix at the end of each counter.
        Kind::Counter => (metric.name.trim_end_matches("_total"), MetricType::Counter),
        Kind::Gauge => (metric.name, MetricType::Gauge),
        Kind::Histogram => (metric.name, MetricType::Histogram),
    };
    let mut encoder = encoder.encode_descriptor(name, metric.description, None, kind)?;
    for ((_, labels), value) in series {
        write(value, encoder.encode_family(labels)?)?;
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "the format has seconds as floating-point numbers")]
fn histogram(waits: &Waits, mut encoder: MetricEncoder<'_>) -> fmt::Result {
    let bounds = WaitCounts::BOUNDS.iter().map(std::time::Duration::as_secs_f64);
    let callers = waits.iter().map(|(callers, _)| *callers);
    // The last bucket has no bound.
    let buckets: Vec<(f64, u64)> =
        bounds.chain(std::iter::once(f64::INFINITY)).zip(callers.clone()).collect();
    let nanos: u128 = waits.iter().map(|(_, nanos)| *nanos).sum();
    encoder.encode_histogram::<NoLabelSet>(nanos as f64 / 1e9, callers.sum(), &buckets, None)
}
