//! Retries: which, when, and how many.

use http::{Method, Request};
use sluicegate::quota;
use sluicegate_http::outgoing::{OutgoingLayer, Retries};
use tower::ServiceExt;

use super::layer::{Call, Failure, Server, answer, get, status};
use super::*;

fn retrying(retries: Retries<Call>) -> OutgoingLayer<Call> {
    OutgoingLayer::new().retries(retries).bounds(Bounds::new().start(10_000))
}

fn call(method: Method) -> Call {
    Request::builder().method(method).uri("http://example.org/").body(String::new()).unwrap()
}

/// Returns how often the request was sent, if the server always answers so.
async fn sent(retries: Retries<Call>, call: Call, status: u16) -> usize {
    let (server, client) =
        Server::new(&retrying(retries), move |_| async move { Ok(answer(status, &[])) });
    assert_eq!(super::layer::status(&client, call).await, status);
    server.received().len()
}

#[tokio::test(start_paused = true)]
async fn only_idempotent_methods_are_retried_unless_told_otherwise() {
    for method in [Method::GET, Method::HEAD, Method::OPTIONS, Method::PUT, Method::DELETE] {
        assert_eq!(sent(Retries::of_clones(), call(method.clone()), 503).await, 3, "{method}");
        assert_eq!(sent(Retries::of_clones(), call(method.clone()), 429).await, 3, "{method}");
    }
    for method in [Method::POST, Method::PATCH, Method::CONNECT] {
        assert_eq!(sent(Retries::of_clones(), call(method.clone()), 503).await, 1, "{method}");
        let any = Retries::of_clones().any_method();
        assert_eq!(sent(any, call(method.clone()), 503).await, 3, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_some_statuses_are_retried_and_others_can_be_set() {
    for status in [200, 301, 404, 408, 500, 502, 504] {
        assert_eq!(sent(Retries::of_clones(), get("/"), status).await, 1, "{status}");
    }
    let gateway = || Retries::of_clones().statuses([StatusCode::BAD_GATEWAY]);
    assert_eq!(sent(gateway(), get("/"), 502).await, 3);
    assert_eq!(sent(gateway(), get("/"), 503).await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_cannot_be_copied_is_sent_once() {
    assert_eq!(sent(Retries::new(|_| None), get("/"), 503).await, 1);
}

#[tokio::test(start_paused = true)]
async fn there_are_no_more_tries_than_allowed() {
    for (tries, expected) in [(0, 1), (1, 1), (2, 2), (7, 7)] {
        assert_eq!(sent(Retries::of_clones().tries(tries), get("/"), 503).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_the_server_tells_is_obeyed_to_the_second() {
    for status in [429, 503] {
        let (server, client) =
            Server::new(&retrying(Retries::of_clones()), move |number| async move {
                Ok(if number < 3 {
                    answer(status, &[("retry-after", "7")])
                } else {
                    answer(200, &[])
                })
            });
        assert_eq!(super::layer::status(&client, get("/")).await, 200);
        assert_eq!(server.times(), [0, 7, 14].map(Duration::from_secs));
    }
}

#[tokio::test(start_paused = true)]
async fn the_response_is_returned_if_the_server_tells_to_come_back_too_late() {
    let (server, client) = Server::new(&retrying(Retries::of_clones()), |_| async {
        Ok(answer(429, &[("retry-after", "31")]))
    });
    assert_eq!(status(&client, get("/")).await, 429);
    assert_eq!(server.times(), [Duration::ZERO]);
}

/// Each wait is random, from zero to a maximum that doubles.
#[tokio::test(start_paused = true)]
async fn without_a_wait_of_the_server_each_client_backs_off_by_another_one() {
    let backoff = |retries: Retries<Call>| retries.backoff(SECOND, 4 * SECOND).tries(5);
    let mut waits = [const { Vec::new() }; 4];
    for _ in 0..200 {
        let retries = backoff(Retries::of_clones());
        let (server, client) = Server::new(&retrying(retries), |_| async { Ok(answer(503, &[])) });
        assert_eq!(status(&client, get("/")).await, 503);
        let times = server.times();
        for (which, pair) in times.windows(2).enumerate() {
            waits[which].push(pair[1].saturating_sub(pair[0]));
        }
    }
    // Tokio's timers are late by up to a millisecond.
    let slack = Duration::from_millis(2);
    for (waits, longest) in waits.iter().zip([1, 2, 4, 4]) {
        let longest = Duration::from_secs(longest);
        assert_eq!(waits.len(), 200);
        assert!(waits.iter().all(|wait| *wait <= longest + slack));
        // In each tenth of the range there are some: none with a probability of 200 * 0.9^200 < 1e-6.
        for tenth in 0..10 {
            let range = longest * tenth / 10..longest * (tenth + 1) / 10 + slack;
            assert!(waits.iter().any(|wait| range.contains(wait)), "{tenth} of {longest:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn in_a_storm_of_failures_retries_are_a_share_of_the_requests() {
    let retries = Retries::of_clones().budget(20, quota!(1 / hour, burst 10));
    let (server, client) = Server::new(&retrying(retries), |_| async { Ok(answer(503, &[])) });
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let client = client.clone();
        tasks.spawn(async move { status(&client, get("/")).await });
    }
    tasks.join_all().await;
    let retries = server.received().len() - 1_000;
    assert!((190..=210).contains(&retries), "{retries}");
}

#[tokio::test(start_paused = true)]
async fn the_floor_is_for_clients_that_send_little() {
    let retries = Retries::of_clones().budget(0, quota!(1 / 10 seconds, burst 2)).tries(2);
    let (server, client) = Server::new(&retrying(retries), |_| async { Ok(answer(503, &[])) });
    for _ in 0..10 {
        assert_eq!(status(&client, get("/")).await, 503);
    }
    assert_eq!(server.received().len(), 10 + 2);
    tokio::time::sleep(20 * SECOND).await;
    for _ in 0..10 {
        assert_eq!(status(&client, get("/")).await, 503);
    }
    assert_eq!(server.received().len(), 20 + 4);
}

/// A budget that one server has left is not there for another.
#[tokio::test(start_paused = true)]
async fn each_server_has_a_budget_of_its_own() {
    let retries = Retries::of_clones().budget(0, quota!(1 / hour, burst 2));
    let (server, client) = Server::new(&retrying(retries), |_| async { Ok(answer(503, &[])) });
    for host in ["a", "b"] {
        let uri = format!("http://{host}/");
        let call = Request::get(uri).body(String::new()).unwrap();
        assert_eq!(status(&client, call).await, 503);
    }
    assert_eq!(server.received().len(), 6);
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_client_are_retried_for_idempotent_methods_only() {
    for (call, expected) in [(get("/"), 3), (call(Method::POST), 1)] {
        let retries = Retries::of_clones().any_method();
        let (server, client) = Server::new(&retrying(retries), |_| async { Err(Failure) });
        assert!(client.clone().oneshot(call).await.is_err());
        assert_eq!(server.received().len(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_huge_budget_is_the_largest_there_is() {
    let retries = Retries::of_clones().budget(u32::MAX, quota!(2_000_000_000 / second));
    let (server, client) = Server::new(&retrying(retries), |_| async { Ok(answer(503, &[])) });
    for _ in 0..100 {
        assert_eq!(status(&client, get("/")).await, 503);
    }
    assert_eq!(server.received().len(), 300);
}
