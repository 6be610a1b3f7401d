//! The page that Prometheus scrapes.

use std::convert::Infallible;
use std::future::Future;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Waker};
use std::thread;

use axum::body::Body;
use axum::http::{Request, Response};
use sluicegate_http::layer::{Limit, RateLimitLayer};
use sluicegate_policy::{
    Connector, LeaseStatistics, LimiterPolicy, RemoteFailure, RemoteFuture, RemoteLimits,
    RemoteVerb, ServerStatistics,
};
use sluicegate_redis::{
    Guarded, KeySpace, RedisLimit, RedisLimiter, Run, RunScriptBlocking, StoreError,
};
use tower_layer::Layer;
use tower_service::Service;

use super::*;

/// A service that says nothing.
#[derive(Clone)]
struct Hello;
impl Service<Request<Body>> for Hello {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<Response<Body>, Infallible>>;
    fn poll_ready(&mut self, _: &mut Context<'_>) -> std::task::Poll<Result<(), Infallible>> {
        std::task::Poll::Ready(Ok(()))
    }
    fn call(&mut self, _: Request<Body>) -> Self::Future {
        std::future::ready(Ok(Response::new(Body::empty())))
    }
}

/// A server that hangs when it is asked a second time, and a guard that was asked three times.
#[derive(Clone)]
pub(super) struct HangsAfterOne(Arc<AtomicBool>);

impl RunScriptBlocking for HangsAfterOne {
    fn run_blocking(&self, _: Run<'_>) -> Result<Vec<i64>, StoreError> {
        if self.0.swap(true, Relaxed) { Err(StoreError::TimedOut) } else { Ok(vec![0]) }
    }
}

pub(super) fn asked_server() -> Guarded<HangsAfterOne> {
    let guard = Guarded::new(HangsAfterOne(Arc::default()));
    let limit = RedisLimit::token_bucket(quota!(1 / hour)).unwrap();
    let limiter = RedisLimiter::new(limit, KeySpace::new("app").unwrap(), guard.clone());
    limiter.reset_blocking("ada").unwrap();
    (0..2).for_each(|_| _ = limiter.try_acquire_blocking("ada", 1).unwrap_err());
    guard
}

/// A server that gives no answer, to a limiter with leases.
struct Away;

impl Connector for Away {
    fn connect(
        &self,
        _: &LimiterPolicy,
    ) -> Result<Option<Arc<dyn RemoteLimits>>, sluicegate_policy::ConnectError> {
        Ok(Some(Arc::new(Away)))
    }

    fn servers(&self) -> Vec<ServerStatistics> {
        vec![ServerStatistics {
            name: "away".to_owned(),
            is_answering: false,
            answered: 1,
            failures: vec![("timed_out", 2)],
            skipped: 3,
            opened: 4,
        }]
    }

    fn probe(&self) -> RemoteFuture<'_, ()> {
        Box::pin(async { Err(RemoteFailure::Unavailable("away".to_owned())) })
    }
}

impl RemoteLimits for Away {
    fn decide<'a>(
        &'a self,
        _: RemoteVerb,
        _: &'a str,
        _: u64,
    ) -> RemoteFuture<'a, sluicegate_policy::RemoteAnswer> {
        Box::pin(async { Err(RemoteFailure::Unavailable("away".to_owned())) })
    }

    fn reset<'a>(&'a self, _: &'a str) -> RemoteFuture<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    fn places(&self) -> Vec<String> {
        Vec::new()
    }

    fn leases(&self) -> Option<LeaseStatistics> {
        Some(LeaseStatistics { keys: 1, permits: 4, requests: 2, given_back: 3 })
    }

    fn held(&self, _: &str) -> Option<u64> {
        None
    }

    fn name_of(&self, key: &str) -> String {
        key.to_owned()
    }
}

