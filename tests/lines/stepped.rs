//! Lines for a bucket that is refilled in steps. Those in line take from a step in turn: the first one from
//! all of it, each of the others from what the capacity holds then.

use std::time::Duration;

use sluicegate::wait::AcquireError;
use sluicegate::{ManualClock, TokenBucket, quota};

use crate::wait::support::Caller;

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
