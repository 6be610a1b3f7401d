//! Callers in line for a bucket, beside what `any_line.rs` says of all lines, `random.rs` of their grants and `least.rs` of
//! their waits; and changes of the terms, of the level and of the clock, while they wait.

use std::task::Poll;
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::wait::AcquireError;
use sluicegate::{Denied, ManualClock, TokenBucket, Wait, quota};

use super::support::{Caller, MILLI, assert_every_verb_denied, empty_bucket};

#[test]
fn callers_are_granted_in_order_each_at_its_instant() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
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
fn no_verb_overtakes_a_caller_in_line() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 10);
    clock.advance(5 * MILLI);
    assert_every_verb_denied(&bucket);
    assert!(bucket.lease(1).is_err() && bucket.lease_exact(1).is_err());
    assert_eq!(bucket.drain().permits(), 0);
    clock.advance(5 * MILLI);
    assert!(caller.is_granted());
    clock.advance(MILLI);
    assert!(bucket.try_acquire(1).is_ok());
}

#[test]
fn a_denial_tells_the_wait_until_the_line_has_passed() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
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
fn a_caller_that_is_due_by_its_deadline_is_granted_even_if_it_wakes_later() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::with_timeout(&bucket, 4, 4 * MILLI);
    clock.advance(40 * MILLI);
    assert!(caller.is_granted());
}

#[test]
fn a_caller_whose_turn_is_put_off_beyond_its_deadline_is_refused() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::with_timeout(&bucket, 4, 4 * MILLI);
    bucket.force(1).unwrap();
    clock.advance(4 * MILLI);
    assert_eq!(caller.error(), Some(AcquireError::TimedOut { retry_after: MILLI }));
    assert_eq!(bucket.peek(0).unwrap().remaining(), 3);
}

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
