//! A bucket with callers in line, of which permits are given back. (`wait/random.rs` has random histories.)

use std::time::Duration;

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
