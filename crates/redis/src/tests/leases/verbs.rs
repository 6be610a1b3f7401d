//! Answers, and how often the server is asked for them.

use std::time::{Duration, Instant};

use sluicegate::{Denied, quota};
use tokio::task::JoinSet;

use super::{hot, leased, plain, settled, take_all};
use crate::tests::limits;
use crate::tests::server::Server;
use crate::{LeaseError, LeasedLimiter, RedisLimit, TryAcquireError};

fn denied(answer: Result<sluicegate::Grant, TryAcquireError>) -> Denied {
    *answer.unwrap_err().denied().expect("a denial")
}

/// A limit of 1,000 permits of which none comes back while a test runs.
fn thousand() -> RedisLimit {
    RedisLimit::token_bucket(quota!(1_000 / 1_000 days)).unwrap()
}

#[tokio::test]
async fn one_node_is_granted_the_shared_part_of_each_limit_and_told_what_is_left() {
    let server = Server::start();
    for limit in limits().into_iter().filter(|limit| limit.terms().comes_back_together() == 1) {
        // 10 permits: leases of 2 for 2 nodes, and 6 that are shared.
        let limiter = leased(&server, limit.clone(), hot(2).share_percent(40));
        for left in (0..6).rev() {
            let grant = limiter.try_acquire("ada", 1).await.unwrap();
            assert_eq!((grant.permits(), grant.limit()), (1, 6), "{limit:?}");
            // A request for the next lease may be on its way.
            assert!(grant.remaining() <= left + 2, "{limit:?}: {grant:?}");
        }
        let denial = denied(limiter.try_acquire("ada", 1).await);
        assert_eq!((denial.remaining(), denial.limit()), (Some(0), Some(6)), "{limit:?}");
        let least = denial.retry_after().unwrap();
        assert!(least > Duration::ZERO && least <= denial.reset_after().unwrap(), "{limit:?}");
        let large = denied(limiter.try_acquire("ada", 7).await);
        assert_eq!(large, Denied::TooLarge { limit: 6, which: 0 }, "{limit:?}");
        assert_eq!(limiter.try_acquire("ada", 0).await.unwrap().permits(), 0, "{limit:?}");
        limiter.reset("ada").await.unwrap();
        assert_eq!(take_all(&limiter, "ada").await, 6, "{limit:?}");
        plain(&server, limit).reset("ada").await.unwrap();
    }
}

#[tokio::test]
async fn a_limit_that_leases_would_cut_for_ever_has_none() {
    let server = Server::start();
    for limit in limits().into_iter().filter(|limit| limit.terms().comes_back_together() > 1) {
        let limiter = plain(&server, limit.clone());
        let error = LeasedLimiter::new(limiter, hot(2).share_percent(40).build().unwrap());
        let cut = LeaseError::Cut { together: 10, shared: 6, held: 4 };
        assert_eq!(error.unwrap_err(), cut, "{limit:?}");
    }
}

#[tokio::test]
async fn requests_of_every_size_are_granted_from_the_lease_or_by_the_server() {
    let server = Server::start();
    // Leases of 50, and 900 that are shared.
    let limiter = leased(&server, thousand(), hot(2).share_percent(10));
    let mut taken = 0;
    for permits in [1, 2, 50, 51, 200, 3, 50] {
        taken += limiter.try_acquire("ada", permits).await.unwrap().permits();
    }
    taken += limiter.try_acquire_up_to("ada", 7).await.unwrap().permits();
    // All that the server has.
    taken += limiter.try_acquire_up_to("ada", 5_000).await.unwrap().permits();
    // And all that is here, in parts.
    while let Ok(grant) = limiter.try_acquire_up_to("ada", 5_000).await {
        taken += grant.permits();
    }
    assert_eq!(taken, 900);
}

#[tokio::test]
async fn a_look_counts_the_lease_and_takes_nothing() {
    let server = Server::start();
    let limiter = leased(&server, thousand(), hot(1).share_percent(10));
    let look = limiter.peek("ada", 900).await.unwrap();
    assert_eq!((look.permits(), look.remaining()), (900, 0));
    for _ in 0..30 {
        limiter.try_acquire("ada", 1).await.unwrap();
    }
    settled(&limiter, "ada").await;
    assert!(limiter.held("ada").unwrap() > 0);
    assert_eq!(limiter.peek("ada", 0).await.unwrap().remaining(), 870);
    assert_eq!(limiter.peek("ada", 100).await.unwrap().remaining(), 770);
    while limiter.try_acquire("ada", 10).await.is_ok() {}
    settled(&limiter, "ada").await;
    // Fewer than 10, here and on the server.
    let held = limiter.held("ada").unwrap();
    let left = limiter.peek("ada", 0).await.unwrap().remaining();
    assert!(limiter.peek("ada", left + 1).await.is_err());
    limiter.peek("ada", left).await.unwrap();
    assert_eq!(limiter.held("ada"), Some(held));
}

