//! Options of a layer and of its limits.

use sluicegate::{Grant, Wait};

use super::*;

#[tokio::test]
async fn every_response_has_the_fields_of_the_version_that_is_set() {
    let policy = QuotaPolicy::from(quota!(1 / second, burst 2)).named("api").unwrap();
    let versions: [(FieldVersion, Fields, Fields); 5] = [
        (
            FieldVersion::Legacy(ResetAs::SecondsLeft),
            &[
                ("x-ratelimit-limit", "2"),
                ("x-ratelimit-remaining", "1"),
                ("x-ratelimit-reset", "1"),
            ],
            &[
                ("x-ratelimit-limit", "2"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "1"),
            ],
        ),
        (
            FieldVersion::Draft3,
            &[("ratelimit-limit", r#"2, 2;w=2;name="api""#), ("ratelimit-remaining", "1")],
            &[("ratelimit-limit", r#"2, 2;w=2;name="api""#), ("ratelimit-reset", "1")],
        ),
        (
            FieldVersion::Draft6,
            &[("ratelimit-policy", r#"2;w=2;comment="api""#), ("ratelimit-remaining", "1")],
            &[("ratelimit-limit", "2"), ("ratelimit-remaining", "0")],
        ),
        (
            FieldVersion::Draft7,
            &[("ratelimit", "limit=2, remaining=1, reset=1")],
            &[("ratelimit", "limit=2, remaining=0, reset=1")],
        ),
        (
            FieldVersion::Draft8,
            &[("ratelimit", r#""api";r=1;t=1"#), ("ratelimit-policy", r#""api";q=2;w=2"#)],
            &[("ratelimit", r#""api";r=0;t=1"#), ("ratelimit-policy", r#""api";q=2;w=2"#)],
        ),
    ];
    for (version, granted, denied) in versions {
        let clock = clock();
        let limit = Limit::of_all(two(&clock)).policy(policy.clone());
        let server = Server::new(RateLimitLayer::new(limit).fields(version));
        let first = server.send(request("")).await;
        let _ = server.send(request("")).await;
        let third = server.send(request("")).await;
        assert_eq!((first.status().as_u16(), third.status().as_u16()), (200, 429));
        assert!(!first.headers().contains_key("retry-after"));
        assert_eq!(third.headers()["retry-after"], "1", "{version:?}");
        for (response, fields) in [(&first, granted), (&third, denied)] {
            for (name, value) in fields {
                assert_eq!(response.headers()[*name], *value, "{version:?} {name}");
            }
        }
    }
}

#[tokio::test]
async fn a_request_costs_what_its_function_says() {
    let clock = clock();
    let bucket = Arc::new(TokenBucket::with_clock(quota!(10 / second), Arc::clone(&clock)));
    let limit = Limit::of_all(Arc::clone(&bucket)).cost(|parts| match parts.method {
        Method::POST => 6,
        Method::PUT => 11,
        Method::HEAD => 0,
        _ => 1,
    });
    let server = Server::new(RateLimitLayer::new(limit));
    let send = async |method: Method| {
        let mut request = request("");
        *request.method_mut() = method;
        server.send(request).await
    };
    assert_eq!(send(Method::POST).await.status(), 200);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 4);
    let refused = send(Method::POST).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["ratelimit"]),
        (429, &r#""default";r=4;t=1"#.parse().unwrap())
    );
    // It will never be granted, so there is nothing to wait for.
    let never = send(Method::PUT).await;
    assert_eq!(never.status(), 429);
    assert!(!never.headers().contains_key("retry-after"));
    for _ in 0..4 {
        assert_eq!(send(Method::GET).await.status(), 200);
    }
    assert_eq!(send(Method::GET).await.status(), 429);
    assert_eq!(send(Method::HEAD).await.status(), 200);
}

#[tokio::test]
async fn without_a_policy_fields_tell_the_limit_of_the_limiter() {
    let layer = RateLimitLayer::new(Limit::of_all(two(&clock())));
    let eight = Server::new(layer.clone().fields(FieldVersion::Draft8)).send(request("")).await;
    assert_eq!(eight.headers()["ratelimit-policy"], r#""default";q=2"#);
    let six = Server::new(layer.fields(FieldVersion::Draft6)).send(request("")).await;
    assert_eq!(
        (&six.headers()["ratelimit-limit"], six.headers().len()),
        (&"2".parse().unwrap(), 3)
    );
}

#[tokio::test]
async fn requests_that_are_skipped_cost_nothing() {
    let clock = clock();
    let bucket = two(&clock);
    let layer = RateLimitLayer::new(Limit::of_all(Arc::clone(&bucket)))
        .skip(|parts| parts.uri.path() == "/health")
        .skip_preflight()
        .fields(FieldVersion::Draft8);
    let server = Server::new(layer);
    let preflight = |method, fields: &[(&'static str, &str)]| {
        let mut request = with(request(""), fields);
        *request.method_mut() = method;
        request
    };
    let both = [("origin", "https://example.org"), ("access-control-request-method", "PUT")];
    for _ in 0..3 {
        let mut health = request("");
        *health.uri_mut() = "/health".parse().unwrap();
        let response = server.send(health).await;
        assert_eq!((response.status().as_u16(), response.headers().len()), (200, 0));
        assert_eq!(server.status(preflight(Method::OPTIONS, &both)).await, 200);
    }
    assert_eq!(bucket.peek(0).unwrap().remaining(), 2);
    // None of these is a preflight request.
    assert_eq!(server.status(preflight(Method::GET, &both)).await, 200);
    assert_eq!(server.status(preflight(Method::OPTIONS, &both[..1])).await, 200);
    assert_eq!(server.status(preflight(Method::OPTIONS, &both[1..])).await, 429);
    assert_eq!(server.status(preflight(Method::OPTIONS, &[])).await, 429);
}

#[tokio::test]
async fn in_shadow_mode_requests_pass_and_what_would_be_refused_is_observed() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = Arc::clone(&seen);
    let clock = clock();
    let bucket = two(&clock);
    let policy = QuotaPolicy::new(2).named("api").unwrap();
    let layer = RateLimitLayer::new(Limit::of_all(Arc::clone(&bucket)).policy(policy))
        .fields(FieldVersion::Draft8)
        .observe(move |refusal, parts| {
            let policy = refusal.policy().unwrap().to_owned();
            let wait = refusal.retry_after();
            let path = parts.uri.path().to_owned();
            observed.lock().unwrap().push((
                policy,
                refusal.which().unwrap(),
                refusal.is_shadow(),
                wait,
                path,
            ));
        });
    let shadow = Server::new(layer.clone().shadow());
    for _ in 0..4 {
        let response = shadow.send(request("")).await;
        assert_eq!((response.status().as_u16(), response.headers().len()), (200, 0));
    }
    assert_eq!(bucket.peek(0).unwrap().remaining(), 0);
    let expected =
        |is_shadow| ("api".to_owned(), 0, is_shadow, Some(Duration::from_secs(1)), "/".to_owned());
    assert_eq!(*seen.lock().unwrap(), [expected(true), expected(true)]);
    // The layer that it was cloned from has the same limiter, and refuses.
    assert_eq!(Server::new(layer).status(request("")).await, 429);
    assert_eq!(seen.lock().unwrap()[2], expected(false));
}

#[tokio::test]
async fn the_response_to_a_refusal_can_be_replaced() {
    let layer = RateLimitLayer::new(Limit::of_all(two(&clock()))).respond(|refusal, parts| {
        assert!(matches!(refusal.reason(), RefusalReason::Denied(_)));
        let mut response = Response::new(format!("{}: slow down\n", parts.uri).into_bytes());
        *response.status_mut() = StatusCode::IM_A_TEAPOT;
        response
    });
    let server = Server::new(layer);
    let mut last = Response::default();
    for _ in 0..3 {
        last = server.send(request("")).await;
    }
    assert_eq!(
        (last.status(), last.body().as_slice()),
        (StatusCode::IM_A_TEAPOT, &b"/: slow down\n"[..])
    );
    assert_eq!(names(&last), ["ratelimit", "ratelimit-policy", "retry-after"]);
}

/// Decides nothing: it cannot be reached.
struct Down;

impl RemoteLimiter<All> for Down {
    type Error = ();

    async fn try_acquire(&self, _: &All, _: u64) -> Result<Grant, RemoteError<()>> {
        Err(RemoteError::Failed(()))
    }
}

#[tokio::test]
async fn in_a_shadow_nobody_waits_for_the_limiter_that_a_remote_one_falls_back_to() {
    const LONG: Duration = Duration::from_secs(36_000);
    let bucket = Arc::new(TokenBucket::with_clock(quota!(1 / hour), clock()));
    let own = WaitUpTo::new(Arc::clone(&bucket), LONG);
    let layer = RateLimitLayer::new(Limit::of_all(Remote::new(Down, LONG).fall_back_to(own)));
    let shadow = Arc::new(Server::new(layer.clone().shadow()));
    for _ in 0..3 {
        let shadow = Arc::clone(&shadow);
        let status = tokio::spawn(async move { shadow.status(request("")).await });
        let status = tokio::time::timeout(Duration::from_secs(600), status).await;
        assert_eq!(status.expect("it does not wait").unwrap(), 200);
    }
    let counts = shadow.layer.counts();
    assert_eq!((counts.passed, counts.would_refuse), (1, 2));
    // Without the shadow, it does.
    let waits = tokio::spawn(async move { Server::new(layer).status(request("")).await });
    while bucket.line().waiters() == 0 {
        tokio::task::yield_now().await;
    }
    waits.abort();
}

#[tokio::test]
async fn the_fields_of_a_response_can_be_edited() {
    let clock = clock();
    let layer = || {
        RateLimitLayer::new(Limit::of_all(two(&clock))).edit_fields(|headers, states| {
            let remaining = states.first().and_then(|state| state.remaining).unwrap_or(9);
            headers.insert("x-ratelimit-used", (2 - remaining).into());
            if let Some(limit) = headers.remove("x-ratelimit-limit") {
                headers.insert("x-rate-limit", limit);
            }
        })
    };
    let seconds = FieldVersion::Legacy(ResetAs::SecondsLeft);
    let server = Server::new(layer().fields(seconds).skip(|parts| parts.method == Method::PUT));
    for (status, used) in [(200, "1"), (200, "2"), (429, "2")] {
        let response = server.send(request("")).await;
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()["x-rate-limit"], "2");
        assert_eq!(response.headers()["x-ratelimit-used"], used);
        assert!(!response.headers().contains_key("x-ratelimit-limit"));
    }
    // Responses into which the layer writes nothing are left as they are.
    let mut skipped = request("");
    *skipped.method_mut() = Method::PUT;
    assert!(server.send(skipped).await.headers().is_empty());
    for layer in [layer(), layer().fields(seconds).shadow()] {
        assert!(Server::new(layer).send(request("")).await.headers().is_empty());
    }
}

#[test]
fn layers_are_shown() {
    let shown = format!("{:?}", RateLimitLayer::new(per_client(&clock())));
    assert!(
        shown.starts_with(r#"RateLimitLayer { limits: [Limit { per: "client", policy: None"#),
        "{shown}"
    );
    assert_eq!(
        UnknownClient::NoPeer.to_string(),
        "the address of the client is not known: the server tells no peer (in axum, serve into_make_service_with_connect_info::<SocketAddr>())"
    );
}
