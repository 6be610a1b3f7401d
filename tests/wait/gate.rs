//! Verbs that do not wait, while others do.

use std::time::Duration;

use sluicegate::{Denied, Gcra, LeakyBucket, Limiter, ManualClock, TokenBucket, Wait, quota};

use super::support::{Caller, MILLI};

#[test]
fn no_verb_overtakes_a_caller_in_line() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let mut caller = Caller::new(&bucket, 10);
    clock.advance(5 * MILLI);
    assert!(bucket.try_acquire(1).is_err());
    assert!(bucket.try_acquire_up_to(1).is_err());
    assert!(bucket.peek(1).is_err());
    assert!(bucket.lease(1).is_err());
    assert!(bucket.lease_exact(1).is_err());
    assert!(bucket.try_acquire_revocable(1).is_err());
    assert_eq!(bucket.drain().permits(), 0);
    assert!(bucket.try_acquire(0).is_ok() && bucket.peek(0).is_ok());
    clock.advance(5 * MILLI);
    assert!(caller.is_granted());
    clock.advance(MILLI);
    assert!(bucket.try_acquire(1).is_ok());
}

#[test]
fn a_denial_tells_the_wait_until_the_line_has_passed() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let _callers = [4, 9].map(|permits| Caller::new(&bucket, permits));
    assert_eq!((bucket.line().waiters(), bucket.line().permits()), (2, 13));
    clock.advance(2 * MILLI);
    let denied = bucket.try_acquire(3).unwrap_err();
    assert_eq!(denied.retry_after(), Some(14 * MILLI));
    assert_eq!(denied.remaining(), Some(2));
    let denied = bucket.try_acquire_up_to(3).unwrap_err();
    assert_eq!(denied.retry_after(), Some(12 * MILLI));
    assert_eq!(bucket.try_acquire(11), Err(Denied::TooLarge { limit: 10, which: 0 }));
}

#[test]
fn a_try_settles_for_a_line_that_nobody_polls() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let caller = Caller::new(&bucket, 5);
    clock.advance(6 * MILLI);
    assert_eq!(bucket.try_acquire(1).unwrap().remaining(), 0);
    assert_eq!((caller.woken(), bucket.line().waiters()), (1, 0));
}

#[test]
fn a_force_goes_through_the_gate_and_delays_those_in_line() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let mut caller = Caller::new(&bucket, 1);
    assert_eq!(bucket.force(3).unwrap().permits(), 3);
    clock.advance(3 * MILLI);
    assert!(caller.is_waiting());
    clock.advance(MILLI);
    assert!(caller.is_granted());
}

#[test]
fn cells_and_leaky_buckets_have_a_line_too() {
    let clock = ManualClock::new();
    let cells = Gcra::with_clock(MILLI, Duration::ZERO, &clock).unwrap();
    let leaky = LeakyBucket::meter_with_clock(quota!(1_000 / second, burst 1), &clock);
    let _spent = (cells.try_acquire(1).unwrap(), leaky.try_acquire(1).unwrap());
    let mut callers = [Caller::new(&cells, 1), Caller::new(&leaky, 1)];
    assert!(callers.iter_mut().all(Caller::is_waiting));
    assert!(cells.try_acquire(1).is_err() && leaky.try_acquire(1).is_err());
    clock.advance(MILLI);
    assert!(callers.iter_mut().all(Caller::is_granted));
}
