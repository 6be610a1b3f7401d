//! Faults that users of other layers have reported, through a real server. The reference is where it was
//! reported.

use axum::response::Response;

use super::*;

/// An app that was served without the addresses of its connections failed with "Unable To Extract Key!"
/// and no word on what to do (`tower_governor`; its README has a section on it since).
#[tokio::test]
async fn an_app_that_is_served_without_addresses_says_what_to_do() {
    let app = hello().layer(RateLimitLayer::new(per_client()));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app.into_make_service()).await });
    for is_http2 in [false, true] {
        let answer = send(&client(is_http2), server, Method::GET, "/", &[]).await;
        assert_eq!(answer.status, 500);
        let detail = Problem::from_json(&answer.body).unwrap().detail.unwrap();
        assert!(detail.contains("into_make_service_with_connect_info::<SocketAddr>()"), "{detail}");
    }
}

/// Behind a load balancer all clients had one limit, or each its own that it could choose by a field
/// (PostHog/posthog#40341, actix-governor#12). The balancer's health checks have no field.
#[tokio::test]
async fn health_checks_of_a_balancer_pass_without_a_field() {
    let addresses = ClientAddress::x_forwarded_for(Trust::networks(["127.0.0.1"]).unwrap());
    let limit = per_client().addresses(addresses);
    let layer = RateLimitLayer::new(limit).skip(|parts| parts.uri.path() == "/health");
    let app = hello().route("/health", get(|| async { "well" }));
    let server = serve(app.layer(layer)).await;
    let client = client(false);
    for _ in 0..4 {
        assert_eq!(status(&client, server, "/health").await, 200);
    }
    let ada = [("x-forwarded-for", "203.0.113.9")];
    let bob = [("x-forwarded-for", "203.0.113.9, 203.0.113.8")];
    for (fields, expected) in [(&ada, [200, 200, 429]), (&bob, [200, 200, 429])] {
        for status in expected {
            assert_eq!(send(&client, server, Method::GET, "/", fields).await.status, status);
        }
    }
}

/// A refusal had no fields of CORS, so that a page of another origin saw a network error and neither the
/// status nor the wait (a comment of actix-governor#9). A layer outside of ours adds them to refusals too.
#[tokio::test]
async fn a_layer_outside_sees_refusals() {
    let cors = axum::middleware::map_response(async |mut response: Response| {
        let any = axum::http::HeaderValue::from_static("*");
        response.headers_mut().insert("access-control-allow-origin", any);
        response
    });
    let app = hello().layer(RateLimitLayer::new(per_client())).layer(cors);
    let server = serve(app).await;
    let client = client(true);
    for expected in [200, 200, 429] {
        let answer = send(&client, server, Method::GET, "/", &[]).await;
        assert_eq!(answer.status, expected);
        assert_eq!(answer.headers["access-control-allow-origin"], "*");
    }
}

/// Each request of a method that had a limit of its own counted for another (actix-governor#9): here limits
/// are by method, and paths that do not exist count as well.
#[tokio::test]
async fn methods_have_limits_of_their_own_and_unknown_paths_count() {
    let of = |method: Method| {
        RateLimitLayer::new(per_client()).skip(move |parts| parts.method != method)
    };
    let app = Router::new().route("/", get(|| async { "hello" }).post(|| async { "thanks" }));
    let app = app.layer(of(Method::GET)).layer(of(Method::POST));
    let server = serve(app).await;
    let client = client(false);
    for (method, path, expected) in [
        (Method::GET, "/", 200),
        (Method::POST, "/", 200),
        (Method::GET, "/nowhere", 404),
        (Method::POST, "/", 200),
        (Method::GET, "/", 429),
        (Method::POST, "/nowhere", 429),
        (Method::PUT, "/", 405),
    ] {
        let answer = send(&client, server, method.clone(), path, &[]).await;
        assert_eq!(answer.status, expected, "{method} {path}");
    }
}

/// Every connection, and every request of it, had a limit of its own, because the state was in a service that
/// is cloned (axum#2634, axum#3682, tower#764). A handler that is refused does not run.
#[tokio::test]
async fn an_app_that_is_cloned_and_nested_has_one_limit() {
    let inner = hello().layer(RateLimitLayer::new(per_client()));
    let app = Router::new().nest("/a", inner.clone()).nest("/b", inner);
    let server = serve(app).await;
    for (path, expected) in [("/a", 200), ("/b", 200), ("/a", 429), ("/b", 429)] {
        assert_eq!(status(&client(false), server, path).await, expected, "{path}");
    }
}
