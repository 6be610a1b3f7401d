//! Callers that do not wait for ever. No test asserts a time.

use std::time::{Duration, Instant};

use sluicegate::{ConcurrencyLimit, InFlightError};

use super::Caller;

const SOME: Duration = Duration::from_millis(1);

#[test]
fn a_caller_whose_time_is_over_leaves_the_line() {
    let limit = ConcurrencyLimit::new(4);
    let held = limit.try_acquire(3).unwrap();
    let mut first = Caller::new(limit.acquire_async(2).timeout(SOME));
    let mut second = Caller::new(limit.acquire_async(1).timeout(SOME));
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
    let mut caller = Caller::new(limit.acquire_async(1).timeout(SOME));
    drop(held);
    caller.ring();
    assert!(caller.is_granted());
}

#[test]
fn a_caller_without_a_timeout_does_not_look_at_the_timer() {
    let limit = ConcurrencyLimit::new(1);
    let _held = limit.try_acquire(1).unwrap();
    let mut caller = Caller::new(limit.acquire_async(1));
    caller.ring();
    assert!(caller.is_waiting());
}

#[test]
fn a_thread_does_not_wait_beyond_its_time() {
    let limit = ConcurrencyLimit::new(2);
    let held = limit.acquire_timeout(2, Duration::ZERO).unwrap();
    for timeout in [Duration::ZERO, Duration::from_nanos(1), SOME] {
        assert_eq!(limit.acquire_timeout(1, timeout).unwrap_err(), InFlightError::TimedOut);
        let deadline = Instant::now() + timeout;
        assert_eq!(limit.acquire_until(1, deadline).unwrap_err(), InFlightError::TimedOut);
    }
    drop(held);
    let past = Instant::now().checked_sub(Duration::from_nanos(1)).unwrap();
    assert_eq!(limit.acquire_until(1, past).unwrap_err(), InFlightError::TimedOut);
    assert!(limit.acquire_until(1, Instant::now() + Duration::from_secs(60)).is_ok());
    assert!(limit.acquire_timeout(2, Duration::MAX).is_ok());
    assert_eq!((limit.in_flight(), limit.line().waiters()), (0, 0));
}

#[test]
fn a_thread_with_the_longest_time_waits_until_it_is_woken() {
    let limit = ConcurrencyLimit::new(1);
    for timeout in [Duration::MAX, Duration::from_secs(3_600)] {
        let held = limit.try_acquire(1).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| limit.acquire_timeout(1, timeout).map(drop));
            while limit.line().waiters() == 0 {
                std::thread::yield_now();
            }
            drop(held);
            assert_eq!(waiting.join().unwrap(), Ok(()));
        });
    }
}

#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn a_timeout_is_measured_by_the_timer_whose_time_may_be_paused() {
    let limit = ConcurrencyLimit::new(1);
    let _held = limit.try_acquire(1).unwrap();
    let began = tokio::time::Instant::now();
    let day = Duration::from_secs(86_400);
    let caller = limit.acquire_async(1).timeout(day).timer(sluicegate::TokioTimer);
    assert_eq!(caller.await.unwrap_err(), InFlightError::TimedOut);
    assert_eq!(began.elapsed(), day);
}
