//! Threads that wait to be admitted, and timers that panic.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use sluicegate::{ManualClock, TokenBucket, Wait, quota};
use sluicegate_flow::admission::Admission;
use sluicegate_flow::concurrency::ConcurrencyLimit;
use sluicegate_flow::time_limit::{TimeLimit, TimeLimiter};

use super::millis;
use super::waiting::{poll, too_late_for_a_place, too_late_for_the_rate};

/// A timer that wakes nobody.
#[derive(Clone, Copy)]
struct Never;

impl sluicegate::wait::Timer for Never {
    type Sleep = std::future::Pending<()>;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        std::future::pending()
    }
}

#[test]
fn threads_wait_as_tasks_do() {
    let clock = Arc::new(ManualClock::new());
    let bucket = TokenBucket::with_clock(quota!(10 / second, burst 1), Arc::clone(&clock));
    let (bucket, places) = (Arc::new(bucket), Arc::new(ConcurrencyLimit::new(1)));
    let admission = Admission::new()
        .rate("rate", Arc::clone(&bucket))
        .in_flight("places", Arc::clone(&places))
        .time(TimeLimiter::new("time", TimeLimit::new(millis(60_000)).unwrap()))
        .timer(Never);
    let soon = millis(2);
    let first = admission.admit_blocking(1).unwrap();
    assert_eq!(
        admission.admit(1).timeout(soon).wait_blocking().unwrap_err(),
        too_late_for_a_place()
    );
    let now = std::time::Instant::now();
    assert_eq!(
        admission.admit(1).wait_blocking_until(now + soon).unwrap_err(),
        too_late_for_a_place()
    );
    assert_eq!(admission.admit(1).wait_blocking_until(now).unwrap_err(), too_late_for_a_place());
    let at_once = admission.admit(1).timeout(Duration::ZERO);
    assert_eq!(at_once.wait_blocking().unwrap_err(), too_late_for_a_place());
    let refused = admission.admit(1).timeout(soon).run(|_| ()).unwrap_err();
    assert_eq!(refused, too_late_for_a_place());
    drop(first);
    let too_late = too_late_for_the_rate(millis(100));
    assert_eq!(admission.admit(1).timeout(millis(99)).wait_blocking().unwrap_err(), too_late);
    assert_eq!((places.in_flight(), bucket.line().waiters()), (0, 0));

    // One waits for the place, and then for the rate.
    let held = places.acquire_blocking(1).unwrap();
    thread::scope(|scope| {
        let call = || admission.admit(1).run(|_| thread::current().id());
        let call = scope.spawn(call);
        while places.line().waiters() == 0 {
            thread::yield_now();
        }
        drop(held);
        while bucket.line().waiters() == 0 {
            thread::yield_now();
        }
        assert_eq!(places.in_flight(), 1);
        clock.advance(millis(100));
        assert!(bucket.try_acquire(1).is_err(), "it settles for the call");
        let ran_by = call.join().unwrap().unwrap();
        assert_ne!(ran_by, thread::current().id());
    });
    assert_eq!((places.in_flight(), bucket.line().waiters()), (0, 0));
    // A future that has been polled, and has the place, is not in its own way.
    let mut call = admission.admit(1);
    assert!(Pin::new(&mut call).poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(places.in_flight(), 1);
    clock.advance(millis(100));
    let call = call.timeout(Duration::ZERO);
    assert_eq!(places.in_flight(), 0, "it asks anew");
    assert!(call.wait_blocking().is_ok());
}

#[test]
fn the_wait_of_a_thread_for_its_place_counts_for_the_deadline() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let bucket = TokenBucket::with_clock(quota!(1 / hour), ManualClock::new());
    let places = Arc::new(ConcurrencyLimit::new(1));
    let admission = Admission::new().rate("rate", &bucket).in_flight("places", Arc::clone(&places));
    bucket.try_acquire(1).unwrap();
    let held = places.acquire_blocking(1).unwrap();
    thread::scope(|scope| {
        let call =
            scope.spawn(|| admission.admit(1).timeout(HOUR + millis(10)).wait_blocking().map(drop));
        while places.line().waiters() == 0 {
            thread::yield_now();
        }
        thread::sleep(millis(20));
        drop(held);
        while !call.is_finished() && bucket.line().waiters() == 0 {
            thread::yield_now();
        }
        // It does not stand there: less than an hour is left.
        bucket.line().close();
        assert_eq!(call.join().unwrap(), Err(too_late_for_the_rate(HOUR)));
    });
}

/// A timer that panics, once it has been started.
#[derive(Clone, Copy)]
struct Broken;

impl sluicegate::wait::Timer for Broken {
    type Sleep = std::future::Ready<()>;

    fn sleep(&self, _: Duration) -> Self::Sleep {
        panic!("broken")
    }
}

#[test]
fn a_timer_that_panics_leaves_no_place_taken() {
    let bucket = TokenBucket::with_clock(quota!(10 / second, burst 1), ManualClock::new());
    let places = Arc::new(ConcurrencyLimit::new(1));
    let admission = Admission::new()
        .rate("rate", &bucket)
        .in_flight("places", Arc::clone(&places))
        .timer(Broken);
    bucket.try_acquire(1).unwrap();
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = poll(&mut Box::pin(admission.admit(1).timeout(millis(500))));
    }));
    assert!(polled.is_err());
    assert_eq!((places.in_flight(), bucket.line().waiters()), (0, 0));
    let held = places.acquire_blocking(1).unwrap();
    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = poll(&mut Box::pin(admission.admit(1).timeout(millis(500))));
    }));
    assert!(polled.is_err());
    drop(held);
    assert_eq!((places.in_flight(), places.line().waiters()), (0, 0));
}
