//! Requests that are settled when their responses are known.

use sluicegate::bucket::SettleableBucket;
use sluicegate::keyed::Each;

use super::*;

/// A service that responds as the request asks it to.
async fn send(layer: &RateLimitLayer, request: Request<Body>) -> Response<Body> {
    let service = service_fn(async |request: Request<Body>| {
        let mut response = Response::new(Full::<Bytes>::default());
        if let Some(used) = request.headers().get("x-used") {
            response.headers_mut().insert("x-tokens-used", used.clone());
        }
        if request.headers().contains_key("x-wrong-password") {
            *response.status_mut() = StatusCode::UNAUTHORIZED;
        }
        if request.headers().contains_key("x-fail") { Err("out of order") } else { Ok(response) }
    });
    match layer.layer(service).oneshot(request).await {
        Ok(response) => read(response).await,
        Err(_) => Response::default(),
    }
}

fn tokens_used(response: &http::response::Parts) -> Option<u64> {
    response.headers.get("x-tokens-used")?.to_str().ok()?.parse().ok()
}

#[tokio::test]
async fn what_a_response_has_not_used_is_given_back() {
    let bucket = SettleableBucket::with_clock(quota!(100 / second), clock());
    let bucket = Arc::new(bucket);
    let limit = Limit::of_all(Settled::by_head(Arc::clone(&bucket), tokens_used)).cost(|_| 60);
    let layer = RateLimitLayer::new(limit).fields(FieldVersion::Draft8);
    let left = || bucket.peek(0).unwrap().balance();

    let response = send(&layer, with(request(""), &[("x-used", "10")])).await;
    assert_eq!((response.status().as_u16(), left()), (200, 90));
    // Fields tell what was left before the settlement.
    assert_eq!(response.headers()["ratelimit"], r#""default";r=40;t=1"#);
    assert_eq!(send(&layer, with(request(""), &[("x-used", "0")])).await.status(), 200);
    assert_eq!(left(), 90);
    // A response that does not say what it has used keeps the estimate.
    assert_eq!(send(&layer, request("")).await.status(), 200);
    assert_eq!(left(), 30);
    assert_eq!(send(&layer, request("")).await.status(), 429);
    assert_eq!(left(), 30);
    bucket.reset();
    // More than the estimate is a debt.
    assert_eq!(send(&layer, with(request(""), &[("x-used", "130")])).await.status(), 200);
    assert_eq!(left(), -30);
}

#[tokio::test]
async fn an_estimate_is_kept_if_the_service_fails_or_the_client_goes_away() {
    let bucket = Arc::new(SettleableBucket::with_clock(quota!(100 / second), clock()));
    let limit = Limit::of_all(Settled::by_head(Arc::clone(&bucket), |_| Some(0))).cost(|_| 10);
    let layer = RateLimitLayer::new(limit);
    let left = || bucket.peek(0).unwrap().remaining();
    let _ = send(&layer, request("")).await;
    assert_eq!(left(), 100);
    let _ = send(&layer, with(request(""), &[("x-fail", "1")])).await;
    assert_eq!(left(), 90);
    let forever = service_fn(|_: Request<Body>| {
        std::future::pending::<Result<Response<Full<Bytes>>, Infallible>>()
    });
    let mut response = Box::pin(layer.layer(forever).oneshot(request("")));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(response.as_mut().poll(&mut context).is_pending());
    assert_eq!(left(), 80);
    drop(response);
    assert_eq!(left(), 80);
}

#[tokio::test]
async fn only_failed_log_ins_of_a_client_count() {
    let clock = clock();
    let own = Arc::clone(&clock);
    let window = move |_: &ClientKey| {
        Arc::new(FixedWindow::with_clock(rate!(2 / hour), Arc::clone(&own)).unwrap())
    };
    let each = Each::with_clock(window, clock);
    let store = Arc::new(Keyed::<ClientKey, _>::with(each));
    let limit = Limit::per_client(Settled::failures_only(store));
    let layer = RateLimitLayer::new(limit);
    let wrong = [("x-wrong-password", "1")];
    for _ in 0..5 {
        let response = send(&layer, request("203.0.113.9")).await;
        assert_eq!((response.status().as_u16(), response.headers().len()), (200, 0));
    }
    assert_eq!(send(&layer, with(request("203.0.113.9"), &wrong)).await.status(), 401);
    assert_eq!(send(&layer, request("203.0.113.9")).await.status(), 200);
    assert_eq!(send(&layer, with(request("203.0.113.9"), &wrong)).await.status(), 401);
    assert_eq!(send(&layer, request("203.0.113.9")).await.status(), 429);
    assert_eq!(send(&layer, request("203.0.113.8")).await.status(), 200);
}

#[tokio::test]
async fn each_limit_of_several_is_settled_or_given_back() {
    let clock = clock();
    let bucket = Arc::new(SettleableBucket::with_clock(quota!(100 / second), Arc::clone(&clock)));
    let own = Arc::clone(&clock);
    let each = move |_: &String| {
        Arc::new(SettleableBucket::with_clock(quota!(50 / second), Arc::clone(&own)))
    };
    let users = Each::with_clock(each, Arc::clone(&clock));
    let users = Arc::new(Keyed::<String, _>::with(users));
    let named = |name: &str| QuotaPolicy::new(1).named(name).unwrap();
    let limits = |last: Limit| {
        RateLimitLayer::all_of([
            Limit::of_all(Settled::by_head(Arc::clone(&bucket), tokens_used))
                .cost(|_| 20)
                .policy(named("all")),
            Limit::per_key(Settled::by_head(Arc::clone(&users), tokens_used), |parts| {
                parts.headers.get("x-user").and_then(|user| user.to_str().ok()).into()
            })
            .cost(|_| 20)
            .policy(named("user")),
            last.policy(named("last")),
        ])
        .unwrap()
    };
    let left = || (bucket.peek(0).unwrap().remaining(), users.peek("ada", 0).unwrap().remaining());
    let ada = || with(request(""), &[("x-user", "ada"), ("x-used", "5")]);
    let pass = limits(Limit::of_all(sluicegate::compose::Unlimited));
    assert_eq!(send(&pass, ada()).await.status(), 200);
    assert_eq!(left(), (95, 45));
    let refuse = limits(Limit::of_all(several::Late));
    assert_eq!(send(&refuse, ada()).await.status(), 503);
    assert_eq!(left(), (95, 45));
    // A shadow settles, too.
    assert_eq!(send(&pass.shadow(), ada()).await.status(), 200);
    assert_eq!(left(), (90, 40));
}
