//! Requests that leave a reserve, and classes of them. What is checked:
//!
//! * each limit grants such a request if and only if it would grant both together, takes its own permits only, and is denied with
//!   the wait of both, at random times;
//! * classes answer as the engine's do, whatever several callers ask at once;
//! * the fallback leaves the reserve too.

use rand::Rng;
use sluicegate::keyed::Buckets;
use sluicegate::share::{Priorities, PriorityClass};
use sluicegate::{Denied, Keyed, ManualClock, TokenBucket, quota};

use super::scripts::{Answer, random, share_of};
use super::server::Server;
use super::{limits, patient};
use crate::decision::Verb;
use crate::limit::RedisLimit;
use crate::request::{KeyedLimit, Request};
use crate::{Fallback, KeySpace, LimitError, RedisLimiter, RedisPriorities, TryAcquireError};

const START: u64 = 1_782_864_000_000_000;

/// Returns the answer to a request, from the server unless it is known without.
fn ask(
    connection: &mut redis::Connection,
    request: Result<Request<'_>, TryAcquireError>,
    micros: u64,
) -> Answer {
    let request = match request {
        Ok(request) => request.at(micros),
        Err(TryAcquireError::Denied(denied)) => return Err(denied),
        Err(error) => panic!("{error}"),
    };
    let script = request.script();
    let reply: Vec<i64> = redis::cmd("EVAL")
        .arg(script.source())
        .arg(1)
        .arg(request.name())
        .arg(request.arguments())
        .query(connection)
        .unwrap();
    request.answer(&reply).unwrap()
}

/// The second key is asked by the verbs that have no reserve.
fn assert_as_both_together(connection: &mut redis::Connection, limit: &RedisLimit) {
    let keyed = KeyedLimit { limit: limit.clone(), keys: KeySpace::new("test").unwrap() };
    let (mut random, mut micros) = (random(), START);
    for _ in 0..share_of(200) {
        // The limits earn their ten permits in a day or more.
        micros += random.random_range(0..30_000_000_000);
        let (permits, reserve) = (random.random_range(0..8), random.random_range(0..13));
        let told = format!("{limit:?}: {permits} and {reserve} at {micros}");
        let together = if permits == 0 { 0 } else { permits + reserve };
        let expected = match ask(connection, keyed.request("b", Verb::Peek, together), micros) {
            Ok(_) => ask(connection, keyed.request("b", Verb::Take, permits), micros),
            Err(Denied::TooLarge { limit, which }) => {
                Err(Denied::TooLarge { limit: limit.saturating_sub(reserve), which })
            }
            denied => denied,
        };
        let look = keyed.leaving("a", Verb::Peek, permits, reserve);
        assert_eq!(ask(connection, look, micros), expected, "{told}: a look");
        let take = keyed.leaving("a", Verb::Take, permits, reserve);
        assert_eq!(ask(connection, take, micros), expected, "{told}");
        let left =
            |connection: &mut _, key| ask(connection, keyed.request(key, Verb::Peek, 0), micros);
        assert_eq!(left(connection, "a"), left(connection, "b"), "{told}: what is left");
    }
}

#[test]
fn a_request_that_leaves_a_reserve_is_answered_as_both_together() {
    for server in Server::of_each_program() {
        for limit in limits() {
            assert_as_both_together(&mut server.connection(), &limit);
            redis::cmd("FLUSHALL").exec(&mut server.connection()).unwrap();
        }
    }
}

