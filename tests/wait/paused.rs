//! Limiters on tokio's clock: their waits sleep in tokio's time, which the tests pause, by no more than that clock.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::time::Duration;

use sluicegate::bucket::SettleableBucket;
use sluicegate::clock::TokioClock;
use sluicegate::keyed::QueuedKeys;
use sluicegate::wait::{Caller, ClockTimer, Queued, Reserve, SettleInLine};
use sluicegate::{Keyed, Quota, TokenBucket, Wait, quota};
use tokio::time::{Instant, timeout};

use super::support::block_on;

const HOUR: Duration = Duration::from_secs(3_600);
const HOURLY: Quota = quota!(1 / hour, burst 1);

/// Checks that the third of three `calls` is over after two hours of paused time. (One that slept in the system's time
/// would find the time standing still, and time out.)
async fn passes_two_hours<F: Future<Output: Send>>(mut call: impl FnMut() -> F) {
    let began = Instant::now();
    for _ in 0..3 {
        timeout(10 * HOUR, call()).await.expect("no sleep ends in paused time");
    }
    let passed = began.elapsed();
    assert!((2 * HOUR..2 * HOUR + Duration::from_millis(10)).contains(&passed), "{passed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_limiter_on_tokios_clock_is_waited_for_in_paused_time() {
    let bucket = Arc::new(TokenBucket::with_clock(HOURLY, TokioClock::new()));
    passes_two_hours(|| async { bucket.acquire(1).await.unwrap() }).await;
    bucket.reset();
    passes_two_hours(|| async { bucket.acquire_owned(1).await.unwrap() }).await;
    bucket.reset();
    let mut caller = Caller::new(&*bucket);
    let began = Instant::now();
    for _ in 0..3 {
        let answer = timeout(10 * HOUR, poll_fn(|context| caller.poll_acquire(1, context)));
        assert!(answer.await.expect("no sleep ends in paused time").is_ok());
    }
    assert!(began.elapsed() >= 2 * HOUR);
}

#[tokio::test(start_paused = true)]
async fn so_is_a_line_before_it() {
    let clock = TokioClock::new();
    let queued = Queued::with_clock(SettleableBucket::with_clock(HOURLY, clock), clock);
    passes_two_hours(|| async { queued.tenant("ada").acquire(1).await.unwrap() }).await;
    queued.update(SettleableBucket::reset);
    passes_two_hours(|| async { queued.acquire_settleable(1).await.unwrap().permits() }).await;
}

#[tokio::test(start_paused = true)]
async fn so_is_a_key_of_a_store() {
    let clock = TokioClock::new();
    let users = QueuedKeys::with_clock(Keyed::<String, _>::with_clock(HOURLY, clock), clock);
    passes_two_hours(|| async { users.acquire("ada", 1).await.unwrap() }).await;
}

#[tokio::test(start_paused = true)]
async fn so_is_a_reservation_by_the_timer_of_the_clock() {
    let clock = TokioClock::new();
    let bucket = TokenBucket::with_clock(HOURLY, clock);
    passes_two_hours(|| async { bucket.reserve(1).unwrap().wait(ClockTimer).await }).await;
    let users = Keyed::<String, _>::with_clock(HOURLY, clock);
    passes_two_hours(|| async { users.reserve("ada", 1).unwrap().wait(ClockTimer).await }).await;
}

#[test]
fn outside_of_a_runtime_a_task_sleeps_in_the_systems_time() {
    let quota = quota!(1_000 / second, burst 1);
    let bucket = Arc::new(TokenBucket::with_clock(quota, TokioClock::new()));
    bucket.try_acquire(1).unwrap();
    // Woken by a timer, or it waits for ever.
    assert!(block_on(bucket.acquire_owned(1)).is_ok());
}