#[tokio::test]
async fn a_thousand_calls_need_few_requests_and_what_they_did_not_use_is_given_back() {
    let server = Server::start();
    let limit = RedisLimit::token_bucket(quota!(10_000 / 10_000 days)).unwrap();
    let limiter = leased(&server, limit.clone(), hot(4));
    let begin = Instant::now();
    for _ in 0..1_000 {
        limiter.try_acquire("ada", 1).await.unwrap();
    }
    // A lease is to last for 100 ms, so a slow machine has smaller ones.
    let most = 40 + begin.elapsed().as_millis() as u64 / 25;
    limiter.shutdown().await;
    let requests = limiter.counts().requests;
    assert!((2..most).contains(&requests), "{requests} of {most}");
    assert_eq!(limiter.counts().keys, 0);
    assert!(limiter.counts().given_back > 0);
    // The server knows of those that were used, and of no others.
    let plain = plain(&server, limit);
    assert_eq!(plain.peek("ada", 0).await.unwrap().remaining(), 7_500 - 1_000);
    // From now on each call asks the server.
    limiter.try_acquire("ada", 1).await.unwrap();
    assert_eq!((limiter.counts().keys, limiter.counts().requests), (0, requests));
}

#[tokio::test]
async fn calls_at_the_same_time_share_a_request() {
    let server = Server::start();
    let limiter = leased(&server, thousand(), hot(2));
    let mut calls = JoinSet::new();
    for _ in 0..200 {
        let limiter = limiter.clone();
        calls.spawn(async move { limiter.try_acquire("ada", 2).await.unwrap().permits() });
    }
    let granted: u64 = calls.join_all().await.into_iter().sum();
    assert_eq!(granted, 400);
    assert!(limiter.counts().requests <= 4, "{:?}", limiter.counts());
}

#[tokio::test]
async fn a_denial_is_remembered_until_the_server_can_grant_again() {
    let server = Server::start();
    let limit = RedisLimit::token_bucket(quota!(100 / 36525 days)).unwrap();
    let limiter = leased(&server, limit, hot(1));
    assert_eq!(take_all(&limiter, "ada").await, 75);
    let (requests, begin) = (limiter.counts().requests, Instant::now());
    for _ in 0..1_000 {
        assert!(limiter.try_acquire("ada", 1).await.is_err());
    }
    // It is remembered for a second at most, the first of which may have begun before.
    let asked = limiter.counts().requests - requests;
    assert!(asked <= begin.elapsed().as_secs() + 1, "asked {asked} times");

    let limit = RedisLimit::token_bucket(quota!(20 / second, burst 10)).unwrap();
    let limiter = leased(&server, limit, hot(1));
    // A slow machine may earn a permit between two calls.
    let denial = loop {
        if let Err(error) = limiter.try_acquire("eve", 1).await {
            break *error.denied().expect("a denial");
        }
    };
    let retry_after = denial.retry_after().unwrap();
    assert!(retry_after <= Duration::from_millis(50), "{retry_after:?}");
    tokio::time::sleep(retry_after + Duration::from_millis(1)).await;
    limiter.try_acquire("eve", 1).await.unwrap();
}

/// Nobody tells the other nodes that a key begins anew.
#[tokio::test]
async fn a_denial_is_forgotten_soon_after_the_key_begins_anew_elsewhere() {
    let server = Server::start();
    let limit = RedisLimit::token_bucket(quota!(100 / 36525 days)).unwrap();
    let [limiter, other] = [(); 2].map(|()| leased(&server, limit.clone(), hot(2)));
    for way in ["another node resets the key", "the server is emptied"] {
        take_all(&limiter, "ada").await;
        match way {
            "the server is emptied" => _ = server.tell("FLUSHALL"),
            _ => other.reset("ada").await.unwrap(),
        }
        let begin = Instant::now();
        while limiter.try_acquire("ada", 1).await.is_err() {
            assert!(begin.elapsed() < Duration::from_secs(600), "denied for ten minutes: {way}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        eprintln!("{way}: granted after {:?}", begin.elapsed());
    }
}

#[tokio::test]
async fn calls_that_are_given_up_leave_their_permits_to_others() {
    let server = Server::start();
    let limiter = leased(&server, thousand(), hot(1).share_percent(10));
    let mut other = server.connection();
    // It makes the connection.
    limiter.peek("ada", 1).await.unwrap();
    for _ in 0..5 {
        redis::cmd("CLIENT").arg(&["PAUSE", "600000", "WRITE"]).exec(&mut other).unwrap();
        let call = limiter.try_acquire("ada", 10);
        assert!(tokio::time::timeout(Duration::from_millis(200), call).await.is_err());
        redis::cmd("CLIENT").arg("UNPAUSE").exec(&mut other).unwrap();
        settled(&limiter, "ada").await;
        // What the call asked for is in the lease, with the lease itself.
        let held = limiter.held("ada").unwrap();
        assert!(held >= 10, "{held}");
        assert_eq!(limiter.try_acquire_up_to("ada", held).await.unwrap().permits(), held);
    }
}
