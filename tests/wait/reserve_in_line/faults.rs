//! Events that put off a reservation or those ahead of it: a line that nobody serves, a `force`, changes,
//! a clock that is set back. The instant of the reservation stays.

use sluicegate::bucket::Carry;
use sluicegate::{Quota, Rate};

use super::*;

#[test]
fn a_reservation_whose_instant_has_come_is_charged_before_callers_that_are_late() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    let reservation = bucket.reserve(3).unwrap();
    bucket.force(5).unwrap();
    clock.advance(reservation.ready_after());
    // The permits may be used now.
    assert!(caller.is_waiting());
    assert_eq!((bucket.line().waiters(), caller.sleeps_for()), (1, 5 * MILLI));
    clock.advance(5 * MILLI);
    assert!(caller.is_granted());
}

#[test]
fn a_line_that_nobody_serves_in_time_has_no_more_than_the_burst_at_once() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    let reservation = bucket.reserve(3).unwrap();
    clock.advance(30 * MILLI);
    assert!(reservation.wait_left().is_zero());
    // It was charged as of its instant; the caller as of the one from which it was the first.
    assert!(bucket.try_acquire(10).is_ok() && bucket.try_acquire(1).is_err());
    assert!(caller.is_granted());
}

#[test]
fn what_was_forced_counts_for_those_that_come_after_it() {
    let clock = ManualClock::new();
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10, max_debt 30), &clock);
    bucket.try_acquire(10).unwrap();
    let mut caller = Caller::new(&bucket, 4);
    let told = [1, 1].map(|permits| bucket.reserve(permits).unwrap().ready_after());
    assert_eq!(told, [5 * MILLI, 6 * MILLI]);
    bucket.force(3).unwrap();
    assert_eq!(bucket.reserve(1).unwrap().ready_after(), 10 * MILLI);
    bucket.force(3).unwrap();
    let mut last = Caller::new(&bucket, 1);
    assert_eq!(last.sleeps_for(), 14 * MILLI);
    for _ in 0..14 {
        assert!(last.is_waiting());
        clock.advance(MILLI);
        let _turn = caller.poll();
    }
    assert!(caller.is_granted() && last.is_granted());
}

/// The caller that is the first sleeps until it is due, and that is later.
#[test]
fn a_reservation_behind_a_caller_that_was_put_off_is_charged_by_whoever_comes_at_its_instant() {
    let clock = ManualClock::new();
    let quota = quota!(1_000 / second, burst 10, max_debt 20);
    let visits: [fn(&TokenBucket<&ManualClock>); 3] = [
        |bucket| assert!(bucket.try_acquire(1).is_err()),
        |bucket| assert!(bucket.peek(1).is_err()),
        |bucket| assert!(bucket.reserve_within(1, Duration::ZERO).is_err()),
    ];
    for visit in visits {
        clock.set_nanos(0);
        let bucket = TokenBucket::with_clock(quota, &clock);
        bucket.try_acquire(10).unwrap();
        let mut caller = Caller::new(&bucket, 4);
        let reservation = bucket.reserve(3).unwrap();
        bucket.force(10).unwrap();
        clock.advance(4 * MILLI);
        assert!(caller.is_waiting());
        assert_eq!((caller.sleeps_for(), reservation.wait_left()), (10 * MILLI, 3 * MILLI));
        clock.advance(early(3));
        assert!(bucket.try_acquire(1).is_err());
        assert_eq!(bucket.line().waiters(), 2, "its instant has not come");
        clock.advance_nanos(1);
        visit(&bucket);
        assert_eq!(bucket.line().waiters(), 1);
    }
}

#[test]
fn what_a_debt_cannot_hold_is_not_charged() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let caller = Caller::new(&bucket, 4);
    let reservation = bucket.reserve(6).unwrap();
    bucket.force(8).unwrap();
    drop(caller);
    assert_eq!((bucket.line().waiters(), balance(&bucket)), (0, -10));
    assert_eq!(reservation.ready_after(), 10 * MILLI);
    assert_eq!(bucket.healed(), 0);
}

#[test]
fn a_lower_burst_refuses_callers_and_leaves_reservations_that_are_larger() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut callers = [Caller::new(&bucket, 3), Caller::new(&bucket, 6)];
    let reservation = bucket.reserve(1).unwrap();
    drop(reservation);
    bucket.reconfigure(quota!(1_000 / second, burst 5, max_debt 20), Carry::Keep);
    assert_eq!(callers[1].error(), Some(AcquireError::TooLarge { limit: 5 }));

    let reservation = bucket.reserve(5).unwrap();
    let mut last = Caller::new(&bucket, 2);
    bucket.reconfigure(quota!(1_000 / second, burst 2, max_debt 20), Carry::Keep);
    assert_eq!(callers[0].error(), Some(AcquireError::TooLarge { limit: 2 }));
    // Charged as of 10 ms and of 11 ms, above the 8 and the 9 that would overflow by then.
    assert_eq!((reservation.ready_after(), balance(&bucket)), (early(11), -14));
    clock.advance(Duration::from_nanos(15_999_998));
    assert!(last.is_waiting());
    clock.advance_nanos(1);
    assert!(last.is_granted());
}

