//! The verbs, by the connections of the crate `redis`, on the server's own time.

use std::time::Duration;

use sluicegate::{Denied, quota, rate};

use super::patient;
use super::server::Server;
use crate::{KeySpace, RedisLimit, RedisLimiter, TryAcquireError};

/// A limit of each script, of which all permits come back after a day or more.
pub(crate) fn limits() -> Vec<RedisLimit> {
    let day = Duration::from_secs(86_400);
    vec![
        RedisLimit::token_bucket(quota!(10 / 10 days)).unwrap(),
        RedisLimit::token_bucket(quota!(10 / day).with_refill(sluicegate::Refill::Interval))
            .unwrap(),
        RedisLimit::gcra(day, day * 9).unwrap(),
        RedisLimit::fixed_window(rate!(10 / 36525 days)).unwrap(),
        RedisLimit::window_from_first(rate!(10 / day)).unwrap(),
        RedisLimit::sliding_counter(rate!(10 / day)).unwrap(),
        RedisLimit::sliding_window(rate!(10 / day), 24).unwrap(),
        RedisLimit::sliding_log(rate!(10 / day)).unwrap(),
    ]
}

fn denied(answer: Result<sluicegate::Grant, TryAcquireError>) -> Denied {
    *answer.unwrap_err().denied().expect("a denial")
}

fn ttl_millis(server: &Server, name: &str) -> i64 {
    redis::cmd("PTTL").arg(name).query(&mut server.connection()).unwrap()
}

fn keys(server: &Server) -> Vec<String> {
    redis::cmd("KEYS").arg("*").query(&mut server.connection()).unwrap()
}

#[tokio::test]
async fn each_limit_takes_some_or_all_and_looks_and_begins_anew() {
    for server in Server::of_each_program() {
        take_some_or_all_and_look_and_begin_anew(&server).await;
    }
}

async fn take_some_or_all_and_look_and_begin_anew(server: &Server) {
    let client = patient(server.client());
    for limit in limits() {
        let keys = KeySpace::new("app").unwrap();
        let limiter = RedisLimiter::new(limit.clone(), keys, client.clone());

        let look = limiter.peek("ada", 10).await.unwrap();
        assert_eq!((look.permits(), look.remaining(), look.limit()), (10, 0, 10), "{limit:?}");
        assert_eq!(limiter.try_acquire("ada", 4).await.unwrap().remaining(), 6, "{limit:?}");
        let nothing = limiter.try_acquire("ada", 0).await.unwrap();
        assert_eq!((nothing.permits(), nothing.remaining()), (0, 6), "{limit:?}");
        let denial = denied(limiter.try_acquire("ada", 7).await);
        assert_eq!(denial.remaining(), Some(6), "{limit:?}");
        assert_eq!(limiter.try_acquire_up_to("ada", 20).await.unwrap().permits(), 6, "{limit:?}");
        let denial = denied(limiter.try_acquire_up_to("ada", 20).await);
        assert_eq!(denial.remaining(), Some(0), "{limit:?}");
        let least = denial.retry_after().unwrap();
        assert!(least > Duration::ZERO && least <= denial.reset_after().unwrap(), "{limit:?}");
        assert_eq!(limiter.try_acquire("ada", 0).await.unwrap().permits(), 0, "{limit:?}");

        let large = denied(limiter.try_acquire("ada", 11).await);
        assert_eq!(large, Denied::TooLarge { limit: 10, which: 0 }, "{limit:?}");
        // Another key has its own.
        assert_eq!(limiter.try_acquire("eve", 10).await.unwrap().remaining(), 0, "{limit:?}");
        limiter.reset("ada").await.unwrap();
        assert_eq!(limiter.try_acquire("ada", 10).await.unwrap().remaining(), 0, "{limit:?}");
    }
}

