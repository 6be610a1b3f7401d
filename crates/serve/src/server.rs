//! Connections, their bounds, and an end that loses no answer.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use http::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower_http::timeout::TimeoutLayer;

use crate::first_bytes::FirstBytes;

/// Bounds of a [`Server`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Most connections at a time. Others wait in the queue of the system until one has ended.
    pub connections: usize,
    /// Longest time for the fields of a request, and between two requests of a connection. In HTTP/2, for the
    /// answer to a ping: a connection may be idle as long as its client answers.
    pub head: Duration,
    /// Longest time for a request and its answer: 408 then.
    pub request: Duration,
    /// Longest time that the end of the server waits for requests under way.
    pub end: Duration,
}

impl Default for Bounds {
    /// 10,000 connections; 10 seconds for fields, for a request, and for the end.
    fn default() -> Bounds {
        let seconds = Duration::from_secs(10);
        Bounds { connections: 10_000, head: seconds, request: seconds, end: seconds }
    }
}

/// Serves routes over HTTP/1.1 and HTTP/2 without TLS, on any number of connections up to a bound.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    bounds: Bounds,
}

impl Server {
    /// Listens on an address; port 0 is one that is free.
    ///
    /// # Errors
    ///
    /// Those of the system: the address is in use, or is none of this machine.
    pub async fn bind(address: SocketAddr, bounds: Bounds) -> io::Result<Server> {
        Ok(Server { listener: TcpListener::bind(address).await?, bounds })
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
    /// **Cancel safety.** Dropping it ends the server at once; connections go on until their next
    /// request is answered, or time out.
    pub async fn run(self, routes: Router, end: impl Future<Output = ()>) {
        let Bounds { connections, head, request, end: last } = self.bounds;
        let routes =
            routes.layer(TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, request));
        let mut builder = auto::Builder::new(TokioExecutor::new());
        builder.http1().timer(TokioTimer::new()).header_read_timeout(head);
        builder.http2().timer(TokioTimer::new()).keep_alive_interval(head).keep_alive_timeout(head);
        let builder = Arc::new(builder);
        let space = Arc::new(Semaphore::new(connections.clamp(1, Semaphore::MAX_PERMITS)));
        let graceful = GracefulShutdown::new();
        let mut end = pin!(end);
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut end => break,
                accepted = accept(&self.listener, &space) => accepted,
            };
            let Some((stream, peer, place)) = accepted else { continue };
            let routes = routes.clone();
            let service = tower::service_fn(move |mut request: Request<_>| {
                request.extensions_mut().insert(ConnectInfo(peer));
                tower::Service::call(&mut routes.clone(), request)
            });
            let service = TowerToHyperService::new(service);
            let connection = builder
                .serve_connection(TokioIo::new(FirstBytes::new(stream, head)), service)
                .into_owned();
            let connection = graceful.watch(connection);
            tokio::spawn(async move {
                // A client that breaks off is no fault of the server.
                let _ = connection.await;
                drop(place);
            });
        }
        drop(self.listener);
        // What is still open then is cut off with the runtime.
        let _ = tokio::time::timeout(last, graceful.shutdown()).await;
    }
}

type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, space: &Arc<Semaphore>) -> Option<Accepted> {
    // The semaphore is never closed.
    let place = Arc::clone(space).acquire_owned().await.ok()?;
    if let Ok((stream, peer)) = listener.accept().await {
        // Answers are small; without this they may wait for an acknowledgement.
        let _ = stream.set_nodelay(true);
        return Some((stream, peer, place));
    }
    // Too many open files, or a connection that is gone again: to try at once would spin.
    tokio::time::sleep(Duration::from_millis(10)).await;
    None
}