#[test]
fn a_rate_that_is_raised_leaves_the_instant_and_charges_the_cost() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    let reservation = bucket.reserve(6).unwrap();
    bucket.reconfigure(quota!(100_000 / second, burst 10), Carry::Keep);
    clock.advance(MILLI / 25);
    assert!(caller.is_granted());
    assert_eq!((balance(&bucket), reservation.at_nanos()), (-6, 10_000_000));
}

/// By the instant of the reservation the bucket is to earn more than it can owe.
#[test]
fn callers_behind_a_reservation_are_foreseen_as_they_are_due_after_the_rate_was_raised() {
    for (burst, max_debt) in [(10, 10), (10, 40), (10, 300), (20, 10), (20, 1_000)] {
        for permits in [1, 6] {
            let clock = ManualClock::new();
            let quota = |rate: u64| {
                let rate = Rate::new(rate, Duration::from_secs(1)).unwrap();
                Quota::new(rate).with_burst(burst).unwrap().with_max_debt(max_debt).unwrap()
            };
            let bucket = TokenBucket::with_clock(quota(1_000), &clock);
            bucket.try_acquire(burst).unwrap();
            let mut caller = Caller::new(&bucket, 4);
            let _reservation = bucket.reserve(permits).unwrap();
            bucket.reconfigure(quota(100_000), Carry::Keep);
            let mut last = Caller::new(&bucket, 3);
            let told = last.sleeps_for();
            clock.advance(MILLI / 25);
            assert!(caller.is_granted());
            assert!(last.is_waiting());
            assert_eq!(told, MILLI / 25 + last.sleeps_for(), "{burst} {max_debt} {permits}");
            assert_eq!(last.woken(), 0);
        }
    }
}

#[test]
fn a_reset_grants_what_is_waited_for_and_leaves_what_is_reserved_in_line() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    let reservation = bucket.reserve(3).unwrap();
    bucket.reset();
    assert!(caller.is_granted());
    assert_eq!(bucket.line().waiters(), 0);
    clock.advance(reservation.wait_left());
    assert!(bucket.try_acquire(7).is_ok() && bucket.try_acquire(1).is_err(), "10 at once, with it");
}

#[test]
fn a_reservation_behind_a_clock_that_is_set_back_is_charged_no_more_than_its_cost() {
    let clock = ManualClock::new();
    clock.set_nanos(3_600_000_000_000);
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    let reservation = bucket.reserve(3).unwrap();
    clock.set_nanos(0);
    assert!(caller.is_granted());
    assert_eq!((bucket.line().waiters(), balance(&bucket), bucket.healed()), (0, 3, 1));
    assert_eq!(reservation.at_nanos(), 3_600_007_000_000);
}

#[test]
fn callers_behind_a_reservation_are_foreseen_as_they_are_due_after_the_clock_was_set_back() {
    let clock = ManualClock::new();
    clock.set_nanos(3_600_000_000_000);
    let bucket = TokenBucket::with_clock(quota!(1_000 / second, burst 10, max_debt 30), &clock);
    bucket.try_acquire(10).unwrap();
    let mut callers = [Caller::new(&bucket, 10), Caller::new(&bucket, 4)];
    let _reservation = bucket.reserve(3).unwrap();
    let mut last = Caller::new(&bucket, 2);
    clock.set_nanos(0);
    assert!(callers[0].is_granted() && callers[1].is_waiting() && last.is_waiting());
    assert_eq!((callers[1].sleeps_for(), last.sleeps_for()), (4 * MILLI, 9 * MILLI));
    clock.advance(4 * MILLI);
    assert!(callers[1].is_granted());
    clock.advance(early(5));
    assert!(last.is_waiting());
    clock.advance_nanos(1);
    assert!(last.is_granted());
}

#[test]
fn reservations_are_told_the_last_instants_of_a_clock() {
    let clock = ManualClock::new();
    clock.set_nanos(u64::MAX - 6_000_000);
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    let told = [2, 1].map(|permits| bucket.reserve(permits).unwrap());
    assert_eq!(told.each_ref().map(Reservation::at_nanos), [u64::MAX, u64::MAX]);
    clock.advance(4 * MILLI);
    assert!(caller.is_granted());
    assert_eq!(bucket.line().waiters(), 0);
    assert!(told.into_iter().rev().all(Reservation::cancel));
    assert_eq!(balance(&bucket), 0);
}
