//! An axum server with and without a layer, over real connections on loopback: processor time of the
//! server for a request, and throughput.
//!
//! ```text
//! cargo run --release -p sluicegate-http-benches --bin loopback -- [ROUNDS [REQUESTS]]
//! ```
//!
//! Each subject has a turn in each round, in an order that rotates. The server is one thread, whose
//! processor time is read at the end of a turn, and its clients are another. What a layer adds is compared
//! with the bare server of the same round.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use sluicegate_http_benches::{Outcome, Subject, router};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// Requests of a hundred that are refused, in the rows of mixed traffic.
const REFUSED_PERCENT: [u32; 3] = [1, 5, 20];

/// Connections that send a request each before the answers are read.
const CONNECTIONS: u32 = 32;

const REQUEST: &[u8] =
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUser-Agent: loopback\r\nAccept: */*\r\n\r\n";

/// The figures of a turn.
#[derive(Clone, Copy)]
struct Turn {
    /// Processor time of the server for a request.
    server: Duration,
    /// Requests a second.
    throughput: f64,
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse().expect("a number"));
    let rounds: u32 = arguments.next().unwrap_or(15);
    let requests: u32 = arguments.next().unwrap_or(64_000);
    println!("{rounds} rounds of {requests} requests over {CONNECTIONS} connections");
    let sent = requests / CONNECTIONS * CONNECTIONS;
    let mixed = REFUSED_PERCENT.map(|percent| Outcome::AllowFirst(sent - sent * percent / 100));
    for outcome in [Outcome::Allow, Outcome::Deny].into_iter().chain(mixed) {
        let mut turns = Subject::ALL.map(|_| Vec::new());
        for round in 0..rounds {
            for place in 0..Subject::ALL.len() {
                let which = (round as usize + place) % Subject::ALL.len();
                turns[which].push(turn(Subject::ALL[which], outcome, requests));
            }
        }
        report(outcome, sent, &turns);
    }
}

fn report(outcome: Outcome, sent: u32, turns: &[Vec<Turn>; Subject::ALL.len()]) {
    println!(
        "\n{outcome:?} of {sent}: server's processor time for a request, and throughput, medians"
    );
    let bare = &turns[0];
    for (subject, own) in Subject::ALL.into_iter().zip(turns) {
        let pairs = || own.iter().zip(bare);
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let time = spread(own.iter().map(|turn| micros(turn.server)));
        let added = spread(pairs().map(|(own, bare)| micros(own.server) - micros(bare.server)));
        let ratio = spread(pairs().map(|(own, bare)| own.throughput / bare.throughput));
        println!(
            "{:<21} {:>6.2} us   added {:>6.2} us ({:.2} to {:.2})   throughput {:.3} of bare ({:.3} to {:.3})",
            subject.name(),
            time[1],
            added[1],
            added[0],
            added[2],
            ratio[1],
            ratio[0],
            ratio[2],
        );
    }
}

/// Returns the quartiles.
fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let last = values.len() - 1;
    [1, 2, 3].map(|quarter| values[last * quarter / 4])
}

fn turn(subject: Subject, outcome: Outcome, requests: u32) -> Turn {
    let (tell_address, address) = std::sync::mpsc::channel();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_io().build().expect("a runtime");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            tell_address.send(listener.local_addr().expect("an address")).expect("a client");
            let app = router(subject, outcome);
            let app = app.into_make_service_with_connect_info::<SocketAddr>();
            tokio::spawn(async move { axum::serve(listener, app).await });
            let start = ThreadTime::now();
            let _ = stopped.await;
            start.elapsed()
        })
    });
    let address = address.recv().expect("a server");
    let mut clients: Vec<Connection> = (0..CONNECTIONS).map(|_| Connection::new(address)).collect();
    let begun = Instant::now();
    let mut refused = 0;
    for _ in 0..requests / CONNECTIONS {
        for client in &mut clients {
            client.stream.write_all(REQUEST).expect("an open connection");
        }
        for client in &mut clients {
            match client.status() {
                200 => {}
                429 => refused += 1,
                other => panic!("{subject:?}: {other}"),
            }
        }
    }
    let elapsed = begun.elapsed();
    stop.send(()).expect("a server");
    let server = server.join().expect("no panic");
    let requests = requests / CONNECTIONS * CONNECTIONS;
    let passed = match outcome {
        Outcome::Deny if subject.has_limit() => 1,
        Outcome::AllowFirst(passed) if subject.has_limit() => passed,
        _ => requests,
    };
    assert_eq!(refused, requests - passed, "{subject:?}, {outcome:?}");
    Turn { server: server / requests, throughput: f64::from(requests) / elapsed.as_secs_f64() }
}

struct Connection {
    stream: TcpStream,
    buffer: [u8; 2_048],
}

impl Connection {
    fn new(server: SocketAddr) -> Connection {
        let stream = TcpStream::connect(server).expect("a server");
        stream.set_nodelay(true).expect("a socket");
        Connection { stream, buffer: [0; 2_048] }
    }

    /// Reads a whole response, and returns its status.
    fn status(&mut self) -> u16 {
        let mut read = 0;
        loop {
            let bytes = self.stream.read(&mut self.buffer[read..]).expect("an open connection");
            assert!(bytes > 0, "the server closed the connection");
            read += bytes;
            let text = &self.buffer[..read];
            if let Some(head) = text.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let lines = std::str::from_utf8(&text[..head]).expect("text");
                let length = lines.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.expect("a length").parse().expect("a number");
                if read == head + 4 + length {
                    return lines[9..12].parse().expect("a status");
                }
            }
        }
    }
}
