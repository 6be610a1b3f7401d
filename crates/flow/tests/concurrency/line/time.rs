//! Callers that do not wait for ever. No test asserts a time.

use std::future::{Future, Pending, pending};
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use sluicegate::wait::Timer;
use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlightError};

use super::{Caller, Over};

const SOME: Duration = Duration::from_millis(1);

#[test]
fn a_caller_whose_time_is_over_leaves_the_line() {
    let limit = ConcurrencyLimit::new(4);
    let held = limit.try_acquire(3).unwrap();
    let mut first = Caller::new(limit.acquire(2).timeout(SOME));
    let mut second = Caller::new(limit.acquire(1).timeout(SOME));
    assert!(first.is_waiting() && second.is_waiting());
    first.ring();
    assert_eq!(first.error(), Some(InFlightError::TimedOut));
    assert_eq!(second.woken(), 1);
    assert!(second.is_granted());
    drop((second, held));
    assert_eq!((limit.in_flight(), limit.line().waiters()), (0, 0));
}

#[test]
fn a_caller_that_was_granted_permits_in_time_has_them_even_if_it_wakes_later() {
    let limit = ConcurrencyLimit::new(1);
    let held = limit.try_acquire(1).unwrap();
    let mut caller = Caller::new(limit.acquire(1).timeout(SOME));
    drop(held);
    caller.ring();
    assert!(caller.is_granted());
}

#[test]
fn a_caller_without_a_timeout_does_not_look_at_the_timer() {
    let limit = ConcurrencyLimit::new(1);
    let _held = limit.try_acquire(1).unwrap();
    let mut caller = Caller::new(limit.acquire(1));
    caller.ring();
    assert!(caller.is_waiting());
}

#[test]
fn a_thread_does_not_wait_beyond_its_time() {
    let limit = ConcurrencyLimit::new(2);
    let held = limit.acquire(2).timeout(Duration::ZERO).wait_blocking().unwrap();
    for timeout in [Duration::ZERO, Duration::from_nanos(1), SOME] {
        assert_eq!(
            limit.acquire(1).timeout(timeout).wait_blocking().unwrap_err(),
            InFlightError::TimedOut
        );
        let deadline = Instant::now() + timeout;
        assert_eq!(
            limit.acquire(1).wait_blocking_until(deadline).unwrap_err(),
            InFlightError::TimedOut
        );
    }
    drop(held);
    let past = Instant::now().checked_sub(Duration::from_nanos(1)).unwrap();
    assert_eq!(limit.acquire(1).wait_blocking_until(past).unwrap_err(), InFlightError::TimedOut);
    assert!(limit.acquire(1).wait_blocking_until(Instant::now() + Duration::from_secs(60)).is_ok());
    assert!(limit.acquire(2).timeout(Duration::MAX).wait_blocking().is_ok());
    assert_eq!((limit.in_flight(), limit.line().waiters()), (0, 0));
}

#[test]
fn a_caller_without_time_does_not_stand_in_line() {
    let limit = ConcurrencyLimit::new(4);
    let held = limit.try_acquire(3).unwrap();
    limit.line().set_limits(sluicegate::wait::LineLimits::new().max_waiters(0));
    // The line would say that it is full.
    assert_eq!(
        limit.acquire(2).timeout(Duration::ZERO).wait_blocking().unwrap_err(),
        InFlightError::TimedOut
    );
    assert_eq!(
        limit.acquire(2).timeout(SOME).wait_blocking().unwrap_err(),
        InFlightError::LineFull
    );
    let too_large = InFlightError::TooLarge { limit: 4 };
    assert_eq!(limit.acquire(5).timeout(Duration::ZERO).wait_blocking().unwrap_err(), too_large);
    drop(held);
    assert!(limit.acquire(4).timeout(Duration::ZERO).wait_blocking().is_ok());
}

#[test]
fn a_caller_without_time_never_closes_the_gate_for_others_that_fit() {
    let limit = ConcurrencyLimit::new(4);
    let _held = limit.try_acquire(3).unwrap();
    let is_over = AtomicBool::new(false);
    let denied = std::thread::scope(|scope| {
        let _over = Over(&is_over);
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                assert!(limit.acquire(2).timeout(Duration::ZERO).wait_blocking().is_err());
            }
        });
        let tries = if cfg!(miri) { 100 } else { 200_000 };
        (0..tries).filter(|_| limit.try_acquire(1).is_err()).count()
    });
    assert_eq!(denied, 0);
}

#[test]
fn nothing_takes_time_and_is_granted_after_the_deadline_too() {
    let limit = ConcurrencyLimit::new(1);
    let _held = limit.try_acquire(1).unwrap();
    let past = Instant::now().checked_sub(SOME).unwrap();
    assert_eq!(limit.acquire(0).wait_blocking_until(past).unwrap().permits(), 0);
    assert_eq!(limit.acquire(1).wait_blocking_until(past).unwrap_err(), InFlightError::TimedOut);
}

/// A timer that lists what it was asked for, and never rings.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<Vec<Duration>>>);

impl Timer for Asked {
    type Sleep = Pending<()>;

    fn sleep(&self, duration: Duration) -> Pending<()> {
        self.0.lock().unwrap().push(duration);
        pending()
    }
}

#[test]
fn a_timeout_that_is_set_again_is_slept_for() {
    let limit = ConcurrencyLimit::new(1);
    let _held = limit.try_acquire(1).unwrap();
    let asked = Asked::default();
    let context = &mut Context::from_waker(Waker::noop());
    let mut caller = limit.acquire(1).timer(asked.clone());
    for timeout in [SOME, 2 * SOME] {
        caller = caller.timeout(timeout);
        assert!(Pin::new(&mut caller).poll(context).is_pending());
        assert!(Pin::new(&mut caller).poll(context).is_pending());
    }
    assert_eq!(*asked.0.lock().unwrap(), [SOME, 2 * SOME]);
}

#[test]
fn a_thread_with_the_longest_time_waits_until_it_is_woken() {
    let limit = ConcurrencyLimit::new(1);
    for timeout in [Duration::MAX, Duration::from_secs(3_600)] {
        let held = limit.try_acquire(1).unwrap();
        std::thread::scope(|scope| {
            let waiting =
                scope.spawn(|| limit.acquire(1).timeout(timeout).wait_blocking().map(drop));
            while limit.line().waiters() == 0 {
                std::thread::yield_now();
            }
            drop(held);
            assert_eq!(waiting.join().unwrap(), Ok(()));
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_is_measured_by_the_timer_whose_time_may_be_paused() {
    let limit = ConcurrencyLimit::new(1);
    let _held = limit.try_acquire(1).unwrap();
    let began = tokio::time::Instant::now();
    let day = Duration::from_secs(86_400);
    let caller = limit.acquire(1).timeout(day).timer(sluicegate::wait::TokioTimer);
    assert_eq!(caller.await.unwrap_err(), InFlightError::TimedOut);
    assert_eq!(began.elapsed(), day);
}
