//! Callers on threads.

use std::thread;
use std::time::Duration;

use sluicegate::quota;

use super::hot;
use crate::tests::server::{Server, wait_until};
use crate::{
    Connections, KeySpace, LeaseOptionsBuilder, LeasedLimiter, Pool, RedisLimit, RedisLimiter,
};

fn limiter(server: &Server, permits: u64) -> LeasedLimiter<Pool> {
    with_options(server, permits, hot(2))
}

fn with_options(
    server: &Server,
    permits: u64,
    options: LeaseOptionsBuilder,
) -> LeasedLimiter<Pool> {
    let pool = r2d2::Pool::builder()
        .max_size(3)
        .build(Connections::new(server.client(), Duration::from_secs(600)))
        .unwrap();
    let quota = quota!(1 / 1000 days).with_burst(permits).unwrap();
    let limit = RedisLimit::token_bucket(quota).unwrap();
    let limiter = RedisLimiter::new(limit, KeySpace::new("app").unwrap(), Pool::new(pool));
    LeasedLimiter::new(limiter, options.build().unwrap()).unwrap()
}

#[test]
fn leases_of_idle_keys_are_given_back_without_another_call() {
    let server = Server::start();
    let limiter = with_options(&server, 1_000, hot(2).expiry(Duration::from_millis(100)));
    limiter.try_acquire_blocking("ada", 1).unwrap();
    let given_back = || limiter.held("ada").is_none() && limiter.counts().given_back > 0;
    wait_until("the lease is given back", given_back);
    assert_eq!(limiter.peek_blocking("ada", 0).unwrap().remaining(), 749);
}

#[test]
fn threads_of_two_nodes_are_granted_no_more_than_the_limit_and_few_less() {
    let server = Server::start();
    let nodes = [limiter(&server, 10_000), limiter(&server, 10_000)];
    let take_all = |limiter: &LeasedLimiter<Pool>, key: &str| {
        let mut taken = 0;
        while let Ok(grant) = limiter.try_acquire_blocking(key, 1 + taken % 3) {
            taken += grant.permits();
        }
        taken
    };
    for key in ["ada", "eve"] {
        let granted: u64 = thread::scope(|scope| {
            let of_nodes = nodes.iter().flat_map(|node| [node, node, node]);
            let threads: Vec<_> =
                of_nodes.map(|node| scope.spawn(move || take_all(node, key))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        // All that is shared, but for what was left of leases when a request for 3 was denied.
        assert!((7_490..=7_500).contains(&granted), "{granted}");
    }
    let requests: u64 = nodes.iter().map(|node| node.counts().requests).sum();
    assert!(requests < 2_000, "{requests}");
}

#[test]
fn what_threads_did_not_use_is_given_back() {
    let server = Server::start();
    let limiter = limiter(&server, 1_000);
    for _ in 0..100 {
        limiter.try_acquire_blocking("ada", 1).unwrap();
    }
    assert_eq!(limiter.peek_blocking("ada", 1).unwrap().remaining(), 649);
    limiter.shutdown_blocking();
    assert_eq!(limiter.held("ada"), None);
    assert_eq!(limiter.try_acquire_up_to_blocking("ada", 1_000).unwrap().permits(), 650);
    limiter.reset_blocking("ada").unwrap();
    assert_eq!(limiter.peek_blocking("ada", 0).unwrap().remaining(), 750);
    limiter.give_back_idle_blocking();
}
