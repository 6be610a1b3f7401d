//! Lines for a bucket: of which permits are given back, and which is refilled in steps. (`wait/random.rs` has random
//! histories.)

use std::time::Duration;

use sluicegate::wait::AcquireError;
use sluicegate::{Limiter, ManualClock, TokenBucket, quota};

use crate::wait::support::Caller;

#[test]
fn nobody_is_charged_as_of_an_instant_before_it_came() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1 / second, burst 6), &clock);
    let receipt = bucket.try_acquire_revocable(6).unwrap();
    let first = Caller::new(&bucket, 6);
    clock.advance(Duration::from_millis(5_900));
    let mut second = Caller::new(&bucket, 6);
    assert!(second.is_waiting());
    clock.advance(Duration::from_millis(50));
    assert!(receipt.give_back());
    drop(first);
    // Nothing was ever used, so there are 6.
    assert!(second.is_granted());
    assert!(bucket.try_acquire(1).is_err());
}

#[test]
fn nobody_is_charged_as_of_an_instant_before_permits_came_back() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1 / second, burst 6), &clock);
    let receipt = bucket.try_acquire_revocable(6).unwrap();
    let mut caller = Caller::new(&bucket, 6);
    assert!(caller.is_waiting());
    clock.advance(Duration::from_millis(5_900));
    assert!(receipt.give_back());
    assert!(caller.is_granted());
    assert!(bucket.try_acquire(1).is_err());
}

#[test]
fn a_reservation_that_is_cancelled_beside_a_line_is_there_from_then_on() {
    let clock = ManualClock::new();
    let quota = quota!(1 / second, burst 6, max_debt 6);
    let bucket = TokenBucket::with_clock(quota, &clock);
    bucket.try_acquire(6).unwrap();
    let reserved = sluicegate::wait::Reserve::reserve(&bucket, 6).unwrap();
    let mut caller = Caller::new(&bucket, 6);
    clock.advance(Duration::from_millis(11_900));
    assert!(caller.is_waiting());
    assert!(reserved.cancel());
    assert!(caller.is_granted());
    assert!(bucket.try_acquire(1).is_err());
}

/// Those in line take from a step in turn: the first one from all of it, each of the others from what the capacity holds
/// then.
#[test]
fn what_overflows_between_two_turns_is_foreseen() {
    let clock = ManualClock::new();
    let quota = quota!(30 / second, burst 10, refill interval);
    let bucket = TokenBucket::with_clock(quota, &clock);
    bucket.try_acquire(10).unwrap();
    let (mut first, mut second) = (Caller::new(&bucket, 3), Caller::new(&bucket, 8));
    assert_eq!(second.sleeps_for(), Duration::from_secs(1));
    // Then 2 are left, and a step brings no more than 10.
    let two = Duration::from_secs(2);
    let denied = bucket.try_acquire(10).unwrap_err();
    assert_eq!(denied.retry_after(), Some(two));
    let mut late = Caller::with_timeout(&bucket, 10, Duration::from_millis(1_500));
    assert_eq!(late.error(), Some(AcquireError::TimedOut { retry_after: two }));
    let mut third = Caller::new(&bucket, 10);
    assert_eq!(third.sleeps_for(), two);
    // 20 are left of the second step, and 10 of them fit.
    let (fourth, fifth) = (Caller::new(&bucket, 9), Caller::new(&bucket, 2));
    assert_eq!((fourth.sleeps_for(), fifth.sleeps_for()), (two, Duration::from_secs(3)));
    clock.advance(Duration::from_secs(1));
    assert!(first.is_granted() && second.is_granted() && third.is_waiting());
    assert_eq!((third.sleeps_for(), bucket.peek(0).unwrap().remaining()), (two / 2, 2));
    clock.advance(Duration::from_secs(1));
    assert!(third.is_granted());
}

#[test]
fn at_a_step_the_first_in_line_and_a_full_bucket_may_pass() {
    let clock = ManualClock::new();
    let quota = quota!(2 / second, burst 2, refill interval);
    let bucket = TokenBucket::with_clock(quota, &clock);
    bucket.try_acquire(1).unwrap();
    let mut first = Caller::new(&bucket, 2);
    clock.advance(Duration::from_secs(1));
    assert!(first.is_granted());
    // One was there, and two came. Without the caller in line, one of them would have been lost.
    assert!(bucket.try_acquire(1).is_ok());
    assert!(bucket.try_acquire(1).is_err());
}
