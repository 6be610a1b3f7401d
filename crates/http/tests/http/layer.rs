//! The layer around a service that counts its calls: decisions, keys, costs and refusals.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use sluicegate::keyed::Buckets;
use sluicegate::{FixedWindow, Keyed, Limiter, ManualClock, SlidingLog, TokenBucket, quota, rate};
use sluicegate_http::client_address::{
    ClientAddress, ClientKey, Trust, UnknownClient, WhenUnknown,
};
use sluicegate_http::fields::{FieldVersion, Problem, ProblemType, QuotaPolicy, ResetAs};
use sluicegate_http::layer::*;
use tower::{Layer, ServiceExt, service_fn};

mod body;
mod both_ways;
mod counted_once;
mod counts;
mod keys;
mod known_faults;
mod no_response;
mod options;
mod penalized;
mod plain;
mod service;
mod settled;
mod several;
mod shares;

type Body = Vec<u8>;
type Fields = &'static [(&'static str, &'static str)];
type Clock = Arc<ManualClock>;

fn clock() -> Clock {
    Arc::new(ManualClock::new())
}

/// A limiter of two requests, and one more each second.
fn two(clock: &Clock) -> Arc<TokenBucket<Clock>> {
    Arc::new(TokenBucket::with_clock(quota!(1 / second, burst 2), Arc::clone(clock)))
}

fn per_client(clock: &Clock) -> Limit {
    Limit::per_client(Keyed::<ClientKey, _>::with(Buckets::with_clock(
        quota!(1 / second, burst 2),
        Arc::clone(clock),
    )))
}

fn request(peer: &str) -> Request<Body> {
    let mut request = Request::new(Vec::new());
    if !peer.is_empty() {
        let address: IpAddr = peer.parse().unwrap();
        request.extensions_mut().insert(Peer(SocketAddr::new(address, 4711)));
    }
    request
}

fn with(mut request: Request<Body>, fields: &[(&'static str, &str)]) -> Request<Body> {
    for (name, value) in fields {
        request.headers_mut().append(*name, value.parse().unwrap());
    }
    request
}

/// Reads the body of a response.
async fn read(response: Response<LimitedBody<Full<Bytes>>>) -> Response<Body> {
    let (parts, body) = response.into_parts();
    Response::from_parts(parts, body.collect().await.unwrap().to_bytes().to_vec())
}

/// A server behind a layer, and how often it was called.
struct Server {
    layer: RateLimitLayer,
    calls: Arc<AtomicUsize>,
}

impl Server {
    fn new(layer: RateLimitLayer) -> Server {
        Server { layer, calls: Arc::default() }
    }

    /// Sends a request through a service of its own, as a new connection does.
    async fn send(&self, request: Request<Body>) -> Response<Body> {
        let calls = Arc::clone(&self.calls);
        let service = service_fn(move |_: Request<Body>| {
            calls.fetch_add(1, Ordering::SeqCst);
            async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello")))) }
        });
        read(self.layer.layer(service).oneshot(request).await.unwrap()).await
    }

    async fn status(&self, request: Request<Body>) -> u16 {
        self.send(request).await.status().as_u16()
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

fn names(response: &Response<Body>) -> Vec<&str> {
    let mut names: Vec<_> = response.headers().keys().map(http::HeaderName::as_str).collect();
    names.sort_unstable();
    names
}
