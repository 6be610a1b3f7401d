//! States of a server in which it answers with errors, such as that it loads its data, or runs a script for too long; and
//! how long it takes until there are answers again.

use std::time::Duration;

use sluicegate::quota;

use super::patient;
use super::recovery::{answers, guarded as recovering, refused};
use super::server::{Server, wait_until};
use crate::{
    BreakerState, Guarded, KeySpace, RedisLimit, RedisLimiter, StoreError, TryAcquireError,
};

fn ten<R>(runner: R) -> RedisLimiter<R> {
    let limit = RedisLimit::token_bucket(quota!(10 / 10 days)).unwrap();
    RedisLimiter::new(limit, KeySpace::new("app").unwrap(), runner)
}

/// Returns the code of the server's error.
fn code(answer: Result<sluicegate::Grant, TryAcquireError>) -> Option<String> {
    match answer {
        Ok(_) => None,
        Err(TryAcquireError::Store(StoreError::Server { code, .. })) => Some(code),
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_server_that_loads_its_data_takes_nothing_and_then_goes_on_with_them() {
    let server = Server::start();
    let limiter = ten(patient(server.client()));
    limiter.try_acquire("ada", 4).await.unwrap();
    let fill = "for key = 1, 2000 do redis.call('SET', key, string.rep('x', 1024)) end";
    redis::cmd("EVAL").arg(fill).arg(0).exec(&mut server.connection()).unwrap();
    server.tell("CONFIG SET rdbcompression no");
    server.tell("SAVE");
    // Ten milliseconds for each key, and answers between two, until it is told to go on.
    let slow = ["--key-load-delay", "10000", "--loading-process-events-interval-bytes", "1024"];
    let server = Server::in_folder(server.into_folder(), &slow);
    let guarded = Guarded::new(patient(server.client())).with_time_limit(Duration::from_secs(600));
    let limiter = ten(guarded.clone());
    let error = code(limiter.try_acquire("ada", 1).await);
    assert_eq!(error.as_deref(), Some("LOADING"));
    assert_eq!(guarded.state(), BreakerState::Open);
    let recovers = recovering(server.client());
    refused(&recovers, "LOADING").await;
    server.tell("CONFIG SET key-load-delay 0");
    wait_until("the data are loaded", || {
        let mut connection = server.connection();
        redis::cmd("GET").arg("x").query::<Option<String>>(&mut connection).is_ok()
    });
    answers("LOADING", &recovers, "eve").await;
    let limiter = ten(guarded.runner().clone());
    assert_eq!(limiter.try_acquire("ada", 1).await.unwrap().remaining(), 5);
}

#[tokio::test]
async fn a_key_that_is_evicted_begins_full() {
    let server = Server::start();
    let limiter = ten(patient(server.client()));
    assert_eq!(limiter.try_acquire("ada", 4).await.unwrap().remaining(), 6);
    server.tell("CONFIG SET maxmemory-policy allkeys-random");
    server.tell("CONFIG SET maxmemory 8mb");
    let mut connection = server.connection();
    let value = "x".repeat(100_000);
    for number in 0..100_000 {
        redis::cmd("SET").arg(number).arg(&value).exec(&mut connection).unwrap();
        if redis::cmd("EXISTS").arg("app:tb:{ada}").query(&mut connection).unwrap() {
            continue;
        }
        assert_eq!(limiter.try_acquire("ada", 1).await.unwrap().remaining(), 9);
        return;
    }
    panic!("never evicted");
}

#[tokio::test]
async fn a_server_that_runs_another_script_for_too_long_takes_nothing_until_that_is_killed() {
    let server = Server::with_options(&["--busy-reply-threshold", "1"]);
    let limiter = ten(patient(server.client()));
    limiter.try_acquire("ada", 1).await.unwrap();
    let client = server.client();
    let endless = std::thread::spawn(move || {
        let mut connection = client.get_connection().unwrap();
        redis::cmd("EVAL").arg("while true do end").arg(0).exec(&mut connection).unwrap_err()
    });
    let mut error = None;
    for _ in 0..1_000 {
        // A look, of which there may be many before the other script begins.
        error = code(limiter.peek("eve", 1).await);
        if error.is_some() {
            break;
        }
    }
    assert_eq!(error.as_deref(), Some("BUSY"));
    let guarded = Guarded::new(limiter.runner().clone()).with_time_limit(Duration::from_secs(600));
    assert_eq!(code(ten(guarded.clone()).try_acquire("ada", 1).await).as_deref(), Some("BUSY"));
    assert_eq!(guarded.state(), BreakerState::Open);
    let recovers = recovering(server.client());
    refused(&recovers, "BUSY").await;
    server.tell("SCRIPT KILL");
    answers("BUSY", &recovers, "mia").await;
    endless.join().unwrap();
    assert_eq!(limiter.try_acquire("ada", 1).await.unwrap().remaining(), 8);
}

#[tokio::test]
async fn an_error_that_others_have_to_expect_opens_the_breaker_and_one_of_a_key_does_not() {
    let server = Server::start();
    let mut own = server.connection();
    let mut tell = |words: &str| {
        let mut words = words.split(' ');
        let name = words.next().unwrap();
        redis::cmd(name).arg(words.collect::<Vec<_>>()).exec(&mut own).unwrap();
    };
    let guarded = async || {
        let guarded = Guarded::new(patient(server.client())).with_pause(Duration::MAX);
        ten(guarded.with_time_limit(Duration::from_secs(600)))
    };
    let states: [(&str, &[&str], &[&str]); 5] = [
        ("READONLY", &["REPLICAOF 127.0.0.1 1"], &["REPLICAOF NO ONE"]),
        (
            "MASTERDOWN",
            &["CONFIG SET replica-serve-stale-data no", "REPLICAOF 127.0.0.1 1"],
            &["REPLICAOF NO ONE"],
        ),
        ("OOM", &["CONFIG SET maxmemory 1"], &["CONFIG SET maxmemory 0"]),
        (
            "NOREPLICAS",
            &["CONFIG SET min-replicas-to-write 1"],
            &["CONFIG SET min-replicas-to-write 0"],
        ),
        ("NOAUTH", &["CONFIG SET requirepass secret"], &["CONFIG SET requirepass "]),
    ];
    tell("LPUSH app:tb:{joe} 1");
    let mut connection = server.connection();
    let info: String = redis::cmd("INFO").arg("server").query(&mut connection).unwrap();
    for (expected, begin, end) in states {
        if expected == "NOREPLICAS" && info.contains("redis_version:6.") {
            eprintln!("{expected}: not on this server, whose scripts write without replicas");
            continue;
        }
        let limiter = guarded().await;
        for _ in 0..3 {
            assert!(code(limiter.try_acquire("joe", 1).await).is_some(), "a key of another type");
        }
        limiter.try_acquire("eve", 1).await.unwrap();
        assert_eq!(limiter.runner().state(), BreakerState::Closed, "before {expected}");

        for words in begin {
            tell(words);
        }
        let limiter = guarded().await;
        assert_eq!(code(limiter.try_acquire("eve", 1).await).as_deref(), Some(expected));
        assert_eq!(limiter.runner().state(), BreakerState::Open, "{expected}");
        let recovers = recovering(server.client());
        refused(&recovers, expected).await;
        for words in end {
            tell(words);
        }
        answers(expected, &recovers, "mia").await;
    }
}
