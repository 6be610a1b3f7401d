//! The short way of requests through a layer of one limit: it answers as the long way does, and asks the limiter
//! as often.

use sluicegate::compose::Counted;
use sluicegate::penalty::{PenaltyBox, PenaltyRule};
use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};

use super::*;

type NewLimit = fn(&Clock) -> Limit;

/// A skip rule makes requests take the long way.
fn long(layer: RateLimitLayer) -> RateLimitLayer {
    layer.skip(|_| false)
}

#[tokio::test]
async fn both_ways_give_the_same_answers_and_counts() {
    let limits: [(&str, NewLimit); 5] = [
        ("all", |clock| Limit::of_all(two(clock))),
        ("client", per_client),
        ("behind a proxy", |clock| {
            let trust = Trust::networks(["10.0.0.0/8"]).unwrap();
            per_client(clock).addresses(ClientAddress::x_forwarded_for(trust))
        }),
        ("unknown clients pass", |clock| {
            per_client(clock).addresses(ClientAddress::of_peer().when_unknown(WhenUnknown::Admit))
        }),
        ("a penalty", |clock| {
            let rule = PenaltyRule::new(rate!(1 / minute), Duration::from_secs(60)).unwrap();
            let offenders = PenaltyBox::with_clock(rule, Arc::clone(clock));
            offenders.offend(1);
            Limit::of_all(Penalized::by_refusals(Arc::new(offenders)))
        }),
    ];
    let peers = ["", "192.0.2.1", "10.0.0.1", "192.0.2.1", "2001:db8::1", "192.0.2.1", ""];
    for (name, limit) in limits {
        for is_shadow in [false, true] {
            let layer = |clock: &Clock| {
                let layer = RateLimitLayer::new(limit(clock));
                if is_shadow { layer.shadow() } else { layer }
            };
            let clock = clock();
            let short = Server::new(layer(&clock));
            let long = Server::new(long(layer(&clock)));
            for peer in peers {
                let request = || with(request(peer), &[("x-forwarded-for", "203.0.113.9")]);
                let (short, long) = (short.send(request()).await, long.send(request()).await);
                let told = |response: &Response<Body>| {
                    (response.status(), response.headers().clone(), response.body().clone())
                };
                assert_eq!(told(&short), told(&long), "{name} {peer} shadow: {is_shadow}");
            }
            assert_eq!(short.layer.counts(), long.layer.counts(), "{name} shadow: {is_shadow}");
        }
    }
}

#[tokio::test]
async fn a_request_asks_its_limiter_once() {
    let clock = clock();
    let all = Arc::new(Counted::new(two(&clock)));
    let quota = quota!(1 / second, burst 2);
    let each = Keyed::<ClientKey, _>::with(Buckets::with_clock(quota, Arc::clone(&clock)));
    let each = Arc::new(Counted::new(each));
    for layer in [
        RateLimitLayer::new(Limit::of_all(Arc::clone(&all))),
        RateLimitLayer::new(Limit::per_client(Arc::clone(&each))),
    ] {
        let server = Server::new(layer);
        for expected in [200, 200, 429, 429, 429] {
            assert_eq!(server.status(request("192.0.2.1")).await, expected);
        }
    }
    for counts in [all.counts(), each.counts()] {
        assert_eq!((counts.granted, counts.denied, counts.permits), (2, 3, 2));
    }
}

/// Each option needs more of a request than its key, or has work to do when the response is there.
#[tokio::test]
async fn an_option_is_in_force_whether_it_is_set_before_or_after_others() {
    let clock = clock();
    let layer = || RateLimitLayer::new(Limit::of_all(two(&clock)));
    let fields = FieldVersion::Draft8;
    for layer in [layer().fields(fields).skip(|_| false), layer().skip(|_| false).fields(fields)] {
        let response = Server::new(layer).send(request("")).await;
        assert!(response.headers().contains_key("ratelimit"));
    }
    let skipped = Server::new(layer().skip(|parts| parts.uri.path() == "/"));
    for _ in 0..5 {
        assert_eq!(skipped.status(request("")).await, 200);
    }
    let dear = Server::new(RateLimitLayer::new(Limit::of_all(two(&clock)).cost(|_| 2)));
    assert_eq!([dear.status(request("")).await, dear.status(request("")).await], [200, 429]);
}

#[tokio::test]
async fn a_layer_of_one_limit_keeps_its_time_limit() {
    let time_limit = TimeLimit::new(Duration::from_millis(1)).unwrap();
    let layer = RateLimitLayer::new(Limit::of_all(two(&clock())))
        .time_limit(TimeLimiter::new("hello", time_limit));
    let slow = service_fn(async |_: Request<Body>| {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    });
    let response = layer.layer(slow).oneshot(request("")).await.unwrap();
    assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(layer.counts().service_timed_out, 1);
}

#[tokio::test]
async fn preflight_requests_are_skipped_on_both_ways_and_only_if_it_is_asked_for() {
    let clock = clock();
    let layer = || RateLimitLayer::new(Limit::of_all(two(&clock)));
    let preflight = || {
        let fields = [("origin", "https://a.example"), ("access-control-request-method", "PUT")];
        let mut request = with(request(""), &fields);
        *request.method_mut() = Method::OPTIONS;
        request
    };
    for layer in [layer().skip_preflight(), long(layer().skip_preflight())] {
        let server = Server::new(layer);
        for _ in 0..5 {
            assert_eq!(server.status(preflight()).await, 200);
        }
        assert_eq!(server.layer.counts().skipped, 5);
        for expected in [200, 200, 429] {
            assert_eq!(server.status(request("")).await, expected);
        }
    }
    let server = Server::new(layer());
    for expected in [200, 200, 429] {
        assert_eq!(server.status(preflight()).await, expected);
    }
}
