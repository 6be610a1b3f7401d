//! Named limiters of a registry, whose policies change live.

use sluicegate_http::layer::ByPolicy;
use sluicegate_policy::{Policies, Registry};

use super::*;

fn policies(text: &str) -> Policies {
    Policies::from_toml("limits.toml", text).unwrap()
}

fn calls(limit: u32) -> Policies {
    policies(&format!(
        r#"limiters.calls = {{ policy = "fixed_window", key = "client", limit = {limit}, interval = "1 day" }}"#
    ))
}

#[tokio::test]
async fn a_policy_that_changes_is_in_force_for_the_next_request_of_each_route() {
    let registry = Registry::new(calls(2)).unwrap();
    let limit = || Limit::per_client_text(registry.keyed("calls").unwrap());
    let layer = RateLimitLayer::new(limit()).fields(FieldVersion::Draft8);
    let app = Router::new()
        .route("/a", get(|| async { "a" }))
        .route("/b", get(|| async { "b" }))
        .route_layer(layer)
        .route("/free", get(|| async { "free" }));
    let server = serve(app).await;
    let client = client(true);
    let answers = async |paths: &[&str]| {
        let mut statuses = Vec::new();
        for path in paths {
            statuses.push(status(&client, server, path).await);
        }
        statuses
    };
    // A route layer is for the routes before it, and not for those that are not found.
    assert_eq!(answers(&["/free", "/nowhere", "/a", "/b", "/a"]).await, [200, 404, 200, 200, 429]);
    registry.reload(calls(4)).unwrap();
    let granted = send(&client, server, Method::GET, "/a", &[]).await;
    assert_eq!(
        (granted.status.as_u16(), &granted.headers["ratelimit-policy"]),
        (200, &value(r#""default";q=4"#))
    );
    assert_eq!(answers(&["/b", "/a", "/free"]).await, [200, 429, 200]);
    registry.reload(calls(1)).unwrap();
    assert_eq!(answers(&["/a", "/b"]).await, [429, 429]);
}

fn waits(amount: u32, wait: &str) -> Policies {
    policies(&format!(
        r#"
        [limiters.all]
        policy = "token_bucket"
        key = "all"
        limit = 1
        rate = {{ amount = {amount}, interval = "1 hour" }}
        wait = {wait}
        [limiters.users]
        policy = "token_bucket"
        key = "user"
        limit = 1
        rate = {{ amount = 3_600_000, interval = "1 hour" }}
        wait = "1 minute"
        "#
    ))
}

#[tokio::test]
async fn requests_wait_as_long_as_their_policy_says() {
    let registry = Registry::new(waits(1, r#""2 hours""#)).unwrap();
    let (all, users) = (registry.limiter("all").unwrap(), registry.keyed("users").unwrap());
    let layer = RateLimitLayer::new(Limit::of_all(ByPolicy::new(all.clone())));
    let users = RateLimitLayer::new(Limit::per_key(ByPolicy::new(users), |_| "ada".into()));
    let app = Router::new()
        .route("/", get(|| async { "hello" }).layer(layer))
        .route("/user", get(|| async { "hello" }).layer(users));
    let server = serve(app).await;
    let client = client(true);
    for _ in 0..4 {
        assert_eq!(status(&client, server, "/user").await, 200);
    }
    assert_eq!(status(&client, server, "/").await, 200);
    let first = tokio::spawn({
        let client = client.clone();
        async move { status(&client, server, "/").await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!first.is_finished() && all.peek(1).is_err());
    // A thousand a second now, so its turn comes at once.
    registry.reload(waits(3_600_000, r#""2 hours""#)).unwrap();
    assert_eq!(first.await.unwrap(), 200);
    registry.reload(waits(1, r#""refuse""#)).unwrap();
    let statuses = [status(&client, server, "/").await, status(&client, server, "/").await];
    assert_eq!(statuses[1], 429);
}
