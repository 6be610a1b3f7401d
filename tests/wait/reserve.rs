//! Reservations: permits taken for a later instant.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::wait::{AcquireError, Reserve};
use sluicegate::{Gcra, LeakyBucket, ManualClock, TokenBucket, quota};

use super::support::{Caller, MILLI, empty_bucket};

#[test]
fn reservations_follow_each_other_at_the_rate() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    let waits = [6, 4, 5, 5].map(|permits| bucket.reserve(permits).unwrap().ready_after());
    assert_eq!(waits, [Duration::ZERO, Duration::ZERO, 5 * MILLI, 10 * MILLI]);
    // The debt is as deep as it may be.
    let full = AcquireError::LineFull { retry_after: MILLI };
    assert_eq!(bucket.reserve(1).unwrap_err(), full);
    clock.advance(MILLI);
    let last = bucket.reserve(1).unwrap();
    assert_eq!((last.permits(), last.at_nanos(), last.wait_left()), (1, 11_000_000, 10 * MILLI));
    clock.advance(4 * MILLI);
    assert_eq!((last.ready_after(), last.wait_left()), (10 * MILLI, 6 * MILLI));
    clock.advance(60 * MILLI);
    assert_eq!(last.wait_left(), Duration::ZERO);
}

#[test]
fn a_reservation_that_comes_too_late_is_refused_and_takes_nothing() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(3 / second, burst 10), &clock);
    bucket.try_acquire(10).unwrap();
    let third = Duration::from_nanos(333_333_334);
    let refused = bucket.reserve_within(1, Duration::from_nanos(333_333_333)).unwrap_err();
    assert_eq!(refused, AcquireError::TimedOut { retry_after: third });
    assert!(bucket.reserve_within(1, third).is_ok());
    assert_eq!(bucket.reserve(11).unwrap_err(), AcquireError::TooLarge { limit: 10 });
    assert_eq!(bucket.peek(0).unwrap().balance(), -1);
}

#[test]
fn the_newest_reservation_can_be_cancelled_and_then_the_one_before_it() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10), &clock);
    let (first, second) = (bucket.reserve(10).unwrap(), bucket.reserve(3).unwrap());
    let third = bucket.reserve(4).unwrap();
    assert!(third.cancel() && second.cancel());
    assert_eq!(bucket.peek(0).unwrap().balance(), 0);
    let after = bucket.reserve(1).unwrap();
    assert!(!first.cancel(), "another was made since");
    assert!(after.cancel());
    assert!(bucket.reserve(0).unwrap().cancel());
}

#[test]
fn a_reservation_is_not_given_back_after_a_change() {
    let clock = ManualClock::new();
    for change in 0..2 {
        let bucket = empty_bucket(&clock);
        let reservation = bucket.reserve(5).unwrap();
        match change {
            0 => bucket.reset(),
            _ => bucket.reconfigure(quota!(1_000 / second, burst 10), Carry::Keep),
        }
        let balance = bucket.peek(0).unwrap().balance();
        assert!(!reservation.cancel());
        assert_eq!(bucket.peek(0).unwrap().balance(), balance);
    }
}

#[test]
fn a_caller_waits_until_what_was_reserved_is_earned_and_is_due_earlier_if_it_is_cancelled() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    for cancels in [false, true] {
        let reservation = bucket.reserve(5).unwrap();
        let mut caller = Caller::new(&bucket, 1);
        if cancels {
            assert!(reservation.cancel());
            assert_eq!(caller.woken(), 1);
        } else {
            clock.advance(5 * MILLI);
        }
        assert!(caller.is_waiting());
        clock.advance(MILLI);
        assert!(caller.is_granted());
    }
}

#[test]
fn cells_and_leaky_buckets_take_reservations_too() {
    let clock = ManualClock::new();
    let cells = Gcra::with_clock(MILLI, Duration::ZERO, &clock).unwrap();
    let leaky = LeakyBucket::meter_with_clock(quota!(1_000 / second, burst 1), &clock);
    let limiters: [&dyn Reserve; 2] = [&cells, &leaky];
    for limiter in limiters {
        let waits = [1, 1].map(|permits| limiter.reserve(permits).unwrap().ready_after());
        assert_eq!(waits, [Duration::ZERO, MILLI]);
    }
}

#[test]
fn a_clock_that_goes_back_by_more_than_clocks_differ_is_healed() {
    let clock = ManualClock::new();
    clock.set_nanos(3_600_000_000_000);
    let bucket = TokenBucket::with_clock(quota!(1 / second, burst 1), &clock);
    let reserved = [bucket.reserve(1), bucket.reserve(1)].map(|made| made.unwrap().ready_after());
    assert_eq!(reserved, [Duration::ZERO, Duration::from_secs(1)]);
    clock.set_nanos(0);
    assert_eq!(bucket.reserve(1).unwrap().ready_after(), Duration::ZERO);
    assert_eq!(bucket.healed(), 1);
}
