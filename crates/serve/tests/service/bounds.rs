//! Clients that take more of the server than there is for all.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use sluicegate_serve::Bounds;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{Duration, timeout};

use super::running::{POLICY, Running, failure, service_of};
use super::waits;

const PATIENCE: Duration = Duration::from_secs(60);

/// A body that begins like a check, and never ends.
struct Endless {
    left: usize,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Pending;
        }
        let bytes = self.left.min(16 << 10);
        self.left -= bytes;
        Poll::Ready(Some(Ok(Frame::data(vec![b' '; bytes].into()))))
    }
}

#[tokio::test]
async fn streams_whose_bodies_do_not_end_take_no_more_than_there_is_for_all_bodies() {
    const STREAMS: usize = 100;
    const BODY: usize = 256 << 10;
    // Three of them have space, and nobody waits for the end of their time.
    let bodies = 3 * BODY + 1_000;
    let bounds = Bounds { bodies, body: PATIENCE, ..Bounds::default() };
    let service = Running::start(service_of(POLICY), bounds).await;
    let stream = TokioIo::new(TcpStream::connect(service.address).await.unwrap());
    let (client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    let connection = tokio::spawn(connection);
    let mut asks = JoinSet::new();
    for _ in 0..STREAMS {
        let (mut client, url) = (client.clone(), service.url("/v1/check"));
        asks.spawn(async move {
            let request = http::Request::post(url).header("content-type", "application/json");
            client.send_request(request.body(Endless { left: BODY }).unwrap()).await.unwrap()
        });
    }
    // At most three are still there when the others are refused.
    for _ in 0..STREAMS - 3 {
        let refused = timeout(PATIENCE, asks.join_next()).await.unwrap().unwrap().unwrap();
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert_eq!(refused.headers()["content-type"], "application/problem+json");
    }
    // Those who ask for little are answered all the same.
    assert_eq!(service.check(json!({ "limiter": "all" })).await["decision"], "granted");
    // All comes back when the client goes away: as many have space as before.
    asks.shutdown().await;
    drop(client);
    connection.abort();
    let large = format!(r#"{{"limiter":"all"{}}}"#, " ".repeat(3 * BODY - 100));
    let ask = async || {
        let request = service.client.post(service.url("/v1/check"));
        let request = request.header("content-type", "application/json").body(large.clone());
        request.send().await.unwrap().status()
    };
    let asks_again = async { while ask().await == 503 {} };
    assert!(timeout(PATIENCE, asks_again).await.is_ok());
    service.end().await;
}

#[tokio::test]
async fn a_check_that_waits_leaves_the_space_of_its_body_to_others() {
    const BODY: usize = 1 << 19;
    let bounds = Bounds { bodies: BODY + 1_000, ..Bounds::default() };
    let service = Running::start(service_of(waits::POLICY), bounds).await;
    let ask = |wait: u32| {
        let ask = json!({ "limiter": "slow", "key": "ada", "wait": wait }).to_string();
        let padding = " ".repeat(BODY - ask.len());
        let request = service.client.post(service.url("/v1/check"));
        request.header("content-type", "application/json").body(ask + &padding).send()
    };
    assert_eq!(ask(0).await.unwrap().status(), 200);
    let waits = tokio::spawn(ask(7_200));
    waits::until_waiting(&service, 1).await;
    assert_eq!(ask(0).await.unwrap().status(), 200);
    waits.abort();
    waits::until_waiting(&service, 0).await;
    service.end().await;
}

#[tokio::test]
async fn more_checks_than_may_wait_are_refused_until_one_has_its_answer() {
    let service = service_of(waits::POLICY).max_waiting(2);
    let service = Running::start(service, Bounds::default()).await;
    let ask = |key: &str, wait: u32| {
        let ask = json!({ "limiter": "slow", "key": key, "wait": wait });
        service.client.post(service.url("/v1/check")).json(&ask).send()
    };
    for key in ["ada", "bob", "eve"] {
        assert_eq!(ask(key, 0).await.unwrap().status(), 200);
    }
    let ada = tokio::spawn(ask("ada", 7_200));
    let bob = tokio::spawn(ask("bob", 7_200));
    waits::until_waiting(&service, 2).await;
    let refused = ask("eve", 7_200).await.unwrap();
    assert_eq!(refused.headers()["retry-after"], "1");
    let (status, detail) = failure(refused).await;
    assert!(status == 503 && detail.contains("without `wait`"), "{status} {detail}");
    // Without a wait it is answered.
    let state: Value = service.check(json!({ "limiter": "slow", "key": "eve" })).await;
    assert_eq!(state["decision"], "denied");
    bob.abort();
    waits::until_waiting(&service, 1).await;
    let eve = tokio::spawn(ask("eve", 7_200));
    waits::until_waiting(&service, 2).await;
    ada.abort();
    eve.abort();
    waits::until_waiting(&service, 0).await;
    service.end().await;
}
