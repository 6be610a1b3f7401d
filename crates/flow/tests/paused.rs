//! Limiters on tokio's clock: tasks that sleep by the timer of the clock wait in tokio's time, which the tests pause.

use std::time::Duration;

use sluicegate::clock::TokioClock;
use sluicegate::rate;
use sluicegate::wait::ClockTimer;
use sluicegate_flow::{Shaper, WarmUp};
use tokio::time::{Instant, timeout};

const HOUR: Duration = Duration::from_secs(3_600);

/// Checks that `wait` is over after an hour of paused time. (A sleep in the system's time would find the time standing
/// still, and time out.)
async fn passes_an_hour(wait: impl Future<Output = ()>) {
    let began = Instant::now();
    timeout(10 * HOUR, wait).await.expect("no sleep ends in paused time");
    let passed = began.elapsed();
    assert!((HOUR..HOUR + Duration::from_millis(10)).contains(&passed), "{passed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_departure_on_tokios_clock_is_waited_for_in_paused_time() {
    let shaper = Shaper::with_clock(rate!(1 / hour), 10, TokioClock::new());
    passes_an_hour(async { shaper.acquire(1, ClockTimer).await.unwrap() }).await;
    passes_an_hour(async { shaper.shape(1).unwrap().wait(ClockTimer).await }).await;
}

#[tokio::test(start_paused = true)]
async fn so_are_permits_of_a_limiter_that_warms_up() {
    let pool = WarmUp::with_clock(rate!(1 / hour), Duration::ZERO, TokioClock::new()).unwrap();
    pool.try_acquire(1).unwrap();
    passes_an_hour(async { pool.acquire(1, ClockTimer).await.unwrap() }).await;
    passes_an_hour(async { pool.reserve(1).unwrap().wait(ClockTimer).await }).await;
}
