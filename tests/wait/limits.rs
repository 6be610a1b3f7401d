//! Bounds of a line, and its end.

use std::time::Duration;

use sluicegate::wait::{AcquireError, LineLimits, Queued, WhenLineFull};
use sluicegate::{ManualClock, TokenBucket, Wait, quota};

use super::support::{Caller, MILLI, empty_bucket};

#[test]
fn a_full_line_refuses_the_newest_and_tells_its_wait() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    let limits = LineLimits::new().max_waiters(2).max_permits(7);
    bucket.line().set_limits(limits);
    bucket.try_acquire(10).unwrap();
    let mut first = Caller::new(&bucket, 4);
    let full = |wait| Some(AcquireError::LineFull { retry_after: wait });
    assert_eq!(Caller::new(&bucket, 4).error(), full(8 * MILLI));
    let mut second = Caller::new(&bucket, 3);
    assert_eq!(Caller::new(&bucket, 1).error(), full(8 * MILLI));
    assert!(first.is_waiting() && second.is_waiting());
    // Whoever is due makes room.
    clock.advance(4 * MILLI);
    assert!(Caller::new(&bucket, 1).is_waiting());
    assert!(first.is_granted());
}

#[test]
fn a_full_line_evicts_the_oldest_and_loses_nothing_that_was_earned() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    let limits = LineLimits::new().max_permits(7).when_full(WhenLineFull::EvictOldest);
    bucket.line().set_limits(limits);
    bucket.try_acquire(10).unwrap();
    let mut callers = [3, 4, 5].map(|permits| Caller::new(&bucket, permits));
    let evicted = Some(AcquireError::Evicted);
    assert_eq!(callers.each_mut().map(Caller::error), [evicted, evicted, None]);
    assert_eq!(callers.each_ref().map(Caller::woken), [1, 1, 0]);
    assert!(matches!(Caller::new(&bucket, 8).error(), Some(AcquireError::LineFull { .. })));
    clock.advance(5 * MILLI);
    assert!(callers[2].is_granted());
}

#[test]
fn nobody_stands_in_a_line_of_length_zero() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    for when_full in [WhenLineFull::RefuseNewest, WhenLineFull::EvictOldest] {
        bucket.reset();
        bucket.line().set_limits(LineLimits::new().max_waiters(0).when_full(when_full));
        assert!(Caller::new(&bucket, 10).is_granted());
        let full = AcquireError::LineFull { retry_after: MILLI };
        assert_eq!(Caller::new(&bucket, 1).error(), Some(full));
        clock.advance(MILLI);
        assert!(bucket.try_acquire(1).is_ok(), "the gate is open");
    }
}

#[test]
fn a_closed_line_refuses_all_that_wait_and_grants_what_there_is() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut callers = [3, 4].map(|permits| Caller::new(&bucket, permits));
    assert!(!bucket.line().is_closed());
    bucket.line().close();
    assert!(bucket.line().is_closed());
    let closed = Some(AcquireError::Closed);
    assert_eq!(callers.each_ref().map(Caller::woken), [1, 1]);
    assert_eq!(callers.each_mut().map(Caller::error), [closed, closed]);
    clock.advance(MILLI);
    assert!(bucket.try_acquire(1).is_ok());
    assert_eq!(Caller::new(&bucket, 1).error(), closed);
    bucket.reset();
    assert!(Caller::new(&bucket, 1).is_granted());
}

/// Bounds the wait in the line of `limiter`, of which ten permits were taken and one is earned each
/// millisecond.
fn assert_waits_are_bounded(limiter: &impl Wait, clock: &ManualClock) {
    let timed_out = |wait| Some(AcquireError::TimedOut { retry_after: wait });
    let longest = |wait| limiter.line().set_limits(LineLimits::new().max_wait(wait));
    limiter.try_acquire(10).unwrap();
    // Before there is any bound: its time begins when there is one.
    let mut early = Caller::new(limiter, 3);
    longest(5 * MILLI);
    let mut impatient = Caller::with_timeout(limiter, 1, 4 * MILLI);
    let mut second = Caller::new(limiter, 1);
    assert_eq!(Caller::new(limiter, 1).error(), timed_out(6 * MILLI));
    clock.advance(MILLI);
    longest(4 * MILLI);
    assert!(early.is_waiting() && impatient.is_waiting());
    assert_eq!(second.error(), timed_out(4 * MILLI), "its time counts from when it came");
    // Longer again: an own timeout stays.
    longest(Duration::MAX);
    let mut third = Caller::new(limiter, 2);
    clock.advance(2 * MILLI);
    assert!(early.is_granted() && impatient.is_waiting());
    clock.advance(MILLI);
    assert!(impatient.is_granted());
    longest(2 * MILLI);
    assert!(third.is_waiting(), "its time counts from the change");
    assert_eq!(third.woken(), 0);
    longest(Duration::ZERO);
    assert_eq!(third.woken(), 1, "whoever is too late is told");
    assert_eq!(third.error(), timed_out(2 * MILLI));
    assert_eq!(limiter.line().waiters(), 0);
    // Nobody was charged that was refused, and the gate is open.
    clock.advance(10 * MILLI);
    assert!(limiter.try_acquire(10).is_ok());
}

#[test]
fn a_bound_of_the_wait_holds_for_those_in_line_and_those_to_come() {
    let quota = quota!(1_000 / second, burst 10);
    let clock = ManualClock::new();
    assert_waits_are_bounded(&TokenBucket::with_clock(quota, &clock), &clock);
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota, &clock);
    assert_waits_are_bounded(&Queued::with_clock(bucket, &clock), &clock);
}

#[test]
fn a_place_that_was_used_before_has_no_deadline_of_its_last_caller() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    bucket.line().set_limits(LineLimits::new().max_wait(5 * MILLI));
    assert!(Caller::with_timeout(&bucket, 2, 2 * MILLI).is_waiting());
    bucket.line().set_limits(LineLimits::new());
    let mut caller = Caller::new(&bucket, 3);
    bucket.line().set_limits(LineLimits::new().max_wait(4 * MILLI));
    assert!(caller.is_waiting());
    clock.advance(3 * MILLI);
    assert!(caller.is_granted());
}

#[test]
fn a_bound_of_the_wait_reaches_the_line_of_each_key() {
    use std::future::Future;
    use std::task::{Context, Poll, Waker};

    use sluicegate::Keyed;
    use sluicegate::keyed::QueuedKeys;

    let clock = ManualClock::new();
    let users = Keyed::<u64, _>::with_clock(quota!(1_000 / second, burst 10), &clock);
    let users = QueuedKeys::<_, u64, _>::with_clock(users, &clock);
    for key in [1, 2] {
        users.acquire_blocking(&key, 10).unwrap();
    }
    let mut callers = [&1, &2].map(|key| Box::pin(users.acquire(key, 4)));
    let mut poll = || {
        let mut context = Context::from_waker(Waker::noop());
        callers.each_mut().map(|caller| caller.as_mut().poll(&mut context))
    };
    assert!(poll().iter().all(Poll::is_pending));
    users.set_line_limits(LineLimits::new().max_wait(3 * MILLI));
    for polled in poll() {
        let Poll::Ready(Err(error)) = polled else { panic!("{polled:?}") };
        assert_eq!(error, AcquireError::TimedOut { retry_after: 4 * MILLI });
    }
    assert!(matches!(users.acquire_blocking(&1, 4), Err(AcquireError::TimedOut { .. })));
    assert_eq!(users.lines(), 0);
}
