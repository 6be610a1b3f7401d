//! The page that `prometheus-client` writes.

use std::collections::BTreeMap;

use prometheus_client::encoding::text::encode;

use super::*;

fn page(publisher: Publisher) -> String {
    let mut registry = prometheus_client::registry::Registry::default();
    registry.register_collector(Box::new(publisher));
    let mut page = String::new();
    encode(&mut page, &registry).unwrap();
    page
}

/// The values of all samples, but for those of histograms, by metric and labels.
fn values(scrape: &Scrape) -> BTreeMap<String, f64> {
    let number = |sample: &Sample| match sample.value {
        Value::Counter(value) | Value::Gauge(value) | Value::Untyped(value) => Some(value),
        Value::Histogram(_) | Value::Summary(_) => None,
    };
    let series = |sample: &Sample| {
        let labels: BTreeMap<_, _> = sample.labels.iter().collect();
        Some((format!("{} {labels:?}", sample.metric), number(sample)?))
    };
    scrape.samples.iter().filter_map(series).collect()
}

#[test]
fn the_collector_says_what_the_facade_is_told() {
    let monitor = everything();
    let facade = values(&parse(&monitor.scrape()));
    let collected = values(&parse(&page(monitor.publisher)));
    assert!(facade.len() > 30, "{facade:#?}");
    assert_eq!(collected, facade);
}

#[test]
fn a_histogram_has_every_bucket_its_number_and_its_sum() {
    let clock: TestClock = Arc::default();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 1), Arc::clone(&clock));
    let bucket = Arc::new(Counted::new(bucket));
    bucket.acquire_blocking(1).unwrap();
    let mut waits = std::pin::pin!(bucket.acquire(1));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::future::Future::poll(waits.as_mut(), &mut context).is_pending());
    clock.advance(Duration::from_millis(40));
    assert!(std::future::Future::poll(waits.as_mut(), &mut context).is_ready());
    let page = page(Publisher::new().waiting("a \"b\"\n", &bucket));
    let line = |suffix: &str| {
        let start = format!("sluicegate_wait_seconds{suffix} ");
        let line = page.lines().find_map(|line| line.strip_prefix(start.as_str()));
        line.unwrap_or_else(|| panic!("no {start} in\n{page}"))
    };
    let label = r#"limiter="a \"b\"\n""#;
    assert_eq!(line(&format!("_count{{{label}}}")), "1");
    assert_eq!(line(&format!("_sum{{{label}}}")), "0.04");
    assert_eq!(line(&format!("_bucket{{le=\"0.02\",{label}}}")), "0");
    assert_eq!(line(&format!("_bucket{{le=\"0.05\",{label}}}")), "1");
    assert_eq!(line(&format!("_bucket{{le=\"+Inf\",{label}}}")), "1");
    assert_eq!(page.matches("_bucket{").count(), sluicegate::compose::WaitCounts::BOUNDS.len() + 1);
}
