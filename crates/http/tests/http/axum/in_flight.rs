//! Limits of what is in flight, and time limits, beside limits of a rate.

use axum::extract::State;
use http_body_util::channel::Channel;
use sluicegate_flow::concurrency::{Adaptive, Aimd, ConcurrencyLimit, KeyedConcurrency};
use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
use sluicegate_http::fields::QuotaUnit;
use sluicegate_http::layer::{Concurrency, RefusalReason};
use tokio::sync::Semaphore;

use super::*;

/// An app whose requests to `/held` respond once the gate lets them.
fn held(gate: &Arc<Semaphore>) -> Router {
    let respond = |State(gate): State<Arc<Semaphore>>| async move {
        gate.acquire().await.unwrap().forget();
        "done"
    };
    let app = Router::new().route("/held", get(respond)).with_state(Arc::clone(gate));
    app.route("/", get(|| async { "hello" }))
}

fn places(limit: u64) -> QuotaPolicy {
    let unit = QuotaUnit::ConcurrentRequests;
    QuotaPolicy::new(limit).named("places").unwrap().counting(unit)
}

#[tokio::test]
async fn what_is_too_much_in_flight_is_refused_by_name_and_takes_nothing_else() {
    for is_http2 in [false, true] {
        let gate = Arc::new(Semaphore::new(0));
        let in_flight = Arc::new(ConcurrencyLimit::new(2));
        let bucket = Arc::new(TokenBucket::new(quota!(100 / day)));
        let limits = [
            Limit::of_all(Arc::clone(&bucket)).policy(QuotaPolicy::new(100).named("day").unwrap()),
            Limit::of_all(Concurrency::new(Arc::clone(&in_flight))).policy(places(2)),
        ];
        let layer = RateLimitLayer::all_of(limits).unwrap().fields(FieldVersion::Draft8);
        let server = serve(held(&gate).layer(layer)).await;
        let client = client(is_http2);
        let mut tasks = JoinSet::new();
        for in_use in 1..=2 {
            let client = client.clone();
            tasks.spawn(async move { send(&client, server, Method::GET, "/held", &[]).await });
            until(|| in_flight.in_flight() == in_use).await;
        }
        let refused = send(&client, server, Method::GET, "/", &[]).await;
        assert_eq!((refused.status.as_u16(), refused.headers.get("retry-after")), (503, None));
        let problem = Problem::from_json(&refused.body).unwrap();
        assert_eq!(problem.kind, ProblemType::TemporaryReducedCapacity);
        assert_eq!(problem.violated_policies, ["places"]);
        let detail = "2 of 2 permits are in flight: try again when some have ended";
        assert_eq!(problem.detail.as_deref(), Some(detail));
        let fields = ResponseFields::parse(&refused.headers, std::time::SystemTime::now());
        let left: Vec<_> = fields.limits.iter().map(|limit| limit.remaining).collect();
        assert_eq!((left, bucket.peek(0).unwrap().remaining()), (vec![98, 0], 98));
        let policy = r#""day";q=100, "places";q=2;qu="concurrent-requests""#;
        assert_eq!(refused.headers["ratelimit-policy"], policy);

        gate.add_permits(2);
        while let Some(answer) = tasks.join_next().await {
            assert_eq!(answer.unwrap().status, 200);
        }
        until(|| in_flight.in_flight() == 0).await;
        assert_eq!(status(&client, server, "/").await, 200);
    }
}

#[tokio::test]
async fn each_client_and_each_key_has_its_own_number_in_flight() {
    let gate = Arc::new(Semaphore::new(0));
    let users = Arc::new(KeyedConcurrency::<String>::new(1));
    let clients = Arc::new(KeyedConcurrency::<ClientKey>::new(2));
    let user = |parts: &http::request::Parts| parts.headers["x-user"].to_str().unwrap().to_owned();
    let limits = [
        Limit::per_client(Concurrency::new(Arc::clone(&clients))).policy(places(2)),
        Limit::per_key(Concurrency::new(Arc::clone(&users)), move |parts| user(parts).into())
            .policy(QuotaPolicy::new(1).named("user").unwrap()),
    ];
    let server = serve(held(&gate).layer(RateLimitLayer::all_of(limits).unwrap())).await;
    let client = client(true);
    let mut tasks = JoinSet::new();
    let by = |user: &'static str| {
        let client = client.clone();
        async move { send(&client, server, Method::GET, "/held", &[("x-user", user)]).await }
    };
    tasks.spawn(by("ada"));
    until(|| users.in_flight("ada") == 1).await;
    let violated = |answer: Answer| {
        assert_eq!(answer.status, 429);
        Problem::from_json(&answer.body).unwrap().violated_policies
    };
    assert_eq!(violated(by("ada").await), ["user"]);
    tasks.spawn(by("bob"));
    until(|| users.in_flight("bob") == 1).await;
    assert_eq!(violated(by("eve").await), ["places"]);
    assert_eq!(users.in_flight("eve"), 0);
    gate.add_permits(2);
    assert!(tasks.join_all().await.iter().all(|answer| answer.status == 200));
}

