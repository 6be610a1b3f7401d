//! A link that loses requests and answers, delays them, and is cut: by a proxy between the client and the server.

use std::time::{Duration, Instant};

use redis::AsyncConnectionConfig;
use sluicegate::quota;

use super::patient;
use super::proxy::Proxy;
use super::server::Server;
use crate::{
    Async, BreakerState, Fallback, Guarded, KeySpace, RedisLimit, RedisLimiter, RunScript,
    StoreError, TryAcquireError, Verb,
};

fn client(proxy: &Proxy) -> Async {
    let config = AsyncConnectionConfig::new()
        .set_response_timeout(Some(Duration::from_secs(5)))
        .set_connection_timeout(Some(Duration::from_secs(5)));
    Async::with_config(proxy.client(), config)
}

fn of<R>(permits: u64, runner: R) -> RedisLimiter<R> {
    let quota = quota!(1 / 3650 days).with_burst(permits).unwrap();
    let limit = RedisLimit::token_bucket(quota).unwrap();
    RedisLimiter::new(limit, KeySpace::new("app").unwrap(), runner)
}

/// The permits that a client got for certain, those that a failed request may have taken, and the other failures.
#[derive(Debug, Default)]
struct Got {
    granted: u64,
    unknown: u64,
    nothing: u64,
}

async fn ask(limiter: &RedisLimiter<impl RunScript>, times: usize) -> Got {
    let mut got = Got::default();
    for _ in 0..times {
        match limiter.try_acquire("ada", 1).await {
            Ok(grant) => got.granted += grant.permits(),
            Err(TryAcquireError::Store(error)) if error.may_have_taken() => got.unknown += 1,
            Err(TryAcquireError::Store(_)) => {
                got.nothing += 1;
                // Until the next attempt to connect.
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    got
}

/// Checks that the server has charged what was granted, and nothing beside it but what the errors admitted.
async fn check(server: &Server, permits: u64, got: &Got) {
    let direct = patient(server.client());
    let left = of(permits, direct).peek("ada", 0).await.unwrap().remaining();
    let charged = permits - left;
    assert!((got.granted..=got.granted + got.unknown).contains(&charged), "{charged}: {got:?}");
}

#[tokio::test]
async fn lost_requests_take_nothing_and_lost_answers_at_most_what_the_error_says() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    // Without a guard, which would ask again.
    let limiter = of(2_000, client(&proxy));
    proxy.lose_requests(7);
    let mut got = ask(&limiter, 300).await;
    assert!(got.granted > 150 && got.unknown + got.nothing > 20, "{got:?}");
    check(&server, 2_000, &got).await;
    proxy.lose_requests(0);
    proxy.lose_answers(5);
    let more = ask(&limiter, 300).await;
    assert!(more.granted > 150 && more.unknown > 20, "{more:?}");
    (got.granted, got.unknown) = (got.granted + more.granted, got.unknown + more.unknown);
    check(&server, 2_000, &got).await;
}

#[tokio::test]
async fn a_slow_link_is_given_up_within_the_time_limit_and_charges_late() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let guarded = Guarded::new(client(&proxy))
        .with_pause(Duration::ZERO)
        .with_time_limit(Duration::from_millis(20));
    let limiter = of(100, guarded);
    // One request charges its permit, whoever hears of it.
    let mut got = Got::default();
    while got.granted == 0 {
        let more = ask(&limiter, 1).await;
        (got.granted, got.unknown) = (got.granted + more.granted, got.unknown + more.unknown);
    }
    proxy.delay(Duration::from_millis(400));
    let more = ask(&limiter, 10).await;
    assert!(more.unknown > 0, "{more:?}");
    (got.granted, got.unknown) = (got.granted + more.granted, got.unknown + more.unknown);
    proxy.delay(Duration::ZERO);
    // Those that were sent are charged in the end: nobody got them, so that much less is granted.
    let mut left = 100;
    for _ in 0..600 {
        left = match limiter.decide(Verb::Peek, "ada", 0).await {
            Ok(decision) => decision.answer().unwrap().remaining(),
            Err(_) => left,
        };
        let charged = 100 - left;
        assert!(charged <= got.granted + got.unknown, "{charged}: {got:?}");
        if charged > got.granted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{left} are left: {got:?}");
}

#[tokio::test]
async fn while_the_link_is_cut_the_fallback_answers_and_afterwards_the_server() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let guarded = Guarded::new(client(&proxy))
        .with_pause(Duration::from_millis(50))
        .with_time_limit(Duration::from_millis(500));
    let limiter = of(1_000, guarded.clone()).with_fallback(Fallback::Open);
    let by_server =
        async || limiter.decide(Verb::Take, "ada", 1).await.unwrap().failure().is_none();
    assert!(by_server().await);
    proxy.cut();
    let mut skipped = 0;
    for _ in 0..200 {
        let decision = limiter.decide(Verb::Take, "ada", 1).await.unwrap();
        assert!(decision.answer().is_ok() && decision.failure().is_some());
        skipped += u64::from(matches!(decision.failure(), Some(StoreError::Skipped)));
    }
    assert!(skipped > 100 && guarded.counts().skipped == skipped, "{skipped}");
    assert_ne!(guarded.state(), BreakerState::Closed);
    proxy.mend();
    let begin = Instant::now();
    while !by_server().await {
        assert!(begin.elapsed() < Duration::from_secs(600), "no answer after ten minutes");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    eprintln!("the server answered {:?} after the link was mended", begin.elapsed());
    for _ in 0..40 {
        assert!(by_server().await);
    }
    assert_eq!(guarded.state(), BreakerState::Closed);
}
