//! A server that ends, hangs or loses its data.

use std::time::Duration;

use sluicegate::quota;

use super::{Leased, hot, leased, plain, settled, take_all};
use crate::request::KeyedLimit;
use crate::run_script::{Run, RunScript};
use crate::tests::server::Server;
use crate::{
    Async, Fallback, Guarded, KeySpace, LeasedLimiter, RedisLimit, RedisLimiter, StoreError,
    TryAcquireError,
};

fn thousand() -> RedisLimit {
    RedisLimit::token_bucket(quota!(1_000 / 1_000 days)).unwrap()
}

fn fault(answer: Result<sluicegate::Grant, TryAcquireError>) -> StoreError {
    match answer {
        Err(TryAcquireError::Store(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// A limiter that has granted 20 of 750 permits, and those that are left in its lease.
async fn used(server: &Server) -> (Leased, u64) {
    let limiter: Leased = leased(server, thousand(), hot(2));
    for _ in 0..20 {
        limiter.try_acquire("ada", 1).await.unwrap();
    }
    settled(&limiter, "ada").await;
    let held = limiter.held("ada").unwrap();
    assert!(held > 0);
    (limiter, held)
}

#[tokio::test]
async fn while_the_server_is_away_leases_are_spent_and_then_the_fallback_answers() {
    let mut server = Server::start();
    let (limiter, held) = used(&server).await;
    server.kill();
    for _ in 0..held {
        limiter.try_acquire("ada", 1).await.unwrap();
    }
    let error = fault(limiter.try_acquire("ada", 1).await);
    assert!(matches!(error, StoreError::Unreachable(_) | StoreError::Disconnected(_)), "{error:?}");
    server.restart();
    let mut rest = 0;
    for _ in 0..12_000 {
        rest += take_all(&limiter, "ada").await;
        if rest > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    // Its data were lost: it is as full as at first.
    assert_eq!(rest, 750);
}

#[tokio::test]
async fn a_lease_that_ends_while_the_server_takes_nothing_back_is_lost() {
    let server = Server::start();
    let (limiter, held) = used(&server).await;
    let mut other = server.connection();
    redis::cmd("CONFIG").arg(&["SET", "maxmemory", "1"]).exec(&mut other).unwrap();
    limiter.shutdown().await;
    redis::cmd("CONFIG").arg(&["SET", "maxmemory", "0"]).exec(&mut other).unwrap();
    assert_eq!(limiter.counts().given_back, 0);
    assert_eq!(limiter.peek("ada", 0).await.unwrap().remaining(), 750 - 20 - held);
}

#[tokio::test]
async fn a_server_that_hangs_holds_nobody_longer_than_the_time_limit() {
    let server = Server::start();
    let runner = Guarded::new(plain(&server, thousand()).runner().clone())
        .with_time_limit(Duration::from_millis(20))
        .with_pause(Duration::MAX);
    let limiter = RedisLimiter::new(thousand(), KeySpace::new("app").unwrap(), runner.clone());
    let limiter = limiter.with_fallback(Fallback::Open);
    let limiter = LeasedLimiter::new(limiter, hot(2).build().unwrap()).unwrap();
    let mut other = server.connection();
    redis::cmd("CLIENT").arg(&["PAUSE", "600000", "WRITE"]).exec(&mut other).unwrap();
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let limiter = limiter.clone();
            tokio::spawn(async move { limiter.decide(crate::Verb::Take, "ada", 1).await.unwrap() })
        })
        .collect();
    for call in calls {
        let decision = call.await.unwrap();
        assert!(decision.answer().is_ok());
        let failure = decision.failure().expect("the server has not answered");
        assert!(matches!(failure, StoreError::TimedOut | StoreError::Skipped), "{failure:?}");
    }
    assert_eq!(runner.counts().failed, 1, "one request for all of them");
}

#[tokio::test]
async fn permits_are_given_back_once_however_often_the_message_comes() {
    let server = Server::start();
    let limiter = plain(&server, thousand());
    let keyed = KeyedLimit { limit: thousand(), keys: KeySpace::new("app").unwrap() };
    let take = keyed.lease("app:tb:{ada}", 5, 100);
    let reply = limiter.send(&take).await.unwrap();
    let charged = take.charged(&reply).unwrap();
    assert_eq!(limiter.peek("ada", 0).await.unwrap().remaining(), 900);
    let give = keyed.give_back("app:tb:{ada}", 40, &charged);
    let (keys, arguments) = (["app:tb:{ada}", "app:tb:{ada}:back:1"], give.arguments());
    let run = Run { script: give.script(), keys: &keys, arguments: &arguments };
    let runner: &Async = limiter.runner();
    assert_eq!(runner.run(run).await.unwrap()[0], 40);
    assert_eq!(runner.run(run).await.unwrap()[0], 0);
    assert_eq!(limiter.peek("ada", 0).await.unwrap().remaining(), 940);
}

#[tokio::test]
async fn what_marks_a_give_back_lasts_no_longer_than_the_key() {
    let server = Server::start();
    let limiter = plain(&server, thousand());
    let limit = RedisLimit::token_bucket(quota!(100 / 100 seconds)).unwrap();
    let keyed = KeyedLimit { limit, keys: KeySpace::new("app").unwrap() };
    let take = keyed.lease("app:tb:{ada}", 5, 50);
    let charged = take.charged(&limiter.send(&take).await.unwrap()).unwrap();
    let lasts = |key: &str| server.tell(&format!("PTTL {key}"));
    let redis::Value::Int(key) = lasts("app:tb:{ada}") else { panic!("a number") };

    let give = keyed.give_back("app:tb:{ada}", 40, &charged);
    let arguments = give.arguments();
    let run = |keys| Run { script: give.script(), keys, arguments: &arguments };
    let runner: &Async = limiter.runner();
    assert_eq!(runner.run(run(&["app:tb:{ada}", "app:tb:{ada}:back:1"])).await.unwrap()[0], 40);
    let redis::Value::Int(marker) = lasts("app:tb:{ada}:back:1") else { panic!("a number") };
    assert!(0 < marker && marker <= key, "{marker} of {key}");
    // A key that is full has no state, and needs no marker.
    assert_eq!(runner.run(run(&["app:tb:{eve}", "app:tb:{eve}:back:1"])).await.unwrap()[0], 0);
    assert_eq!(lasts("app:tb:{eve}:back:1"), redis::Value::Int(-2));
}

#[test]
fn a_call_by_a_runtime_that_has_ended_is_an_error_and_does_not_spin() {
    let server = Server::start();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let limiter = leased(&server, thousand(), hot(2));
    let handle = runtime.handle().clone();
    runtime.shutdown_background();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(handle.block_on(limiter.try_acquire("ada", 1))));
    let answer = receiver.recv_timeout(Duration::from_secs(600)).expect("an answer");
    assert!(fault(answer).may_have_taken());
}

#[test]
fn outside_a_runtime_leases_are_ended_without_a_panic() {
    let server = Server::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let limiter = leased(&server, thousand(), hot(2));
    runtime.block_on(async {
        for _ in 0..20 {
            limiter.try_acquire("ada", 1).await.unwrap();
        }
    });
    assert!(limiter.held("ada").unwrap() > 0);
    let mut end = Box::pin(limiter.shutdown());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let _ = end.as_mut().poll(&mut context);
    assert_eq!(limiter.held("ada"), None);
}

#[test]
fn outside_a_runtime_a_call_is_an_error_and_no_panic() {
    let server = Server::start();
    let limiter = leased(&server, thousand(), hot(2));
    let mut call = Box::pin(limiter.try_acquire("ada", 1));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(answer) = call.as_mut().poll(&mut context) else {
        panic!("waits for what nobody runs")
    };
    assert!(fault(answer).to_string().contains("cannot reach"));
}
