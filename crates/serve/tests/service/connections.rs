//! Connections: slow ones, many, and those that are open when the server ends.

use std::time::Duration;

use serde_json::json;
use sluicegate_serve::Bounds;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::running::{POLICY, Running, service_of};

const HEAD: &[u8] = b"POST /v1/check HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 17\r\n\r\n";

/// After so long, what is waited for will not come.
const PATIENCE: Duration = Duration::from_secs(600);

#[tokio::test]
async fn a_client_that_sends_no_body_is_answered_408_and_blocks_nobody() {
    let bounds = Bounds { body: Duration::from_millis(300), ..Bounds::default() };
    let service = Running::start(service_of(POLICY), bounds).await;
    let mut slow = TcpStream::connect(service.address).await.unwrap();
    slow.write_all(HEAD).await.unwrap();
    slow.write_all(b"{").await.unwrap();
    assert_eq!(service.check(json!({ "limiter": "all" })).await["decision"], "granted");
    let mut answer = String::new();
    let mut buffer = [0; 1024];
    while !answer.contains("\r\n\r\n") {
        let read = slow.read(&mut buffer).await.unwrap();
        assert!(read > 0, "closed without an answer: {answer}");
        answer.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    service.end().await;
}

#[tokio::test]
async fn a_client_that_does_not_finish_the_fields_is_cut_off() {
    let bounds = Bounds { head: Duration::from_millis(300), ..Bounds::default() };
    let service = Running::start(service_of(POLICY), bounds).await;
    // Nothing at all, the beginning of HTTP/2, and that of a request.
    for sent in ["", "P", "PRI * HTTP/2.0\r\n", "POST /v1/check HTTP/1.1\r\nhost"] {
        let mut slow = TcpStream::connect(service.address).await.unwrap();
        slow.write_all(sent.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        // Ends when the server closes the connection, whatever it says before.
        let closed = tokio::time::timeout(PATIENCE, slow.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "{sent:?}");
    }
    service.end().await;
}

#[tokio::test]
async fn more_connections_than_the_bound_wait_for_their_turn() {
    let bounds = Bounds { connections: 2, ..Bounds::default() };
    let service = Running::start(service_of(POLICY), bounds).await;
    let first = TcpStream::connect(service.address).await.unwrap();
    let second = TcpStream::connect(service.address).await.unwrap();
    let ask = tokio::spawn({
        let request = service.client.get(service.url("/healthz"));
        async move { request.send().await.unwrap().status() }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!ask.is_finished());
    drop((first, second));
    assert_eq!(ask.await.unwrap(), 200);
    service.end().await;
}

#[tokio::test]
async fn a_request_under_way_is_answered_before_the_server_ends() {
    let mut service = Running::start(service_of(POLICY), Bounds::default()).await;
    let mut open = TcpStream::connect(service.address).await.unwrap();
    open.write_all(HEAD).await.unwrap();
    open.write_all(b"{\"limiter\"").await.unwrap();
    // So that the server has begun with it.
    assert_eq!(service.get("/healthz").await.status(), 200);
    service.begin_end();
    tokio::time::sleep(Duration::from_millis(50)).await;
    open.write_all(b":\"all\"}").await.unwrap();
    let mut answer = String::new();
    open.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("granted"), "{answer}");
    assert!(TcpStream::connect(service.address).await.is_err());
    service.end().await;
}

#[tokio::test]
async fn http_2_is_spoken_too() {
    let service = Running::of(POLICY).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    let asks = (0..50).map(|_| {
        let request = client.post(service.url("/v1/check")).json(&json!({ "limiter": "all" }));
        tokio::spawn(async move {
            let response = request.send().await.unwrap();
            assert_eq!(response.version(), reqwest::Version::HTTP_2);
            response.json::<serde_json::Value>().await.unwrap()["decision"] == "granted"
        })
    });
    let mut granted = 0;
    for ask in asks.collect::<Vec<_>>() {
        granted += u32::from(ask.await.unwrap());
    }
    assert_eq!(granted, 5);
    service.end().await;
}

/// Looks until so many connections are open, one of which looks.
async fn until_open(service: &Running, number: u32) {
    let page = async || service.get("/metrics").await.text().await.unwrap();
    let line = format!("\nsluicegate_serve_open_connections {number}\n");
    let looks = async {
        while !page().await.contains(&line) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, looks).await.is_ok(), "{}", page().await);
}

#[tokio::test]
async fn a_client_that_asks_and_never_reads_is_cut_off() {
    let bounds = Bounds { head: Duration::from_millis(300), ..Bounds::default() };
    let service = Running::start(service_of(POLICY), bounds).await;
    let mut greedy = TcpStream::connect(service.address).await.unwrap();
    let asks = "GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n".repeat(1_000);
    // Until nothing more is taken from it, or the connection is gone.
    let writes = async { while greedy.write_all(asks.as_bytes()).await.is_ok() {} };
    assert!(tokio::time::timeout(PATIENCE, writes).await.is_ok());
    until_open(&service, 1).await;
    service.end().await;
}

/// The beginning of HTTP/2, with the settings of a client, which are none.
const HTTP_2: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// Frames of a client of HTTP/2 that leaves its window closed: settings with a window of 0, and a request for the
/// description by each stream.
fn closed_window(streams: u32) -> Vec<u8> {
    let mut frames = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    frames.extend(b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0");
    // GET, http, "/openapi.json" and "a", without an index.
    let fields = b"\x82\x86\x04\x0d/openapi.json\x01\x01a";
    for stream in 0..streams {
        frames.extend([0, 0, u8::try_from(fields.len()).unwrap(), 1, 5]);
        frames.extend((2 * stream + 1).to_be_bytes());
        frames.extend(fields);
    }
    frames
}

#[tokio::test]
async fn a_client_of_http_2_whose_window_stays_closed_is_cut_off_though_it_answers_pings() {
    let bounds = Bounds { head: Duration::from_millis(600), ..Bounds::default() };
    let service = Running::start(service_of(POLICY), bounds).await;
    let stalled = TcpStream::connect(service.address).await.unwrap();
    let (mut reader, mut writer) = stalled.into_split();
    writer.write_all(&closed_window(100)).await.unwrap();
    // Reads all frames, and answers each ping.
    let reads = async {
        let mut head = [0; 9];
        while reader.read_exact(&mut head).await.is_ok() {
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
            let mut rest = vec![0; length];
            reader.read_exact(&mut rest).await.unwrap_or_default();
            if head[3] == 6 && head[4] & 1 == 0 {
                let pong = [b"\0\0\x08\x06\x01\0\0\0\0".as_slice(), &rest].concat();
                let _ = writer.write_all(&pong).await;
            }
        }
    };
    assert!(tokio::time::timeout(PATIENCE, reads).await.is_ok(), "it was never cut off");
    until_open(&service, 1).await;
    service.end().await;
}

#[tokio::test]
async fn answers_that_nobody_reads_leave_no_space_for_more() {
    let bounds = Bounds { answers: 100_000, ..Bounds::default() };
    let service = Running::start(service_of(POLICY), bounds).await;
    let mut stalled = TcpStream::connect(service.address).await.unwrap();
    stalled.write_all(&closed_window(100)).await.unwrap();
    let full = async {
        while service.get("/healthz").await.status() != 503 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, full).await.is_ok());
    let refused = service.client.post(service.url("/v1/check"));
    let refused = refused.json(&json!({ "limiter": "all" })).send().await.unwrap();
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    drop(stalled);
    let free = async {
        while service.get("/healthz").await.status() != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, free).await.is_ok());
    // What was refused has taken nothing.
    assert_eq!(service.check(json!({ "limiter": "all", "cost": 0 })).await["remaining"], 5);
    service.end().await;
}

