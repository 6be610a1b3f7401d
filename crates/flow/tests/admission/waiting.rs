//! Calls that wait to be admitted, in time that does not pass by itself.

use std::future::{Future, pending, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use sluicegate::clock::TokioClock;
use sluicegate::wait::{AcquireError, LineLimits, Queued, WhenLineFull};
use sluicegate::{SlidingLog, TokenBucket, Wait, quota, rate};
use sluicegate_flow::admission::{Admission, AdmissionError, AdmitError};
use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlightError};
use sluicegate_flow::time_limit::OnTimeout;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use sluicegate::wait::TokioTimer;

use super::{millis, time};

type Bucket = Arc<TokenBucket<TokioClock>>;
type Places = Arc<ConcurrencyLimit>;
type Limited = Admission<Bucket, Places, TokioTimer>;

/// One place, and a permit every 100 ms, of which one is there.
fn limited() -> (Limited, Bucket, Places) {
    let clock = TokioClock::new();
    let bucket = Arc::new(TokenBucket::with_clock(quota!(10 / second, burst 1), clock));
    let places = Arc::new(ConcurrencyLimit::new(1));
    let admission = Admission::new()
        .rate("rate", Arc::clone(&bucket))
        .in_flight("places", Arc::clone(&places))
        .timer(TokioTimer);
    (admission, bucket, places)
}

fn left(bucket: &Bucket) -> u64 {
    bucket.peek(0).unwrap().remaining()
}

/// Callers in line for a place, and for the rate.
fn waiters(bucket: &Bucket, places: &Places) -> (usize, usize) {
    (places.line().waiters(), bucket.line().waiters())
}

pub(super) fn too_late_for_a_place() -> AdmitError {
    AdmissionError::InFlight { name: "places".into(), refusal: InFlightError::TimedOut }
}

pub(super) fn too_late_for_the_rate(retry_after: Duration) -> AdmitError {
    let denied = AcquireError::TimedOut { retry_after };
    AdmissionError::Rate { name: "rate".into(), denied }
}

pub(super) fn poll<F: Future>(future: &mut Pin<Box<F>>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_place_and_then_for_its_permits_and_keeps_the_place() {
    let (admission, bucket, places) = limited();
    let first = admission.admit(1).await.unwrap();
    assert_eq!((first.grant().permits(), left(&bucket), places.in_flight()), (1, 0, 1));
    let mut second = Box::pin(admission.admit(1));
    assert!(poll(&mut second).is_pending());
    assert_eq!(waiters(&bucket, &places), (1, 0));
    drop(first);
    assert!(poll(&mut second).is_pending());
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 1), 1));
    // Neither one that waits nor one that tries comes by its permits first.
    let mut third = Box::pin(admission.admit(1));
    assert!(poll(&mut third).is_pending());
    assert_eq!(waiters(&bucket, &places), (1, 1));
    let refused = admission.try_admit(1).unwrap_err();
    assert_eq!((refused.limit_name(), refused.is_refusal()), (Some("places"), true));

    let began = Instant::now();
    drop(second.await.unwrap());
    drop(third.await.unwrap());
    assert_eq!(began.elapsed(), millis(200));
    assert_eq!((waiters(&bucket, &places), places.in_flight(), left(&bucket)), ((0, 0), 0, 0));
}

