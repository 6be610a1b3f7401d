//! The layer around a server that is a function, in tokio's paused time.

use std::future::Future;
use std::sync::Mutex;

use http::{Request, Response};
use sluicegate_http::outgoing::{Outgoing, OutgoingError, OutgoingLayer};
use tokio::time::{Instant, sleep};
use tower::util::BoxCloneSyncService;
use tower::{Layer, ServiceExt, service_fn};

use super::*;

pub(crate) type Call = Request<String>;
pub(crate) type Answer = Response<String>;
pub(crate) type Client = Outgoing<BoxCloneSyncService<Call, Answer, Failure>, Call>;

/// The failure of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure;

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("no connection")
    }
}

/// A server, and what it has received: when, and which.
#[derive(Clone)]
pub(crate) struct Server {
    start: Instant,
    received: Arc<Mutex<Vec<(Duration, String)>>>,
}

impl Server {
    /// Returns the server with a client behind the layer. `answer` is told the number of the request.
    pub(crate) fn new<F, R>(layer: &OutgoingLayer<Call>, answer: F) -> (Server, Client)
    where
        F: Fn(usize) -> R + Clone + Send + Sync + 'static,
        R: Future<Output = Result<Answer, Failure>> + Send + 'static,
    {
        let server = Server { start: Instant::now(), received: Arc::default() };
        let this = server.clone();
        let client = service_fn(move |request: Call| {
            let mut received = this.received.lock().unwrap();
            received.push((this.start.elapsed(), request.uri().path().to_owned()));
            answer(received.len())
        });
        (server, layer.layer(BoxCloneSyncService::new(client)))
    }

    pub(crate) fn received(&self) -> Vec<(Duration, String)> {
        self.received.lock().unwrap().clone()
    }

    pub(crate) fn times(&self) -> Vec<Duration> {
        self.received().into_iter().map(|(time, _)| time).collect()
    }
}

pub(crate) fn answer(status: u16, lines: &[(&'static str, &'static str)]) -> Answer {
    let mut response = Response::builder().status(status);
    for (name, value) in lines {
        response = response.header(*name, *value);
    }
    response.body(String::new()).unwrap()
}

pub(crate) fn get(path: &str) -> Call {
    Request::get(format!("http://example.org{path}")).body(String::new()).unwrap()
}

pub(crate) fn status(client: &Client, call: Call) -> impl Future<Output = u16> + use<> {
    let answer = client.clone().oneshot(call);
    async move { answer.await.unwrap().status().as_u16() }
}

