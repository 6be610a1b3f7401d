//! Crowds: ten thousand connections, clients that send a byte now and then, many streams of one
//! connection, and clients that go away.

use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sluicegate::{FixedWindow, Limiter, ManualClock, rate};
use tokio::net::TcpSocket;
use tokio::sync::{Notify, Semaphore};

use super::*;

const CONNECTIONS: usize = 10_000;
const CLIENTS: usize = 2_500;

/// Requests that each client may send. It has four connections.
const GRANTED: usize = 3;

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Tells the process of the clients which server it is to connect to.
const SERVER: &str = "SLUICEGATE_TEST_SERVER";

/// Raises the number of files that this process may have open, which is 1,024 on many machines.
fn allow_files(files: u64) {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    assert!(
        files <= most,
        "{files} open files, and at most {most} are allowed: raise `ulimit -Hn`"
    );
    let raised = limit.current.map(|current| current.max(files));
    setrlimit(Resource::Nofile, Rlimit { current: raised, maximum: limit.maximum }).unwrap();
}

/// A process may not be allowed as many files as both ends of all connections need, so the clients are
/// another one: the same test, started again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_connections_at_once_get_what_their_clients_may() {
    allow_files(CONNECTIONS as u64 + 500);
    if let Ok(server) = std::env::var(SERVER) {
        return connect_all(server.parse().unwrap()).await;
    }
    let store = KeyTable::<ClientKey>::with_keys(quota!(3 / day), 100_000).unwrap();
    let calls = Arc::new(Mutex::new(0));
    let count = Arc::clone(&calls);
    let hello = move || {
        *count.lock().unwrap() += 1;
        async { "hello" }
    };
    let app = Router::new().route("/", get(hello));
    let server = serve(app.layer(RateLimitLayer::new(Limit::per_client(store)))).await;
    let clients = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "axum::crowd::ten_thousand_connections_at_once_get_what_their_clients_may",
        ])
        .arg("--nocapture")
        .env(SERVER, server.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = tokio::task::spawn_blocking(|| clients.wait_with_output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(*calls.lock().unwrap(), CLIENTS * GRANTED);
}

/// Opens all connections, sends a request on each when all are open, and counts the answers of each client.
async fn connect_all(server: SocketAddr) {
    let connecting = Arc::new(Semaphore::new(500));
    let mut opening = JoinSet::new();
    for number in 0..CONNECTIONS {
        let connecting = Arc::clone(&connecting);
        opening.spawn(async move {
            let _turn = connecting.acquire().await.unwrap();
            let client = number % CLIENTS;
            (client, connected(server, Ipv4Addr::from_bits(0x7f01_0000 + client as u32)).await)
        });
    }
    let connections = opening.join_all().await;
    let mut answers = JoinSet::new();
    for (client, mut stream) in connections {
        answers.spawn(async move {
            stream.write_all(REQUEST).await.unwrap();
            (client, status_of(&mut stream).await, stream)
        });
    }
    let mut granted = vec![0; CLIENTS];
    // All connections stay open until the last has its answer.
    for (client, status, _stream) in answers.join_all().await {
        assert!(matches!(status, 200 | 429), "{status}");
        granted[client] += usize::from(status == 200);
    }
    assert_eq!(granted, vec![GRANTED; CLIENTS]);
}

/// Connects from an address of the loopback network.
async fn connected(server: SocketAddr, from: Ipv4Addr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::V4(from), 0)).unwrap();
    socket.connect(server).await.unwrap()
}

/// Reads the head of a response, and returns its status.
async fn status_of(stream: &mut TcpStream) -> u16 {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    std::str::from_utf8(&head[9..12]).unwrap().parse().unwrap()
}

/// A client takes a permit when the head of its request is whole, not before, and nobody waits for it.
#[tokio::test]
async fn clients_that_send_a_byte_now_and_then_hold_up_nobody_and_take_nothing_yet() {
    let window = Arc::new(FixedWindow::new(rate!(1_000 / day)).unwrap());
    let layer = RateLimitLayer::new(Limit::of_all(Arc::clone(&window)));
    let server = serve(hello().layer(layer)).await;
    let mut slow = Vec::new();
    for _ in 0..200 {
        slow.push(TcpStream::connect(server).await.unwrap());
    }
    let fast = client(false);
    let (last, start) = REQUEST.split_last().unwrap();
    for (sent, byte) in start.iter().enumerate() {
        for stream in &mut slow {
            stream.write_all(&[*byte]).await.unwrap();
        }
        assert_eq!(status(&fast, server, "/").await, 200);
        assert_eq!(window.peek(0).unwrap().remaining(), 999 - sent as u64);
    }
    for stream in &mut slow {
        stream.write_all(&[*last]).await.unwrap();
        assert_eq!(status_of(stream).await, 200);
    }
    assert_eq!(window.peek(0).unwrap().remaining(), 1_000 - start.len() as u64 - 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_of_one_connection_share_the_limit_of_their_client() {
    let store = KeyTable::<ClientKey>::with_keys(quota!(300 / day), 1_000).unwrap();
    let server = serve(hello().layer(RateLimitLayer::new(Limit::per_client(store)))).await;
    let one = client(true);
    // The connection is there before the streams, so that all of them are its own.
    assert_eq!(status(&one, server, "/").await, 200);
    let mut streams = JoinSet::new();
    for _ in 0..2_000 {
        let one = one.clone();
        streams.spawn(async move { status(&one, server, "/").await });
    }
    let statuses = streams.join_all().await;
    let count = |status| statuses.iter().filter(|other| **other == status).count();
    assert_eq!((count(200), count(429)), (299, 1_701));
}

/// A client that resets its streams as soon as it has opened them keeps a server at work, so each counts.
#[tokio::test]
async fn requests_of_a_client_that_goes_away_count_and_the_service_is_told() {
    for is_http2 in [false, true] {
        let clock = Arc::new(ManualClock::new());
        let bucket = Arc::new(TokenBucket::with_clock(quota!(20 / day), Arc::clone(&clock)));
        let (begun, gone) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let app = {
            let (begun, gone) = (Arc::clone(&begun), Arc::clone(&gone));
            let wait = get(move || async move {
                let _told = Told(gone);
                begun.notify_one();
                std::future::pending::<&str>().await
            });
            Router::new().route("/wait", wait).route("/", get(|| async { "hello" }))
        };
        let layer = RateLimitLayer::new(Limit::of_all(Arc::clone(&bucket)));
        let server = serve(app.layer(layer)).await;
        let leaving = client(is_http2);
        for number in 1..=20 {
            let request = tokio::spawn({
                let leaving = leaving.clone();
                async move { status(&leaving, server, "/wait").await }
            });
            begun.notified().await;
            request.abort();
            gone.notified().await;
            assert_eq!(bucket.peek(0).unwrap().remaining(), 20 - number, "HTTP/2: {is_http2}");
        }
        assert_eq!(status(&client(is_http2), server, "/").await, 429);
        clock.advance(Duration::from_secs(86_400));
        assert_eq!(status(&leaving, server, "/").await, 200);
    }
}

/// Tells that a handler was dropped.
struct Told(Arc<Notify>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}
