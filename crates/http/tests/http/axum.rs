//! A real axum server and real clients on loopback, by HTTP/1.1 and HTTP/2.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::{get, post};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use sluicegate::{FixedWindow, KeyTable, Keyed, Limiter, TokenBucket, quota};
use sluicegate_http::client_address::{ClientAddress, ClientKey, Trust};
use sluicegate_http::fields::{
    FieldVersion, Problem, ProblemType, QuotaPolicy, ResetAs, ResponseFields,
};
use sluicegate_http::layer::{Limit, RateLimitLayer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

mod by_policy;
mod crowd;
mod guesses_at_once;
mod known_faults;
mod proxies;
#[path = "../../../redis/src/tests/server.rs"]
#[allow(dead_code, reason = "the tests of the crate that it is of use more of it")]
mod redis_server;
mod spoofing;

mod in_flight;
mod on_redis;
mod registry;
mod remote;
mod settled;
mod stacked;
mod waiting;
mod waiting_per_key;

/// Serves an app until the test ends.
async fn serve(app: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    address
}

fn hello() -> Router {
    Router::new().route("/", get(|| async { "hello" }))
}

/// A client with connections of its own.
fn client(is_http2: bool) -> Client<HttpConnector, Body> {
    Client::builder(TokioExecutor::new()).http2_only(is_http2).build_http()
}

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

async fn send(
    client: &Client<HttpConnector, Body>,
    server: SocketAddr,
    method: Method,
    path: &str,
    fields: &[(&str, &str)],
) -> Answer {
    let mut request = Request::builder().method(method).uri(format!("http://{server}{path}"));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let response = client.request(request.body(Body::empty()).unwrap()).await.unwrap();
    let (parts, body) = response.into_parts();
    let body = body.collect().await.unwrap().to_bytes().to_vec();
    Answer { status: parts.status, headers: parts.headers, body }
}

async fn status(client: &Client<HttpConnector, Body>, server: SocketAddr, path: &str) -> u16 {
    send(client, server, Method::GET, path, &[]).await.status.as_u16()
}

fn value(text: &'static str) -> HeaderValue {
    HeaderValue::from_static(text)
}

/// Waits until a condition is true, which another task makes true.
async fn until(condition: impl Fn() -> bool) {
    let polls = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(600), polls).await.expect("it never comes true");
}

fn per_client() -> Limit {
    Limit::per_client(KeyTable::<ClientKey>::with_keys(quota!(2 / day), 1_000).unwrap())
}

/// Axum clones the service of a layer for each connection, and each request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_holds_over_many_connections() {
    for is_http2 in [false, true] {
        let limit = Limit::of_all(TokenBucket::new(quota!(7 / day)));
        let server = serve(hello().layer(RateLimitLayer::new(limit))).await;
        let mut tasks = JoinSet::new();
        for _ in 0..40 {
            tasks.spawn(async move { status(&client(is_http2), server, "/").await });
        }
        let statuses = tasks.join_all().await;
        let count = |status| statuses.iter().filter(|other| **other == status).count();
        assert_eq!((count(200), count(429)), (7, 33), "HTTP/2: {is_http2}");
    }
}

#[tokio::test]
async fn responses_have_the_fields_of_each_version_and_refusals_a_body() {
    let versions = [
        FieldVersion::Legacy(ResetAs::SecondsLeft),
        FieldVersion::Legacy(ResetAs::UnixTime),
        FieldVersion::Draft3,
        FieldVersion::Draft6,
        FieldVersion::Draft7,
        FieldVersion::Draft8,
    ];
    for (version, is_http2) in versions.into_iter().flat_map(|v| [(v, false), (v, true)]) {
        let policy = QuotaPolicy::from(quota!(2 / day)).named("daily").unwrap();
        let layer = RateLimitLayer::new(per_client().policy(policy)).fields(version);
        let server = serve(hello().layer(layer)).await;
        let client = client(is_http2);
        for expected in [1, 0, 0] {
            let answer = send(&client, server, Method::GET, "/", &[]).await;
            let fields = ResponseFields::parse(&answer.headers, std::time::SystemTime::now());
            let limit = &fields.limits[0];
            assert_eq!(limit.remaining, expected, "{version:?}");
            let quota = limit.limit.or(fields.policy_of(limit).map(QuotaPolicy::quota));
            assert_eq!(quota, Some(2), "{version:?}");
            assert!(limit.reset_after.is_some_and(|wait| wait.as_secs() > 40_000), "{version:?}");
        }
        let refused = send(&client, server, Method::GET, "/", &[]).await;
        assert_eq!(refused.status, 429);
        assert_eq!(refused.headers["content-type"], "application/problem+json");
        let fields = ResponseFields::parse(&refused.headers, std::time::SystemTime::now());
        let half_a_day = 43_190..=43_200;
        assert!(half_a_day.contains(&fields.wait().as_secs()), "{:?}", fields.wait());
        let problem = Problem::from_json(&refused.body).unwrap();
        assert_eq!(problem.kind, ProblemType::QuotaExceeded);
        assert_eq!(problem.violated_policies, ["daily"]);
        assert_eq!(problem.status, Some(StatusCode::TOO_MANY_REQUESTS));
    }
}

