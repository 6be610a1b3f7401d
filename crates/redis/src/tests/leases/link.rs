//! A link that takes longer than the wait that a denial tells.

use std::time::Duration;

use redis::AsyncConnectionConfig;
use sluicegate::quota;
use tokio::task::JoinSet;

use super::hot;
use crate::tests::proxy::Proxy;
use crate::tests::server::Server;
use crate::{Async, KeySpace, LeasedLimiter, RedisLimit, RedisLimiter};

#[tokio::test]
async fn calls_that_the_server_denied_are_denied_although_it_could_grant_them_by_now() {
    let server = Server::start();
    let proxy = Proxy::start(&server).await;
    let minute = Some(Duration::from_secs(60));
    let config = AsyncConnectionConfig::new().set_response_timeout(minute);
    let client = Async::with_config(proxy.client(), config);
    // A permit each millisecond, of which 30 are shared.
    let limit = RedisLimit::token_bucket(quota!(1_000 / second, burst 40)).unwrap();
    let limiter = RedisLimiter::new(limit, KeySpace::new("app").unwrap(), client);
    let limiter = LeasedLimiter::new(limiter, hot(1).build().unwrap()).unwrap();
    limiter.try_acquire("eve", 1).await.unwrap();
    let before = limiter.counts().requests;
    proxy.delay(Duration::from_millis(100));
    let mut calls = JoinSet::new();
    for _ in 0..300 {
        let limiter = limiter.clone();
        calls.spawn(async move {
            let answer = limiter.try_acquire("ada", 1).await;
            answer.map_err(|error| *error.denied().expect("a denial"))
        });
    }
    let answers = calls.join_all().await;
    let denials: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert!(!denials.is_empty(), "{} requests", limiter.counts().requests - before);
    for denied in denials {
        assert!(denied.retry_after().unwrap() > Duration::ZERO, "{denied:?}");
    }
}
