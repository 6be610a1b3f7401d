//! Single questions.

use serde_json::json;

use super::running::{POLICY, Running};

#[tokio::test]
async fn a_grant_and_a_denial_tell_the_state() {
    let service = Running::of(POLICY).await;
    let granted = service.check(json!({ "limiter": "all", "cost": 4 })).await;
    assert_eq!(granted["decision"], "granted");
    assert_eq!(granted["limiter"], "all");
    assert_eq!(
        (&granted["cost"], &granted["limit"], &granted["remaining"]),
        (&json!(4), &json!(5), &json!(1))
    );
    assert!(granted.get("retry_after").is_none() && granted.get("reason").is_none());
    assert!(granted["reset_after"].as_f64().unwrap() < 86_400.01, "{granted}");

    let denied = service.check(json!({ "limiter": "all", "cost": 2 })).await;
    assert_eq!((&denied["decision"], &denied["reason"]), (&json!("denied"), &json!("rate")));
    assert_eq!((&denied["remaining"], &denied["which"]), (&json!(1), &json!(0)));
    let wait = denied["retry_after"].as_f64().unwrap();
    assert!(wait > 0.0 && wait < 86_400.01, "{wait}");
    service.end().await;
}

#[tokio::test]
async fn a_cost_that_never_fits_says_so() {
    let service = Running::of(POLICY).await;
    let denied = service.check(json!({ "limiter": "all", "cost": 6 })).await;
    assert_eq!((&denied["reason"], &denied["limit"]), (&json!("too_large"), &json!(5)));
    assert!(denied.get("retry_after").is_none());
    let denied = service.check(json!({ "limiter": "all", "cost": u64::MAX })).await;
    assert_eq!(denied["reason"], "too_large");
    // Nothing was taken.
    assert_eq!(service.check(json!({ "limiter": "all", "cost": 5 })).await["decision"], "granted");
    service.end().await;
}

#[tokio::test]
async fn each_key_has_its_own_permits_and_the_cost_of_the_policy() {
    let service = Running::of(POLICY).await;
    let ask = |key: &str| service.check(json!({ "limiter": "user", "key": key }));
    assert_eq!(ask("ada").await["remaining"], 8);
    assert_eq!(ask("ada").await["remaining"], 6);
    assert_eq!(ask("bob").await["remaining"], 8);
    let free = service.check(json!({ "limiter": "user", "key": "ada", "cost": 0 })).await;
    assert_eq!((&free["decision"], &free["remaining"]), (&json!("granted"), &json!(6)));
    service.end().await;
}

#[tokio::test]
async fn a_key_of_several_parts_is_a_list_or_a_text_with_line_ends() {
    let service = Running::of(POLICY).await;
    let parts = json!({ "limiter": "client", "key": ["192.0.2.1", "/api/x"] });
    assert_eq!(service.check(parts).await["remaining"], 1);
    let text = json!({ "limiter": "client", "key": "192.0.2.1\n/api/x" });
    assert_eq!(service.check(text).await["remaining"], 0);
    service.end().await;
}

#[tokio::test]
async fn a_peek_takes_nothing() {
    let service = Running::of(POLICY).await;
    for _ in 0..3 {
        let (_, answer) = service.post("/v1/peek", &json!({ "limiter": "all", "cost": 5 })).await;
        assert_eq!((&answer["decision"], &answer["remaining"]), (&json!("granted"), &json!(0)));
    }
    service.end().await;
}

#[tokio::test]
async fn a_limiter_with_shadow_denies_nothing_and_says_what_it_would() {
    let service = Running::of(POLICY).await;
    let ask = || service.check(json!({ "limiter": "counted", "key": "ada" }));
    let first = ask().await;
    assert!(first.get("would_deny").is_none());
    let second = ask().await;
    assert_eq!((&second["decision"], &second["would_deny"]), (&json!("granted"), &json!(true)));
    assert_eq!(second["reason"], "rate");
    service.end().await;
}

#[tokio::test]
async fn a_wrong_question_is_told_what_is_right() {
    let service = Running::of(POLICY).await;
    let cases = [
        (json!({ "limiter": "usr", "key": "a" }), 404, "did you mean \"user\"?"),
        (
            json!({ "limiter": "user" }),
            400,
            "`key` is missing: limiter \"user\" decides by the key of a caller, and its key is user",
        ),
        (
            json!({ "limiter": "all", "key": "a" }),
            400,
            "`key` is given, but limiter \"all\" is one for all callers",
        ),
        (
            json!({ "limiter": "client", "key": "a" }),
            400,
            "`key` has 1 parts, but that of limiter \"client\" has 2: client, path",
        ),
        (json!({ "limiter": "user", "key": "a\nb" }), 400, "`key` has 2 parts"),
        (
            json!({ "limiter": "all", "cost": -1 }),
            400,
            "`cost`: -1 is not allowed: must be a whole number",
        ),
        (
            json!({ "limiter": "all", "cost": 1.5 }),
            400,
            "`cost`: 1.5 is not allowed: must be a whole number",
        ),
        (
            json!({ "limiter": "user", "key": 7 }),
            400,
            "`key`: invalid type: integer `7`, expected a text, or a list of texts: one for each part",
        ),
        (json!({ "limiter": "user", "key": ["a", null] }), 400, "`key[1]`: invalid type: null"),
        (
            json!({ "limiter": "all", "costs": 1 }),
            400,
            "unknown field `costs`, expected one of `limiter`, `key`, `cost`",
        ),
        (json!({ "cost": 1 }), 400, "missing field `limiter`"),
        (json!([]), 400, "the body: invalid type: sequence, expected an object"),
        (json!(["all"]), 400, "the body: invalid type: sequence, expected an object"),
    ];
    for (body, status, words) in cases {
        let (got, detail) = service.failure("/v1/check", &body).await;
        assert!(got == status && detail.contains(words), "{body}: {got} {detail}");
    }
    assert_eq!(service.check(json!({ "limiter": "all", "cost": 5 })).await["decision"], "granted");
    service.end().await;
}
