//! Requests that are wrong on purpose.

use serde_json::json;

use super::running::{POLICY, Running, failure};

async fn post(service: &Running, media_type: &str, body: Vec<u8>) -> (u16, String) {
    let request = service.client.post(service.url("/v1/check")).header("content-type", media_type);
    failure(request.body(body).send().await.unwrap()).await
}

#[tokio::test]
async fn bodies_that_are_no_checks_are_told_so() {
    let service = Running::of(POLICY).await;
    let json = "application/json";
    let cases: [(&str, &[u8], u16, &str); 13] = [
        ("text/plain", br#"{"limiter":"all"}"#, 415, "Content-Type: application/json"),
        ("application/x-www-form-urlencoded", b"limiter=all", 415, "Content-Type"),
        (json, b"", 400, "the body: EOF while parsing a value at line 1 column 0"),
        (json, b"{", 400, "EOF"),
        (json, b"null", 400, "the body: invalid type: null"),
        (json, br#"{"limiter":"all"} x"#, 400, "trailing characters"),
        (json, br#"{"limiter":"all","limiter":"user"}"#, 400, "duplicate field `limiter`"),
        (json, br#"{"limiter":["all"]}"#, 400, "`limiter`: invalid type: sequence"),
        (json, b"{\"limiter\":\"\xff\"}", 400, "invalid unicode"),
        (
            json,
            br#"{"limiter":"all","cost":18446744073709551616}"#,
            400,
            "`cost`: 18446744073709552000 is not allowed",
        ),
        (json, br#"{"limiter":"all","cost":"1"}"#, 400, "expected a whole number from 0 to 184"),
        (json, br#"{"limiter":"\u0000"}"#, 404, "no limiter is named \"\\u{0}\""),
        ("application/json; charset=utf-8", br#"{"limiter":"x"}"#, 404, "no limiter"),
    ];
    for (media_type, body, status, words) in cases {
        let (got, detail) = post(&service, media_type, body.to_vec()).await;
        let body = String::from_utf8_lossy(body);
        assert!(got == status && detail.contains(words), "{body}: {got} {detail}");
    }
    service.end().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_or_too_deep_is_refused() {
    let service = Running::of(POLICY).await;
    let large = format!(r#"{{"limiter":"all","key":"{}"}}"#, "x".repeat(1 << 20));
    let (status, detail) = post(&service, "application/json", large.into_bytes()).await;
    assert_eq!((status, &detail[..]), (413, "the body must have at most 1048576 bytes"));
    let deep = "[".repeat(100_000).into_bytes();
    assert_eq!(post(&service, "application/json", deep).await.0, 400);
    service.end().await;
}

#[tokio::test]
async fn fields_that_are_too_long_are_refused_and_the_next_request_is_answered() {
    let service = Running::of(POLICY).await;
    let http2 = reqwest::Client::builder().http2_prior_knowledge().build().unwrap();
    for (client, fits, too_long) in
        [(&service.client, 60 << 10, 70 << 10), (&http2, 10 << 10, 20 << 10)]
    {
        let ask = async |bytes: usize| {
            let request = client.get(service.url("/healthz")).header("x-long", "x".repeat(bytes));
            request.send().await.unwrap().status()
        };
        assert_eq!(
            (ask(too_long).await, ask(fits).await),
            (431.try_into().unwrap(), 200.try_into().unwrap())
        );
    }
    service.end().await;
}

#[tokio::test]
async fn paths_and_methods_that_are_not_there_say_where_to_look() {
    let service = Running::of(POLICY).await;
    let (status, detail) = failure(service.get("/v1/chek").await).await;
    assert!(status == 404 && detail.contains("/openapi.json"), "{detail}");
    let response = service.get("/v1/check").await;
    assert_eq!(response.headers()["allow"], "POST");
    assert_eq!(failure(response).await.0, 405);
    service.end().await;
}

#[tokio::test]
async fn a_hundred_thousand_keys_and_many_names_are_answered_and_the_honest_are_not_harmed() {
    let service = Running::of(POLICY).await;
    service.check(json!({ "limiter": "user", "key": "ada" })).await;
    for batch in 0..100 {
        let checks: Vec<_> = (0..1_000)
            .map(|key| json!({ "limiter": "user", "key": format!("{batch}-{key}") }))
            .collect();
        let (status, body) = service.post("/v1/check/batch", &json!({ "checks": checks })).await;
        assert_eq!(status, 200);
        let answers = body["answers"].as_array().unwrap();
        assert!(answers.iter().all(|answer| answer["decision"] == "granted"));
    }
    for name in 0..500 {
        let body = json!({ "limiter": format!("name-{name}") });
        assert_eq!(service.failure("/v1/check", &body).await.0, 404);
    }
    let state = service.check(json!({ "limiter": "user", "key": "ada", "cost": 0 })).await;
    assert_eq!(state["remaining"], 8);
    service.end().await;
}