/// A registry with the limiter `shared` on a server that is away, which was asked once.
pub(super) fn asked_remote() -> Registry {
    let policy = "limiters.shared = { policy = \"gcra\", key = \"user\", interval = \"1 s\", \
                  tolerance = \"1 s\", store = { redis = \"redis://127.0.0.1/\" } }";
    let policies = Policies::from_toml("p.toml", policy).unwrap();
    let registry = Registry::connected(policies, Arc::new(Away)).unwrap();
    let shared = registry.remote("shared").unwrap();
    let pass = shared.try_pass("ada");
    assert!(pin!(pass).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    registry
}

/// A layer that has let one request pass and refused two.
pub(super) fn asked_layer() -> RateLimitLayer {
    let one = TokenBucket::with_clock(quota!(1 / hour), Arc::new(ManualClock::new()));
    let layer = RateLimitLayer::new(Limit::of_all(one));
    for _ in 0..3 {
        let answer = layer.layer(Hello).call(Request::new(Body::empty()));
        assert!(pin!(answer).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }
    layer
}

#[tokio::test]
async fn a_page_that_is_scraped_over_http_says_what_callers_were_told() {
    let monitor = Arc::new(everything());
    let answer = move || async move { monitor.scrape() };
    let app = axum::Router::new().route("/metrics", axum::routing::get(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async { axum::serve(listener, app).await });
    let page = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, page) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        page.to_owned()
    });
    let scrape = parse(&page.await.unwrap());
    let of = |name: &str, labels: &[(&str, &str)]| value(&scrape, name, labels);
    let site = ("limiter", "site");
    assert_eq!(of("sluicegate_grants_total", &[site]), 3);
    assert_eq!(of("sluicegate_denials_total", &[site, ("reason", "rate")]), 2);
    assert_eq!(of("sluicegate_available_permits", &[site]), 0);
    assert_eq!(of("sluicegate_limit_permits", &[site]), 3);
    let users = ("limiter", "users");
    assert_eq!(of("sluicegate_grants_total", &[users]), 4);
    assert_eq!(of("sluicegate_keys", &[users]), 2);
    assert!(of("sluicegate_store_bytes", &[users]) > 0);
    let tenants = ("limiter", "tenants");
    for source in ["assured", "borrowed"] {
        let labels = [tenants, ("source", source)];
        assert_eq!(of("sluicegate_share_permits_total", &labels), 1, "{source}");
    }
    for (limiter, user, batch) in [("classes", (1, 0), (1, 2)), ("own classes", (1, 0), (2, 1))] {
        for (class, (permits, denials)) in [("user", user), ("batch", batch)] {
            let labels = [("limiter", limiter), ("class", class)];
            assert_eq!(of("sluicegate_class_permits_total", &labels), permits, "{labels:?}");
            assert_eq!(of("sluicegate_class_denials_total", &labels), denials, "{labels:?}");
        }
    }
    let own = ("limiter", "own classes");
    assert_eq!(of("sluicegate_grants_total", &[own]), 3);
    assert_eq!(of("sluicegate_denials_total", &[own, ("reason", "rate")]), 1);
    assert_eq!(of("sluicegate_available_permits", &[own]), 1);
    let own = ("limiter", "own tenants");
    assert_eq!(of("sluicegate_share_permits_total", &[own, ("source", "assured")]), 1);
    assert_eq!(of("sluicegate_share_permits_total", &[own, ("source", "borrowed")]), 2);
    assert_eq!(of("sluicegate_denials_total", &[own, ("reason", "rate")]), 3);
    assert_eq!((of("sluicegate_grants_total", &[own]), of("sluicegate_keys", &[own])), (3, 1));
    let trial = ("limiter", "trial");
    assert_eq!(of("sluicegate_shadow_decisions_total", &[trial]), 4);
    assert_eq!(of("sluicegate_shadow_denials_total", &[trial]), 3);
    let bucket = ("limiter", "bucket");
    assert_eq!(of("sluicegate_granted_permits_total", &[bucket]), 10);
    assert_eq!(of("sluicegate_denials_total", &[bucket, ("reason", "timed_out")]), 1);
    assert_eq!(of("sluicegate_waiting", &[bucket]), 0);
    let given_back = [("limiter", "tokens"), ("outcome", "given_back")];
    assert_eq!(of("sluicegate_settled_permits_total", &given_back), 40);
    let layer = ("layer", "api");
    assert_eq!(of("sluicegate_http_requests_total", &[layer, ("outcome", "passed")]), 1);
    assert_eq!(of("sluicegate_http_requests_total", &[layer, ("outcome", "refused")]), 2);
    let refused = [layer, ("limit", "0"), ("reason", "rate")];
    assert_eq!(of("sluicegate_http_refusals_total", &refused), 2);
    let server = ("server", "main");
    for outcome in ["answered", "failed", "skipped"] {
        let labels = [server, ("outcome", outcome)];
        assert_eq!(of("sluicegate_redis_requests_total", &labels), 1, "{outcome}");
    }
    assert_eq!(of("sluicegate_redis_breaker_opened_total", &[server]), 1);
    assert_eq!(of("sluicegate_redis_breaker_open", &[server]), 1);
    assert_eq!(of("sluicegate_redis_failures_total", &[server, ("reason", "timed_out")]), 1);
    let away = ("server", "away");
    assert_eq!(of("sluicegate_redis_requests_total", &[away, ("outcome", "failed")]), 2);
    assert_eq!(of("sluicegate_redis_failures_total", &[away, ("reason", "timed_out")]), 2);
    assert_eq!(of("sluicegate_redis_breaker_open", &[away]), 1);
    let shared = ("limiter", "shared");
    assert_eq!(of("sluicegate_fallbacks_total", &[shared, ("answer", "refused")]), 1);
    assert_eq!(of("sluicegate_leased_keys", &[shared]), 1);
    assert_eq!(of("sluicegate_leased_permits", &[shared]), 4);
    assert_eq!(of("sluicegate_lease_requests_total", &[shared]), 2);
    assert_eq!(of("sluicegate_lease_returned_permits_total", &[shared]), 3);
    let calls = [("time_limiter", "search"), ("outcome", "succeeded")];
    assert_eq!(of("sluicegate_timed_calls_total", &calls), 1);
}

