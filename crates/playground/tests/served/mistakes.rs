//! Bodies with a wrong value: what is said to them.

use reqwest::Method;
use serde_json::{Value, json};

use super::running::Running;

/// Sends a body that is wrong, and checks which field is named, and how.
async fn check(
    running: &Running,
    (method, path): (Method, &str),
    body: &Value,
    (side, parameter, message): (Value, &str, &str),
) {
    let (status, problem) = running.answer(method, path, body).await;
    assert_eq!(status, 422, "{body}: {problem}");
    let head = (&problem["title"], &problem["status"]);
    assert_eq!(head, (&json!("Unprocessable Entity"), &json!(422)));
    let error = &problem["errors"][0];
    assert_eq!((&error["side"], &error["parameter"]), (&side, &json!(parameter)), "{problem}");
    assert!(error["message"].as_str().unwrap().contains(message), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(message), "{problem}");
}

#[tokio::test]
async fn a_wrong_side_is_told_with_its_parameter_the_value_and_the_allowed_range() {
    let running = Running::start().await;
    let cases = [
        (
            json!({ "algorithm": "fixed_windw" }),
            "algorithm",
            "algorithm is \"fixed_windw\": must be one of token_bucket, interval_bucket,",
        ),
        (
            json!({ "algorithm": "fixed_window", "parameters": { "limit": 0 } }),
            "limit",
            "limit is 0: must be a whole number from 1 to 1000000",
        ),
        (
            json!({ "algorithm": "fixed_window", "parameters": { "limit": 2.5 } }),
            "limit",
            "limit is 2.5: must be a whole number from 1 to 1000000",
        ),
        (
            json!({ "algorithm": "fixed_window", "parameters": { "window": "long" } }),
            "window",
            "window is \"long\": must be a number of seconds from 0.01 to 2678400",
        ),
        (
            json!({ "algorithm": "fixed_window", "parameters": { "burst": 1 } }),
            "burst",
            "fixed_window has no parameter \"burst\": it has limit, window",
        ),
        (
            json!({ "algorithm": "gcra", "wait": -1 }),
            "wait",
            "wait is -1: must be from 0 to 3600 seconds",
        ),
    ];
    for (side, parameter, message) in cases {
        let body = json!({ "sides": [{ "algorithm": "gcra" }, side] });
        let wanted = (json!(1), parameter, message);
        check(&running, (Method::POST, "/playground/sessions"), &body, wanted).await;
    }
}

#[tokio::test]
async fn a_wrong_set_up_is_told_with_all_that_is_wrong() {
    let running = Running::start().await;
    let sessions = || (Method::POST, "/playground/sessions");
    let body = json!({ "sides": [] });
    let wanted = (Value::Null, "sides", "sides has 0 entries: must have from 1 to 4");
    check(&running, sessions(), &body, wanted).await;
    let body = json!({ "sides": vec![json!({ "algorithm": "gcra" }); 5] });
    let wanted = (Value::Null, "sides", "sides has 5 entries: must have from 1 to 4");
    check(&running, sessions(), &body, wanted).await;
    let body = json!({ "sides": [{ "algorithm": "gcra" }], "speed": 1e9 });
    let message = "speed is 1000000000: must be 0 for a pause, or from 0.1 to 600";
    check(&running, sessions(), &body, (Value::Null, "speed", message)).await;

    let parameters = json!({ "interval": 0, "tolerance": -1 });
    let side = json!({ "algorithm": "gcra", "wait": -1, "parameters": parameters });
    let body = json!({ "sides": [side], "speed": -1 });
    let (_, problem) = running.answer(Method::POST, "/playground/sessions", &body).await;
    let errors = problem["errors"].as_array().unwrap();
    let named: Vec<_> = errors.iter().map(|error| error["parameter"].as_str().unwrap()).collect();
    assert_eq!(named, ["speed", "interval", "tolerance", "wait"]);
}

#[tokio::test]
async fn a_wrong_request_is_told_with_its_field_the_value_and_the_allowed_range() {
    let running = Running::start().await;
    let session = running.session(json!([{ "algorithm": "gcra" }])).await;
    let streams =
        json!({ "streams": [{ "key": "a", "per_second": 1 }, { "key": "a", "per_second": 0 }] });
    let cases = [
        (
            "send",
            json!({ "key": "", "count": 0 }),
            ("key", "key has 0 characters: must have from 1 to 64"),
        ),
        (
            "send",
            json!({ "key": "a", "cost": 0 }),
            ("cost", "cost is 0: must be from 1 to 1000000"),
        ),
        (
            "send",
            json!({ "key": "a", "count": 1001 }),
            ("count", "count is 1001: must be from 1 to 1000"),
        ),
        ("send", json!({ "key": "a", "hold": 1e300 }), ("hold", "must be from 0 to 3600 seconds")),
        (
            "streams",
            streams,
            ("streams[1].per_second", "per_second is 0: must be from 0.01 to 1000"),
        ),
        ("speed", json!({ "speed": -1 }), ("speed", "speed is -1:")),
        ("scenario", json!({ "id": "edge" }), ("id", "id is \"edge\": must be one of edge_burst,")),
    ];
    for (route, body, (parameter, message)) in cases {
        let is_put = matches!(route, "streams" | "speed");
        let method = if is_put { Method::PUT } else { Method::POST };
        let path = format!("{session}/{route}");
        check(&running, (method, &path), &body, (Value::Null, parameter, message)).await;
    }
}