#[tokio::test]
async fn a_connection_of_http_2_that_is_idle_ends() {
    let idle = Duration::from_millis(100);
    let service = Running::start(service_of(POLICY), Bounds { idle, ..Bounds::default() }).await;
    // A client that goes on as it is told to, and one that never answers.
    let obeys = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    assert_eq!(obeys.get(service.url("/healthz")).send().await.unwrap().status(), 200);
    let mut silent = TcpStream::connect(service.address).await.unwrap();
    silent.write_all(HTTP_2).await.unwrap();
    let mut frames = Vec::new();
    let closed = tokio::time::timeout(PATIENCE, silent.read_to_end(&mut frames)).await;
    assert!(closed.is_ok());
    // GOAWAY, of stream 0.
    assert!(frames.windows(6).any(|bytes| bytes == [7, 0, 0, 0, 0, 0]), "{frames:?}");
    until_open(&service, 1).await;
    // The client connects again.
    assert_eq!(obeys.get(service.url("/healthz")).send().await.unwrap().status(), 200);
    service.end().await;
}

#[tokio::test]
async fn a_connection_of_http_2_whose_request_waits_is_not_idle() {
    let policy = r#"
        limiters.a = { policy = "token_bucket", key = "all", limit = 1, rate = { amount = 1, interval = "500 ms" }, wait = "1 minute" }
    "#;
    let idle = Duration::from_millis(50);
    let service = Running::start(service_of(policy), Bounds { idle, ..Bounds::default() }).await;
    let client = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    for _ in 0..2 {
        let ask = json!({ "limiter": "a", "wait": 60 });
        let answer = client.post(service.url("/v1/check")).json(&ask).send().await.unwrap();
        assert_eq!(answer.json::<serde_json::Value>().await.unwrap()["decision"], "granted");
    }
    service.end().await;
}