#[tokio::test]
async fn nothing_that_a_client_sends_gets_it_another_limit() {
    for is_http2 in [false, true] {
        let server = serve(hello().layer(RateLimitLayer::new(per_client()))).await;
        let client = client(is_http2);
        let pretences = [
            ("x-forwarded-for", "1.1.1.1"),
            ("forwarded", "for=1.1.1.2"),
            ("x-real-ip", "1.1.1.3"),
            ("cf-connecting-ip", "1.1.1.4"),
        ];
        let mut statuses = Vec::new();
        for pretence in pretences {
            statuses
                .push(send(&client, server, Method::GET, "/", &[pretence]).await.status.as_u16());
        }
        assert_eq!(statuses, [200, 200, 429, 429]);
    }
}

#[tokio::test]
async fn behind_a_proxy_each_client_has_its_limit() {
    let trust = Trust::networks(["127.0.0.1"]).unwrap();
    let limit = per_client().addresses(ClientAddress::x_forwarded_for(trust));
    let server = serve(hello().layer(RateLimitLayer::new(limit))).await;
    let client = client(false);
    for (field, expected) in [
        ("203.0.113.9", 200),
        ("1.1.1.1, 203.0.113.9", 200),
        ("2.2.2.2, 203.0.113.9", 429),
        ("203.0.113.8", 200),
        ("2001:db8::1", 200),
        ("2001:db8::2", 200),
        ("2001:db8::3", 429),
        ("junk", 400),
    ] {
        let answer = send(&client, server, Method::GET, "/", &[("x-forwarded-for", field)]).await;
        assert_eq!(answer.status, expected, "{field}");
    }
    // A proxy that sends no field is set up wrongly.
    assert_eq!(status(&client, server, "/").await, 500);
}

#[tokio::test]
async fn preflight_requests_pass() {
    let layer = RateLimitLayer::new(per_client()).skip_preflight();
    let app = Router::new().route("/", get(|| async { "hello" }).options(|| async {}));
    let server = serve(app.layer(layer)).await;
    let client = client(false);
    let preflight = [("origin", "https://example.org"), ("access-control-request-method", "PUT")];
    for _ in 0..4 {
        let answer = send(&client, server, Method::OPTIONS, "/", &preflight).await;
        assert_eq!(answer.status, 200);
    }
    assert_eq!(status(&client, server, "/").await, 200);
    assert_eq!(status(&client, server, "/").await, 200);
    assert_eq!(status(&client, server, "/").await, 429);
    assert_eq!(send(&client, server, Method::OPTIONS, "/", &[]).await.status, 429);
}

#[tokio::test]
async fn routes_have_limits_of_their_own_and_share_others() {
    let users = Arc::new(Keyed::<String>::new(quota!(3 / day)));
    let user = |parts: &http::request::Parts| parts.headers.get("x-user").is_some();
    let shared = RateLimitLayer::new(Limit::per_key(Arc::clone(&users), |parts| {
        parts.headers.get("x-user").and_then(|user| user.to_str().ok()).into()
    }))
    .skip(move |parts| !user(parts));
    let report = RateLimitLayer::new(Limit::of_all(TokenBucket::new(quota!(1 / day))));
    let app = Router::new()
        .route("/search", get(|| async { "found" }))
        .route("/report", get(|| async { "a report" }).layer(report))
        .layer(shared);
    let server = serve(app).await;
    let client = client(true);
    let ada = [("x-user", "ada")];
    for (path, expected) in
        [("/report", 200), ("/report", 429), ("/search", 200), ("/search", 429), ("/report", 429)]
    {
        let answer = send(&client, server, Method::GET, path, &ada).await;
        assert_eq!(answer.status, expected, "{path}");
    }
    assert!(users.try_acquire("bob", 1).is_ok(), "the program has the store, too");
    assert_eq!(status(&client, server, "/search").await, 200);
}

/// The client announces a body, and sends nothing of it.
#[tokio::test]
async fn a_request_is_refused_before_its_body_is_read() {
    let bucket = TokenBucket::new(quota!(1 / day));
    bucket.drain();
    let app = Router::new().route("/", post(|body: String| async { body }));
    let server = serve(app.layer(RateLimitLayer::new(Limit::of_all(bucket)))).await;
    let mut stream = TcpStream::connect(server).await.unwrap();
    let head = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).await.unwrap();
    assert_eq!(&start, b"HTTP/1.1 429");
}
