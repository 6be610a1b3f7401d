//! The layer around a service that counts its calls: decisions, keys, costs and refusals.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use sluicegate::{
    Buckets, FixedWindow, Keyed, Limiter, ManualClock, SlidingLog, TokenBucket, quota, rate,
};
use sluicegate_http::client_address::{
    ClientAddress, ClientKey, Trust, UnknownClient, WhenUnknown,
};
use sluicegate_http::fields::{FieldVersion, Problem, ProblemType, QuotaPolicy, ResetAs};
use sluicegate_http::layer::*;
use tower::{Layer, ServiceExt, service_fn};

type Body = Vec<u8>;
type Fields = &'static [(&'static str, &'static str)];
type Clock = Arc<ManualClock>;

fn clock() -> Clock {
    Arc::new(ManualClock::new())
}

/// A limiter of two requests, and one more each second.
fn two(clock: &Clock) -> Arc<TokenBucket<Clock>> {
    Arc::new(TokenBucket::with_clock(quota!(1 / second, burst 2), Arc::clone(clock)))
}

fn per_client(clock: &Clock) -> Limit {
    Limit::per_client(Keyed::<ClientKey, _>::with(Buckets::with_clock(
        quota!(1 / second, burst 2),
        Arc::clone(clock),
    )))
}

fn request(peer: &str) -> Request<Body> {
    let mut request = Request::new(Vec::new());
    if !peer.is_empty() {
        let address: IpAddr = peer.parse().unwrap();
        request.extensions_mut().insert(Peer(SocketAddr::new(address, 4711)));
    }
    request
}

