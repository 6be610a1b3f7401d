//! Offences that gateways report, and the penalties that they lead to.

use serde_json::json;

use super::running::Running;

const POLICY: &str = r#"
[limiters.log-ins]
policy = "fixed_window"
key = "client"
limit = 100
interval = "1 day"
penalty = { offences = 3, within = "1 hour", refuse_for = "2 hours", by = ["refusals", { status = [401, 403], path = "/login" }] }

[limiters.all]
policy = "fixed_window"
key = "all"
limit = 5
interval = "1 day"
penalty = { offences = 1, within = "1 hour", refuse_for = "2 hours", by = { status_class = "5xx" } }

[limiters.plain]
policy = "fixed_window"
limit = 5
interval = "1 day"
"#;

#[tokio::test]
async fn reported_offences_lead_to_a_penalty_that_checks_and_proxies_obey() {
    let service = Running::of(POLICY).await;
    let report = async |body| service.post("/v1/offence", &body).await;
    let (status, first) = report(json!({ "limiter": "log-ins", "key": "192.0.2.7" })).await;
    assert_eq!(status, 200);
    let expected =
        json!({ "limiter": "log-ins", "counted": true, "penalized": false, "remaining": 2 });
    assert_eq!(first, expected);
    let (_, last) =
        report(json!({ "limiter": "log-ins", "key": "192.0.2.7", "offences": 2 })).await;
    assert_eq!((&last["counted"], &last["penalized"]), (&json!(true), &json!(true)));
    let left = last["retry_after"].as_f64().unwrap();
    assert!((7_200.0..7_201.0).contains(&left), "{left}");
    // During the penalty nothing is counted.
    let (_, ignored) = report(json!({ "limiter": "log-ins", "key": "192.0.2.7" })).await;
    assert_eq!((&ignored["counted"], &ignored["penalized"]), (&json!(false), &json!(true)));

    let denied = service.check(json!({ "limiter": "log-ins", "key": "192.0.2.7" })).await;
    assert_eq!((&denied["decision"], &denied["reason"]), (&json!("denied"), &json!("penalized")));
    assert!(denied["retry_after"].as_f64().unwrap() > 7_100.0 && denied.get("limit").is_none());
    let other = service.check(json!({ "limiter": "log-ins", "key": "192.0.2.8" })).await;
    assert_eq!(other["decision"], "granted");
    let auth = service.client.get(service.url("/v1/auth?limiters=log-ins"));
    let auth = auth.header("x-forwarded-for", "192.0.2.7").send().await.unwrap();
    assert_eq!(auth.status(), 429);
    assert!(auth.headers()["retry-after"].to_str().unwrap().parse::<u64>().unwrap() > 7_100);
    service.end().await;
}

#[tokio::test]
async fn a_reported_status_counts_if_the_policy_says_so() {
    let service = Running::of(POLICY).await;
    let counted = async |status: u16, path: &str| {
        let body = json!({ "limiter": "log-ins", "key": "a", "status": status, "path": path });
        let (code, outcome) = service.post("/v1/offence", &body).await;
        assert_eq!(code, 200, "{outcome}");
        outcome["counted"] == true
    };
    assert!(!counted(200, "/login").await && !counted(401, "/other").await);
    assert!(counted(401, "/login?next=/").await && counted(403, "/login").await);
    let body = json!({ "limiter": "all", "status": 503 });
    assert_eq!(service.post("/v1/offence", &body).await.1["penalized"], true);
    assert_eq!(service.check(json!({ "limiter": "all" })).await["reason"], "penalized");
    service.end().await;
}