const TWO_LEFT: &[(&str, &str)] =
    &[("ratelimit-policy", r#""p";q=3;w=30"#), ("ratelimit", r#""p";r=2;t=30"#)];

const NONE_LEFT: &[(&str, &str)] =
    &[("ratelimit-policy", r#""p";q=3;w=30"#), ("ratelimit", r#""p";r=0;t=30"#)];

/// Three each half a minute, as a server with windows has it.
fn three_each_half_minute(number: usize) -> Answer {
    answer(200, if number % 3 == 1 { TWO_LEFT } else { NONE_LEFT })
}

#[tokio::test(start_paused = true)]
async fn requests_leave_in_the_order_in_which_they_came() {
    let layer = OutgoingLayer::new().max_wait(1_000 * SECOND);
    let (server, client) = Server::new(&layer, |number| async move {
        sleep(Duration::from_millis(10)).await;
        Ok(three_each_half_minute(number))
    });
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..9 {
        let client = client.clone();
        tasks.spawn(async move { status(&client, get(&format!("/{number}"))).await });
        tokio::task::yield_now().await;
    }
    assert_eq!(tasks.join_all().await, [200; 9]);
    let paths: Vec<_> = server.received().into_iter().map(|(_, path)| path).collect();
    assert_eq!(paths, ["/0", "/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8"]);
    let windows: Vec<_> = server.times().iter().map(|time| time.as_secs() / 30).collect();
    assert_eq!(windows, [0, 0, 0, 1, 1, 1, 2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_turn_comes_too_late_is_refused_at_once_with_the_wait() {
    let layer = OutgoingLayer::new().max_wait(29 * SECOND);
    let (server, client) = Server::new(&layer, |_| async { Ok(answer(200, NONE_LEFT)) });
    assert_eq!(status(&client, get("/")).await, 200);
    let error = client.clone().oneshot(get("/")).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(30 * SECOND));
    assert!(matches!(error, OutgoingError::NoTurn(_)));
    assert_eq!(
        error.to_string(),
        "the request was not sent: the server's limits let it through in 30s, and it may wait for \
         29s: send it later, or let it wait for longer",
    );
    assert_eq!(server.start.elapsed(), Duration::ZERO);
    assert_eq!(server.received().len(), 1);
    sleep(SECOND).await;
    assert_eq!(status(&client, get("/")).await, 200, "its turn comes just in time");
    assert_eq!(server.times(), [Duration::ZERO, 30 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn a_pause_is_for_all_requests_to_that_server_and_for_no_other() {
    let (server, client) = Server::new(&OutgoingLayer::new(), |number| async move {
        Ok(if number == 1 { answer(503, &[("retry-after", "20")]) } else { answer(200, &[]) })
    });
    assert_eq!(status(&client, get("/a")).await, 503);
    let other = |uri: &str| Request::get(uri).body(String::new()).unwrap();
    assert_eq!(status(&client, other("http://example.com/")).await, 200);
    assert_eq!(status(&client, other("https://example.org/")).await, 200);
    assert_eq!(status(&client, get("/b")).await, 200);
    assert_eq!(status(&client, other("http://EXAMPLE.org:80/c")).await, 200);
    assert_eq!(server.times(), [0, 0, 0, 20, 20].map(Duration::from_secs));
}

#[tokio::test(start_paused = true)]
async fn a_program_can_tell_the_limits_of_a_server_apart() {
    let layer = OutgoingLayer::new().key(|call: &Call| call.uri().path().to_owned());
    let (server, client) = Server::new(&layer, |_| async { Ok(answer(200, NONE_LEFT)) });
    for path in ["/a", "/b", "/a"] {
        assert_eq!(status(&client, get(path)).await, 200);
    }
    assert_eq!(server.times(), [0, 0, 30].map(Duration::from_secs));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_in_line_holds_up_nobody() {
    let (server, client) =
        Server::new(&OutgoingLayer::new(), |_| async { Ok(answer(200, NONE_LEFT)) });
    assert_eq!(status(&client, get("/0")).await, 200);
    let tasks: Vec<_> = (1..5)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { status(&client, get(&format!("/{number}"))).await })
        })
        .collect();
    sleep(SECOND).await;
    for task in &tasks[..3] {
        task.abort();
    }
    sleep(40 * SECOND).await;
    let received = server.received();
    assert_eq!(received[1..], [(30 * SECOND, "/4".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn no_more_wait_than_the_line_takes() {
    let layer = OutgoingLayer::new().bounds(Bounds::new().max_waiting(3)).max_wait(1_000 * SECOND);
    let (server, client) = Server::new(&layer, |_| async { Ok(answer(200, NONE_LEFT)) });
    assert_eq!(status(&client, get("/")).await, 200);
    let tasks: Vec<_> = (0..5).map(|_| tokio::spawn(client.clone().oneshot(get("/")))).collect();
    let mut sent = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => sent += 1,
            Err(error) => assert_eq!(error.retry_after(), Some(30 * SECOND)),
        }
    }
    assert_eq!((sent, server.received().len()), (3, 4));
}

/// It may have been sent, so it counts; but it does not hold up others for ever.
#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_on_its_way_has_ended() {
    let layer = OutgoingLayer::new().bounds(Bounds::new().shortest_pause(10 * SECOND));
    let (server, client) = Server::new(&layer, |number| async move {
        if number == 1 {
            sleep(1_000 * SECOND).await;
        }
        Ok(answer(200, &[]))
    });
    let hangs = tokio::spawn({
        let client = client.clone();
        async move { status(&client, get("/")).await }
    });
    sleep(SECOND).await;
    let waits = tokio::spawn({
        let client = client.clone();
        async move { status(&client, get("/")).await }
    });
    sleep(SECOND).await;
    assert_eq!(server.received().len(), 1, "nothing is known, so one at first");
    hangs.abort();
    assert_eq!(waits.await.unwrap(), 200);
    assert_eq!(server.times(), [Duration::ZERO, 2 * SECOND]);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_is_for_the_wait_and_the_response_together() {
    let layer = OutgoingLayer::new().deadline(35 * SECOND).max_wait(100 * SECOND);
    let (server, client) = Server::new(&layer, |number| async move {
        if number == 2 {
            sleep(10 * SECOND).await;
        }
        Ok(answer(200, NONE_LEFT))
    });
    assert_eq!(status(&client, get("/")).await, 200);
    let error = client.clone().oneshot(get("/")).await.unwrap_err();
    assert!(matches!(error, OutgoingError::TimedOut { .. }), "{error}");
    assert_eq!(server.start.elapsed(), 35 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_fails_tells_its_own_error() {
    let (_, client) = Server::new(&OutgoingLayer::new(), |_| async { Err(Failure) });
    let error = client.clone().oneshot(get("/")).await.unwrap_err();
    assert!(matches!(error, OutgoingError::Client(Failure)));
    let error = client.clone().oneshot(get("/")).await.unwrap_err();
    assert_eq!(error.to_string(), "no connection");
}

/// A cache tells what was left when it stored the response.
#[tokio::test(start_paused = true)]
async fn limits_in_a_response_from_a_cache_are_not_believed() {
    let (server, client) = Server::new(&OutgoingLayer::new(), |_| async {
        let mut response = answer(200, NONE_LEFT);
        response.headers_mut().insert("age", "12".parse().unwrap());
        Ok(response)
    });
    for _ in 0..3 {
        assert_eq!(status(&client, get("/")).await, 200);
    }
    assert_eq!(server.times(), [Duration::ZERO; 3]);
}

#[tokio::test(start_paused = true)]
async fn the_memory_of_servers_is_bounded_and_keeps_what_is_known() {
    let layer = OutgoingLayer::new().max_servers(10);
    let (server, client) = Server::new(&layer, |number| async move {
        Ok(if number == 1 { answer(429, &[("retry-after", "20")]) } else { answer(200, &[]) })
    });
    assert_eq!(status(&client, get("/")).await, 429);
    for number in 0..1_000 {
        let uri = format!("http://host{number}.example.com/");
        assert_eq!(status(&client, Request::get(uri).body(String::new()).unwrap()).await, 200);
        assert!(layer.servers() <= 10);
    }
    assert_eq!(status(&client, get("/")).await, 200);
    assert_eq!(server.times().last(), Some(&(20 * SECOND)), "it was not forgotten");
}

/// All threads share what is told.
#[test]
fn threads_together_send_as_many_as_are_left() {
    let (_, limits) = limits();
    limits.try_send().unwrap().ok(&[("ratelimit", r#""p";r=500;t=3600"#)]);
    let sent: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| let_through(&limits).len())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(sent, 500);
}
