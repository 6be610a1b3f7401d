//! The layer allocates nothing for a request that passes. Counted for the calling thread.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use sluicegate::{KeyTable, Keyed, TokenBucket, quota};
use sluicegate_http::client_address::{ClientAddress, ClientKey, Trust};
use sluicegate_http::fields::{FieldVersion, QuotaPolicy, ResetAs};
use sluicegate_http::layer::{Limit, Peer, RateLimitLayer};
use tower::{Layer, Service, service_fn};

use self::allocator::allocations;

#[path = "../../../../tests/support/allocator.rs"]
mod allocator;

type Answer = Ready<Result<Response<Full<Bytes>>, Infallible>>;

/// Sends a request through a clone of a service, and returns how often the layer has allocated.
fn allocations_of(layer: &RateLimitLayer, key: &'static str) -> (u64, u16) {
    let hello = |_: Request<()>| -> Answer { ready(Ok(Response::new(Full::default()))) };
    let service = layer.layer(service_fn(hello));
    let mut request = Request::new(());
    let peer = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7)), 4711);
    request.extensions_mut().insert(Peer(peer));
    request.headers_mut().insert("x-forwarded-for", "1.1.1.1, 203.0.113.9".parse().unwrap());
    request.headers_mut().insert("x-api-key", key.parse().unwrap());
    let mut status = 0;
    let made = allocations(|| {
        let mut service = service.clone();
        let mut context = Context::from_waker(Waker::noop());
        assert!(service.poll_ready(&mut context).is_ready());
        let response = pin!(service.call(request));
        if let Poll::Ready(Ok(response)) = response.poll(&mut context) {
            status = response.status().as_u16();
        }
    });
    (made, status)
}

fn clients() -> KeyTable<ClientKey> {
    KeyTable::with_keys(quota!(100 / hour), 1_000).unwrap()
}

#[test]
fn a_request_that_passes_allocates_nothing() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1, "the counter counts");
    let quota = quota!(100 / hour);
    let behind = || ClientAddress::x_forwarded_for(Trust::networks(["10.0.0.0/8"]).unwrap());
    let users = Arc::new(Keyed::<String>::new(quota));
    users.try_acquire("ada", 1).unwrap();
    users.try_acquire("203.0.113.9", 1).unwrap();
    let limits: [&dyn Fn() -> Limit; 6] = [
        &|| Limit::of_all(TokenBucket::new(quota)),
        &|| Limit::of_all(TokenBucket::new(quota)).cost(|parts| parts.headers.len() as u64),
        &|| Limit::per_client(clients()),
        &|| Limit::per_client(clients()).addresses(behind()),
        &|| Limit::per_client_text(Arc::clone(&users)).addresses(behind()),
        &|| {
            Limit::per_key(Arc::clone(&users), |parts| {
                parts.headers.get("x-api-key").and_then(|key| key.to_str().ok()).into()
            })
        },
    ];
    for limit in limits {
        let plain = RateLimitLayer::new(limit());
        // With an option, requests do not take the short way.
        let with_options = RateLimitLayer::new(limit()).skip(|_| false).skip_preflight();
        for layer in [plain, with_options, RateLimitLayer::new(limit()).shadow()] {
            for _ in 0..10 {
                assert_eq!(allocations_of(&layer, "ada"), (0, 200), "{layer:?}");
            }
        }
    }
    let empty = TokenBucket::new(quota);
    empty.drain();
    let (made, status) = allocations_of(&RateLimitLayer::new(Limit::of_all(empty)), "ada");
    assert!(made > 0 && status == 429, "a refusal has a body");
}

/// The map of the response's fields allocates twice when it gets its first one, and the server would make it do
/// so anyway.
#[test]
fn fields_allocate_for_their_values_and_for_the_state_until_the_response_is_there() {
    let seconds = FieldVersion::Legacy(ResetAs::SecondsLeft);
    for (version, values, texts) in
        [(seconds, 3, 0), (FieldVersion::Draft6, 4, 0), (FieldVersion::Draft8, 2, 1)]
    {
        let policy = QuotaPolicy::from(quota!(100 / hour));
        let limit = Limit::per_client(clients()).policy(policy);
        let layer = RateLimitLayer::new(limit).fields(version);
        for _ in 0..10 {
            let (map, state) = (2, 2);
            assert_eq!(
                allocations_of(&layer, ""),
                (map + state + values + texts, 200),
                "{version:?}"
            );
        }
    }
}
