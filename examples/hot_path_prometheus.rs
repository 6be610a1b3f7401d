//! The problem: all cores ask the same limiters for each batch of packets, and Prometheus is to see
//! the counts. A `Sharded` is one token bucket, from which every core spends on a cache line of its
//! own. A `Counted` counts the answers in the same way, because a counter that all cores write
//! would cost more than the limiter does. The counts are added up only when Prometheus asks.

use std::fmt;
use std::sync::Arc;
use std::thread;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;
use sluicegate::compose::{Counted, Counts};
use sluicegate::{Limiter, Sharded, quota};

#[derive(Debug)]
struct Limiters {
    /// Packets that are forwarded.
    forward: Counted<Sharded>,
    /// Batches that are copied to a log.
    sample: Counted<Sharded>,
}

/// The hot path of one core.
fn hot_path(batches: u64, limiters: &Limiters) {
    const PACKETS: u64 = 8;
    for _ in 0..batches {
        if limiters.forward.try_acquire(PACKETS).is_ok() {
            // The batch is forwarded here.
        }
        if limiters.sample.try_acquire(1).is_ok() {
            // The batch is copied here.
        }
    }
}

/// The counts of the limiters, read anew for each scrape.
#[derive(Debug)]
struct LimiterCounts(Arc<Limiters>);

impl Collector for LimiterCounts {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let counts = [("forward", self.0.forward.counts()), ("sample", self.0.sample.counts())];
        let mut encode = |name, help, value: fn(&Counts) -> u64| -> fmt::Result {
            let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            for (limiter, counts) in &counts {
                let labels = [("limiter", *limiter)];
                ConstCounter::new(value(counts)).encode(metric.encode_family(&labels)?)?;
            }
            Ok(())
        };
        encode("granted", "Requests granted.", |counts| counts.granted)?;
        encode("denied", "Requests denied.", |counts| counts.denied)?;
        encode("permits", "Permits granted.", |counts| counts.permits)
    }
}

fn main() -> fmt::Result {
    let limiters = Arc::new(Limiters {
        forward: Counted::new(Sharded::new(quota!(1_000_000 / second))),
        sample: Counted::new(Sharded::new(quota!(10 / day))),
    });
    let mut registry = Registry::with_prefix("limiter");
    registry.register_collector(Box::new(LimiterCounts(Arc::clone(&limiters))));

    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| hot_path(2_500, &limiters));
        }
    });

    // The answer to a scrape of `/metrics`.
    let mut page = String::new();
    text::encode(&mut page, &registry)?;
    print!("{page}");
    Ok(())
}
