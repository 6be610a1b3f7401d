//! Refusals of gRPC: a real tonic server and real clients on loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use sluicegate::bucket::SettleableBucket;
use sluicegate::keyed::{Buckets, WhenFull};
use sluicegate::{FixedWindow, KeyTable, Keyed, Limiter, TokenBucket, quota, rate};
use sluicegate_flow::concurrency::{ConcurrencyLimit, KeyedConcurrency};
use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};
use sluicegate_http::client_address::{ClientAddress, ClientKey, Trust};
use sluicegate_http::fields::{FieldVersion, QuotaPolicy, ResponseFields};
use sluicegate_http::layer::{Concurrency, Limit, RateLimitLayer, RequestKey, Settled};
use tokio::net::TcpListener;
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Code, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt;
use tonic_web::{GrpcWebClientLayer, GrpcWebLayer};
use tower::ServiceBuilder;

use crate::nginx;

mod media_types;

/// Serves the health service behind a layer, until the test ends.
async fn serve(layer: RateLimitLayer) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_, health) = tonic_health::server::health_reporter();
    let app = Routes::new(health).into_axum_router().layer(GrpcWebLayer::new()).layer(layer);
    let service = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    address
}

async fn client(server: SocketAddr) -> HealthClient<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{server}")).unwrap();
    HealthClient::new(endpoint.connect().await.unwrap())
}

async fn check(client: &mut HealthClient<Channel>) -> Result<(), Status> {
    client.check(HealthCheckRequest::default()).await.map(drop)
}

/// Calls a server behind a limit that refuses the first call.
async fn refusal(limit: Limit) -> Status {
    let server = serve(RateLimitLayer::new(limit)).await;
    check(&mut client(server).await).await.unwrap_err()
}

fn drained() -> impl Limiter + 'static {
    let bucket = TokenBucket::new(quota!(1 / day));
    bucket.drain();
    bucket
}

#[tokio::test]
async fn a_refused_call_tells_the_wait_and_the_policy() {
    let clients = KeyTable::<ClientKey>::with_keys(quota!(2 / day), 1_000).unwrap();
    let policy = QuotaPolicy::from(quota!(2 / day)).named("daily").unwrap();
    let layer = RateLimitLayer::new(Limit::per_client(clients).policy(policy));
    let server = serve(layer.fields(FieldVersion::Draft8)).await;
    for _ in 0..2 {
        check(&mut client(server).await).await.unwrap();
    }
    let status = check(&mut client(server).await).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.message().starts_with("rate limited: try again in "), "{status:?}");
    let details = status.get_error_details();
    let half_a_day = Duration::from_secs(43_190)..=Duration::from_secs(43_200);
    assert!(half_a_day.contains(&details.retry_info().unwrap().retry_delay.unwrap()));
    let violations = &details.quota_failure().unwrap().violations;
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].subject, "daily");
    assert_eq!(violations[0].quota_id, "daily");
    assert_eq!(violations[0].quota_value, 2);
    assert_eq!(violations[0].description, status.message());
    // The fields of HTTP are its metadata.
    let metadata = status.metadata().clone().into_headers();
    let fields = ResponseFields::parse(&metadata, std::time::SystemTime::now());
    assert_eq!((fields.limits.len(), fields.limits[0].remaining), (1, 0));
    assert!((43_190..=43_200).contains(&fields.wait().as_secs()), "{metadata:?}");
}

/// A server of tonic itself, which tells the address of the peer in its own way.
#[tokio::test]
async fn a_server_of_tonic_limits_each_client() {
    let clients = KeyTable::<ClientKey>::with_keys(quota!(2 / day), 1_000).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_, health) = tonic_health::server::health_reporter();
    let layer = RateLimitLayer::new(Limit::per_client(clients));
    let server = Server::builder().layer(layer).add_service(health);
    tokio::spawn(server.serve_with_incoming(TcpIncoming::from(listener)));
    let mut client = client(address).await;
    let mut codes = Vec::new();
    for _ in 0..3 {
        codes.push(check(&mut client).await.err().map(|status| status.code()));
    }
    assert_eq!(codes, [None, None, Some(Code::ResourceExhausted)]);
}

