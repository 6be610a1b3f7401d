//! Clients that mean harm, or do not know better: clear answers, bounded memory, no panic.

use std::fs;
use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::{Value, json};
use sluicegate::quota;
use sluicegate_playground::PlaygroundOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::running::Running;

/// A playground that does not count the requests of a client.
async fn unlimited() -> Running {
    let requests = quota!(1_000_000 / second, burst 1_000_000);
    Running::with(PlaygroundOptions { requests, ..PlaygroundOptions::default() }).await
}

/// Returns the memory that the process has in use, in bytes.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1_024
}

#[tokio::test]
async fn a_client_that_asks_too_often_is_refused_by_our_own_layer() {
    let requests = quota!(1 / minute, burst 20);
    let running =
        Running::with(PlaygroundOptions { requests, ..PlaygroundOptions::default() }).await;
    let mut passed = 0;
    let refused = loop {
        let response = running.get("/").await;
        if response.status() != 200 {
            break response;
        }
        passed += 1;
    };
    assert_eq!((passed, refused.status().as_u16()), (20, 429));
    assert!(refused.headers().contains_key("retry-after"));
    let problem: Value = refused.json().await.unwrap();
    assert!(problem["type"].as_str().unwrap().ends_with("#quota-exceeded"), "{problem}");
}

/// The playground makes 20,000 requests at once at most; 100 times 1,000 of them would be more in a second than it can.
#[tokio::test]
async fn requests_that_are_not_made_take_no_work_from_others() {
    let running = unlimited().await;
    let many = json!({ "key": "new", "count": 1_000 });
    for _ in 0..100 {
        let unknown = "/playground/sessions/nobody/send";
        assert_eq!(running.answer(Method::POST, unknown, &many).await.0, 404);
    }
    let session = running.session(json!([{ "algorithm": "gcra" }])).await;
    for key in 0..16 {
        running.send(&session, &json!({ "key": key.to_string(), "count": 1 })).await;
    }
    // There is no room for one more key.
    for _ in 0..100 {
        let path = format!("{session}/send");
        assert_eq!(running.answer(Method::POST, &path, &many).await.0, 422);
    }
}

#[tokio::test]
async fn bodies_that_are_none_are_refused_and_say_why() {
    let running = unlimited().await;
    let url = format!("http://{}/playground/sessions", running.address);
    let client = Client::new();
    let large = format!("{{\"sides\": [], \"x\": \"{}\"}}", "x".repeat(70_000));
    let deep = "[".repeat(10_000);
    let deep = format!("{{\"sides\": [{{\"algorithm\": \"gcra\", \"parameters\": {{\"x\": {deep}");
    let cases = [
        ("application/json", "{", 400, "EOF"),
        ("application/json", "{\"sides\": [], ", 400, "Failed to parse"),
        ("application/json", &deep, 400, "recursion limit"),
        ("application/json", "{\"sides\": 7}", 422, "sides: invalid type"),
        ("application/json", "{\"side\": []}", 422, "unknown field `side`"),
        (
            "application/json",
            "{\"sides\": [{\"algorithm\": \"gcra\", \"parameter\": {}}]}",
            422,
            "unknown field `parameter`",
        ),
        ("application/json", "{\"sides\": [], \"speed\": \"fast\"}", 422, "speed: invalid type"),
        ("application/json", "{\"sides\": [], \"speed\": 1e999}", 400, "number out of range"),
        ("application/json", &large, 413, ""),
        ("text/plain", "{\"sides\": []}", 415, "application/json"),
    ];
    for (media_type, body, status, words) in cases {
        let request = client.post(&url).header("content-type", media_type).body(body.to_owned());
        let response = request.send().await.unwrap();
        let shown: String = body.chars().take(60).collect();
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{shown}");
        assert_eq!(response.status(), status, "{shown}");
        let problem: Value = response.json().await.unwrap();
        assert!(problem["detail"].as_str().unwrap().contains(words), "{problem}");
    }
    let (status, _) = running.answer(Method::PATCH, "/playground/sessions", &json!({})).await;
    assert_eq!(status, 405);
    let (status, _) = running
        .answer(Method::POST, "/playground/sessions/none/send", &json!({ "key": "a" }))
        .await;
    assert_eq!(status, 404);
    assert_eq!(running.playground.sessions(), 0);
}

