//! Events: what a reader is told, and what its end does.

use serde_json::json;

use super::running::Running;

#[tokio::test]
async fn the_clock_of_a_session_stands_until_somebody_reads_its_events() {
    let running = Running::start().await;
    let session = running.session(json!([{ "algorithm": "token_bucket" }])).await;
    running.send(&session, &json!({ "key": "a" })).await;
    running.send(&session, &json!({ "key": "a" })).await;
    let mut events = running.events(&session).await;
    let first = events.next().await.unwrap();
    let at: Vec<_> = first.sides[0].decisions.iter().map(|decision| decision.at).collect();
    assert_eq!(at, [0.0, 0.0]);
    // Then it goes on, and a frame comes although nothing happens.
    let next = events.next().await.unwrap();
    assert!(next.at > first.at, "{} after {}", next.at, first.at);
    assert_eq!(next.sides[0].decisions, []);
}

#[tokio::test]
async fn readers_of_one_session_are_told_the_same_and_a_late_one_what_is_remembered() {
    let running = Running::start().await;
    let session = running.session(json!([{ "algorithm": "fixed_window" }])).await;
    let mut first = running.events(&session).await;
    let mut second = running.events(&session).await;
    running.send(&session, &json!({ "key": "a", "count": 7 })).await;
    let told = first.find(|frame| !frame.sides[0].decisions.is_empty()).await.sides[0].clone();
    let same = second.find(|frame| !frame.sides[0].decisions.is_empty()).await.sides[0].clone();
    assert_eq!((told.decisions.len(), &told.decisions), (7, &same.decisions));
    let late = running.events(&session).await.next().await.unwrap();
    assert_eq!(late.sides[0].decisions, told.decisions);
}

#[tokio::test]
async fn a_session_has_so_many_readers_and_one_that_leaves_makes_room() {
    let running = Running::start().await;
    let session = running.session(json!([{ "algorithm": "gcra" }])).await;
    let mut readers = Vec::new();
    for _ in 0..4 {
        readers.push(running.events(&session).await);
    }
    let path = format!("{session}/events");
    assert_eq!(running.get(&path).await.status(), 503);
    readers.pop();
    // The server learns of it when it next sends something.
    while running.get(&path).await.status() == 503 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_playground_that_closes_ends_its_streams() {
    let running = Running::start().await;
    let session = running.session(json!([{ "algorithm": "gcra" }])).await;
    let mut events = running.events(&session).await;
    assert!(events.next().await.is_some());
    running.playground.close();
    while events.next().await.is_some() {}
    assert_eq!(running.playground.sessions(), 0);
}