/// Each metric of the list is there, described, with the labels of the list and no other.
#[test]
fn the_list_of_metrics_is_what_is_published() {
    let page = everything().scrape();
    let scrape = parse(&page);
    for metric in METRICS {
        assert_eq!(scrape.docs.get(metric.name).map(String::as_str), Some(metric.description));
        let mut samples = scrape.samples.iter().filter(|own| own.metric == metric.name).peekable();
        let is_waits = metric.name == "sluicegate_wait_seconds";
        assert!(is_waits || samples.peek().is_some(), "{} is not in\n{page}", metric.name);
        for sample in samples {
            let mut labels: Vec<&str> = sample.labels.keys().map(String::as_str).collect();
            labels.sort_unstable();
            let mut listed = metric.labels.to_vec();
            listed.sort_unstable();
            assert_eq!(labels, listed, "{}", metric.name);
        }
    }
}

#[test]
fn waits_are_published_with_their_number_and_their_sum_and_once() {
    let clock: TestClock = Arc::default();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 1), Arc::clone(&clock));
    let bucket = Arc::new(Counted::new(bucket));
    let monitor = Monitor::new(Publisher::new().waiting("bucket", &bucket));
    let mut context = Context::from_waker(Waker::noop());
    bucket.acquire_blocking(1).unwrap();
    for millis in [3, 40] {
        let mut waits = pin!(bucket.acquire(1));
        assert!(waits.as_mut().poll(&mut context).is_pending());
        let line = value(&parse(&monitor.scrape()), "sluicegate_waiting", &[]);
        assert_eq!(line, 1);
        clock.advance(Duration::from_millis(millis));
        assert!(waits.as_mut().poll(&mut context).is_ready());
        assert!(bucket.try_acquire(1).is_ok() == (millis > 1));
    }
    for _ in 0..2 {
        let page = monitor.scrape();
        let line = |suffix: &str| {
            let start = format!("sluicegate_wait_seconds{suffix} ");
            let line = page.lines().find_map(|line| line.strip_prefix(start.as_str()));
            line.unwrap_or_else(|| panic!("no {start} in\n{page}"))
        };
        assert_eq!(line("_count{limiter=\"bucket\"}"), "2");
        let sum: f64 = line("_sum{limiter=\"bucket\"}").parse().unwrap();
        assert!((sum - 0.043).abs() < 1e-9, "{sum}");
        assert_eq!(line("_bucket{limiter=\"bucket\",le=\"0.002\"}"), "0");
        assert_eq!(line("_bucket{limiter=\"bucket\",le=\"0.005\"}"), "1");
        assert_eq!(line("_bucket{limiter=\"bucket\",le=\"0.05\"}"), "2");
    }
}