#[tokio::test]
async fn a_hundred_thousand_requests_are_counted_and_memory_stays_flat() {
    let running = unlimited().await;
    let sides = json!([
        { "algorithm": "sliding_log", "parameters": { "limit": 1000, "window": 3600 } },
        { "algorithm": "concurrency", "parameters": { "limit": 50 }, "per_key": true, "wait": 3600 },
    ]);
    let session = running.session(sides).await;
    let mut events = running.events(&session).await;
    let path = format!("{session}/send");
    let mut sent: u64 = 0;
    let mut before = 0;
    while sent < 100_000 {
        let body = json!({ "key": (sent / 1_000 % 16).to_string(), "count": 1_000, "hold": 3600 });
        match running.answer(Method::POST, &path, &body).await {
            (202, _) => sent += 1_000,
            // The sessions of all pages share one bound of work.
            (503, busy) => assert!(busy["detail"].as_str().unwrap().contains("too much to do")),
            other => panic!("{other:?}"),
        }
        if sent == 20_000 {
            before = memory();
        }
    }
    let frame = events
        .find(|frame| {
            let totals = frame.sides[0].totals;
            totals.granted + totals.refused == 100_000
        })
        .await;
    assert_eq!((frame.sides[0].totals.granted, frame.sides[0].totals.refused), (1_000, 99_000));
    let held = frame.sides[1].totals;
    assert_eq!((held.granted, held.waiting), (16 * 50, 16 * 25));
    assert!(frame.sides[0].decisions.len() + frame.sides[1].decisions.len() <= 500);
    let grown = memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes more");
}

#[tokio::test]
async fn a_thousand_sessions_are_no_more_than_256() {
    let running = unlimited().await;
    let first = running.session(json!([{ "algorithm": "gcra" }])).await;
    for _ in 0..1_000 {
        running
            .session(json!([{ "algorithm": "sliding_window", "parameters": { "slots": 60 } }]))
            .await;
    }
    assert_eq!(running.playground.sessions(), 256);
    assert_eq!(running.get(&format!("{first}/events")).await.status(), 404);
}

#[tokio::test]
async fn a_fast_clock_with_fast_streams_is_slowed_and_says_so() {
    let running = unlimited().await;
    let session = running.session(json!([{ "algorithm": "gcra", "wait": 1 }])).await;
    let stream =
        |key: usize| json!({ "key": key.to_string(), "per_second": 1000, "spacing": "random" });
    let streams = json!({ "streams": (0..8).map(stream).collect::<Vec<_>>() });
    let (status, _) = running.answer(Method::PUT, &format!("{session}/streams"), &streams).await;
    assert_eq!(status, 204);
    let (status, _) =
        running.answer(Method::PUT, &format!("{session}/speed"), &json!({ "speed": 600 })).await;
    assert_eq!(status, 204);
    let mut events = running.events(&session).await;
    let frame = events.find(|frame| frame.slowed && frame.dropped > 0).await;
    let totals = frame.sides[0].totals;
    assert!(totals.granted > 0 && totals.refused > 0);
    // Others are answered meanwhile.
    let other = running.session(json!([{ "algorithm": "gcra" }])).await;
    assert!(running.events(&other).await.next().await.is_some());
}

#[tokio::test]
async fn sessions_stand_still_and_say_so_once_they_have_taken_all_the_time_that_there_is() {
    let work_time = Duration::from_micros(1);
    let running =
        Running::with(PlaygroundOptions { work_time, ..PlaygroundOptions::default() }).await;
    let session = running.session(json!([{ "algorithm": "gcra" }])).await;
    let mut events = running.events(&session).await;
    let frame = events.find(|frame| frame.slowed).await;
    let next = events.find(|frame| frame.slowed).await;
    assert_eq!(next.at.to_bits(), frame.at.to_bits());
    let send = json!({ "key": "a" });
    let (status, busy) = running.answer(Method::POST, &format!("{session}/send"), &send).await;
    assert_eq!(status, 503);
    assert!(busy["detail"].as_str().unwrap().contains("too much to do"), "{busy}");
}

#[tokio::test]
async fn a_reader_that_never_reads_costs_no_memory_and_holds_up_nobody() {
    let running = unlimited().await;
    let session = running.session(json!([{ "algorithm": "gcra" }])).await;
    let stream = json!({ "streams": [{ "key": "a", "per_second": 1000 }] });
    running.answer(Method::PUT, &format!("{session}/streams"), &stream).await;
    let mut silent = Vec::new();
    for _ in 0..3 {
        let mut connection = TcpStream::connect(running.address).await.unwrap();
        let request = format!("GET {session}/events HTTP/1.1\r\nhost: a\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        silent.push(connection);
    }
    let mut events = running.events(&session).await;
    let at_first = events.next().await.unwrap().at;
    // So much that the buffers of the others are full: each frame has some 30 kB.
    events.find(|frame| frame.at > at_first + 1.0).await;
    let before = memory();
    events.find(|frame| frame.at > at_first + 3.0).await;
    let grown = memory().saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more");
    // What they have not read yet is there, and then they are told how much they have missed.
    let mut some = [0; 4_096];
    assert!(silent[0].read(&mut some).await.unwrap() > 0);
}

#[tokio::test]
async fn streams_that_break_off_leave_the_session_and_nothing_else() {
    let running = unlimited().await;
    let session = running.session(json!([{ "algorithm": "gcra" }])).await;
    for _ in 0..50 {
        let response = running.get(&format!("{session}/events")).await;
        // Too many only if the server has not seen the end of those before yet.
        assert!([200, 503].contains(&response.status().as_u16()));
        drop(response);
    }
    running.send(&session, &json!({ "key": "a" })).await;
    assert_eq!(running.playground.sessions(), 1);
}
