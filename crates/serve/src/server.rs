//! Connections, their bounds, and an end that loses no answer.
//!
//! | file | |
//! |---|---|
//! | `answers` | the answers to the requests of one connection |
//! | `guard` | requests that pages of other sites make in a browser |
//! | `timed_stream` | bounds on the time until the version of HTTP is known, and until a client takes its answer |
//! | `activity` | the requests of a connection, so that one that is idle can be told |

mod activity;
mod answers;
mod guard;
mod timed_stream;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use axum::Router;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use sluicegate_flow::concurrency::ConcurrencyLimit;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use self::activity::Activity;
use self::answers::{Answers, Decisions};
use self::guard::Guard;
use self::timed_stream::TimedStream;
use crate::answer_body::Untaken;
use crate::metrics::{Metrics, RouteCounts};
use crate::service::Service;

/// Most bytes of the fields of a request of HTTP/1.1.
const MAX_FIELDS_BYTES: usize = 64 << 10;

/// Most bytes that a request of HTTP/2 may send of its body before they are read.
const WINDOW_BYTES: u32 = 64 << 10;

/// Bounds of a [`Server`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most connections at a time. Others wait in the queue of the system until one has ended. 0 counts as 1.
    pub connections: usize,
    /// Longest time for the fields of a request, and between two requests of a connection of HTTP/1.1. In
    /// HTTP/2, for the answer to a ping. In both, for a client to take a part of an answer.
    pub head: Duration,
    /// Longest time for the body of a request: 408 then.
    pub body: Duration,
    /// Most bytes that the bodies of all requests under way may have together, from when they are read until the
    /// request is answered. A piece of a body that has fewer than 256 counts as 256. A check that waits in line keeps no
    /// body if the server is [deciding](Server::deciding). A request whose body finds no space is answered 503, and told to come
    /// again. More than 2^31 - 1 is taken as that.
    pub bodies: usize,
    /// Most bytes of answers that clients have not taken yet, of all connections together. While there are more, requests are
    /// answered 503 before anything is decided. One connection may leave 1 MiB.
    pub answers: usize,
    /// Longest time that a connection of HTTP/2 may be without a request. It is told to end then, at the latest
    /// after twice that time, and cut off if it has not after as long again.
    pub idle: Duration,
    /// Longest time that the end of the server waits for requests under way.
    pub end: Duration,
}

impl Default for Bounds {
    /// 10,000 connections; 10 seconds for fields, for a body, and for the end; 64 MiB of bodies, and of answers; 5 minutes without
    /// a request.
    fn default() -> Bounds {
        let seconds = Duration::from_secs(10);
        Bounds {
            connections: 10_000,
            head: seconds,
            body: seconds,
            bodies: 64 << 20,
            answers: 64 << 20,
            idle: Duration::from_secs(300),
            end: seconds,
        }
    }
}

/// Serves routes over HTTP/1.1 and HTTP/2 without TLS, on any number of connections up to a bound.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    bounds: Bounds,
    metrics: Option<Metrics>,
    service: Option<Service>,
    guard: Guard,
}

impl Server {
    /// Listens on an address; port 0 is one that is free.
    ///
    /// # Errors
    ///
    /// Those of the system: the address is in use, or is none of this machine.
    pub async fn bind(address: SocketAddr, bounds: Bounds) -> io::Result<Server> {
        Ok(Server {
            listener: TcpListener::bind(address).await?,
            bounds,
            metrics: None,
            service: None,
            guard: Guard::default(),
        })
    }

    /// Counts connections and requests in `metrics`.
    #[must_use]
    pub fn counted(self, metrics: &Metrics) -> Server {
        Server { metrics: Some(metrics.clone()), ..self }
    }

    /// Answers checks, batches and peeks by `service` itself, without looking through the routes, for fewer
    /// instructions. The answers are the same bytes as those of [`api::routes`](crate::api::routes), but a layer
    /// around the routes does not see these requests.
    #[must_use]
    pub fn deciding(self, service: &Service) -> Server {
        Server { service: Some(service.clone()), ..self }
    }

    /// Names hosts by which the service may be addressed, such as `limits.example`, or `*.example.org` for all names below it,
    /// besides addresses, `localhost` and names without a point. A request of HTTP/1.x with another `Host` gets 421: its name
    /// may be that of a stranger, whose page has been led to this service (DNS rebinding).
    #[must_use]
    pub fn allow_hosts(self, hosts: &[String]) -> Server {
        Server { guard: Guard::new(hosts), ..self }
    }

