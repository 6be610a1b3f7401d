//! The service: what it shares, and what it passes on.

use super::*;

#[tokio::test]
async fn services_share_their_limits_and_a_refusal_says_why() {
    let clock = clock();
    let server = Server::new(RateLimitLayer::new(Limit::of_all(two(&clock))));
    for _ in 0..2 {
        let response = server.send(request("")).await;
        assert_eq!(
            (response.status(), response.body().as_slice()),
            (StatusCode::OK, &b"hello"[..])
        );
        assert!(response.headers().is_empty());
    }
    let refused = server.send(request("")).await;
    assert_eq!((refused.status(), server.calls()), (StatusCode::TOO_MANY_REQUESTS, 2));
    assert_eq!(names(&refused), ["content-type", "ratelimit", "ratelimit-policy", "retry-after"]);
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(refused.headers()["ratelimit"], r#""default";r=0;t=1"#);
    assert_eq!(refused.headers()["ratelimit-policy"], r#""default";q=2"#);
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
    let problem = Problem::from_json(refused.body()).unwrap();
    assert_eq!(problem.kind, ProblemType::QuotaExceeded);
    assert_eq!(problem.violated_policies, ["default"]);
    assert_eq!(problem.detail.as_deref(), Some("rate limited: try again in 1s"));

    clock.advance(Duration::from_secs(1));
    assert_eq!(server.status(request("")).await, 200);
    assert_eq!(server.status(request("")).await, 429);
}

#[tokio::test]
async fn a_refusal_reads_nothing_of_the_body() {
    struct Untouchable;
    let clock = clock();
    let bucket = two(&clock);
    bucket.drain();
    let service = service_fn(async |_: Request<Untouchable>| {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    });
    let layer = RateLimitLayer::new(Limit::of_all(bucket));
    let response = layer.layer(service).oneshot(Request::new(Untouchable)).await.unwrap();
    assert_eq!(response.status(), 429);
}

#[tokio::test]
async fn the_errors_of_the_service_are_passed_on() {
    let service =
        service_fn(async |_: Request<Body>| Err::<Response<Full<Bytes>>, _>("out of order"));
    let layer = RateLimitLayer::new(Limit::of_all(two(&clock()))).fields(FieldVersion::Draft8);
    assert_eq!(layer.layer(service).oneshot(request("")).await.unwrap_err(), "out of order");
}
