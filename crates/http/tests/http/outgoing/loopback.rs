//! Real servers and real clients on loopback. Their limits, and the clients, go by tokio's time, which is
//! paused: it goes on when nobody has anything to do.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::routing::get;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use sluicegate::clock::TokioClock;
use sluicegate::{FixedWindow, Limiter, TokenBucket, quota, rate};
use sluicegate_http::fields::{FieldVersion, QuotaPolicy, ResetAs};
use sluicegate_http::layer::{Limit, RateLimitLayer};
use sluicegate_http::outgoing::{OutgoingLayer, Retries};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tower::{Layer, Service, ServiceExt};

use super::*;

const VERSIONS: [FieldVersion; 6] = [
    FieldVersion::Legacy(ResetAs::SecondsLeft),
    FieldVersion::Legacy(ResetAs::UnixTime),
    FieldVersion::Draft3,
    FieldVersion::Draft6,
    FieldVersion::Draft7,
    FieldVersion::Draft8,
];

async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

fn limited(limiter: impl Limiter + 'static, policy: QuotaPolicy) -> RateLimitLayer {
    RateLimitLayer::new(Limit::of_all(limiter).policy(policy))
}

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

/// Ten a second, and ten at once.
fn ten_a_second() -> RateLimitLayer {
    let bucket = TokenBucket::with_clock(quota!(10 / second), TokioClock::new());
    limited(bucket, QuotaPolicy::from(quota!(10 / second)))
}

/// Sends requests at the same time, and returns how many were granted and refused.
async fn storm<S, Q, R>(client: S, requests: usize, request: impl Fn() -> Q) -> (usize, usize)
where
    S: Service<Q, Response = http::Response<R>> + Clone + Send + 'static,
    S::Error: std::fmt::Debug + Send,
    S::Future: Send,
    Q: Send + 'static,
    R: Send,
{
    let mut tasks = JoinSet::new();
    for _ in 0..requests {
        let (client, request) = (client.clone(), request());
        tasks.spawn(async move { client.oneshot(request).await.unwrap().status().as_u16() });
    }
    let statuses = tasks.join_all().await;
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    assert_eq!(count(200) + count(429), requests);
    (count(200), count(429))
}

