//! The problem: all cores ask the same limiter for each packet, and somebody wants to see the
//! counts. A `Sharded` is one token bucket, from which every core spends on a cache line of its own.
//! Each thread counts its answers, and adds them to the counters of Prometheus now and then, because
//! a counter that all cores write would cost more than the limiter does.

use std::thread;

use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use sluicegate::{Sharded, quota};

/// What Prometheus reads. Copies of a counter share its count.
#[derive(Default)]
struct Counters {
    granted: Counter,
    denied: Counter,
}

/// Packets between two reports to the counters.
const REPORT: u64 = 1_000;

/// The hot path of one core.
fn forward(packets: u64, limiter: &Sharded, counters: &Counters) {
    for _ in 0..packets / REPORT {
        let mut passed = 0;
        for _ in 0..REPORT {
            if limiter.try_acquire(1).is_ok() {
                passed += 1;
            }
        }
        counters.granted.inc_by(passed);
        counters.denied.inc_by(REPORT - passed);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limiter = Sharded::new(quota!(50_000 / day));
    let counters = Counters::default();
    let mut registry = Registry::with_prefix("forwarder");
    registry.register("granted", "Packets forwarded", counters.granted.clone());
    registry.register("denied", "Packets dropped by the limiter", counters.denied.clone());

    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| forward(20_000, &limiter, &counters));
        }
    });

    // What a scrape of `/metrics` would answer.
    let mut page = String::new();
    text::encode(&mut page, &registry)?;
    print!("{page}");
    Ok(())
}