    /// Returns the address that it listens on.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `end` is ready. Then no connection is taken any more, and each is closed once its
    /// request is answered, at the latest after [`Bounds::end`].
    ///
    /// **Cancel safety.** Dropping it ends the server at once; each connection is closed once its request is
    /// answered.
    pub async fn run(self, routes: Router, end: impl Future<Output = ()>) {
        let Server { listener, bounds, metrics, service, guard } = self;
        let decisions = service.map(|service| Decisions::new(service, metrics.as_ref()));
        let refusals = metrics.as_ref().map(|metrics| metrics.requests().without_route());
        let routes = match &metrics {
            Some(metrics) => routes.layer(metrics.requests().clone()),
            None => routes,
        };
        let connections = u32::try_from(bounds.connections.clamp(1, Semaphore::MAX_PERMITS));
        let connections = connections.unwrap_or(u32::MAX);
        let places = Arc::new(Semaphore::new(connections as usize));
        let (ending, ended) = watch::channel(());
        let (http, bodies) =
            (Arc::new(http(&bounds)), Arc::new(ConcurrencyLimit::new(bounds.bodies as u64)));
        let untaken = Arc::default();
        let connect =
            Connect { http, routes, decisions, refusals, guard, bounds, bodies, untaken, ended };
        let mut end = pin!(end);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut end => break,
                accepted = accept(&listener, &places) => accepted,
            };
            let Some((stream, peer, place)) = accepted else { continue };
            let open = metrics.as_ref().map(|metrics| metrics.connections().accept());
            let connection = connect.clone().serve(stream, peer);
            tokio::spawn(async move {
                connection.await;
                drop((place, open));
            });
        }
        drop((listener, ending));
        // All places are free when all connections have ended. What is still open then is cut off with the
        // runtime.
        let _ = tokio::time::timeout(bounds.end, places.acquire_many(connections)).await;
    }
}

fn http(bounds: &Bounds) -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(bounds.head);
    builder.http1().max_buf_size(MAX_FIELDS_BYTES);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new());
    http2.keep_alive_interval(bounds.head).keep_alive_timeout(bounds.head);
    // Not that of the connection too: it bounds the number of small frames, such as questions of Envoy.
    http2.initial_stream_window_size(WINDOW_BYTES);
    builder
}

/// The parts that all connections have in common.
#[derive(Clone)]
struct Connect {
    http: Arc<auto::Builder<TokioExecutor>>,
    routes: Router,
    decisions: Option<Decisions>,
    /// Counts of requests that are refused before a route is found.
    refusals: Option<Arc<RouteCounts>>,
    guard: Guard,
    bounds: Bounds,
    bodies: Arc<ConcurrencyLimit>,
    /// The bytes of answers that are not taken yet.
    untaken: Arc<AtomicUsize>,
    /// Closed when the server ends.
    ended: watch::Receiver<()>,
}

impl Connect {
    /// Serves a connection until it is closed: by its client, or because it is idle, or by the server's end.
    async fn serve(mut self, stream: TcpStream, peer: SocketAddr) {
        let Connect { http, routes, decisions, refusals, guard, bounds, bodies, untaken, .. } =
            self;
        let Bounds { head, body, idle, answers, .. } = bounds;
        let activity = Activity::default();
        let untaken = Untaken::new(&untaken, answers);
        let answers = Arc::new(Answers {
            routes,
            decisions,
            refusals,
            guard,
            peer,
            body,
            bodies,
            activity: activity.clone(),
            untaken: Arc::clone(&untaken),
        });
        let service = service_fn(move |request| Arc::clone(&answers).answer(request));
        let stream = TokioIo::new(TimedStream::new(stream, head));
        let mut connection = pin!(http.serve_connection(stream, service));
        // A client that breaks off is no fault of the server.
        tokio::select! {
            biased;
            _ = connection.as_mut() => {}
            () = untaken.stalled(head) => {}
            _ = self.ended.changed() => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
            () = activity.idle(idle) => {
                connection.as_mut().graceful_shutdown();
                let _ = tokio::time::timeout(idle, connection).await;
            }
        }
    }
}

type Accepted = (TcpStream, SocketAddr, OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, places: &Arc<Semaphore>) -> Option<Accepted> {
    // The semaphore is never closed.
    let place = Arc::clone(places).acquire_owned().await.ok()?;
    if let Ok((stream, peer)) = listener.accept().await {
        // Answers are small; without this they may wait for an acknowledgement.
        let _ = stream.set_nodelay(true);
        return Some((stream, peer, place));
    }
    // Too many open files, or a connection that is gone again: to try at once would spin.
    tokio::time::sleep(Duration::from_millis(10)).await;
    None
}