#[tokio::test]
async fn classes_are_refused_one_after_the_other_and_answers_are_those_of_the_engine() {
    let server = Server::start();
    let percent = [("critical", 0), ("normal", 20), ("batch", 50)];
    for limit in limits() {
        let keys = KeySpace::new("app").unwrap();
        let limiter = RedisLimiter::new(limit.clone(), keys, patient(server.client()));
        let server = RedisPriorities::by_percent(limiter, percent).unwrap();
        let bucket = TokenBucket::with_clock(quota!(10 / day), ManualClock::new());
        let engine = Priorities::by_percent(bucket, percent).unwrap();
        assert_eq!(server.classes(), engine.classes());
        for (class, permits) in
            [(2, 0), (2, 4), (2, 1), (2, 1), (7, 6), (1, 3), (1, 1), (0, 2), (0, 1), (1, 0)]
        {
            let told = format!("{limit:?}: {permits} of {class}");
            let looked =
                server.peek(class, permits).await.map_err(|error| *error.denied().unwrap());
            let taken = server.try_acquire(class, permits).await;
            match (taken, engine.try_acquire(class, permits)) {
                (Ok(grant), Ok(own)) => {
                    let numbers = (grant.permits(), grant.remaining(), grant.limit());
                    assert_eq!(numbers, (own.permits(), own.remaining(), own.limit()), "{told}");
                    assert_eq!(looked.unwrap().remaining(), own.remaining(), "{told}");
                }
                (Err(error), Err(own)) => {
                    let denied = *error.denied().unwrap();
                    assert_eq!(denied.limit(), own.denied.limit(), "{told}");
                    assert_eq!(denied.remaining(), own.denied.remaining(), "{told}");
                    let has_wait = denied.retry_after().is_some();
                    assert_eq!(has_wait, own.denied.retry_after().is_some(), "{told}");
                    assert_eq!(looked.unwrap_err().limit(), denied.limit(), "{told}");
                }
                (taken, own) => panic!("{told}: {taken:?}, and by the engine {own:?}"),
            }
        }
        server.limiter().reset("all").await.unwrap();
        // Another key has permits of its own.
        let other = server.clone().with_key("other");
        assert_eq!(server.try_acquire(2, 5).await.unwrap().remaining(), 0, "{limit:?}");
        assert_eq!(other.try_acquire(2, 5).await.unwrap().remaining(), 0, "{limit:?}");
    }
}

#[tokio::test]
async fn callers_at_the_same_time_leave_the_reserve_whole() {
    let server = Server::start();
    let limit = RedisLimit::token_bucket(quota!(1_000 / 36525 days)).unwrap();
    let keys = KeySpace::new("app").unwrap();
    let limiter = RedisLimiter::new(limit, keys, patient(server.client()));
    let callers = (0..4).map(|_| {
        let limiter = limiter.clone();
        tokio::spawn(async move {
            let mut granted = 0;
            while limiter.try_acquire_leaving("ada", 3, 400).await.is_ok() {
                granted += 3;
            }
            granted
        })
    });
    let mut granted = 0;
    for caller in callers.collect::<Vec<_>>() {
        granted += caller.await.unwrap();
    }
    // Three at a time.
    assert_eq!((granted, limiter.peek("ada", 0).await.unwrap().remaining()), (600, 400));
}

#[tokio::test]
async fn while_the_server_is_away_the_fallback_leaves_the_reserve_too() {
    let mut server = Server::start();
    let client = patient(server.client());
    server.kill();
    let limiter = |fallback| {
        let limit = RedisLimit::token_bucket(quota!(10 / day)).unwrap();
        let limiter = RedisLimiter::new(limit, KeySpace::new("app").unwrap(), client.clone());
        limiter.with_fallback(fallback)
    };
    let closed = limiter(Fallback::Closed).try_acquire_leaving("ada", 1, 5).await;
    assert!(matches!(closed, Err(TryAcquireError::Store(_))), "{closed:?}");
    let open = limiter(Fallback::Open);
    assert_eq!(open.try_acquire_leaving("ada", 5, 5).await.unwrap().permits(), 5);
    open.try_acquire_leaving("ada", 6, 5).await.unwrap_err();

    let buckets = Buckets::with_clock(quota!(4 / day), std::sync::Arc::new(ManualClock::new()));
    let store = Keyed::<String, _>::with(buckets);
    let local = limiter(Fallback::Local(std::sync::Arc::new(store)));
    let classes = [("user", 0), ("batch", 2)]
        .map(|(name, reserve)| PriorityClass { name: name.into(), reserve });
    let local = RedisPriorities::new(local, classes).unwrap();
    assert_eq!(local.try_acquire(1, 2).await.unwrap().remaining(), 0);
    assert!(local.peek(1, 1).await.is_err() && local.try_acquire(1, 1).await.is_err());
    assert_eq!(local.try_acquire(0, 2).await.unwrap().remaining(), 0);
    let large = *local.try_acquire(1, 3).await.unwrap_err().denied().unwrap();
    assert_eq!(large, Denied::TooLarge { limit: 2, which: 0 });
}

#[test]
fn classes_that_could_never_be_granted_anything_are_an_error() {
    let limiter = || {
        let limit = RedisLimit::sliding_log(sluicegate::rate!(10 / day)).unwrap();
        RedisLimiter::new(limit, KeySpace::new("app").unwrap(), ())
    };
    let error = RedisPriorities::by_percent(limiter(), [("all", 100)]).unwrap_err();
    assert_eq!(error.to_string(), "reserve is 10: must be less than 10, the limit");
    let none: [(&'static str, u8); 0] = [];
    assert!(matches!(RedisPriorities::by_percent(limiter(), none), Err(LimitError::Config(_))));
}