#[tokio::test(start_paused = true)]
async fn tasks_are_admitted_in_the_order_in_which_they_came() {
    let (admission, bucket, places) = limited();
    let admission = Arc::new(admission);
    let began = Instant::now();
    let tasks: Vec<_> = (0..5_u32)
        .map(|number| {
            let admission = Arc::clone(&admission);
            tokio::spawn(async move {
                let call = admission.admit(1).timeout(millis(60_000));
                call.execute(async move { (number, began.elapsed()) }).await
            })
        })
        .collect();
    for (number, task) in (0..).zip(tasks) {
        let turn = millis(100) * number;
        assert_eq!(task.await.unwrap(), Ok((number, turn)));
    }
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_passes_before_there_is_a_place_names_the_limit_in_flight() {
    let (admission, bucket, places) = limited();
    let held = places.acquire_blocking(1).unwrap();
    let began = Instant::now();
    let refused = admission.admit(1).timeout(millis(50)).await.unwrap_err();
    assert_eq!((refused.clone(), began.elapsed()), (too_late_for_a_place(), millis(50)));
    assert_eq!((refused.limit_name(), refused.retry_after()), (Some("places"), None));
    assert_eq!(
        refused.to_string(),
        "`places` refused: no permits in the time allowed: try again later, or wait for longer"
    );
    assert_eq!((waiters(&bucket, &places), left(&bucket)), ((0, 0), 1));
    // Without any time it is refused at once.
    let refused = admission.admit(1).timeout(Duration::ZERO).await.unwrap_err();
    assert_eq!((refused, began.elapsed()), (too_late_for_a_place(), millis(50)));
    // And takes nobody's place in line.
    let evicts = LineLimits::new().max_waiters(1).when_full(WhenLineFull::EvictOldest);
    places.line().set_limits(evicts);
    let mut waits = Box::pin(admission.admit(1));
    assert!(poll(&mut waits).is_pending());
    let refused = admission.admit(1).timeout(Duration::ZERO).await.unwrap_err();
    assert_eq!((refused, began.elapsed()), (too_late_for_a_place(), millis(50)));
    assert!(poll(&mut waits).is_pending());
    drop((held, waits));
    assert!(admission.admit(1).timeout(Duration::ZERO).await.is_ok());
    assert_eq!((places.in_flight(), left(&bucket)), (0, 0));
    let closed = Admission::new().in_flight("none", Arc::new(ConcurrencyLimit::new(0)));
    let refused = closed.admit(1).timeout(Duration::ZERO).wait_blocking().unwrap_err();
    let refusal = InFlightError::TooLarge { limit: 0 };
    assert_eq!(refused, AdmissionError::InFlight { name: "none".into(), refusal });
}

#[tokio::test(start_paused = true)]
async fn permits_that_come_after_the_deadline_name_the_rate_at_once_and_the_place_is_free() {
    let (admission, bucket, places) = limited();
    bucket.try_acquire(1).unwrap();
    let began = Instant::now();
    let refused = admission.admit(1).timeout(millis(99)).await.unwrap_err();
    assert_eq!((refused.clone(), began.elapsed()), (too_late_for_the_rate(millis(100)), millis(0)));
    assert_eq!((refused.limit_name(), refused.retry_after()), (Some("rate"), Some(millis(100))));
    assert_eq!(
        refused.to_string(),
        "`rate` refused: no permits before the deadline: try again in 100ms"
    );
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 0), 0));
    assert!(admission.admit(1).timeout(millis(100)).await.is_ok());
    assert_eq!(began.elapsed(), millis(100));
}