#[tokio::test]
async fn a_request_waits_for_a_place_and_gets_the_next_one() {
    for is_http2 in [false, true] {
        let gate = Arc::new(Semaphore::new(0));
        let in_flight = Arc::new(ConcurrencyLimit::new(1));
        let limit = Concurrency::new(Arc::clone(&in_flight)).wait_up_to(Duration::from_secs(3_600));
        let layer = RateLimitLayer::new(Limit::of_all(limit));
        let server = serve(held(&gate).layer(layer)).await;
        let client = client(is_http2);
        let mut tasks = JoinSet::new();
        for waiters in 0..4 {
            let client = client.clone();
            tasks.spawn(async move { status(&client, server, "/held").await });
            until(|| in_flight.in_flight() == 1 && in_flight.line().waiters() == waiters).await;
        }
        gate.add_permits(4);
        assert_eq!(tasks.join_all().await, [200; 4]);
        until(|| in_flight.in_flight() == 0).await;
    }
}

#[tokio::test]
async fn a_request_that_has_waited_too_long_for_a_place_is_refused() {
    let gate = Arc::new(Semaphore::new(0));
    let in_flight = Arc::new(ConcurrencyLimit::new(1));
    let _held = in_flight.try_acquire(1).unwrap();
    let limit = Concurrency::new(Arc::clone(&in_flight)).wait_up_to(Duration::from_millis(5));
    let layer = RateLimitLayer::new(Limit::of_all(limit).policy(places(1)));
    let server = serve(held(&gate).layer(layer)).await;
    let refused = send(&client(false), server, Method::GET, "/", &[]).await;
    assert_eq!((refused.status.as_u16(), in_flight.line().waiters()), (503, 0));
    let problem = Problem::from_json(&refused.body).unwrap();
    assert_eq!(problem.violated_policies, ["places"]);
}

#[tokio::test]
async fn a_request_that_has_waited_too_long_for_a_place_of_its_client_is_refused() {
    let clients = Arc::new(KeyedConcurrency::<ClientKey>::new(1));
    let gate = Arc::new(Semaphore::new(0));
    let limit = Concurrency::new(Arc::clone(&clients)).wait_up_to(Duration::from_millis(50));
    let layer = RateLimitLayer::new(Limit::per_client(limit).policy(places(1)));
    let server = serve(held(&gate).layer(layer)).await;
    let client = client(true);
    let first = tokio::spawn({
        let client = client.clone();
        async move { status(&client, server, "/held").await }
    });
    until(|| clients.len() == 1).await;
    let refused = send(&client, server, Method::GET, "/held", &[]);
    let refused = tokio::time::timeout(Duration::from_secs(600), refused).await.unwrap();
    assert_eq!(refused.status, 429);
    let problem = Problem::from_json(&refused.body).unwrap();
    assert_eq!(problem.violated_policies, ["places"]);
    gate.add_permits(1);
    assert_eq!(first.await.unwrap(), 200);
}

/// The response is there, and its body is not at its end.
#[tokio::test]
async fn a_place_is_held_until_the_body_has_ended_or_the_client_has_gone() {
    for is_http2 in [false, true] {
        let in_flight = Arc::new(ConcurrencyLimit::new(1));
        let (senders, mut bodies) = tokio::sync::mpsc::unbounded_channel();
        let respond = move || {
            let (sender, body) = Channel::<bytes::Bytes>::new(1);
            senders.send(sender).unwrap();
            async { Body::new(body) }
        };
        let app = Router::new().route("/", get(respond));
        let limit = Limit::of_all(Concurrency::new(Arc::clone(&in_flight)));
        let server = serve(app.layer(RateLimitLayer::new(limit))).await;
        let client = client(is_http2);
        let uri = || Request::get(format!("http://{server}/")).body(Body::empty()).unwrap();

        let response = client.request(uri()).await.unwrap();
        let mut sender = bodies.recv().await.unwrap();
        sender.send_data("a part".into()).await.unwrap();
        assert_eq!((response.status().as_u16(), in_flight.in_flight()), (200, 1));
        assert_eq!(client.request(uri()).await.unwrap().status(), 503);
        drop(sender);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "a part");
        until(|| in_flight.in_flight() == 0).await;

        let response = client.request(uri()).await.unwrap();
        let mut sender = bodies.recv().await.unwrap();
        sender.send_data("a part".into()).await.unwrap();
        assert_eq!(in_flight.in_flight(), 1);
        drop(response);
        until(|| in_flight.in_flight() == 0).await;
        drop(sender);
    }
}