#[test]
fn a_counter_goes_on_if_a_limiter_comes_back_and_a_gauge_of_one_that_is_gone_is_0() {
    let a = "limiters.a = { policy = \"fixed_window\", key = \"all\", limit = 9, interval = \"1 day\" }";
    let b = a.replace("limiters.a", "limiters.b");
    let policies = |text: &str| Policies::from_toml("p.toml", text).unwrap();
    let registry = Registry::new(policies(a)).unwrap().counted();
    let monitor = Monitor::new(Publisher::new().registry(&registry));
    let published = |name| value(&parse(&monitor.scrape()), name, &[("limiter", "a")]);
    (0..4).for_each(|_| _ = registry.limiter("a").unwrap().try_acquire(1).unwrap());
    assert_eq!(published("sluicegate_grants_total"), 4);
    registry.reload(policies(&b)).unwrap();
    assert_eq!(published("sluicegate_limit_permits"), 0);
    registry.reload(policies(a)).unwrap();
    assert_eq!(registry.limiter("a").unwrap().try_acquire(1).unwrap().remaining(), 8);
    assert_eq!(published("sluicegate_grants_total"), 5);
    assert_eq!(published("sluicegate_limit_permits"), 9);
}

#[test]
fn a_hundred_thousand_decisions_of_threads_are_published_as_they_were_told() {
    const EACH: u64 = 25_000;
    let clock: TestClock = Arc::default();
    let limiter = TokenBucket::with_clock(quota!(1_000 / second), Arc::clone(&clock));
    let limiter = Arc::new(Counted::new(limiter));
    let monitor = Monitor::new(Publisher::new().limiter("a", &limiter));
    let granted = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for call in 0..EACH {
                    if call % 1_000 == 0 {
                        clock.advance(Duration::from_millis(100));
                    }
                    granted.fetch_add(u64::from(limiter.try_acquire(1).is_ok()), Relaxed);
                }
            });
        }
        for _ in 0..10 {
            monitor.scrape();
        }
    });
    let scrape = parse(&monitor.scrape());
    let granted = granted.into_inner();
    let of = |name, labels: &[_]| value(&scrape, name, labels);
    assert!(granted > 0 && granted < 4 * EACH);
    assert_eq!(of("sluicegate_grants_total", &[("limiter", "a")]), granted);
    assert_eq!(of("sluicegate_denials_total", &[("reason", "rate")]), 4 * EACH - granted);
}

#[test]
fn pages_that_are_scraped_at_the_same_time_count_nothing_twice() {
    const EACH: u64 = 1_000;
    let limiter = Arc::new(Counted::new(Unlimited));
    let monitor = Monitor::new(Publisher::new().limiter("a", &limiter));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..EACH {
                    limiter.try_acquire(1).unwrap();
                    metrics::with_local_recorder(&monitor.recorder, || monitor.publisher.publish());
                }
            });
        }
    });
    let scrape = parse(&monitor.scrape());
    assert_eq!(value(&scrape, "sluicegate_grants_total", &[("limiter", "a")]), 4 * EACH);
}

#[test]
fn a_publisher_at_an_interval_publishes_when_it_ends() {
    let limiter = Arc::new(Counted::new(Unlimited));
    let publishing = Publisher::new().limiter("a", &limiter).every(Duration::from_secs(3_600));
    let publishing = publishing.unwrap();
    // Without a recorder, it goes nowhere; but the thread ends.
    drop(publishing);
    assert_eq!(Arc::strong_count(&limiter), 1);
}

#[test]
fn an_interval_that_is_too_short_is_an_error_that_tells_the_shortest() {
    for interval in [Duration::ZERO, Duration::from_nanos(1), Duration::from_micros(999)] {
        let error = Publisher::new().every(interval).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        let expected = format!("the interval is {interval:?}: must be at least 1ms");
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    assert!(Publisher::new().every(Duration::from_millis(1)).is_ok());
}
