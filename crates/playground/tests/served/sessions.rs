//! Every route of a session, and what is said to what is wrong.

use std::cmp::Ordering;

use reqwest::Method;
use serde_json::{Value, json};
use sluicegate_playground::PlaygroundOptions;
use sluicegate_playground::wire::Outcome::{Granted, Refused};

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
    assert_eq!(next.at.total_cmp(&stopped), Ordering::Equal);

    assert_eq!(running.answer(Method::DELETE, &session, &Value::Null).await, no_content);
    while events.next().await.is_some() {}
    let (status, gone) = running.answer(Method::DELETE, &session, &Value::Null).await;
    assert_eq!(status, 404);
    assert!(gone["detail"].as_str().unwrap().contains("POST /playground/sessions"), "{gone}");
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
