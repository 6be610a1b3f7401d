//! Keys: a client has one, however it is spelled and whatever is asked for it.

use serde_json::{Value, json};

use super::running::{Running, failure};

const POLICY: &str = r#"
[limiters.log-ins]
policy = "fixed_window"
key = "client"
limit = 100
interval = "1 day"
overrides = { "2001:db8:0:9::1" = { limit = 1 } }
except = { client = "2001:db8:0:8::1" }
penalty = { offences = 2, within = "1 hour", refuse_for = "1 hour", by = { status = 401 } }

[limiters.each]
policy = "fixed_window"
key = { client = { ipv6 = 128 } }
limit = 1
interval = "1 day"

[limiters.named]
policy = "fixed_window"
key = { header = "x-api-key" }
limit = 1
interval = "1 day"

[limiters.open]
policy = "fixed_window"
key = { header = "x-api-key", missing = "admit" }
limit = 1
interval = "1 day"

[limiters.shared]
policy = "fixed_window"
key = { header = "x-api-key", missing = "shared" }
limit = 1
interval = "1 day"

[limiters.path]
policy = "fixed_window"
key = ["client", { path = ["/users/{id}"] }]
limit = 1
interval = "1 day"
"#;

async fn auth(service: &Running, limiter: &str, client: &str) -> u16 {
    let url = service.url(&format!("/v1/auth?limiters={limiter}"));
    let request = service.client.get(url).header("x-forwarded-for", client);
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_penalty_holds_for_each_spelling_and_each_address_of_the_client() {
    let service = Running::of(POLICY).await;
    for key in ["2001:db8:0:3::1", "2001:DB8:0:3:0::1"] {
        let body = json!({ "limiter": "log-ins", "key": key });
        assert_eq!(service.post("/v1/offence", &body).await.0, 200);
    }
    for client in
        ["2001:db8:0:3::1", "2001:0DB8:0:3::1", "2001:db8:0:3:ffff::9", "[2001:db8:0:3::1]:443"]
    {
        assert_eq!(auth(&service, "log-ins", client).await, 429, "{client}");
        for path in ["/v1/check", "/v1/peek"] {
            let (_, answer) =
                service.post(path, &json!({ "limiter": "log-ins", "key": client })).await;
            assert_eq!(answer["reason"], "penalized", "{path} {client}");
        }
    }
    assert_eq!(auth(&service, "log-ins", "2001:db8:0:4::1").await, 204);
    // The network, as reports have it.
    let other = service.check(json!({ "limiter": "log-ins", "key": "2001:db8:0:3::/64" })).await;
    assert_eq!(other["reason"], "penalized");
    service.end().await;
}

#[tokio::test]
async fn overrides_and_exceptions_of_one_address_apply_to_what_a_proxy_asks() {
    let service = Running::of(POLICY).await;
    assert_eq!(auth(&service, "log-ins", "2001:db8:0:9::1").await, 204);
    assert_eq!(auth(&service, "log-ins", "2001:db8:0:9::1").await, 429);
    // It is not judged, and nothing is taken.
    assert_eq!(auth(&service, "log-ins", "2001:db8:0:8::1").await, 204);
    let state = json!({ "limiter": "log-ins", "key": "2001:db8:0:8::1" });
    assert_eq!(service.post("/v1/peek", &state).await.1["remaining"], 99);
    service.end().await;
}

#[tokio::test]
async fn the_policy_says_how_much_of_an_address_is_the_client() {
    let service = Running::of(POLICY).await;
    for client in ["2001:db8::1", "2001:db8::2"] {
        assert_eq!(auth(&service, "each", client).await, 204, "{client}");
        let again = service.check(json!({ "limiter": "each", "key": client })).await;
        assert_eq!(again["decision"], "denied", "{client}");
    }
    for key in ["192.0.2.7", "::ffff:192.0.2.7", "192.0.2.7:4711"] {
        let answer = service.check(json!({ "limiter": "each", "key": key })).await;
        assert_eq!(answer["decision"] == "granted", key == "192.0.2.7", "{key}");
    }
    let parts = |path| json!({ "limiter": "path", "key": ["192.0.2.7", path] });
    assert_eq!(service.check(parts("/users/7")).await["decision"], "granted");
    for path in ["/users/8", "/users/{id}", "//users/./7"] {
        assert_eq!(service.check(parts(path)).await["decision"], "denied", "{path}");
    }
    service.end().await;
}

#[tokio::test]
async fn a_long_key_takes_no_more_space_and_is_limited_by_itself() {
    let service = Running::of(POLICY).await;
    let long = |end: &str| "k".repeat(60_000) + end;
    for end in ["a", "b"] {
        let ask = async || service.check(json!({ "limiter": "named", "key": long(end) })).await;
        assert_eq!(ask().await["decision"], "granted");
        assert_eq!(ask().await["decision"], "denied");
        let url = service.url("/v1/auth?limiters=named");
        let request = service.client.get(url).header("x-api-key", long(end));
        let request = request.header("x-forwarded-for", "192.0.2.7");
        assert_eq!(request.send().await.unwrap().status(), 429);
    }
    service.end().await;
}

#[tokio::test]
async fn an_empty_key_is_decided_as_the_policy_says_of_a_value_that_is_missing() {
    let service = Running::of(POLICY).await;
    let ask = async |limiter: &str| {
        let answer: Value = service.check(json!({ "limiter": limiter, "key": "" })).await;
        (answer["decision"].as_str().unwrap().to_owned(), answer["reason"].clone())
    };
    let denied = |reason| ("denied".to_owned(), json!(reason));
    assert_eq!(ask("named").await, denied("missing_key"));
    for _ in 0..3 {
        assert_eq!(ask("open").await.0, "granted");
    }
    assert_eq!(ask("shared").await.0, "granted");
    assert_eq!(ask("shared").await, denied("rate"));
    // The same key as that of a request without the header.
    let url = service.url("/v1/auth?limiters=shared");
    let request = service.client.get(url).header("x-forwarded-for", "192.0.2.7");
    assert_eq!(request.send().await.unwrap().status(), 429);
    let batch = json!({ "all_or_none": true, "checks": [
        { "limiter": "open", "key": "" }, { "limiter": "named", "key": "" }, { "limiter": "each", "key": "a" },
    ] });
    let (_, answer) = service.post("/v1/check/batch", &batch).await;
    assert_eq!((&answer["decision"], &answer["which"]), (&json!("denied"), &json!(1)));
    let report = service.client.post(service.url("/v1/offence"));
    let report = report.json(&json!({ "limiter": "named", "key": "" })).send().await.unwrap();
    let (status, detail) = failure(report).await;
    assert!(status == 400 && detail.starts_with("`key` has an empty part"), "{detail}");
    service.end().await;
}