#[tokio::test(start_paused = true)]
async fn one_deadline_is_for_both_waits() {
    for (time, is_admitted) in [(100, true), (99, false)] {
        let (admission, bucket, places) = limited();
        bucket.try_acquire(1).unwrap();
        let began = Instant::now();
        let held = Arc::clone(&places).try_acquire_owned(1).unwrap();
        tokio::spawn(async move {
            sleep(millis(60)).await;
            drop(held);
        });
        let answer = admission.admit(1).timeout(millis(time)).await;
        let answer = answer.map(|admitted| admitted.grant().permits());
        if is_admitted {
            assert_eq!((answer, began.elapsed()), (Ok(1), millis(100)));
        } else {
            // The place comes in time, and then there are 39 ms left, and 40 to wait.
            let too_late = too_late_for_the_rate(millis(40));
            assert_eq!((answer, began.elapsed()), (Err(too_late), millis(60)));
        }
        assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 0), 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_gives_back_what_it_has_wherever_it_stands() {
    let (admission, bucket, places) = limited();
    drop(admission.admit(1));
    // In line for a place.
    let held = admission.try_admit(1).unwrap();
    let mut call = Box::pin(admission.admit(1).timeout(millis(1_000)));
    assert!(poll(&mut call).is_pending());
    assert_eq!(waiters(&bucket, &places), (1, 0));
    drop(call);
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 0), 1));
    // With a place that it was not told of.
    let mut call = Box::pin(admission.admit(1));
    assert!(poll(&mut call).is_pending());
    drop(held);
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 0), 1));
    drop(call);
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 0), 0));
    // In line for the rate.
    let mut call = Box::pin(admission.admit(1));
    assert!(poll(&mut call).is_pending());
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 1), 1));
    drop(call);
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 0), 0));
    // With permits that it was not told of: nothing was granted since.
    let mut call = Box::pin(admission.admit(1));
    assert!(poll(&mut call).is_pending());
    sleep(millis(100)).await;
    assert!(bucket.try_acquire(1).is_err(), "it settles for the call");
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 0), 1), "it has both");
    drop(call);
    assert_eq!((left(&bucket), waiters(&bucket, &places), places.in_flight()), (1, (0, 0), 0));
    // Once it has begun, they are spent.
    let mut call = Box::pin(admission.admit(1).execute(pending::<()>()));
    assert!(poll(&mut call).is_pending());
    assert_eq!((left(&bucket), places.in_flight()), (0, 1));
    drop(call);
    assert_eq!((left(&bucket), places.in_flight()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_leaves_the_line_for_the_rate_wakes_the_next_one_for_its_place() {
    let (admission, bucket, places) = limited();
    bucket.try_acquire(1).unwrap();
    let admission = Arc::new(admission);
    let mut first = Box::pin(admission.admit(1));
    assert!(poll(&mut first).is_pending());
    let next = Arc::clone(&admission);
    let next = tokio::spawn(async move { next.admit(1).execute(ready(7)).await });
    tokio::task::yield_now().await;
    assert_eq!(waiters(&bucket, &places), (1, 1));
    drop(first);
    tokio::task::yield_now().await;
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 1), 1));
    assert_eq!(next.await.unwrap(), Ok(7));
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 0), 0));
}

