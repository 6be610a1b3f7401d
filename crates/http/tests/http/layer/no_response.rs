//! Requests without a response: an adaptive limit learns from them what it is told to.

use std::future::pending;

use sluicegate_flow::concurrency::{Adaptive, Aimd};
use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};

use super::*;

type Said = fn(NoResponse) -> bool;

const INITIAL: u64 = 8;

fn adaptive() -> Arc<Adaptive<Aimd>> {
    Arc::new(Adaptive::new(Aimd::new().with_initial(INITIAL)))
}

/// Returns a layer that learns from what `said` says, or by default.
fn layer(adaptive: &Arc<Adaptive<Aimd>>, said: Option<Said>) -> RateLimitLayer {
    let concurrency = Concurrency::new(Arc::clone(adaptive));
    let concurrency = match said {
        Some(said) => concurrency.overload_without_response(said),
        None => concurrency,
    };
    RateLimitLayer::new(Limit::of_all(concurrency))
}

/// Sends a request to a service that never responds, with a time limit in the layer; to one that fails; or to one that
/// never responds, and drops the response.
async fn send_without_response(layer: RateLimitLayer, why: NoResponse) {
    let silent = service_fn(|_: Request<Body>| async {
        pending::<()>().await;
        Err::<Response<Full<Bytes>>, _>("never")
    });
    match why {
        NoResponse::TimedOut => {
            let limit = TimeLimit::new(Duration::from_millis(2)).unwrap();
            let layer = layer.time_limit(TimeLimiter::new("service", limit));
            let response = layer.layer(silent).oneshot(request("192.0.2.1")).await.unwrap();
            assert_eq!(response.status(), 503);
        }
        NoResponse::Failed => {
            let fails = service_fn(|_: Request<Body>| async {
                Err::<Response<Full<Bytes>>, _>("timed out inside")
            });
            let answer = layer.layer(fails).oneshot(request("192.0.2.1")).await;
            assert_eq!(answer.unwrap_err(), "timed out inside");
        }
        NoResponse::Dropped => {
            let mut response = Box::pin(layer.layer(silent).oneshot(request("192.0.2.1")));
            assert!(polled(&mut response).is_none());
        }
        other => panic!("{other:?}"),
    }
}

/// Polls a future once.
fn polled<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

const ALL: [NoResponse; 3] = [NoResponse::TimedOut, NoResponse::Failed, NoResponse::Dropped];

#[tokio::test]
async fn an_adaptive_limit_learns_from_missing_responses_what_it_is_told_to() {
    let cases: [(Option<Said>, [bool; 3]); 5] = [
        (None, [true, false, false]),
        (Some(|_| false), [false; 3]),
        (Some(|_| true), [true; 3]),
        (Some(|why| why == NoResponse::Failed), [false, true, false]),
        (Some(|why| why == NoResponse::Dropped), [false, false, true]),
    ];
    for (case, (said, learns)) in cases.into_iter().enumerate() {
        for (why, is_overload) in ALL.into_iter().zip(learns) {
            let adaptive = adaptive();
            send_without_response(layer(&adaptive, said), why).await;
            assert_eq!(adaptive.in_flight(), 0, "{why:?}");
            let is_lower = adaptive.limit() < INITIAL;
            assert_eq!(is_lower, is_overload, "case {case}, {why:?}: {}", adaptive.limit());
        }
    }
}

/// A place that is given back at once, as another limit refuses, tells nothing.
#[tokio::test]
async fn a_place_that_is_given_back_at_once_is_no_missing_response() {
    let adaptive = adaptive();
    let used_up = TokenBucket::new(quota!(1 / day));
    let places = Concurrency::new(Arc::clone(&adaptive)).overload_without_response(|_| true);
    let named = |limit: Limit, name| limit.policy(QuotaPolicy::new(1).named(name).unwrap());
    let twice = Arc::new(used_up);
    let limits = [
        named(Limit::of_all(places), "places"),
        // The look at both grants, and the second call refuses.
        named(Limit::of_all(Arc::clone(&twice)), "a"),
        named(Limit::of_all(twice), "b"),
    ];
    let server = Server::new(RateLimitLayer::all_of(limits).unwrap());
    assert_eq!(server.status(request("192.0.2.1")).await, 429);
    assert_eq!((adaptive.in_flight(), adaptive.limit()), (0, INITIAL));
}

/// A response whose body is dropped is a response, and tells nothing.
#[tokio::test]
async fn a_response_that_is_not_read_is_no_missing_response() {
    let adaptive = adaptive();
    let service = service_fn(|_: Request<Body>| async {
        Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("hello"))))
    });
    let layer = layer(&adaptive, Some(|_| true));
    let response = layer.layer(service).oneshot(request("192.0.2.1")).await.unwrap();
    assert_eq!(adaptive.in_flight(), 1);
    drop(response);
    assert_eq!((adaptive.in_flight(), adaptive.limit()), (0, INITIAL));
}