#[tokio::test]
async fn a_key_is_kept_until_it_says_nothing_any_more() {
    let server = Server::start();
    let client = patient(server.client());
    for limit in limits() {
        let space = KeySpace::new("app").unwrap();
        let limiter = RedisLimiter::new(limit.clone(), space, client.clone());
        // A look and a denial write nothing.
        limiter.peek("ada", 1).await.unwrap();
        assert!(keys(&server).is_empty(), "{limit:?}");
        let grant = limiter.try_acquire("ada", 3).await.unwrap();
        let name = keys(&server).pop().unwrap();
        let left = Duration::from_millis(ttl_millis(&server, &name) as u64);
        // Up to a period longer, for limits of intervals and of two windows.
        let minute = Duration::from_secs(60);
        let most = grant.reset_after() + Duration::from_secs(86_400);
        assert!(
            left + minute > grant.reset_after() && left < most + minute,
            "{limit:?}: {left:?} {grant:?}"
        );
        limiter.reset("ada").await.unwrap();
        assert!(keys(&server).is_empty(), "{limit:?}");
    }
}

#[tokio::test]
async fn a_server_that_forgot_its_scripts_is_told_them_again() {
    let server = Server::start();
    let client = patient(server.client());
    let limit = RedisLimit::token_bucket(quota!(10 / day)).unwrap();
    let limiter = RedisLimiter::new(limit, KeySpace::new("app").unwrap(), client);
    for left in (0..10).rev() {
        let grant = limiter.try_acquire("ada", 1).await.unwrap();
        assert_eq!(grant.remaining(), left, "charged once");
        if left % 3 == 0 {
            redis::cmd("SCRIPT").arg("FLUSH").exec(&mut server.connection()).unwrap();
        }
    }
}

#[cfg(feature = "pool")]
#[test]
fn threads_share_a_limit_by_a_pool() {
    use crate::{Connections, Pool};

    let server = Server::start();
    let pool = r2d2::Pool::builder()
        .max_size(3)
        .build(Connections::new(server.client(), Duration::from_secs(600)))
        .unwrap();
    let limit = RedisLimit::sliding_log(rate!(100 / day)).unwrap();
    let limiter = RedisLimiter::new(limit, KeySpace::new("app").unwrap(), Pool::new(pool));
    let granted: u64 = std::thread::scope(|scope| {
        let of_thread = || -> u64 {
            let ask = |_| limiter.try_acquire_blocking("all", 1).map_or(0, |grant| grant.permits());
            (0..40).map(ask).sum()
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(of_thread)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, 100);
    assert_eq!(limiter.peek_blocking("all", 0).unwrap().remaining(), 0);
    limiter.reset_blocking("all").unwrap();
    assert_eq!(limiter.try_acquire_up_to_blocking("all", 101).unwrap().permits(), 100);
}

#[test]
fn a_pool_sends_no_request_twice_to_a_server_that_hangs() {
    use crate::{Connections, Pool, StoreError};

    let server = Server::start();
    let limiter = |limit| {
        let pool = r2d2::Pool::builder().max_size(1);
        let pool = pool.build(Connections::new(server.client(), limit)).unwrap();
        let log = RedisLimit::sliding_log(rate!(10 / day)).unwrap();
        RedisLimiter::new(log, KeySpace::new("app").unwrap(), Pool::new(pool))
    };
    let [patient, hasty] = [600, 1].map(|seconds| limiter(Duration::from_secs(seconds)));
    assert_eq!(patient.try_acquire_blocking("ada", 1).unwrap().remaining(), 9);
    server.tell("CLIENT PAUSE 600000 WRITE");
    let Err(TryAcquireError::Store(error)) = hasty.try_acquire_blocking("ada", 1) else {
        panic!("a server that hangs has answered");
    };
    assert!(matches!(error, StoreError::TimedOut) && error.may_have_taken(), "{error:?}");
    server.tell("CLIENT UNPAUSE");
    // It was late, or never run, since its connection was left: but not run twice.
    let left = patient.try_acquire_blocking("ada", 1).unwrap().remaining();
    assert!([7, 8].contains(&left), "{left}");
}