#[tokio::test(start_paused = true)]
async fn lines_that_are_closed_or_full_refuse_in_their_names() {
    let (admission, bucket, places) = limited();
    let place = |refusal| AdmissionError::InFlight { name: "places".into(), refusal };
    let permits = |denied| AdmissionError::Rate { name: "rate".into(), denied };
    let refused = admission.admit(2).await.unwrap_err();
    assert_eq!(refused, permits(AcquireError::TooLarge { limit: 1 }));
    assert_eq!(places.in_flight(), 0);

    let held = admission.try_admit(1).unwrap();
    places.line().set_limits(LineLimits::new().max_waiters(0));
    assert_eq!(admission.admit(1).await.unwrap_err(), place(InFlightError::LineFull));
    drop(held);
    bucket.line().set_limits(LineLimits::new().max_waiters(0));
    let full = AcquireError::LineFull { retry_after: millis(100) };
    let refused = admission.admit(1).await.unwrap_err();
    assert_eq!((refused.retry_after(), refused), (Some(millis(100)), permits(full)));
    assert_eq!(places.in_flight(), 0);

    // Closed while a call stands in it.
    bucket.line().set_limits(LineLimits::new());
    let mut call = Box::pin(admission.admit(1));
    assert!(poll(&mut call).is_pending());
    bucket.line().close();
    assert_eq!(call.await.unwrap_err(), permits(AcquireError::Closed));
    assert_eq!(places.in_flight(), 0);
    places.line().set_limits(LineLimits::new());
    let held = places.acquire_blocking(1).unwrap();
    let mut call = Box::pin(admission.admit(1));
    assert!(poll(&mut call).is_pending());
    places.line().close();
    assert_eq!(call.await.unwrap_err(), place(InFlightError::Closed));
    drop(held);
    sleep(millis(100)).await;
    // What is there can still be taken.
    assert!(admission.admit(1).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_time_limit_begins_once_the_call_has_been_admitted() {
    let (admission, bucket, places) = limited();
    let admission = admission.time(time(OnTimeout::Cancel));
    bucket.try_acquire(1).unwrap();
    let (held, began) = (Arc::clone(&places).try_acquire_owned(1).unwrap(), Instant::now());
    let others = Arc::clone(&bucket);
    tokio::spawn(async move {
        sleep(millis(250)).await;
        others.try_acquire(1).unwrap();
        drop(held);
    });
    // 250 ms for the place, 100 more for the permit, and 99 of the 100 that the operation has.
    assert_eq!(admission.admit(1).execute(async { sleep(millis(99)).await }).await, Ok(()));
    assert_eq!(began.elapsed(), millis(449));
    let slow = admission.admit(1).execute(async { sleep(millis(101)).await }).await.unwrap_err();
    assert_eq!((slow.limit_name(), slow.is_refusal()), (Some("time"), false));
    let failed = admission.admit(1).try_execute(ready(Err::<(), _>("no such table"))).await;
    assert_eq!(failed, Err(AdmissionError::Failed("no such table")));
    let refused = admission.admit(2).try_execute(ready(Ok::<_, &str>(7))).await.unwrap_err();
    assert_eq!((refused.limit_name(), refused.is_refusal()), (Some("rate"), true));
    assert_eq!(places.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn limits_that_are_absent_are_not_waited_for() {
    assert_eq!(Admission::new().admit(u64::MAX).execute(ready(7)).await, Ok(7));
    assert_eq!(Admission::new().admit_blocking(1).unwrap().grant().remaining(), u64::MAX);
    let past = std::time::Instant::now();
    assert!(Admission::new().admit(1).wait_blocking_until(past).is_ok());

    let (_, bucket, places) = limited();
    let only_places = Admission::new().in_flight("places", Arc::clone(&places)).timer(TokioTimer);
    let held = only_places.admit(1).await.unwrap();
    let refused = only_places.admit(1).timeout(millis(5)).await.unwrap_err();
    assert_eq!(refused, too_late_for_a_place());
    drop(held);
    let only_rate = Admission::new().rate("rate", Arc::clone(&bucket)).timer(TokioTimer);
    let began = Instant::now();
    for _ in 0..3 {
        drop(only_rate.admit(1).timeout(millis(100)).await.unwrap());
    }
    assert_eq!(began.elapsed(), millis(200));
    assert_eq!(
        only_rate.admit(1).wait_blocking_until(past).unwrap_err(),
        too_late_for_the_rate(millis(0))
    );
}

#[tokio::test(start_paused = true)]
async fn any_limiter_with_a_line_and_any_semaphore_will_do() {
    let clock = TokioClock::new();
    let log = Queued::new(SlidingLog::with_clock(rate!(1 / 100 ms), clock).unwrap());
    let semaphore = Arc::new(Semaphore::new(1));
    let (tries, waits) = (Arc::clone(&semaphore), Arc::clone(&semaphore));
    let tries = move || Arc::clone(&tries).try_acquire_owned();
    let waits = move || {
        let permit = Arc::clone(&waits).acquire_owned();
        async { permit.await.map_err(|_| InFlightError::Closed) }
    };
    let admission =
        Admission::new().in_flight("semaphore", (tries, waits)).rate("log", log).timer(TokioTimer);
    let (first, began) = (admission.admit(1).await.unwrap(), Instant::now());
    assert!(timeout(millis(5), admission.admit(1)).await.is_err());
    let refused = admission.admit(1).timeout(millis(5)).await.unwrap_err();
    assert_eq!(refused.limit_name(), Some("semaphore"));
    let refused = admission.admit(1).timeout(millis(0)).await.unwrap_err();
    assert_eq!(refused.limit_name(), Some("semaphore"));
    drop(first);
    assert!(timeout(millis(5), admission.admit(1)).await.is_err());
    assert_eq!(semaphore.available_permits(), 1);
    let second = admission.admit(1).await.unwrap();
    // 100 ms and a nanosecond, in whole milliseconds.
    assert_eq!((began.elapsed(), semaphore.available_permits()), (millis(101), 0));
    drop(second);
    semaphore.close();
    let refused = admission.admit(1).await.unwrap_err();
    let refusal = InFlightError::Closed;
    assert_eq!(refused, AdmissionError::InFlight { name: "semaphore".into(), refusal });
}

#[tokio::test(start_paused = true)]
async fn a_call_asks_anew_after_its_answer() {
    let (admission, bucket, places) = limited();
    let mut call = Box::pin(admission.admit(1));
    assert!(poll(&mut call).is_ready());
    assert!(poll(&mut call).is_pending());
    assert_eq!((waiters(&bucket, &places), places.in_flight()), ((0, 1), 1));
    assert_eq!(left(&bucket), 0);
}
