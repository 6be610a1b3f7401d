//! The levels of a hierarchy.

use serde_json::{Value, json};
use sluicegate_policy::Policies;
use sluicegate_serve::{AdminToken, Bounds};

use super::running::{Running, TOKEN, failure, service_of};

const POLICY: &str = r#"
[[hierarchy]]
name = "org"
key = "org"
counts = ["input", "output"]
policy = "fixed_window"
limit = 1_000
interval = "1 day"

[[hierarchy]]
name = "user"
key = ["org", "user"]
policy = "token_bucket"
limit = 3
rate = { amount = 1, interval = "1 hour" }
overrides = { "acme/*" = { limit = 2 } }
"#;

fn ask(org: &str, user: &str, input: u64, output: u64) -> Value {
    let fields = json!({ "org": org, "user": user });
    json!({ "fields": fields, "amounts": { "input": input, "output": output } })
}

#[tokio::test]
async fn a_proxy_is_told_that_levels_are_not_asked() {
    let service = Running::of(POLICY).await;
    let auth = service.client.get(service.url("/v1/auth")).header("x-forwarded-for", "192.0.2.7");
    let (status, detail) = failure(auth.send().await.unwrap()).await;
    assert!(status == 404 && detail.contains("levels only"), "{status} {detail}");
    service.end().await;
}

async fn check(service: &Running, body: &Value) -> Value {
    let (status, answer) = service.post("/v1/levels/check", body).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

#[tokio::test]
async fn all_levels_grant_or_nothing_is_taken_and_the_level_that_denies_is_named() {
    let service = Running::of(POLICY).await;
    let granted = check(&service, &ask("acme", "ada", 400, 200)).await;
    assert_eq!((&granted["decision"], granted.get("which")), (&json!("granted"), None));
    let left = |answer: &Value| -> Vec<Value> {
        let answers = answer["answers"].as_array().unwrap();
        answers.iter().map(|level| level["remaining"].clone()).collect()
    };
    assert_eq!(left(&granted), [400, 1]);
    assert_eq!(
        (&granted["answers"][0]["limiter"], &granted["answers"][0]["cost"]),
        (&json!("org"), &json!(600))
    );
    let dear = check(&service, &ask("acme", "bob", 401, 0)).await;
    assert_eq!((&dear["decision"], &dear["which"]), (&json!("denied"), &json!("org")));
    assert_eq!(dear["answers"][0]["reason"], "rate");
    assert_eq!(dear["answers"][1]["decision"], "granted");
    // Nothing was taken of bob, who has two as all of acme, and others have three.
    assert_eq!(left(&check(&service, &ask("acme", "bob", 1, 1)).await), [398, 1]);
    assert_eq!(left(&check(&service, &ask("other", "bob", 1, 1)).await), [998, 2]);
    check(&service, &ask("acme", "ada", 0, 0)).await;
    let often = check(&service, &ask("acme", "ada", 0, 0)).await;
    assert_eq!((&often["decision"], &often["which"]), (&json!("denied"), &json!("user")));
    let wait = often["answers"][1]["retry_after"].as_f64().unwrap();
    assert!(wait > 3_500.0 && wait <= 3_600.0, "{often}");
    let (_, peek) = service.post("/v1/levels/peek", &ask("acme", "ada", 0, 0)).await;
    assert_eq!((&peek["decision"], &peek["which"]), (&json!("denied"), &json!("user")));
    let page = service.get("/metrics").await.text().await.unwrap();
    for line in [
        "sluicegate_serve_levels_granted_total 4\n",
        "sluicegate_serve_levels_denied_total{level=\"org\"} 1\n",
        "sluicegate_serve_levels_denied_total{level=\"user\"} 1\n",
    ] {
        assert!(page.contains(line), "{line} is not in {page}");
    }
    service.end().await;
}

#[tokio::test]
async fn levels_are_listed_reset_and_reloaded() {
    let service = service_of(POLICY).admin(AdminToken::new(TOKEN).unwrap());
    let registry = service.limiters().registry().clone();
    let service = Running::start(service, Bounds::default()).await;
    assert_eq!(service.get("/readyz").await.status(), 200);
    let listed: Value = service.get("/v1/limiters").await.json().await.unwrap();
    assert_eq!(listed["levels"][1]["key"], json!(["org", "user"]));
    assert_eq!(listed["levels"][0]["counts"], json!(["input", "output"]));
    check(&service, &ask("acme", "ada", 400, 0)).await;
    let reset = async |level: &str| {
        let body = json!({ "level": level, "fields": { "org": "acme", "user": "ada" } });
        service.post_as_admin("/v1/levels/reset", &body).await.status()
    };
    assert_eq!(
        (reset("user").await, reset("team").await),
        (204.try_into().unwrap(), 404.try_into().unwrap())
    );
    let unproved = json!({ "level": "user", "fields": { "org": "acme", "user": "ada" } });
    assert_eq!(service.post("/v1/levels/reset", &unproved).await.0, 401);
    let answer = check(&service, &ask("acme", "ada", 0, 0)).await;
    assert_eq!(
        (&answer["answers"][0]["remaining"], &answer["answers"][1]["remaining"]),
        (&json!(600), &json!(1))
    );
    let changed = POLICY.replace("1_000", "500");
    registry.reload(Policies::from_toml("limits.toml", &changed).unwrap()).unwrap();
    let answer = check(&service, &ask("acme", "bob", 0, 0)).await;
    assert_eq!(answer["answers"][0]["remaining"], 100);
    service.end().await;
}

#[tokio::test]
async fn questions_that_fit_no_level_are_told_what_does() {
    let service = Running::of(POLICY).await;
    for (body, status, words) in [
        (json!({ "fields": { "org": "a" }, "amounts": {} }), 400, "`fields.user` is missing"),
        (json!({ "fields": { "org": "a", "user": "b" } }), 400, "`amounts.input` is missing"),
        (json!({ "fields": { "org": 1 } }), 400, "`fields.org`: invalid type"),
        (json!({ "limiter": "org" }), 400, "unknown field `limiter`"),
    ] {
        for path in ["/v1/levels/check", "/v1/levels/peek"] {
            let (got, detail) = service.failure(path, &body).await;
            assert!(got == status && detail.contains(words), "{path} {body}: {got} {detail}");
        }
    }
    service.end().await;
    let without = Running::of(super::running::POLICY).await;
    let (status, detail) = without.failure("/v1/levels/check", &ask("a", "b", 1, 1)).await;
    assert!(status == 404 && detail.contains("[[hierarchy]]"), "{status} {detail}");
    without.end().await;
}
