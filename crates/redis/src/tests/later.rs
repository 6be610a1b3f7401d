//! Reservations and settlements, by the connections of the crate `redis`, on the server's own time.

use std::time::{Duration, Instant};

use sluicegate::{Denied, Refill, quota, rate};

use super::patient;
use super::server::Server;
use crate::{Async, Fallback, Guarded, KeySpace, RedisLimit, RedisLimiter, RedisSettled};

const DAY: Duration = Duration::from_secs(86_400);

type Client = Guarded<Async>;

fn limiter(server: &Server, limit: RedisLimit) -> RedisLimiter<Client> {
    let client = patient(server.client());
    let client = Guarded::new(client).with_time_limit(Duration::from_secs(600));
    RedisLimiter::new(limit, KeySpace::new("app").unwrap(), client.with_pause(Duration::MAX))
}

/// Returns the permits that were given back, lost, taken beyond the estimate, and not paid.
fn moved(settled: RedisSettled) -> [u64; 4] {
    [settled.given_back(), settled.lost(), settled.taken_beyond(), settled.unpaid()]
}

#[tokio::test]
async fn a_reservation_says_when_to_go_and_can_be_cancelled() {
    let server = Server::start();
    let quota = quota!(10 / 10 days, max_debt 5);
    let limiter = limiter(&server, RedisLimit::token_bucket(quota).unwrap());
    let now = limiter.reserve_within("ada", 8, Duration::ZERO).await.unwrap();
    assert_eq!((now.permits(), now.ready_after()), (8, Duration::ZERO));

    let later = limiter.reserve_within("ada", 5, 10 * DAY).await.unwrap();
    let wait = later.ready_after();
    assert!(wait <= 3 * DAY && wait + Duration::from_secs(3_600) > 3 * DAY, "{wait:?}");
    let until = later.at().unwrap() - Instant::now();
    assert!(until <= wait && until + Duration::from_secs(3_600) > wait, "{until:?} of {wait:?}");
    // Too late; and too deep in debt, for however long.
    for (permits, longest) in [(1, 3 * DAY), (3, Duration::MAX)] {
        let denied = limiter.reserve_within("ada", permits, longest).await.unwrap_err();
        let wait = denied.retry_after().unwrap();
        assert!(wait <= DAY && wait + Duration::from_secs(3_600) > DAY, "{permits}: {wait:?}");
    }
    let denied = limiter.reserve_within("ada", 11, Duration::MAX).await.unwrap_err();
    assert_eq!(*denied.denied().unwrap(), Denied::TooLarge { limit: 10, which: 0 });
    assert_eq!(limiter.reserve_within("ada", 0, Duration::ZERO).await.unwrap().permits(), 0);

    assert_eq!(later.cancel().await.unwrap(), 5);
    assert_eq!(limiter.peek("ada", 0).await.unwrap().remaining(), 2);
    // A token dies as soon as a part of the next one is earned.
    let back = now.cancel().await.unwrap();
    assert!((7..=8).contains(&back), "{back}");
    assert_eq!(limiter.peek("ada", 0).await.unwrap().remaining(), 2 + back);
}

#[tokio::test]
async fn a_window_reserves_what_is_there_now_or_nothing() {
    let server = Server::start();
    let limit = RedisLimit::fixed_window(rate!(10 / 36525 days)).unwrap();
    let limiter = limiter(&server, limit);
    let reservation = limiter.reserve_within("ada", 8, Duration::MAX).await.unwrap();
    assert_eq!(reservation.ready_after(), Duration::ZERO);
    assert!(limiter.reserve_within("ada", 3, Duration::MAX).await.unwrap_err().denied().is_some());
    assert_eq!(reservation.cancel().await.unwrap(), 8);
}