#[tokio::test]
async fn a_refused_stream_ends_with_the_status() {
    let server = serve(RateLimitLayer::new(Limit::of_all(drained()))).await;
    let status = client(server).await.watch(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(status.get_error_details().retry_info().is_some());
}

#[tokio::test]
async fn the_code_says_why_a_call_is_refused() {
    // It will never be granted.
    let small = Limit::of_all(FixedWindow::new(rate!(5 / day)).unwrap()).cost(|_| 6);
    let status = refusal(small).await;
    assert_eq!(status.code(), Code::ResourceExhausted);
    let details = status.get_error_details();
    assert!(details.retry_info().is_none(), "{details:?}");
    assert_eq!(details.quota_failure().unwrap().violations[0].quota_id, "default");

    // The store has no space for the key.
    let full = Keyed::<String, _>::builder(Buckets::new(quota!(1 / day)))
        .max_keys(1)
        .when_full(WhenFull::Deny)
        .build()
        .unwrap();
    full.try_acquire("another", 1).unwrap();
    let status = refusal(Limit::per_key(full, |_| "key".into())).await;
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let details = status.get_error_details();
    assert!(details.retry_info().is_some() && details.quota_failure().is_none(), "{details:?}");

    // The request has no key.
    let keyless = Limit::per_key(Keyed::<String>::new(quota!(1 / day)), |_| RequestKey::Missing);
    let status = refusal(keyless).await;
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(status.message(), "the request has no key to limit it by");
    assert!(status.get_error_details().retry_info().is_none());

    // The proxy tells no address.
    let addresses = ClientAddress::x_forwarded_for(Trust::networks(["127.0.0.1"]).unwrap());
    let store = KeyTable::<ClientKey>::with_keys(quota!(1 / day), 1_000).unwrap();
    let status = refusal(Limit::per_client(store).addresses(addresses)).await;
    assert_eq!(status.code(), Code::Internal, "{status:?}");

    // Too much is in flight: at the server, and for a client.
    let all = Arc::new(ConcurrencyLimit::new(1));
    let _busy = all.try_acquire(1).unwrap();
    let status = refusal(Limit::of_all(Concurrency::new(Arc::clone(&all)))).await;
    assert_eq!(status.code(), Code::Unavailable, "{status:?}");
    let clients = Arc::new(KeyedConcurrency::<ClientKey>::new(1));
    let client = ClientKey::Address([127, 0, 0, 1].into());
    let _busy = clients.try_acquire(&client, 1).unwrap();
    let status = refusal(Limit::per_client(Concurrency::new(Arc::clone(&clients)))).await;
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    let details = status.get_error_details();
    assert_eq!(details.quota_failure().unwrap().violations[0].quota_value, 1);
    assert!(details.retry_info().is_none(), "{details:?}");
}

/// The proxy passes on the status with its details, and the address of the client.
#[tokio::test]
async fn a_client_behind_nginx_is_told_the_same() {
    let clients = KeyTable::<ClientKey>::with_keys(quota!(2 / day), 1_000).unwrap();
    let addresses = ClientAddress::x_forwarded_for(Trust::networks(["127.0.0.1"]).unwrap());
    let limit = Limit::per_client(clients).addresses(addresses);
    let server = serve(RateLimitLayer::new(limit)).await;
    let proxy = nginx::serve(&format!(
        "listen LISTEN http2;
         location / {{
             grpc_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
             grpc_pass grpc://{server};
         }}"
    ));
    for address in ["127.0.0.2", "127.0.0.3"] {
        let endpoint = Endpoint::from_shared(format!("http://{}", proxy.address)).unwrap();
        let endpoint = endpoint.local_address(Some(address.parse().unwrap()));
        let mut client = HealthClient::new(endpoint.connect().await.unwrap());
        for _ in 0..2 {
            check(&mut client).await.unwrap();
        }
        let status = check(&mut client).await.unwrap_err();
        assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
        assert!(status.get_error_details().retry_info().is_some(), "{status:?}");
    }
}

#[tokio::test]
async fn a_client_of_grpc_web_is_told_the_same() {
    let server = serve(RateLimitLayer::new(Limit::of_all(TokenBucket::new(quota!(2 / day))))).await;
    // As a browser does, by HTTP/1.1.
    let http = Client::builder(TokioExecutor::new()).build_http();
    let web = ServiceBuilder::new().layer(GrpcWebClientLayer::new()).service(http);
    let origin = format!("http://{server}").parse().unwrap();
    let mut client = HealthClient::with_origin(web, origin);
    for _ in 0..2 {
        client.check(HealthCheckRequest::default()).await.unwrap();
    }
    let status = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(status.get_error_details().retry_info().is_some(), "{status:?}");
}

/// The status of HTTP is 200 whatever happens.
#[tokio::test]
async fn calls_are_settled_by_their_own_status() {
    let calls = Arc::new(SettleableBucket::new(quota!(10 / day)));
    let failures = Settled::by_response(calls, |response| {
        (response.number("grpc-status") == Some(0)).then_some(0)
    });
    let server = serve(RateLimitLayer::new(Limit::of_all(failures))).await;
    let mut client = client(server).await;
    for _ in 0..50 {
        check(&mut client).await.unwrap();
    }
    let missing = HealthCheckRequest { service: "missing".to_owned() };
    let mut codes = Vec::new();
    for _ in 0..12 {
        codes.push(client.check(missing.clone()).await.unwrap_err().code());
    }
    assert_eq!(codes[..10], [Code::NotFound; 10]);
    assert_eq!(codes[10..], [Code::ResourceExhausted; 2]);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_told_so() {
    let slow = TimeLimiter::new("slow", TimeLimit::new(Duration::from_millis(1)).unwrap());
    let limit = Limit::of_all(TokenBucket::new(quota!(100 / day)));
    let app = Router::new()
        .route("/grpc.health.v1.Health/Check", post(std::future::pending::<()>))
        .layer(RateLimitLayer::new(limit).time_limit(slow));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    let status = check(&mut client(server).await).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    assert!(status.message().contains("time limit of 1ms"), "{status:?}");
}
