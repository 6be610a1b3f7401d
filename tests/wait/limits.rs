//! Bounds of a line, and its end.

use sluicegate::{AcquireError, LineLimits, ManualClock, TokenBucket, Wait, WhenLineFull, quota};

use crate::support::{Caller, MILLI};

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
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
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
