//! A proxy between clients and a server that delays or swallows what it forwards, cuts connections, and leads to another
//! server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, tcp};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::server::Server;

/// A proxy on a port of its own. Ends when it is dropped.
pub(crate) struct Proxy {
    port: u16,
    faults: Arc<Faults>,
    cut: watch::Sender<u64>,
    accepting: JoinHandle<()>,
}

/// The faults of the link. All are counted from now on, and none happen while they are 0.
#[derive(Default)]
struct Faults {
    /// Time by which each answer is late.
    delay_millis: AtomicU64,
    /// Connections end before a request is forwarded, each time after so many.
    cut_requests: AtomicU64,
    /// Connections end after a request was forwarded, before its answer is: each time after so many.
    cut_answers: AtomicU64,
    /// Pieces that were forwarded, either way.
    requests: AtomicU64,
    answers: AtomicU64,
    /// New connections end at once, unless this is 0.
    refuses: AtomicU64,
    /// Connections so far, and the number of those that swallow everything.
    connections: AtomicU64,
    silent: AtomicU64,
    /// The port of the server, for new connections.
    to: AtomicU16,
}

impl Faults {
    /// Returns whether the next piece of a direction is to be lost.
    fn cuts(count: &AtomicU64, each: &AtomicU64) -> bool {
        let each = each.load(SeqCst);
        each > 0 && (count.fetch_add(1, SeqCst) + 1).is_multiple_of(each)
    }
}

impl Proxy {
    pub(crate) async fn start(server: &Server) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, faults) = (listener.local_addr().unwrap().port(), Arc::new(Faults::default()));
        let (cut, cuts) = watch::channel(0);
        faults.to.store(server.port(), SeqCst);
        let shared = Arc::clone(&faults);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if shared.refuses.load(SeqCst) == 0 {
                    let number = shared.connections.fetch_add(1, SeqCst);
                    tokio::spawn(forward(client, number, Arc::clone(&shared), cuts.clone()));
                }
            }
        });
        Proxy { port, faults, cut, accepting }
    }

    pub(crate) fn client(&self) -> redis::Client {
        redis::Client::open(self.url()).unwrap()
    }

    /// Makes each answer late.
    pub(crate) fn delay(&self, by: Duration) {
        self.faults.delay_millis.store(by.as_millis() as u64, SeqCst);
    }

    /// Loses one of so many requests, and the connection; none for 0.
    pub(crate) fn lose_requests(&self, each: u64) {
        self.faults.cut_requests.store(each, SeqCst);
    }

    /// Loses one of so many answers, and the connection; none for 0.
    pub(crate) fn lose_answers(&self, each: u64) {
        self.faults.cut_answers.store(each, SeqCst);
    }

    /// Ends all connections, and accepts no others until `mend`.
    pub(crate) fn cut(&self) {
        self.faults.refuses.store(1, SeqCst);
        self.cut.send_modify(|number| *number += 1);
    }

    /// Swallows from now on what the connections carry that there are, and leaves them open. New ones work.
    pub(crate) fn silence(&self) {
        self.faults.silent.store(self.faults.connections.load(SeqCst), SeqCst);
    }

    /// Leads new connections to another server, as an address does that moves. Those that there are stay.
    pub(crate) fn lead_to(&self, server: &Server) {
        self.faults.to.store(server.port(), SeqCst);
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> u64 {
        self.faults.connections.load(SeqCst)
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub(crate) fn mend(&self) {
        self.faults.refuses.store(0, SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Forwards a connection until an end of it closes, or a fault.
async fn forward(
    client: TcpStream,
    number: u64,
    faults: Arc<Faults>,
    mut cuts: watch::Receiver<u64>,
) {
    let to = faults.to.load(SeqCst);
    let Ok(server) = TcpStream::connect(("127.0.0.1", to)).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    cuts.mark_unchanged();
    let cut = async { _ = cuts.changed().await };
    let is_silent = || number < faults.silent.load(SeqCst);
    let requests = pass(from_client, to_server, is_silent, || {
        (0, Faults::cuts(&faults.requests, &faults.cut_requests))
    });
    let answers = pass(from_server, to_client, is_silent, || {
        let delay_millis = faults.delay_millis.load(SeqCst);
        (delay_millis, Faults::cuts(&faults.answers, &faults.cut_answers))
    });
    tokio::select! {
        () = cut => {}
        () = requests => {}
        () = answers => {}
    }
}

/// Passes bytes on, or swallows them. For each piece, `fault` tells the milliseconds by which it is late, and whether it
/// is lost.
async fn pass(
    mut from: tcp::OwnedReadHalf,
    mut to: tcp::OwnedWriteHalf,
    is_silent: impl Fn() -> bool,
    fault: impl Fn() -> (u64, bool),
) {
    let mut buffer = vec![0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        if is_silent() {
            continue;
        }
        let (late_millis, is_lost) = fault();
        tokio::time::sleep(Duration::from_millis(late_millis)).await;
        if is_lost || to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
