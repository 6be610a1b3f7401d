//! Changes of the terms, of the level and of the clock, while callers wait.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::wait::AcquireError;
use sluicegate::{ManualClock, TokenBucket, quota};

use super::support::{Caller, MILLI, empty_bucket};

#[test]
fn a_change_of_the_quota_re_arms_those_in_line() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(10 / second), &clock);
    bucket.try_acquire(10).unwrap();
    let mut caller = Caller::new(&bucket, 2);
    clock.advance(100 * MILLI);
    assert!(caller.is_waiting());
    bucket.reconfigure(quota!(1_000 / second, burst 10), Carry::Keep);
    assert_eq!(caller.woken(), 1);
    assert!(caller.is_waiting());
    clock.advance(MILLI);
    assert!(caller.is_granted());
    assert!(bucket.try_acquire(1).is_err(), "nothing was forgotten");
    clock.advance(MILLI);
    assert!(bucket.try_acquire(1).is_ok(), "the gate is open");
}

#[test]
fn a_smaller_burst_refuses_those_that_it_can_never_grant_wherever_they_stand() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut callers = [2, 6, 3, 7].map(|permits| Caller::new(&bucket, permits));
    bucket.reconfigure(quota!(1_000 / second, burst 5), Carry::Keep);
    let too_large = Some(AcquireError::TooLarge { limit: 5 });
    assert_eq!(callers.each_mut().map(Caller::error), [None, too_large, None, too_large]);
    clock.advance(5 * MILLI);
    assert!(callers[2].is_granted() && callers[0].is_granted());
}

#[test]
fn a_credit_is_for_those_in_line() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut callers = [4, 5].map(|permits| Caller::new(&bucket, permits));
    bucket.credit(6);
    assert_eq!(callers.each_mut().map(Caller::is_granted), [true, false]);
    assert!(bucket.try_acquire(1).is_err());
}

#[test]
fn a_lease_that_ends_is_for_those_in_line() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    let lease = bucket.lease(10).unwrap();
    let mut caller = Caller::new(&bucket, 5);
    drop(lease);
    assert!(caller.is_granted());
}

#[test]
fn a_clock_that_goes_back_holds_nobody_up_for_ever() {
    let clock = ManualClock::new();
    clock.set_nanos(3_600_000_000_000);
    let bucket = empty_bucket(&clock);
    let mut callers = [4, 5].map(|permits| Caller::new(&bucket, permits));
    clock.set_nanos(0);
    assert!(callers[0].is_granted(), "the bucket starts again from full");
    assert_eq!(bucket.healed(), 1);
    assert!(callers[1].is_granted());
    assert_eq!(bucket.peek(0).unwrap().remaining(), 1);
}

#[test]
fn a_clock_that_jumps_ahead_grants_a_line_one_burst_and_the_first_what_it_waited_for() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut callers = [10; 4].map(|permits| Caller::new(&bucket, permits));
    clock.advance(Duration::from_secs(3_600));
    let granted = callers.each_mut().map(Caller::is_granted);
    assert_eq!(granted, [true, true, false, false]);
}
