//! Callers that give up.

use std::future::Future;
use std::time::Duration;

use sluicegate::wait::{AcquireError, Waiting};
use sluicegate::{ManualClock, TokenBucket, Wait, quota};

use super::support::{Caller, MILLI, NoTimer};

#[test]
fn a_caller_that_gives_up_has_taken_nothing_and_those_behind_are_due_earlier() {
    for leaving in 0..3 {
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
        bucket.try_acquire(10).unwrap();
        let mut callers: Vec<Caller<'_>> =
            [4, 3, 2].map(|permits| Caller::new(&bucket, permits)).into();
        drop(callers.remove(leaving));
        let permits: u64 = bucket.line().permits();
        clock.set_nanos(permits * 1_000_000 - 1);
        assert!(callers[1].is_waiting());
        clock.set_nanos(permits * 1_000_000);
        assert!(callers[1].is_granted() && callers[0].is_granted());
        assert_eq!(bucket.peek(0).unwrap().remaining(), 0);
    }
}

#[test]
fn a_line_that_everybody_has_left_is_open() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    drop([2, 3].map(|permits| Caller::new(&bucket, permits)));
    clock.advance(MILLI);
    assert_eq!(bucket.try_acquire(1).unwrap().remaining(), 0);
}

#[test]
fn the_next_one_is_woken_to_sleep_for_less() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let first = Caller::new(&bucket, 5);
    let second = Caller::new(&bucket, 5);
    drop(first);
    assert_eq!(second.woken(), 1);
}

#[test]
fn a_grant_that_was_not_seen_is_given_back_if_nothing_happened_since() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    for is_first in [true, false] {
        bucket.reset();
        bucket.try_acquire(10).unwrap();
        let unseen = Caller::new(&bucket, 4);
        clock.advance(4 * MILLI);
        // Settles for the one in line.
        assert!(bucket.try_acquire(1).is_err());
        assert_eq!(unseen.woken(), 1);
        if !is_first {
            clock.advance(MILLI);
            assert!(bucket.try_acquire(1).is_ok());
        }
        drop(unseen);
        let left = if is_first { 4 } else { 0 };
        assert_eq!(bucket.peek(0).unwrap().remaining(), left);
    }
}

#[test]
fn a_deadline_before_its_turn_refuses_a_caller_at_once() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let mut first = Caller::with_timeout(&bucket, 4, 4 * MILLI);
    assert!(first.is_waiting());
    let mut second = Caller::with_timeout(&bucket, 3, Duration::from_nanos(6_999_999));
    assert_eq!(second.error(), Some(AcquireError::TimedOut { retry_after: 7 * MILLI }));
    assert_eq!(bucket.line().waiters(), 1);
    clock.advance(4 * MILLI);
    assert!(first.is_granted());
}

#[test]
fn a_caller_that_is_due_by_its_deadline_is_granted_even_if_it_wakes_later() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let mut caller = Caller::with_timeout(&bucket, 4, 4 * MILLI);
    clock.advance(40 * MILLI);
    assert!(caller.is_granted());
}

#[test]
fn a_caller_whose_turn_is_put_off_beyond_its_deadline_is_refused() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let mut caller = Caller::with_timeout(&bucket, 4, 4 * MILLI);
    bucket.force(1).unwrap();
    clock.advance(4 * MILLI);
    assert_eq!(caller.error(), Some(AcquireError::TimedOut { retry_after: MILLI }));
    assert_eq!(bucket.peek(0).unwrap().remaining(), 3);
}

#[test]
fn nobody_waits_for_more_than_there_can_be() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    let too_large = Some(AcquireError::TooLarge { limit: 10 });
    assert_eq!(Caller::new(&bucket, 11).error(), too_large);
    bucket.try_acquire(10).unwrap();
    let _in_line = Caller::new(&bucket, 1);
    assert_eq!(Caller::new(&bucket, 11).error(), too_large);
    assert_eq!(Caller::new(&bucket, u64::MAX).error(), too_large);
}

/// A waker that owns a caller in the same line: to drop the one is to drop the other.
struct OwnsAnother {
    _other: std::sync::Mutex<Option<Waiting<'static, NoTimer>>>,
}

impl std::task::Wake for OwnsAnother {
    fn wake(self: std::sync::Arc<Self>) {}
}

#[test]
fn a_waker_may_drop_another_caller_of_the_line() {
    let clock: &ManualClock = Box::leak(Box::default());
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), clock);
    let bucket: &TokenBucket<_> = Box::leak(Box::new(bucket));
    for outcome in 0..4 {
        bucket.drain();
        let mut other = bucket.acquire(1).timer(NoTimer);
        let noop = std::task::Waker::noop();
        let mut first = std::pin::pin!(bucket.acquire(1).timer(NoTimer));
        // In line, and then owned by the waker of the first.
        let context = &mut std::task::Context::from_waker(noop);
        assert!(std::pin::Pin::new(&mut other).poll(context).is_pending());
        let owner = OwnsAnother { _other: std::sync::Mutex::new(Some(other)) };
        let waker = std::task::Waker::from(std::sync::Arc::new(owner));
        assert!(first.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
        drop(waker);
        match outcome {
            0 => assert!(first.as_mut().poll(context).is_pending(), "another waker"),
            1 => bucket.reset(),
            2 => first.set(bucket.acquire(0).timer(NoTimer)),
            _ => bucket.line().close(),
        }
    }
    assert!(bucket.line().waiters() <= 1);
}
