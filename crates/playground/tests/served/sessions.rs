//! Every route of a session, and what is said to what is wrong.

use reqwest::Method;
use serde_json::{Value, json};
use sluicegate_playground::PlaygroundOptions;
use sluicegate_playground::wire::Outcome;

use super::running::Running;

#[tokio::test]
async fn a_burst_is_decided_on_both_sides_and_told_with_the_response_fields() {
    let running = Running::start().await;
    let sides = json!([
        { "algorithm": "fixed_window", "parameters": { "limit": 2, "window": 60 } },
        { "algorithm": "concurrency", "parameters": { "limit": 1 }, "per_key": true },
    ]);
    let session = running.session(sides).await;
    let mut events = running.events(&session).await;
    running.send(&session, &json!({ "key": "a", "count": 3 })).await;
    let frame = events.find(|frame| !frame.sides[0].decisions.is_empty()).await;
    let told = |side: usize| {
        let decisions = frame.sides[side].decisions.iter();
        decisions.map(|one| (one.n, one.outcome)).collect::<Vec<_>>()
    };
    use Outcome::{Granted, Refused};
    assert_eq!(told(0), [(1, Granted), (2, Granted), (3, Refused)]);
    assert_eq!(told(1), [(1, Granted), (2, Refused), (3, Refused)]);
    assert_eq!(frame.sides[0].states[0].key, None);
    assert_eq!(frame.sides[1].states[0].key.as_deref(), Some("a"));
    let fields = frame.sides[0].fields.as_ref().unwrap();
    assert_eq!(fields.status, 429);
    let field = |name: &str| {
        let field = fields.headers.iter().find(|(given, _)| given == name);
        field.map(|(_, value)| value.clone()).unwrap()
    };
    assert_eq!(field("ratelimit-policy"), "\"default\";q=2;w=60");
    let wait: u64 = field("retry-after").parse().unwrap();
    assert_eq!(field("ratelimit"), format!("\"default\";r=0;t={wait}"));
    assert!((1..=60).contains(&wait));
}

#[tokio::test]
async fn terms_speed_streams_and_reset_change_a_session_in_place() {
    let running = Running::start().await;
    let side = |limit: u64| json!([{ "algorithm": "fixed_window", "parameters": { "limit": limit, "window": 3600 } }]);
    let session = running.session(side(2)).await;
    let mut events = running.events(&session).await;
    running.send(&session, &json!({ "key": "a", "count": 3 })).await;
    let (status, changed) =
        running.answer(Method::PUT, &session, &json!({ "sides": side(5) })).await;
    assert_eq!((status, &changed["setup"]["sides"][0]["parameters"]["limit"]), (200, &json!(5)));
    running.send(&session, &json!({ "key": "a", "count": 9 })).await;
    // What was granted before still counts.
    let frame = events.find(|frame| frame.sides[0].totals.refused >= 7).await;
    assert_eq!(frame.sides[0].totals.granted, 5);

    let no_content = (204, Value::Null);
    let speed = format!("{session}/speed");
    assert_eq!(running.answer(Method::PUT, &speed, &json!({ "speed": 60 })).await, no_content);
    let streams = json!({ "streams": [{ "key": "b", "per_second": 5 }] });
    let path = format!("{session}/streams");
    assert_eq!(running.answer(Method::PUT, &path, &streams).await, no_content);
    let frame = events.find(|frame| frame.sides[0].totals.refused > 100).await;
    assert_eq!((frame.speed, frame.streams.len(), &*frame.streams[0].key), (60.0, 1, "b"));

    let path = format!("{session}/reset");
    assert_eq!(running.answer(Method::POST, &path, &Value::Null).await, no_content);
    let frame = events.find(|frame| frame.run == 2).await;
    assert!(frame.sides[0].totals.refused < 100, "{frame:?}");
    assert_eq!(frame.streams.len(), 1);

    assert_eq!(running.answer(Method::PUT, &speed, &json!({ "speed": 0 })).await, no_content);
    let stopped = events.find(|frame| frame.speed == 0.0).await.at;
    let next = events.next().await.unwrap();
    assert_eq!(next.at, stopped);

    assert_eq!(running.answer(Method::DELETE, &session, &Value::Null).await, no_content);
    while events.next().await.is_some() {}
    let (status, gone) = running.answer(Method::DELETE, &session, &Value::Null).await;
    assert_eq!(status, 404);
    assert!(gone["detail"].as_str().unwrap().contains("POST /playground/sessions"), "{gone}");
}

