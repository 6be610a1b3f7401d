//! The keys that get a lease, and the time at which it is given back.

use std::time::Duration;

use sluicegate::quota;

use super::{hot, leased, plain};
use crate::tests::server::Server;
use crate::{KeySpace, LeaseOptions, RedisLimit};

fn hundred() -> RedisLimit {
    RedisLimit::token_bucket(quota!(100 / 100 days)).unwrap()
}

#[tokio::test]
async fn a_key_gets_a_lease_when_it_is_asked_for_often() {
    let server = Server::start();
    let options = LeaseOptions::builder(2).hot_after(3).expiry(Duration::from_secs(3_600));
    let limiter = leased(&server, hundred(), options);
    for call in 1..=3 {
        let grant = limiter.try_acquire("ada", 1).await.unwrap();
        assert_eq!((grant.remaining(), limiter.held("ada")), (76 - call, None));
        limiter.try_acquire(&format!("rare {call}"), 1).await.unwrap();
    }
    limiter.try_acquire("ada", 1).await.unwrap();
    assert!(limiter.held("ada").is_some());
    assert_eq!(limiter.counts().keys, 1);
}

#[tokio::test]
async fn no_more_keys_have_leases_than_the_options_say() {
    let server = Server::start();
    let options = hot(2).max_keys(10).expiry(Duration::from_secs(3_600));
    let limiter = leased(&server, hundred(), options);
    for key in 0..100 {
        // All are limited, with a lease or without.
        let mut granted = 0;
        while limiter.try_acquire(&key.to_string(), 19).await.is_ok() {
            granted += 19;
        }
        assert_eq!(granted, 76);
    }
    for key in 0..100 {
        limiter.try_acquire(&format!("small {key}"), 1).await.unwrap();
    }
    assert_eq!(limiter.counts().keys, 10);
    limiter.shutdown().await;
    assert_eq!(limiter.counts().keys, 0);
}

#[tokio::test]
async fn leases_of_idle_keys_are_given_back_and_make_space_for_others() {
    let server = Server::start();
    let options = hot(1).max_keys(1).expiry(Duration::from_millis(100));
    let limiter = leased(&server, hundred(), options);
    for _ in 0..5 {
        limiter.try_acquire("ada", 1).await.unwrap();
    }
    // Without another call.
    for _ in 0..600 {
        if limiter.held("ada").is_none() && limiter.counts().given_back > 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(limiter.held("ada"), None);
    let shared = plain(&server, hundred().with_limit(75).unwrap());
    assert_eq!(shared.peek("ada", 0).await.unwrap().remaining(), 70);
    // The space is another key's.
    let requests = limiter.counts().requests;
    for _ in 0..5 {
        limiter.try_acquire("eve", 1).await.unwrap();
    }
    assert!(limiter.counts().requests > requests, "{:?}", limiter.counts());
    assert_eq!(limiter.try_acquire_up_to("ada", 100).await.unwrap().permits(), 70);
}

#[tokio::test]
async fn keys_that_are_too_long_are_an_error_with_and_without_a_lease() {
    let server = Server::start();
    let long = "k".repeat(KeySpace::MAX_KEY + 1);
    for options in [hot(1), LeaseOptions::builder(1)] {
        let limiter = leased(&server, hundred(), options);
        let error = limiter.try_acquire(&long, 1).await.unwrap_err();
        assert!(matches!(error, crate::TryAcquireError::Key(_)), "{error:?}");
        assert_eq!(limiter.counts().keys, 0);
    }
}