#[tokio::test]
async fn an_estimate_is_settled_with_what_was_used() {
    let server = Server::start();
    let quota = quota!(10 / 10 days, max_debt 5);
    let bucket = limiter(&server, RedisLimit::token_bucket(quota).unwrap());
    let estimate = bucket.try_acquire_settleable("ada", 6).await.unwrap();
    assert_eq!((estimate.grant().permits(), estimate.grant().remaining()), (6, 4));
    assert_eq!(moved(estimate.settle(1).await.unwrap()), [5, 0, 0, 0]);
    let estimate = bucket.try_acquire_settleable("ada", 6).await.unwrap();
    assert_eq!(moved(estimate.settle(6).await.unwrap()), [0; 4]);
    // Three are left, and five may be owed.
    let estimate = bucket.try_acquire_settleable("ada", 0).await.unwrap();
    assert_eq!(moved(estimate.settle(20).await.unwrap()), [0, 0, 8, 12]);
    let denied = bucket.try_acquire("ada", 1).await.unwrap_err();
    assert_eq!(denied.denied().unwrap().balance(), Some(-5));
    // A bucket that was made full meanwhile has room for no more than was taken since.
    let estimate = bucket.try_acquire_settleable("eve", 6).await.unwrap();
    bucket.reset("eve").await.unwrap();
    bucket.try_acquire("eve", 3).await.unwrap();
    let settled = estimate.settle(0).await.unwrap();
    assert!((2..=3).contains(&settled.given_back()), "{settled:?}");
    assert_eq!(settled.given_back() + settled.lost(), 6);

    let window = RedisLimit::fixed_window(rate!(10 / 36525 days)).unwrap();
    let window = limiter(&server, window);
    let estimate = window.try_acquire_settleable("ada", 6).await.unwrap();
    assert_eq!(moved(estimate.settle(100).await.unwrap()), [0, 0, 94, 0]);
    assert_eq!(window.peek("ada", 1).await.unwrap_err().denied().unwrap().balance(), Some(-90));
    let log = limiter(&server, RedisLimit::sliding_log(rate!(10 / day)).unwrap());
    let estimate = log.try_acquire_settleable("ada", 6).await.unwrap();
    assert_eq!(moved(estimate.settle(2).await.unwrap()), [0, 4, 0, 0], "a log gives nothing back");
}

#[tokio::test]
async fn intervals_and_cells_give_back_the_last_grant_and_none_before_it() {
    let server = Server::start();
    let intervals = quota!(10 / 10 days).with_refill(Refill::Interval);
    let limits = [RedisLimit::token_bucket(intervals), RedisLimit::gcra(DAY, 9 * DAY)];
    for limit in limits.map(Result::unwrap) {
        let limiter = limiter(&server, limit);
        let first = limiter.try_acquire_settleable("ada", 4).await.unwrap();
        let second = limiter.try_acquire_settleable("ada", 3).await.unwrap();
        assert_eq!(moved(first.settle(1).await.unwrap()), [0, 3, 0, 0]);
        assert_eq!(moved(second.settle(1).await.unwrap()), [2, 0, 0, 0]);
        let third = limiter.try_acquire_settleable("ada", 1).await.unwrap();
        assert_eq!(third.grant().remaining(), 4, "{:?}", limiter.limit());
        // Four are left, and ten may be owed.
        assert_eq!(moved(third.settle(20).await.unwrap()), [0, 0, 14, 5]);
    }
}

#[tokio::test]
async fn what_a_fallback_has_granted_is_neither_given_back_nor_charged_with_more() {
    let mut server = Server::start();
    let limit = RedisLimit::token_bucket(quota!(10 / 10 days)).unwrap();
    let limiter = limiter(&server, limit).with_fallback(Fallback::Open);
    server.kill();
    let reservation = limiter.reserve_within("ada", 3, DAY).await.unwrap();
    assert_eq!((reservation.permits(), reservation.ready_after()), (3, Duration::ZERO));
    assert_eq!(reservation.cancel().await.unwrap(), 0);
    let estimate = limiter.try_acquire_settleable("ada", 3).await.unwrap();
    assert_eq!(moved(estimate.settle(1).await.unwrap()), [0, 2, 0, 0]);
    let estimate = limiter.try_acquire_settleable("ada", 3).await.unwrap();
    assert_eq!(moved(estimate.settle(5).await.unwrap()), [0, 0, 0, 2]);
}