#[tokio::test]
async fn what_is_wrong_is_named_with_its_value_and_the_allowed_range() {
    let running = Running::start().await;
    let sessions = "/playground/sessions";
    let session = running.session(json!([{ "algorithm": "gcra" }])).await;
    let of = |path: &str| format!("{session}/{path}");
    let side = |side: Value| json!({ "sides": [{ "algorithm": "gcra" }, side] });
    let cases = [
        (
            sessions.to_owned(),
            json!({ "sides": [] }),
            json!(null),
            "sides",
            "sides has 0 entries: must have 1 or 2",
        ),
        (
            sessions.to_owned(),
            side(json!({ "algorithm": "fixed_windw" })),
            json!(1),
            "algorithm",
            "algorithm is \"fixed_windw\": must be one of token_bucket, interval_bucket,",
        ),
        (
            sessions.to_owned(),
            side(json!({ "algorithm": "fixed_window", "parameters": { "limit": 0 } })),
            json!(1),
            "limit",
            "limit is 0: must be a whole number from 1 to 1000",
        ),
        (
            sessions.to_owned(),
            side(json!({ "algorithm": "fixed_window", "parameters": { "limit": 2.5 } })),
            json!(1),
            "limit",
            "limit is 2.5: must be a whole number from 1 to 1000",
        ),
        (
            sessions.to_owned(),
            side(json!({ "algorithm": "fixed_window", "parameters": { "window": "long" } })),
            json!(1),
            "window",
            "window is \"long\": must be a number of seconds from 0.01 to 3600",
        ),
        (
            sessions.to_owned(),
            side(json!({ "algorithm": "fixed_window", "parameters": { "burst": 1 } })),
            json!(1),
            "burst",
            "fixed_window has no parameter \"burst\": it has limit, window",
        ),
        (
            sessions.to_owned(),
            side(json!({ "algorithm": "gcra", "wait": -1 })),
            json!(1),
            "wait",
            "wait is -1: must be from 0 to 3600 seconds",
        ),
        (
            sessions.to_owned(),
            json!({ "sides": [{ "algorithm": "gcra" }], "speed": 1e9 }),
            json!(null),
            "speed",
            "speed is 1000000000: must be 0 for a pause, or from 0.1 to 600",
        ),
        (
            of("send"),
            json!({ "key": "", "count": 0 }),
            json!(null),
            "key",
            "key has 0 characters: must have from 1 to 64",
        ),
        (
            of("send"),
            json!({ "key": "a", "cost": 0 }),
            json!(null),
            "cost",
            "cost is 0: must be from 1 to 1000000",
        ),
        (
            of("send"),
            json!({ "key": "a", "count": 1001 }),
            json!(null),
            "count",
            "count is 1001: must be from 1 to 1000",
        ),
        (
            of("send"),
            json!({ "key": "a", "hold": 1e300 }),
            json!(null),
            "hold",
            "must be from 0 to 3600 seconds",
        ),
        (
            of("streams"),
            json!({ "streams": [{ "key": "a", "per_second": 1 }, { "key": "a", "per_second": 0 }] }),
            json!(null),
            "streams[1].per_second",
            "per_second is 0: must be from 0.01 to 1000",
        ),
        (of("speed"), json!({ "speed": -1 }), json!(null), "speed", "speed is -1:"),
        (
            of("scenario"),
            json!({ "id": "edge" }),
            json!(null),
            "id",
            "id is \"edge\": must be one of edge_burst,",
        ),
    ];
    for (path, body, side, parameter, message) in cases {
        let method = if path.ends_with("streams") || path.ends_with("speed") {
            Method::PUT
        } else {
            Method::POST
        };
        let (status, problem) = running.answer(method, &path, &body).await;
        assert_eq!(status, 422, "{body}: {problem}");
        assert_eq!(
            (&problem["title"], &problem["status"]),
            (&json!("Unprocessable Entity"), &json!(422))
        );
        let error = &problem["errors"][0];
        assert_eq!((&error["side"], &error["parameter"]), (&side, &json!(parameter)), "{problem}");
        assert!(error["message"].as_str().unwrap().contains(message), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(message), "{problem}");
    }
    // All that is wrong is told at once.
    let wrong = json!({ "sides": [{ "algorithm": "gcra", "wait": -1, "parameters": { "interval": 0, "tolerance": -1 } }], "speed": -1 });
    let (_, problem) = running.answer(Method::POST, sessions, &wrong).await;
    assert_eq!(problem["errors"].as_array().unwrap().len(), 4, "{problem}");
}

#[tokio::test]
async fn a_session_has_so_many_keys_and_says_what_to_do() {
    let running = Running::start().await;
    let session = running.session(json!([{ "algorithm": "gcra", "per_key": true }])).await;
    for key in 0..16 {
        running.send(&session, &json!({ "key": key.to_string() })).await;
    }
    running.send(&session, &json!({ "key": "7" })).await;
    let path = format!("{session}/send");
    let (status, problem) = running.answer(Method::POST, &path, &json!({ "key": "16" })).await;
    assert_eq!((status, &problem["errors"][0]["parameter"]), (422, &json!("key")));
    assert!(problem["detail"].as_str().unwrap().contains("reset it"), "{problem}");
    running.answer(Method::POST, &format!("{session}/reset"), &Value::Null).await;
    running.send(&session, &json!({ "key": "16" })).await;
}

#[tokio::test]
async fn there_are_so_many_sessions_and_the_one_that_nobody_reads_makes_room() {
    let options = PlaygroundOptions { sessions: 3, ..PlaygroundOptions::default() };
    let running = Running::with(options).await;
    let side = || json!([{ "algorithm": "gcra" }]);
    let (first, second) = (running.session(side()).await, running.session(side()).await);
    let mut readers = vec![running.events(&first).await];
    let third = running.session(side()).await;
    assert_eq!(running.playground.sessions(), 3);
    // The second has been idle for longest.
    let fourth = running.session(side()).await;
    assert_eq!(running.get(&format!("{second}/events")).await.status(), 404);
    for session in [&third, &fourth] {
        readers.push(running.events(session).await);
    }
    let (status, full) =
        running.answer(Method::POST, "/playground/sessions", &json!({ "sides": side() })).await;
    assert_eq!((status, &full["title"]), (503, &json!("Service Unavailable")));
    for reader in &mut readers {
        assert!(reader.next().await.is_some());
    }
}