fn with(mut request: Request<Body>, fields: &[(&'static str, &str)]) -> Request<Body> {
    for (name, value) in fields {
        request.headers_mut().append(*name, value.parse().unwrap());
    }
    request
}

/// A server behind a layer, and how often it was called.
struct Server {
    layer: RateLimitLayer,
    calls: Arc<AtomicUsize>,
}

impl Server {
    fn new(layer: RateLimitLayer) -> Server {
        Server { layer, calls: Arc::default() }
    }

    /// Sends a request through a service of its own, as a new connection does.
    async fn send(&self, request: Request<Body>) -> Response<Body> {
        let calls = Arc::clone(&self.calls);
        let service = service_fn(move |_: Request<Body>| {
            calls.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, Infallible>(Response::new(b"hello".to_vec())) }
        });
        self.layer.layer(service).oneshot(request).await.unwrap()
    }

    async fn status(&self, request: Request<Body>) -> u16 {
        self.send(request).await.status().as_u16()
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

fn names(response: &Response<Body>) -> Vec<&str> {
    let mut names: Vec<_> = response.headers().keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn services_share_their_limits_and_a_refusal_says_why() {
    let clock = clock();
    let server = Server::new(RateLimitLayer::new(Limit::of_all(two(&clock))));
    for _ in 0..2 {
        let response = server.send(request("")).await;
        assert_eq!(
            (response.status(), response.body().as_slice()),
            (StatusCode::OK, &b"hello"[..])
        );
        assert!(response.headers().is_empty());
    }
    let refused = server.send(request("")).await;
    assert_eq!((refused.status(), server.calls()), (StatusCode::TOO_MANY_REQUESTS, 2));
    assert_eq!(names(&refused), ["content-type", "ratelimit", "ratelimit-policy", "retry-after"]);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.headers()["ratelimit"], r#""default";r=0;t=1"#);
    assert_eq!(refused.headers()["ratelimit-policy"], r#""default";q=2"#);
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
    let problem = Problem::from_json(refused.body()).unwrap();
    assert_eq!(problem.kind, ProblemType::QuotaExceeded);
    assert_eq!(problem.violated_policies, ["default"]);
    assert_eq!(problem.detail.as_deref(), Some("rate limited: try again in 1s"));

    clock.advance(Duration::from_secs(1));
    assert_eq!(server.status(request("")).await, 200);
    assert_eq!(server.status(request("")).await, 429);
}

#[tokio::test]
async fn every_response_has_the_fields_of_the_version_that_is_set() {
    let policy = QuotaPolicy::from(quota!(1 / second, burst 2)).named("api").unwrap();
    let versions: [(FieldVersion, Fields, Fields); 5] = [
        (
            FieldVersion::Legacy(ResetAs::SecondsLeft),
            &[
                ("x-ratelimit-limit", "2"),
                ("x-ratelimit-remaining", "1"),
                ("x-ratelimit-reset", "1"),
            ],
            &[
                ("x-ratelimit-limit", "2"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1"),
            ],
        ),
        (
            FieldVersion::Draft3,
            &[("ratelimit-limit", r#"2, 2;w=2;name="api""#), ("ratelimit-remaining", "1")],
            &[("ratelimit-limit", r#"2, 2;w=2;name="api""#), ("ratelimit-reset", "1")],
        ),
        (
            FieldVersion::Draft6,
            &[("ratelimit-policy", r#"2;w=2;comment="api""#), ("ratelimit-remaining", "1")],
            &[("ratelimit-limit", "2"), ("ratelimit-remaining", "0")],
        ),
        (
            FieldVersion::Draft7,
            &[("ratelimit", "limit=2, remaining=1, reset=1")],
            &[("ratelimit", "limit=2, remaining=0, reset=1")],
        ),
        (
            FieldVersion::Draft8,
            &[("ratelimit", r#""api";r=1;t=1"#), ("ratelimit-policy", r#""api";q=2;w=2"#)],
            &[("ratelimit", r#""api";r=0;t=1"#), ("ratelimit-policy", r#""api";q=2;w=2"#)],
        ),
    ];
    for (version, granted, denied) in versions {
        let clock = clock();
        let limit = Limit::of_all(two(&clock)).policy(policy.clone());
        let server = Server::new(RateLimitLayer::new(limit).fields(version));
        let first = server.send(request("")).await;
        let _ = server.send(request("")).await;
        let third = server.send(request("")).await;
        assert_eq!((first.status().as_u16(), third.status().as_u16()), (200, 429));
        assert!(!first.headers().contains_key("retry-after"));
        assert_eq!(third.headers()["retry-after"], "1", "{version:?}");
        for (response, fields) in [(&first, granted), (&third, denied)] {
            for (name, value) in fields {
                assert_eq!(response.headers()[*name], *value, "{version:?} {name}");
            }
        }
    }
}

#[tokio::test]
async fn clients_are_limited_by_their_networks() {
    let server = Server::new(RateLimitLayer::new(per_client(&clock())));
    for (peer, status) in [
        ("203.0.113.9", 200),
        ("::ffff:203.0.113.9", 200),
        ("203.0.113.9", 429),
        ("203.0.113.8", 200),
        ("2001:db8::1", 200),
        ("2001:db8::2", 200),
        ("2001:db8::3", 429),
        ("2001:db8:0:1::1", 200),
    ] {
        // What a client sends in a field changes nothing.
        let request = with(request(peer), &[("x-forwarded-for", "1.1.1.1")]);
        assert_eq!(server.status(request).await, status, "{peer}");
    }
}

#[tokio::test]
async fn behind_a_proxy_the_client_is_the_one_that_the_proxy_tells() {
    let trust = Trust::networks(["10.0.0.0/8"]).unwrap();
    let limit = per_client(&clock()).addresses(ClientAddress::x_forwarded_for(trust));
    let server = Server::new(RateLimitLayer::new(limit));
    for (pretended, status) in [("1.1.1.1", 200), ("2.2.2.2", 200), ("3.3.3.3", 429)] {
        let fields = [("x-forwarded-for", pretended), ("x-forwarded-for", "203.0.113.9")];
        assert_eq!(server.status(with(request("10.0.0.7"), &fields)).await, status);
    }
    let other = with(request("10.0.0.7"), &[("x-forwarded-for", "203.0.113.8")]);
    assert_eq!(server.status(other).await, 200);
}

#[tokio::test]
async fn a_client_that_is_not_known_gets_the_configured_answer() {
    let no_peer = Server::new(RateLimitLayer::new(per_client(&clock())));
    let refused = no_peer.send(request("")).await;
    assert_eq!((refused.status().as_u16(), no_peer.calls()), (500, 0));
    let problem = Problem::from_json(refused.body()).unwrap();
    assert_eq!(problem.title.as_deref(), Some("Internal Server Error"));
    assert_eq!(
        problem.detail.as_deref(),
        Some("the address of the client is not known: the connection tells none")
    );
    assert_eq!(names(&refused), ["content-type"]);

    let answers = [
        (WhenUnknown::Refuse, [400, 400, 400]),
        (WhenUnknown::UsePeer, [200, 200, 429]),
        (WhenUnknown::Share, [200, 200, 429]),
        (WhenUnknown::Admit, [200, 200, 200]),
    ];
    for (answer, statuses) in answers {
        let addresses = ClientAddress::x_forwarded_for(Trust::networks(["10.0.0.0/8"]).unwrap());
        let limit = per_client(&clock()).addresses(addresses.when_unknown(answer));
        let server = Server::new(RateLimitLayer::new(limit));
        for status in statuses {
            let request = with(request("10.0.0.7"), &[("x-forwarded-for", "junk")]);
            assert_eq!(server.status(request).await, status, "{answer:?}");
        }
    }
}

#[tokio::test]
async fn requests_are_limited_by_the_key_of_a_function() {
    let keys = Keyed::<String, _>::with(Buckets::with_clock(quota!(2 / second), clock()));
    let limit = Limit::per_key(keys, |parts| match parts.headers.get("x-api-key") {
        Some(key) if key == "admin" => RequestKey::Unlimited,
        key => key.and_then(|key| key.to_str().ok()).into(),
    });
    let server = Server::new(RateLimitLayer::new(limit));
    for (key, statuses) in [("ada", [200, 200, 429]), ("bob", [200, 200, 429]), ("admin", [200; 3])]
    {
        for status in statuses {
            let request = with(request(""), &[("x-api-key", key)]);
            assert_eq!(server.status(request).await, status, "{key}");
        }
    }
    let refused = server.send(request("")).await;
    assert_eq!(refused.status().as_u16(), 400);
    let problem = Problem::from_json(refused.body()).unwrap();
    assert_eq!(problem.detail.as_deref(), Some("the request has no key to limit it by"));
}

#[tokio::test]
async fn a_request_costs_what_its_function_says() {
    let clock = clock();
    let bucket = Arc::new(TokenBucket::with_clock(quota!(10 / second), Arc::clone(&clock)));
    let limit = Limit::of_all(Arc::clone(&bucket)).cost(|parts| match parts.method {
        Method::POST => 6,
        Method::PUT => 11,
        Method::HEAD => 0,
        _ => 1,
    });
    let server = Server::new(RateLimitLayer::new(limit));
    let send = async |method: Method| {
        let mut request = request("");
        *request.method_mut() = method;
        server.send(request).await
    };
    assert_eq!(send(Method::POST).await.status(), 200);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 4);
    let refused = send(Method::POST).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["ratelimit"]),
        (429, &r#""default";r=4;t=1"#.parse().unwrap())
    );
    // It will never be granted, so there is nothing to wait for.
    let never = send(Method::PUT).await;
    assert_eq!(never.status(), 429);
    assert!(!never.headers().contains_key("retry-after"));
    for _ in 0..4 {
        assert_eq!(send(Method::GET).await.status(), 200);
    }
    assert_eq!(send(Method::GET).await.status(), 429);
    assert_eq!(send(Method::HEAD).await.status(), 200);
}

#[tokio::test]
async fn several_limits_take_from_all_or_from_none() {
    let clock = clock();
    let bucket = Arc::new(TokenBucket::with_clock(quota!(5 / second), Arc::clone(&clock)));
    let window = FixedWindow::with_clock(rate!(2 / hour), Arc::clone(&clock)).unwrap();
    let window = Arc::new(window);
    let log = Arc::new(SlidingLog::with_clock(rate!(4 / minute), Arc::clone(&clock)).unwrap());
    let named = |name: &str, quota| QuotaPolicy::new(quota).named(name).unwrap();
    let layer = RateLimitLayer::all_of([
        // A log cannot be given back what it has granted.
        Limit::of_all(Arc::clone(&log)).policy(named("minute", 4)),
        Limit::of_all(Arc::clone(&bucket)).policy(named("burst", 5)),
        Limit::of_all(Arc::clone(&window)).policy(named("hour", 2)),
    ]);
    let server = Server::new(layer.unwrap().fields(FieldVersion::Draft8));
    let first = server.send(request("")).await;
    assert_eq!(
        first.headers()["ratelimit"],
        r#""minute";r=3;t=60, "burst";r=4;t=1, "hour";r=1;t=3600"#
    );
    assert_eq!(server.status(request("")).await, 200);
    for _ in 0..3 {
        let refused = server.send(request("")).await;
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (429, &"3600".parse().unwrap())
        );
        assert_eq!(
            refused.headers()["ratelimit"],
            r#""minute";r=2;t=60, "burst";r=3;t=1, "hour";r=0;t=3600"#
        );
        let problem = Problem::from_json(refused.body()).unwrap();
        assert_eq!(problem.violated_policies, ["hour"]);
    }
    let left = [bucket.peek(0), window.peek(0), log.peek(0)];
    assert_eq!(left.map(|left| left.unwrap().remaining()), [3, 0, 2]);
    assert_eq!(server.calls(), 2);
}

/// Sends one request to two limits that both refuse, and returns the policy that is told, and the wait.
async fn told_by(first: Limit, second: Limit) -> (String, Option<String>) {
    let named = |name: &str| QuotaPolicy::new(1).named(name).unwrap();
    let layer = RateLimitLayer::all_of([first.policy(named("a")), second.policy(named("b"))]);
    let refused = Server::new(layer.unwrap()).send(request("")).await;
    assert_eq!(refused.status(), 429);
    let mut violated = Problem::from_json(refused.body()).unwrap().violated_policies;
    assert_eq!(violated.len(), 1);
    let wait = refused.headers().get("retry-after");
    (violated.remove(0), wait.map(|wait| wait.to_str().unwrap().to_owned()))
}

#[tokio::test]
async fn of_several_refusals_the_one_with_the_longest_wait_is_told() {
    let empty = |quota| {
        let bucket = TokenBucket::with_clock(quota, clock());
        bucket.drain();
        Limit::of_all(bucket)
    };
    let (short, long) = (|| empty(quota!(1 / minute)), || empty(quota!(1 / hour)));
    // Two permits of one will never be granted.
    let never = || short().cost(|_| 2);
    let of = |name: &str, wait: Option<&str>| (name.to_owned(), wait.map(str::to_owned));
    assert_eq!(told_by(short(), long()).await, of("b", Some("3600")));
    assert_eq!(told_by(long(), short()).await, of("a", Some("3600")));
    assert_eq!(told_by(never(), long()).await, of("a", None));
    assert_eq!(told_by(long(), never()).await, of("b", None));
}

#[tokio::test]
async fn without_a_policy_fields_tell_the_limit_of_the_limiter() {
    let layer = RateLimitLayer::new(Limit::of_all(two(&clock())));
    let eight = Server::new(layer.clone().fields(FieldVersion::Draft8)).send(request("")).await;
    assert_eq!(eight.headers()["ratelimit-policy"], r#""default";q=2"#);
    let six = Server::new(layer.fields(FieldVersion::Draft6)).send(request("")).await;
    assert_eq!(
        (&six.headers()["ratelimit-limit"], six.headers().len()),
        (&"2".parse().unwrap(), 3)
    );
}

/// A limiter that grants when it is asked, and then does not: another request was faster.
struct Late;

impl Limiter for Late {
    fn try_acquire(&self, _: u64) -> Result<sluicegate::Grant, sluicegate::Denied> {
        Err(sluicegate::Denied::Full { retry_after: Duration::from_millis(1_500) })
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<sluicegate::Grant, sluicegate::Denied> {
        self.try_acquire(permits)
    }

    fn peek(&self, permits: u64) -> Result<sluicegate::Grant, sluicegate::Denied> {
        sluicegate::Unlimited.peek(permits)
    }

    fn reset(&self) {}
}

#[tokio::test]
async fn permits_are_given_back_if_a_later_limit_refuses_after_all() {
    let clock = clock();
    let bucket = two(&clock);
    let layer = RateLimitLayer::all_of([
        Limit::of_all(Arc::clone(&bucket)).policy(QuotaPolicy::new(2).named("first").unwrap()),
        Limit::of_all(Late).policy(QuotaPolicy::new(1).named("late").unwrap()),
    ]);
    let server = Server::new(layer.unwrap());
    for _ in 0..3 {
        let refused = server.send(request("")).await;
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()["retry-after"]),
            (503, &"2".parse().unwrap())
        );
        let problem = Problem::from_json(refused.body()).unwrap();
        assert_eq!(problem.kind, ProblemType::TemporaryReducedCapacity);
        assert_eq!(problem.violated_policies, ["late"]);
        assert_eq!(names(&refused), ["content-type", "retry-after"]);
    }
    assert_eq!((bucket.peek(0).unwrap().remaining(), server.calls()), (2, 0));
}

#[tokio::test]
async fn requests_that_are_skipped_cost_nothing() {
    let clock = clock();
    let bucket = two(&clock);
    let layer = RateLimitLayer::new(Limit::of_all(Arc::clone(&bucket)))
        .skip(|parts| parts.uri.path() == "/health")
        .skip_preflight()
        .fields(FieldVersion::Draft8);
    let server = Server::new(layer);
    let preflight = |method, fields: &[(&'static str, &str)]| {
        let mut request = with(request(""), fields);
        *request.method_mut() = method;
        request
    };
    let both = [("origin", "https://example.org"), ("access-control-request-method", "PUT")];
    for _ in 0..3 {
        let mut health = request("");
        *health.uri_mut() = "/health".parse().unwrap();
        let response = server.send(health).await;
        assert_eq!((response.status().as_u16(), response.headers().len()), (200, 0));
        assert_eq!(server.status(preflight(Method::OPTIONS, &both)).await, 200);
    }
    assert_eq!(bucket.peek(0).unwrap().remaining(), 2);
    // None of these is a preflight request.
    assert_eq!(server.status(preflight(Method::GET, &both)).await, 200);
    assert_eq!(server.status(preflight(Method::OPTIONS, &both[..1])).await, 200);
    assert_eq!(server.status(preflight(Method::OPTIONS, &both[1..])).await, 429);
    assert_eq!(server.status(preflight(Method::OPTIONS, &[])).await, 429);
}

#[tokio::test]
async fn in_shadow_mode_requests_pass_and_what_would_be_refused_is_observed() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&seen);
    let clock = clock();
    let bucket = two(&clock);
    let policy = QuotaPolicy::new(2).named("api").unwrap();
    let layer = RateLimitLayer::new(Limit::of_all(Arc::clone(&bucket)).policy(policy))
        .fields(FieldVersion::Draft8)
        .observe(move |refusal, parts| {
            let policy = refusal.policy().unwrap().to_owned();
            let wait = refusal.retry_after();
            let path = parts.uri.path().to_owned();
            observed.lock().unwrap().push((
                policy,
                refusal.which(),
                refusal.is_shadow(),
                wait,
                path,
            ));
        });
    let shadow = Server::new(layer.clone().shadow());
    for _ in 0..4 {
        let response = shadow.send(request("")).await;
        assert_eq!((response.status().as_u16(), response.headers().len()), (200, 0));
    }
    assert_eq!(bucket.peek(0).unwrap().remaining(), 0);
    let expected =
        |is_shadow| ("api".to_owned(), 0, is_shadow, Some(Duration::from_secs(1)), "/".to_owned());
    assert_eq!(*seen.lock().unwrap(), [expected(true), expected(true)]);
    // The layer that it was cloned from has the same limiter, and refuses.
    assert_eq!(Server::new(layer).status(request("")).await, 429);
    assert_eq!(seen.lock().unwrap()[2], expected(false));
}

#[tokio::test]
async fn the_response_to_a_refusal_can_be_replaced() {
    let layer = RateLimitLayer::new(Limit::of_all(two(&clock()))).respond(|refusal, parts| {
        assert!(matches!(refusal.reason(), RefusalReason::Denied(_)));
        let mut response = Response::new(format!("{}: slow down\n", parts.uri).into_bytes());
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        response
    });
    let server = Server::new(layer);
    let mut last = Response::default();
    for _ in 0..3 {
        last = server.send(request("")).await;
    }
    assert_eq!(
        (last.status(), last.body().as_slice()),
        (StatusCode::IM_A_TEAPOT, &b"/: slow down\n"[..])
    );
    assert_eq!(names(&last), ["ratelimit", "ratelimit-policy", "retry-after"]);
}

#[tokio::test]
async fn a_refusal_reads_nothing_of_the_body() {
    struct Untouchable;
    let clock = clock();
    let bucket = two(&clock);
    bucket.drain();
    let service = service_fn(async |_: Request<Untouchable>| {
        Ok::<_, Infallible>(Response::new(Vec::<u8>::new()))
    });
    let layer = RateLimitLayer::new(Limit::of_all(bucket));
    let response = layer.layer(service).oneshot(Request::new(Untouchable)).await.unwrap();
    assert_eq!(response.status(), 429);
}

#[tokio::test]
async fn the_errors_of_the_service_are_passed_on() {
    let service = service_fn(async |_: Request<Body>| Err::<Response<Body>, _>("out of order"));
    let layer = RateLimitLayer::new(Limit::of_all(two(&clock()))).fields(FieldVersion::Draft8);
    assert_eq!(layer.layer(service).oneshot(request("")).await.unwrap_err(), "out of order");
}

#[tokio::test]
async fn handles_of_a_registry_are_limiters_whose_limits_change_live() {
    use sluicegate_policy::{Policies, Registry};
    let policies = |limit| {
        let text = format!(
            r#"
            limiters.all = {{ policy = "fixed_window", key = "all", limit = {limit}, interval = "1 day" }}
            [limiters.pages]
            policy = "fixed_window"
            key = "client"
            limit = 1
            interval = "1 day"
            overrides."203.0.113.9" = {{ limit = 3 }}
            overrides."2001:db8::" = {{ limit = 2 }}
            "#
        );
        Policies::from_toml("limits.toml", text.as_str()).unwrap()
    };
    let registry = Registry::new(policies(100)).unwrap();
    let named = |name: &str| QuotaPolicy::new(1).named(name).unwrap();
    let layer = RateLimitLayer::all_of([
        Limit::of_all(registry.limiter("all").unwrap()).policy(named("all")),
        Limit::per_client_text(registry.keyed("pages").unwrap()).policy(named("pages")),
    ]);
    let server = Server::new(layer.unwrap());
    for (peer, statuses) in [
        ("203.0.113.9", vec![200, 200, 200, 429]),
        ("203.0.113.8", vec![200, 429]),
        ("2001:db8::5", vec![200, 200, 429]),
    ] {
        for status in statuses {
            assert_eq!(server.status(request(peer)).await, status, "{peer}");
        }
    }
    registry.reload(policies(6)).unwrap();
    let refused = server.send(request("198.51.100.1")).await;
    let problem = Problem::from_json(refused.body()).unwrap();
    assert_eq!(
        (refused.status().as_u16(), problem.violated_policies),
        (429, vec!["all".to_owned()])
    );
}

#[test]
fn limits_that_clients_could_not_tell_apart_are_an_error() {
    let limit = || Limit::of_all(two(&clock()));
    assert!(RateLimitLayer::all_of([limit(), limit()]).is_err());
    assert!(RateLimitLayer::all_of([]).is_ok());
}

#[test]
fn layers_are_shown() {
    let shown = format!("{:?}", RateLimitLayer::new(per_client(&clock())));
    assert!(
        shown.starts_with(r#"RateLimitLayer { limits: [Limit { per: "client", policy: None"#),
        "{shown}"
    );
    assert_eq!(
        UnknownClient::NoPeer.to_string(),
        "the address of the client is not known: the connection tells none"
    );
}
