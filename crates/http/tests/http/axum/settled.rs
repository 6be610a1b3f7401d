//! Requests that are settled when the bodies of their responses have ended.

use std::sync::Mutex;

use bytes::Bytes;
use http_body_util::channel::{Channel, Sender};
use sluicegate::ManualClock;
use sluicegate::bucket::SettleableBucket;
use sluicegate_http::layer::{BodyEnd, Settled};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;

type Parts = Sender<Bytes, std::io::Error>;

fn bucket() -> Arc<SettleableBucket<Arc<ManualClock>>> {
    Arc::new(SettleableBucket::with_clock(quota!(10_000 / day), Arc::default()))
}

/// An app that responds at once, with bodies whose parts a test sends.
fn app() -> (Router, UnboundedReceiver<Parts>) {
    let (senders, bodies) = unbounded_channel();
    let respond = move || {
        let (sender, body) = Channel::new(1);
        senders.send(sender).unwrap();
        async {
            let mut response = http::Response::new(Body::new(body));
            response.headers_mut().insert("x-rows", value("55"));
            response
        }
    };
    (Router::new().route("/", get(respond)), bodies)
}

async fn get_of(
    client: &Client<HttpConnector, Body>,
    server: SocketAddr,
) -> http::Response<hyper::body::Incoming> {
    let request = Request::get(format!("http://{server}/")).body(Body::empty()).unwrap();
    client.request(request).await.unwrap()
}

#[tokio::test]
async fn bytes_trailers_and_fields_tell_what_a_request_has_used() {
    for is_http2 in [false, true] {
        let (bytes, tokens, rows, both) = (bucket(), bucket(), bucket(), bucket());
        let named = |name: &str| QuotaPolicy::new(1).named(name).unwrap();
        let limits = [
            Limit::of_all(Settled::by_bytes(Arc::clone(&bytes))).policy(named("bytes")),
            Limit::of_all(Settled::by_number(Arc::clone(&tokens), "x-tokens-used"))
                .cost(|_| 5_000)
                .policy(named("tokens")),
            Limit::of_all(Settled::by_number(Arc::clone(&rows), "x-rows")).policy(named("rows")),
            Limit::of_all(Settled::by_response(Arc::clone(&both), |response| {
                assert_eq!((response.status.as_u16(), response.estimate), (200, 100));
                assert_eq!(response.end, BodyEnd::Complete);
                Some(response.bytes + response.number("x-tokens-used")?)
            }))
            .cost(|_| 100)
            .policy(named("both")),
        ];
        let (app, mut bodies) = app();
        let server = serve(app.layer(RateLimitLayer::all_of(limits).unwrap())).await;
        let left = || [&bytes, &tokens, &rows, &both].map(|each| each.peek(0).unwrap().remaining());

        let response = get_of(&client(is_http2), server).await;
        let mut sender = bodies.recv().await.unwrap();
        assert_eq!(left(), [9_999, 5_000, 9_999, 9_900], "the body has only begun");
        sender.send_data(Bytes::from(vec![b'a'; 1_000])).await.unwrap();
        sender.send_data(Bytes::from(vec![b'a'; 234])).await.unwrap();
        let mut trailers = HeaderMap::new();
        trailers.insert("x-tokens-used", value("4321"));
        sender.send_trailers(trailers).await.unwrap();
        drop(sender);
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), 1_234);
        let used = [1_234, 4_321, 55, 5_555];
        until(|| left() == used.map(|used| 10_000 - used)).await;
    }
}

#[tokio::test]
async fn a_body_that_is_dropped_halfway_or_fails_is_settled_by_the_bytes_so_far() {
    for is_http2 in [false, true] {
        let (bucket, seen) = (bucket(), Arc::new(Mutex::new(Vec::new())));
        let ends = Arc::clone(&seen);
        let settled = Settled::by_response(Arc::clone(&bucket), move |response| {
            ends.lock().unwrap().push(response.end);
            Some(response.bytes)
        });
        let (app, mut bodies) = app();
        let layer = RateLimitLayer::new(Limit::of_all(settled).cost(|_| 8_000));
        let server = serve(app.layer(layer)).await;
        let client = client(is_http2);
        let left = || bucket.peek(0).unwrap().remaining();

        let mut response = get_of(&client, server).await;
        let mut sender = bodies.recv().await.unwrap();
        sender.send_data(Bytes::from(vec![b'a'; 700])).await.unwrap();
        assert!(response.body_mut().frame().await.unwrap().is_ok());
        assert_eq!(left(), 2_000);
        drop(response);
        until(|| left() == 9_300).await;
        drop(sender);

        let mut response = get_of(&client, server).await;
        let mut sender = bodies.recv().await.unwrap();
        sender.send_data(Bytes::from(vec![b'a'; 300])).await.unwrap();
        assert!(response.body_mut().frame().await.unwrap().is_ok());
        sender.abort(std::io::Error::other("the disk is gone"));
        assert!(response.into_body().collect().await.is_err());
        until(|| left() == 9_000).await;
        assert_eq!(*seen.lock().unwrap(), [BodyEnd::Dropped, BodyEnd::Failed]);
    }
}

#[tokio::test]
async fn only_failures_count_through_a_real_server() {
    let bucket = bucket();
    let limit = Limit::of_all(Settled::failures_only(Arc::clone(&bucket))).cost(|_| 10);
    let server = serve(hello().layer(RateLimitLayer::new(limit))).await;
    let client = client(false);
    assert_eq!(status(&client, server, "/").await, 200);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 10_000);
    assert_eq!(status(&client, server, "/nowhere").await, 404);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 9_990);
}