#[tokio::test]
async fn a_service_that_takes_too_long_is_refused_by_name_and_gives_its_place_back() {
    for is_http2 in [false, true] {
        let in_flight = Arc::new(ConcurrencyLimit::new(1));
        let limiter =
            TimeLimiter::new("search", TimeLimit::new(Duration::from_millis(20)).unwrap());
        let limits = [
            Limit::of_all(TokenBucket::new(quota!(10 / day)))
                .policy(QuotaPolicy::new(10).named("day").unwrap()),
            Limit::of_all(Concurrency::new(Arc::clone(&in_flight))).policy(places(1)),
        ];
        let layer = RateLimitLayer::all_of(limits).unwrap().time_limit(limiter.clone());
        let plain = layer.clone().skip(|parts| parts.uri.path() == "/skipped");
        let gateway = layer.fields(FieldVersion::Draft8).respond(|refusal, request| {
            let mut response = refusal.response_to(request);
            if matches!(refusal.reason(), RefusalReason::TimedOut { .. }) {
                *response.status_mut() = StatusCode::GATEWAY_TIMEOUT;
            }
            response
        });
        let slow = || async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            "late"
        };
        let gate = Arc::new(Semaphore::new(0));
        let app = held(&gate).route("/skipped", get(slow));
        let server = serve(app.clone().layer(plain)).await;
        let client = client(is_http2);
        let refused = send(&client, server, Method::GET, "/held", &[]).await;
        assert_eq!((refused.status.as_u16(), in_flight.in_flight()), (503, 0));
        assert!(!refused.headers.contains_key("retry-after"));
        let problem = Problem::from_json(&refused.body).unwrap();
        assert_eq!(problem.kind, ProblemType::TemporaryReducedCapacity);
        assert_eq!(problem.violated_policies, ["search"]);
        assert_eq!(limiter.counts().timed_out, 1);
        assert_eq!(status(&client, server, "/").await, 200);
        assert_eq!(status(&client, server, "/skipped").await, 200);
        assert_eq!((limiter.counts().succeeded, limiter.counts().timed_out), (1, 1));

        let server = serve(app.layer(gateway)).await;
        let refused = send(&client, server, Method::GET, "/held", &[]).await;
        assert_eq!(refused.status, StatusCode::GATEWAY_TIMEOUT);
        // It tells what is left of the other limits.
        assert!(refused.headers.contains_key("ratelimit"), "{:?}", refused.headers);
    }
}

#[tokio::test]
async fn an_adaptive_limit_learns_from_times_and_statuses() {
    let adaptive = Arc::new(Adaptive::new(Aimd::new().with_initial(2)));
    let limit = Limit::of_all(Concurrency::new(Arc::clone(&adaptive)));
    let app = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/busy", get(|| async { StatusCode::SERVICE_UNAVAILABLE }))
        .layer(RateLimitLayer::new(limit));
    let server = serve(app).await;
    let client = client(false);
    // Half of the limit is in flight, and there is room: it is raised.
    assert_eq!(status(&client, server, "/").await, 200);
    until(|| adaptive.limit() == 3).await;
    assert_eq!(status(&client, server, "/busy").await, 503);
    until(|| adaptive.limit() < 3).await;

    let held: Vec<_> = (0..adaptive.limit()).map(|_| adaptive.try_acquire(1).unwrap()).collect();
    let refused = send(&client, server, Method::GET, "/", &[]).await;
    assert_eq!(refused.status, 503);
    assert!(Problem::from_json(&refused.body).is_some());
    drop(held);
    assert_eq!(status(&client, server, "/").await, 200);
}

#[tokio::test]
async fn another_status_can_tell_an_adaptive_limit_of_overload() {
    let adaptive = Arc::new(Adaptive::new(Aimd::new().with_initial(8)));
    let concurrency = Concurrency::new(Arc::clone(&adaptive));
    let concurrency = concurrency.overload_by(|status| status == StatusCode::IM_A_TEAPOT);
    let app = Router::new()
        .route("/busy", get(|| async { StatusCode::SERVICE_UNAVAILABLE }))
        .route("/tea", get(|| async { StatusCode::IM_A_TEAPOT }))
        .layer(RateLimitLayer::new(Limit::of_all(concurrency)));
    let server = serve(app).await;
    let client = client(false);
    assert_eq!(status(&client, server, "/busy").await, 503);
    until(|| adaptive.in_flight() == 0).await;
    assert!(adaptive.limit() >= 8);
    assert_eq!(status(&client, server, "/tea").await, 418);
    until(|| adaptive.limit() < 8).await;
}