fn root(server: SocketAddr) -> http::Request<Body> {
    http::Request::get(format!("http://{server}/")).body(Body::empty()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_hundred_requests_at_once_to_a_server_of_ten_a_second_are_never_refused() {
    for (version, is_http2) in VERSIONS.into_iter().flat_map(|v| [(v, false), (v, true)]) {
        let server = serve(hello().layer(ten_a_second().fields(version))).await;
        let client =
            Client::builder(TokioExecutor::new()).http2_only(is_http2).build_http::<Body>();
        let layer = OutgoingLayer::new().max_wait(60 * SECOND);
        let counts = storm(layer.layer(client), 100, || root(server)).await;
        assert_eq!(counts, (100, 0), "{version:?} HTTP/2: {is_http2}");
    }
}

#[tokio::test(start_paused = true)]
async fn neither_are_they_by_a_server_with_windows() {
    for version in VERSIONS {
        let window = FixedWindow::with_clock(rate!(10 / 2 seconds), TokioClock::new()).unwrap();
        let policy = QuotaPolicy::new(10).per(2 * SECOND);
        let server = serve(hello().layer(limited(window, policy).fields(version))).await;
        let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
        let layer = OutgoingLayer::new().max_wait(60 * SECOND);
        let counts = storm(layer.layer(client), 100, || root(server)).await;
        assert_eq!(counts, (100, 0), "{version:?}");
    }
}

/// The server tells nothing until it refuses, so some are, when the requests have doubled often enough.
#[tokio::test(start_paused = true)]
async fn a_server_that_tells_its_limit_only_when_it_refuses_refuses_few() {
    let server = serve(hello().layer(ten_a_second())).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let layer = OutgoingLayer::new().max_wait(60 * SECOND);
    let (granted, refused) = storm(layer.clone().layer(client.clone()), 100, || root(server)).await;
    assert!(refused <= 12, "{refused} of 100 were refused");
    assert!(granted >= 88);

    // With retries, each of them has its answer in the end.
    let server = serve(hello().layer(ten_a_second())).await;
    let copy = |request: &http::Request<Body>| {
        Some(http::Request::get(request.uri()).body(Body::empty()).unwrap())
    };
    let layer = layer.retries(Retries::new(copy));
    assert_eq!(storm(layer.layer(client), 100, || root(server)).await, (100, 0));
}

/// Without the layer, most of them are.
#[tokio::test(start_paused = true)]
async fn a_client_without_the_layer_is_refused() {
    let server = serve(hello().layer(ten_a_second().fields(FieldVersion::Draft8))).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let (granted, _) = storm(client, 100, || root(server)).await;
    assert!(granted < 50, "{granted} of 100 were granted");
}

#[tokio::test(start_paused = true)]
async fn a_client_of_reqwest_keeps_to_the_limit_and_retries() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let flaky = Router::new().route(
        "/",
        get(move || {
            let number = count.fetch_add(1, Ordering::SeqCst);
            let is_refused = number.is_multiple_of(4);
            async move { if is_refused { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK } }
        }),
    );
    let server = serve(flaky.layer(ten_a_second().fields(FieldVersion::Draft8))).await;
    let layer = OutgoingLayer::new()
        .max_wait(60 * SECOND)
        .retries(Retries::new(reqwest::Request::try_clone).tries(4));
    let client = layer.layer(reqwest::Client::builder().no_proxy().build().unwrap());
    let url: reqwest::Url = format!("http://{server}/").parse().unwrap();
    for _ in 0..20 {
        let request = reqwest::Request::new(http::Method::GET, url.clone());
        assert_eq!(client.clone().oneshot(request).await.unwrap().status(), 200);
    }
    assert!(calls.load(Ordering::SeqCst) > 20);
}

/// A server whose clock is years late, and that names times instead of waits.
#[tokio::test(start_paused = true)]
async fn dates_are_compared_with_the_clock_of_the_server() {
    let start = TokioClock::new();
    let app = Router::new().fallback(move |request: Request| async move {
        use sluicegate::Clock;
        let now = Duration::from_nanos(start.now_nanos());
        // It lets requests through from ten seconds on.
        let date = |seconds| format!("Mon, 05 Aug 2019 09:27:{seconds:02} GMT");
        let is_early = now < 10 * SECOND;
        drop(request);
        let status = if is_early { 503 } else { 200 };
        let response = http::Response::builder().status(status).header("date", date(now.as_secs()));
        let response = if is_early { response.header("retry-after", date(10)) } else { response };
        response.body(Body::empty()).unwrap()
    });
    let server = serve(app).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let client = OutgoingLayer::new().layer(client);
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(client.clone().oneshot(root(server)).await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [503, 200, 200]);
}

/// The connection is closed before there is a response, and the place in line is given back.
#[tokio::test(start_paused = true)]
async fn requests_that_are_dropped_on_their_way_leave_nothing_behind() {
    let app = Router::new().route("/", get(|| async { std::future::pending::<&str>().await }));
    let app = app.route("/quick", get(|| async { "hello" }));
    let server = serve(app.layer(ten_a_second().fields(FieldVersion::Draft8))).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let client = OutgoingLayer::new().max_wait(60 * SECOND).layer(client);
    for _ in 0..10 {
        let hangs = tokio::time::timeout(SECOND, client.clone().oneshot(root(server)));
        assert!(hangs.await.is_err());
    }
    let quick = http::Request::get(format!("http://{server}/quick")).body(Body::empty()).unwrap();
    assert_eq!(client.oneshot(quick).await.unwrap().status(), 200);
}

/// In real time, with two threads: 200 requests in two windows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_on_several_threads_keep_to_the_limit_together() {
    let window = FixedWindow::new(rate!(100 / second)).unwrap();
    let policy = QuotaPolicy::new(100).per(SECOND);
    let server = serve(hello().layer(limited(window, policy).fields(FieldVersion::Draft7))).await;
    let client = Client::builder(TokioExecutor::new()).build_http::<Body>();
    let layer = OutgoingLayer::new().max_wait(60 * SECOND);
    assert_eq!(storm(layer.layer(client), 200, || root(server)).await, (200, 0));
}
