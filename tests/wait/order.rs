//! First come, first served, at the earliest instant that suffices.

use std::task::Poll;

use sluicegate::{ManualClock, TokenBucket, quota};

use super::support::{Caller, MILLI};

#[test]
fn callers_are_granted_in_order_each_at_its_instant() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    // The third wants least, and gets it last.
    let mut callers = [5, 10, 1].map(|permits| Caller::new(&bucket, permits));
    let mut granted_at = [None; 3];
    for now in 0..=20 {
        // The last one asks first.
        for (caller, granted_at) in callers.iter_mut().zip(&mut granted_at).rev() {
            if granted_at.is_none() && caller.is_granted() {
                *granted_at = Some(now);
            }
        }
        clock.advance(MILLI);
    }
    // When the last one asks it settles for all; the others are told in the same round.
    assert_eq!(granted_at, [Some(5), Some(15), Some(16)]);
}

#[test]
fn a_caller_that_asks_settles_for_those_ahead_and_wakes_each_once() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 4), &clock);
    bucket.try_acquire(4).unwrap();
    let mut callers = [1, 2, 1].map(|permits| Caller::new(&bucket, permits));
    clock.advance(4 * MILLI);
    assert!(callers[2].is_granted());
    assert_eq!(callers.each_ref().map(Caller::woken), [1, 1, 0]);
    assert!(callers[0].is_granted() && callers[1].is_granted());
    assert_eq!(bucket.peek(0).unwrap().remaining(), 0);
}

#[test]
fn a_late_timer_loses_nothing_for_the_first_in_line() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 4), &clock);
    bucket.try_acquire(4).unwrap();
    let mut first = Caller::new(&bucket, 3);
    // Due after 3 ms, and asked after 6: the bucket is full but for the permits of the first.
    clock.advance(6 * MILLI);
    assert!(first.is_granted());
    assert_eq!(bucket.peek(0).unwrap().remaining(), 3);
}

#[test]
fn a_request_that_can_be_granted_does_not_wait() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 4), &clock);
    let mut caller = Caller::new(&bucket, 4);
    let Poll::Ready(Ok(grant)) = caller.poll() else { panic!("not granted") };
    assert_eq!((grant.permits(), grant.remaining()), (4, 0));
    assert!(caller.is_granted(), "the answer stays");
    assert_eq!(bucket.peek(0).unwrap().remaining(), 0);
    assert!(Caller::new(&bucket, 0).is_granted());
}

#[test]
fn a_first_that_is_not_polled_holds_up_nobody_behind_it() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 4), &clock);
    bucket.try_acquire(4).unwrap();
    let _never_polled_again = Caller::new(&bucket, 2);
    let mut second = Caller::new(&bucket, 1);
    clock.advance(2 * MILLI);
    assert!(second.is_waiting());
    clock.advance(MILLI);
    assert!(second.is_granted());
}