/// Otherwise a 401 of any page would lock a client out of log-ins.
#[tokio::test]
async fn a_report_on_a_request_that_the_limiter_does_not_judge_counts_nothing() {
    let policy = r#"
        [limiters.log-ins]
        policy = "fixed_window"
        key = "client"
        limit = 100
        interval = "1 day"
        match = { method = "POST", path = "/login" }
        except = { client = "10.0.0.0/8", method = "POST" }
        penalty = { offences = 30, within = "1 hour", refuse_for = "2 hours", by = { status = 401 } }
    "#;
    let service = Running::of(policy).await;
    for (more, counted) in [
        (json!({ "status": 401, "method": "POST", "path": "/login?next=/" }), true),
        (json!({ "status": 401, "method": "POST", "path": "/%6cogin" }), true),
        (json!({ "status": 401, "method": "GET", "path": "/login" }), false),
        (json!({ "status": 401, "method": "POST", "path": "/pages" }), false),
        (json!({ "status": 401, "path": "/pages" }), false),
        (json!({ "status": 401, "method": "GET" }), false),
        (json!({ "status": 200, "method": "POST", "path": "/login" }), false),
        (json!({ "method": "GET" }), false),
        // What is not told is not known.
        (json!({ "status": 401 }), true),
        (json!({ "status": 401, "path": "/login" }), true),
        (json!({}), true),
    ] {
        let mut body = json!({ "limiter": "log-ins", "key": "a" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (status, outcome) = service.post("/v1/offence", &body).await;
        assert_eq!((status.as_u16(), &outcome["counted"]), (200, &json!(counted)), "{body}");
    }
    service.end().await;
}

#[tokio::test]
async fn refusals_are_noted_by_the_service_itself() {
    let service = Running::of(POLICY).await;
    let ask = || service.check(json!({ "limiter": "log-ins", "key": "a", "cost": 60 }));
    assert_eq!(ask().await["decision"], "granted");
    // The third begins the penalty, and is told its end.
    for reason in ["rate", "rate", "penalized", "penalized"] {
        assert_eq!(ask().await["reason"], reason);
    }
    service.end().await;
}

/// Several limiters are looked at before any of them is asked: what they refuse then is an offence all the same.
#[tokio::test]
async fn refusals_of_requests_that_several_limiters_judge_are_noted_too() {
    let service = Running::of(POLICY).await;
    let dear = json!({ "limiter": "log-ins", "key": "a", "cost": 60 });
    assert_eq!(service.check(dear.clone()).await["decision"], "granted");
    let other = json!({ "limiter": "plain", "key": "a", "cost": 0 });
    let batch = json!({ "all_or_none": true, "checks": [other, dear] });
    for reason in ["rate", "rate", "penalized", "penalized"] {
        let (_, answer) = service.post("/v1/check/batch", &batch).await;
        assert_eq!(
            (&answer["which"], &answer["answers"][1]["reason"]),
            (&json!(1), &json!(reason))
        );
    }
    // A penalty is no refusal of the limit, and what is only looked at is no offence.
    let (_, report) =
        service.post("/v1/offence", &json!({ "limiter": "log-ins", "key": "b" })).await;
    assert_eq!(report["remaining"], 2);
    for _ in 0..3 {
        let dear = json!({ "limiter": "log-ins", "key": "b", "cost": 101 });
        assert_eq!(service.post("/v1/peek", &dear).await.1["reason"], "too_large");
    }
    let (_, report) =
        service.post("/v1/offence", &json!({ "limiter": "log-ins", "key": "b" })).await;
    assert_eq!(report["remaining"], 1);
    service.end().await;
}

#[tokio::test]
async fn a_report_that_is_wrong_says_so_and_counts_nothing() {
    let service = Running::of(POLICY).await;
    for (body, status, detail) in [
        (
            json!({ "limiter": "plain", "key": "a" }),
            409,
            "limiter \"plain\" has no `penalty` in its policy: offences lead to nothing",
        ),
        (json!({ "limiter": "log-ins" }), 400, "`key` is missing"),
        (
            json!({ "limiter": "log-ins", "key": "a", "status": 42 }),
            400,
            "`status` is 42: must be from 100 to 999",
        ),
        (
            json!({ "limiter": "log-ins", "key": "a", "status": 401, "offences": 1 }),
            400,
            "`offences` and `status` are both given",
        ),
        (json!({ "limiter": "nobody" }), 404, "`limiter`: no limiter is named \"nobody\""),
    ] {
        let (code, text) = service.failure("/v1/offence", &body).await;
        assert_eq!(code, status, "{text}");
        assert!(text.starts_with(detail), "{text}");
    }
    let (_, first) =
        service.post("/v1/offence", &json!({ "limiter": "log-ins", "key": "a" })).await;
    assert_eq!(first["remaining"], 2);
    service.end().await;
}
