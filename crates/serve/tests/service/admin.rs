//! Verbs for those who run the service.

use std::fs;

use serde_json::{Value, json};
use sluicegate_policy::Registry;
use sluicegate_serve::{AdminToken, Bounds, Limiters, Service, TokenError};

use super::running::{POLICY, Running, TOKEN, failure, read, service_of};

async fn with_token(service: &Running, token: &str, path: &str, body: &Value) -> reqwest::Response {
    let request = service.client.post(service.url(path)).header("authorization", token);
    request.json(body).send().await.unwrap()
}

#[tokio::test]
async fn without_a_token_of_the_service_nobody_resets() {
    let service = Running::of(POLICY).await;
    let body = json!({ "limiter": "all" });
    let (status, detail) = failure(with_token(&service, "Bearer ", "/v1/reset", &body).await).await;
    assert!(status == 403 && detail.starts_with("administrative verbs are off"), "{detail}");
    service.end().await;
}

#[tokio::test]
async fn a_reset_needs_the_token_and_makes_the_limiter_full() {
    let token = AdminToken::new(&format!(" {TOKEN}\n")).unwrap();
    let service = Running::start(service_of(POLICY).admin(token), Bounds::default()).await;
    service.check(json!({ "limiter": "all", "cost": 5 })).await;
    service.check(json!({ "limiter": "user", "key": "ada", "cost": 10 })).await;
    service.check(json!({ "limiter": "user", "key": "bob", "cost": 10 })).await;
    let body = json!({ "limiter": "all" });
    for wrong in [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        TOKEN,
        &format!("Basic {TOKEN}"),
        &format!("Bearer {TOKEN}x"),
    ] {
        let response = with_token(&service, wrong, "/v1/reset", &body).await;
        assert_eq!(response.headers()["www-authenticate"], "Bearer", "{wrong:?}");
        assert_eq!(failure(response).await.0, 401, "{wrong:?}");
    }
    let remaining = |limiter: &'static str, key: Option<&'static str>| {
        let service = &service;
        async move {
            let mut body = json!({ "limiter": limiter, "cost": 0 });
            if let Some(key) = key {
                body["key"] = json!(key);
            }
            service.check(body).await["remaining"].as_u64().unwrap()
        }
    };
    assert_eq!(remaining("all", None).await, 0);
    let right = format!("bearer {TOKEN}");
    assert_eq!(with_token(&service, &right, "/v1/reset", &body).await.status(), 204);
    assert_eq!(remaining("all", None).await, 5);
    let ada = json!({ "limiter": "user", "key": "ada" });
    assert_eq!(with_token(&service, &right, "/v1/reset", &ada).await.status(), 204);
    assert_eq!(
        (remaining("user", Some("ada")).await, remaining("user", Some("bob")).await),
        (10, 0)
    );
    let nobody = json!({ "limiter": "nobody" });
    assert_eq!(failure(with_token(&service, &right, "/v1/reset", &nobody).await).await.0, 404);
    service.end().await;
}

#[tokio::test]
async fn a_reload_puts_the_file_in_force_and_a_bad_file_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.toml");
    let limit = |limit: u64| {
        format!(
            "limiters.pages = {{ policy = \"fixed_window\", key = \"all\", limit = {limit}, interval = \"1 day\" }}\n"
        )
    };
    fs::write(&path, limit(10)).unwrap();
    let limiters = Limiters::new(Registry::open(&path).unwrap());
    let service = Service::new(limiters).admin(AdminToken::new(TOKEN).unwrap()).policy_file(&path);
    let service = Running::start(service, Bounds::default()).await;
    let token = format!("Bearer {TOKEN}");
    let reload = || with_token(&service, &token, "/v1/reload", &Value::Null);
    service.check(json!({ "limiter": "pages", "cost": 6 })).await;

    let more = "limiters.more = { policy = \"gcra\", key = \"client\", interval = \"1 s\", tolerance = \"9 s\" }\n";
    fs::write(&path, limit(8) + more).unwrap();
    let (status, events) = read(reload().await).await;
    assert_eq!(status, 200);
    assert_eq!(events["events"].as_array().unwrap().len(), 2, "{events}");
    // The six still count, and the new limiter is there.
    let state = service.check(json!({ "limiter": "pages", "cost": 0 })).await;
    assert_eq!((&state["limit"], &state["remaining"]), (&json!(8), &json!(2)));
    service.check(json!({ "limiter": "more", "key": "192.0.2.1" })).await;

    fs::write(&path, "limiters.pages = { policy = \"fixed_windw\" }\n").unwrap();
    let (status, detail) = failure(reload().await).await;
    assert!(status == 422 && detail.contains("did you mean"), "{status} {detail}");
    let state = service.check(json!({ "limiter": "pages", "cost": 0 })).await;
    assert_eq!(state["limit"], 8);

    fs::write(&path, limit(8)).unwrap();
    assert_eq!(reload().await.status(), 200);
    assert_eq!(
        service.failure("/v1/check", &json!({ "limiter": "more", "key": "a" })).await.0,
        404
    );
    service.end().await;
}

#[test]
fn a_token_that_is_too_short_or_cannot_be_sent_is_refused() {
    assert_eq!(AdminToken::new(" short ").unwrap_err(), TokenError::Short { bytes: 5 });
    assert_eq!(AdminToken::new("sixteen letters and a space").unwrap_err(), TokenError::Characters);
    assert_eq!(AdminToken::new("sixteen\u{e9}letterslong").unwrap_err(), TokenError::Characters);
    assert_eq!(format!("{:?}", AdminToken::new(TOKEN).unwrap()), "AdminToken");
}
