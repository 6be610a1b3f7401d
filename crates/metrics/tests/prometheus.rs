//! Pages that a recorder of Prometheus makes of what it is told. What is checked:
//!
//! * `collected`: the page of `prometheus-client` says the same;
//! * `exposition`: a page that is scraped over HTTP says what callers were told, by a real parser of the format;
//! * `dashboard`: each query of the dashboard is `PromQL`, and asks for metrics and labels that are there;
//! * `log`: refusals as events, at a rate of their own.

use std::sync::Arc;
use std::time::Duration;

use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};
use prometheus_parse::{Sample, Scrape, Value};
use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::{Counted, Unlimited};
use sluicegate::keyed::Buckets;
use sluicegate::settle::Settle;
use sluicegate::share::{Priorities, Share, Shares};
use sluicegate::*;
use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
use sluicegate_metrics::{METRICS, Publisher, WAIT_BUCKETS};
use sluicegate_policy::{Policies, Registry};

#[path = "prometheus/collected.rs"]
mod collected;
#[path = "prometheus/dashboard.rs"]
mod dashboard;
#[path = "prometheus/exposition.rs"]
mod exposition;
#[path = "prometheus/log.rs"]
mod log;

type TestClock = Arc<ManualClock>;

/// A publisher, and a recorder of its own.
struct Monitor {
    publisher: Publisher,
    recorder: PrometheusRecorder,
    page: PrometheusHandle,
}

impl Monitor {
    fn new(publisher: Publisher) -> Monitor {
        let waits = Matcher::Full("sluicegate_wait_seconds".to_owned());
        let builder = PrometheusBuilder::new().set_buckets_for_metric(waits, WAIT_BUCKETS).unwrap();
        let recorder = builder.build_recorder();
        let page = recorder.handle();
        Monitor { publisher, recorder, page }
    }

    /// Publishes, and returns the page.
    fn scrape(&self) -> String {
        metrics::with_local_recorder(&self.recorder, || self.publisher.publish());
        self.page.render()
    }
}

fn parse(page: &str) -> Scrape {
    Scrape::parse(page.lines().map(|line| Ok(line.to_owned()))).unwrap()
}

fn find<'s>(scrape: &'s Scrape, name: &str, labels: &[(&str, &str)]) -> &'s Sample {
    let is_it = |sample: &&Sample| {
        let has = |(label, value): &(&str, &str)| sample.labels.get(label) == Some(*value);
        sample.metric == name && labels.iter().all(has)
    };
    let found = scrape.samples.iter().find(is_it);
    found.unwrap_or_else(|| panic!("{name} {labels:?} is not in {:#?}", scrape.samples))
}

/// Returns the value of a counter or a gauge, all of which are whole numbers.
fn value(scrape: &Scrape, name: &str, labels: &[(&str, &str)]) -> u64 {
    match find(scrape, name, labels).value {
        Value::Counter(value) | Value::Gauge(value) if value >= 0.0 && value.fract() == 0.0 => {
            value as u64
        }
        ref other => panic!("{name} is {other:?}"),
    }
}

/// A monitor of one thing of each sort, all of which have done something.
fn everything() -> Monitor {
    let clock = Arc::new(ManualClock::new());
    let policies = Policies::from_toml(
        "p.toml",
        r#"
limiters.site = { policy = "fixed_window", key = "all", limit = 3, interval = "1 minute" }
limiters.users = { policy = "token_bucket", key = "user", limit = 2, rate = { amount = 1, interval = "1 day" } }
limiters.classes = { policy = "priorities", key = "user", limit = 4, rate = { amount = 1, interval = "1 day" }, classes = [{ name = "user", values = "ada" }, { name = "batch", reserve_percent = 50 }] }
limiters.trial = { policy = "fixed_window", key = "all", limit = 1, interval = "1 minute", shadow = true }
limiters.tenants = { policy = "shares", key = "user", limit = 4, rate = { amount = 1, interval = "1 day" }, shares = [{ tenants = 2, assured = { limit = 1, rate = { amount = 1, interval = "2 days" } } }] }
"#,
    );
    let registry = Registry::with_clock(policies.unwrap(), Arc::clone(&clock)).unwrap().counted();
    let site = registry.limiter("site").unwrap();
    (0..5).for_each(|_| _ = site.try_acquire(1));
    let users = registry.keyed("users").unwrap();
    (0..5).for_each(|user: u8| _ = users.try_acquire(&[user % 2], 1));
    let tenants = registry.keyed("tenants").unwrap();
    (0..3).for_each(|_| _ = tenants.try_acquire(b"ada", 1));
    let classes = registry.keyed("classes").unwrap();
    for user in ["ada", "a", "b", "c"] {
        _ = classes.try_acquire(user, 1);
    }
    let trial = registry.limiter("trial").unwrap();
    (0..4).for_each(|_| _ = trial.try_acquire(1).unwrap());
    let bucket = TokenBucket::with_clock(quota!(10 / second), Arc::clone(&clock));
    let bucket = Arc::new(Counted::new(bucket));
    bucket.acquire_blocking(10).unwrap();
    bucket.acquire(1).timeout(Duration::ZERO).wait_blocking().unwrap_err();
    let tokens = SettleableBucket::with_clock(quota!(100 / second), Arc::clone(&clock));
    let tokens = Arc::new(Counted::new(tokens));
    tokens.try_acquire_settleable(60).unwrap().settle(20).unwrap();
    let slow = TimeLimiter::new("search", TimeLimit::new(Duration::from_secs(60)).unwrap());
    slow.run(|_| ()).unwrap();
    let quota = quota!(4 / day);
    let shares =
        Shares::<u64, _>::with_clock(quota, [Share::new(quota!(1 / day))], Arc::clone(&clock));
    let shares = Arc::new(shares.unwrap().counted());
    (0..6).for_each(|_| _ = shares.try_acquire(0, &7, 1));
    let bucket_of_classes = TokenBucket::with_clock(quota, Arc::clone(&clock));
    let priorities = Priorities::by_percent(bucket_of_classes, [("user", 0), ("batch", 50)]);
    let priorities = Arc::new(priorities.unwrap().counted());
    for class in [1, 1, 1, 0] {
        _ = priorities.try_acquire(class, 1);
    }
    let publisher = Publisher::new()
        .shares("own tenants", &shares)
        .priorities("own classes", &priorities)
        .registry(&registry)
        .registry(&exposition::asked_remote())
        .waiting("bucket", &bucket)
        .limiter("tokens", &tokens)
        .layer("api", &exposition::asked_layer())
        .redis_server("main", &exposition::asked_server())
        .time_limiter(&slow);
    Monitor::new(publisher)
}
