//! Reservations that find callers in line. What is checked:
//!
//! * each is told the instant of its turn, and keeps it, whatever becomes of the line;
//! * those behind it are due once it has been charged, and nobody overtakes;
//! * one that is cancelled was never there, and one that is dropped stays;
//! * it counts for the bounds of the line, and is neither evicted nor closed out.

use std::time::Duration;

use sluicegate::compose::{Counted, Gate, GateMode};
use sluicegate::wait::{AcquireError, LineLimits, Reservation, Reserve, WhenLineFull};
use sluicegate::{Gcra, LeakyBucket, ManualClock, Refill, TokenBucket, Wait, quota};

use super::support::{Caller, MILLI, assert_every_verb_denied, empty_bucket};

mod faults;
mod least;
mod random;
mod windows;

/// So many milliseconds, less a nanosecond.
fn early(millis: u64) -> Duration {
    Duration::from_nanos(millis * 1_000_000 - 1)
}

fn balance(bucket: &TokenBucket<&ManualClock>) -> i64 {
    bucket.peek(0).unwrap().balance()
}

#[test]
fn a_reservation_behind_others_is_told_its_turn_and_keeps_it() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    let told = [2, 3].map(|permits| bucket.reserve(permits).unwrap());
    assert_eq!(told.each_ref().map(Reservation::ready_after), [6 * MILLI, 9 * MILLI]);
    assert_eq!((bucket.line().waiters(), bucket.line().permits()), (3, 9));
    assert_every_verb_denied(&bucket);
    // No deeper than debts go, and no later than is asked.
    let full = AcquireError::LineFull { retry_after: MILLI };
    assert_eq!(bucket.reserve(2).unwrap_err(), full);
    let late = AcquireError::TimedOut { retry_after: 10 * MILLI };
    assert_eq!(bucket.reserve_within(1, 9 * MILLI).unwrap_err(), late);
    assert_eq!(bucket.reserve(11).unwrap_err(), AcquireError::TooLarge { limit: 10 });
    assert_eq!(bucket.line().waiters(), 3, "what was refused takes no place");

    clock.advance(4 * MILLI);
    assert!(caller.is_granted());
    assert_eq!((bucket.line().waiters(), balance(&bucket)), (0, -5));
    assert_eq!(told.each_ref().map(Reservation::wait_left), [2 * MILLI, 5 * MILLI]);
    assert_eq!(bucket.reserve(1).unwrap().ready_after(), 6 * MILLI);
}

#[test]
fn callers_behind_a_reservation_are_due_after_it_and_nobody_overtakes() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut first = Caller::new(&bucket, 4);
    let reservation = bucket.reserve(2).unwrap();
    let mut second = Caller::new(&bucket, 3);
    assert_eq!(second.sleeps_for(), 9 * MILLI);
    clock.advance(4 * MILLI);
    // Settles for the first, and charges the reservation.
    assert!(bucket.try_acquire(1).is_err());
    assert!(first.is_granted() && second.is_waiting());
    clock.advance(early(5));
    assert!(second.is_waiting());
    clock.advance_nanos(1);
    assert!(second.is_granted());
    assert_eq!((reservation.at_nanos(), balance(&bucket)), (6_000_000, 0));
}

#[test]
fn a_reservation_that_is_cancelled_in_line_was_never_there() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut first = Caller::new(&bucket, 4);
    let reservation = bucket.reserve(2).unwrap();
    let mut second = Caller::new(&bucket, 3);
    let behind = bucket.reserve(1).unwrap();
    assert_eq!(behind.ready_after(), 10 * MILLI);
    assert!(reservation.cancel());
    assert_eq!((bucket.line().waiters(), bucket.line().permits()), (3, 8));
    clock.advance(4 * MILLI);
    assert!(first.is_granted());
    assert_eq!(second.woken(), 1, "its turn comes earlier than it was told");
    assert!(second.is_waiting());
    clock.advance(3 * MILLI);
    assert!(second.is_granted());
    // The other one was charged then, and is given back as any other.
    assert_eq!((balance(&bucket), behind.wait_left()), (-1, 3 * MILLI));
    assert!(behind.cancel());
    assert_eq!(balance(&bucket), 0);
}

#[test]
fn a_reservation_that_was_charged_is_cancelled_if_nothing_else_was_taken_since() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    let told = [2, 1, 1].map(|permits| bucket.reserve(permits).unwrap());
    clock.advance(4 * MILLI);
    assert!(caller.is_granted());
    let [first, second, third] = told;
    assert!(!first.cancel(), "others were charged since");
    assert!(third.cancel() && second.cancel());
    assert_eq!(balance(&bucket), -2);
}

#[test]
fn a_reservation_that_is_dropped_keeps_its_place_and_its_permits() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    drop(bucket.reserve(2));
    assert_eq!(bucket.line().waiters(), 2);
    clock.advance(4 * MILLI);
    assert!(caller.is_granted());
    assert_eq!((bucket.line().waiters(), balance(&bucket)), (0, -2));
}

#[test]
fn a_reservation_keeps_its_instant_if_others_leave_and_counts_at_it() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let large = Caller::new(&bucket, 10);
    clock.advance(5 * MILLI);
    let reservation = bucket.reserve(4).unwrap();
    assert_eq!(reservation.at_nanos(), 14_000_000);
    drop(large);
    // What would overflow by its instant is not there for others.
    assert_eq!((bucket.line().waiters(), balance(&bucket)), (0, -3));
    clock.advance(reservation.wait_left());
    assert!(bucket.try_acquire(6).is_ok() && bucket.try_acquire(1).is_err(), "10 at once, with it");
}

#[test]
fn those_behind_a_reservation_are_told_what_it_takes_at_its_instant() {
    let clock = ManualClock::new();
    let quota = quota!(1_000 / second, burst 10, max_debt 30);
    let bucket = TokenBucket::with_clock(quota, &clock);
    bucket.try_acquire(10).unwrap();
    let first = Caller::new(&bucket, 10);
    let mut second = Caller::new(&bucket, 10);
    let reservation = bucket.reserve(5).unwrap();
    drop(first);
    // The reservation will be charged as of 25 ms, and leave what is there at 20 ms.
    assert_eq!(bucket.reserve(3).unwrap().ready_after(), early(23));
    let mut last = Caller::new(&bucket, 1);
    assert_eq!(last.sleeps_for(), early(24));
    clock.advance(10 * MILLI);
    assert!(second.is_granted() && last.is_waiting());
    assert_eq!((balance(&bucket), last.sleeps_for()), (-13, early(14)));
    clock.advance(14 * MILLI);
    assert!(last.is_granted());
    assert_eq!(reservation.at_nanos(), 25_000_000);
}

#[test]
fn a_reservation_counts_for_the_bounds_of_a_line() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    bucket.line().set_limits(LineLimits::new().max_waiters(2));
    let _caller = Caller::new(&bucket, 4);
    let _reservation = bucket.reserve(2).unwrap();
    let full = AcquireError::LineFull { retry_after: 7 * MILLI };
    assert_eq!(Caller::new(&bucket, 1).error(), Some(full));
    assert_eq!(bucket.reserve(1).unwrap_err(), full);
    bucket.line().set_limits(LineLimits::new().max_permits(6));
    assert_eq!(bucket.reserve(1).unwrap_err(), full);
}

#[test]
fn callers_are_evicted_and_reservations_are_not() {
    let clock = ManualClock::new();
    let limits = LineLimits::new().max_waiters(2).when_full(WhenLineFull::EvictOldest);
    let evicted = Some(AcquireError::Evicted);

    let newest = empty_bucket(&clock);
    newest.line().set_limits(limits);
    let mut caller = Caller::new(&newest, 4);
    let reservation = newest.reserve(2).unwrap();
    let mut other = Caller::new(&newest, 1);
    assert_eq!((caller.error(), other.sleeps_for()), (evicted, 3 * MILLI));
    assert_eq!((newest.line().waiters(), reservation.wait_left()), (1, 6 * MILLI));
    clock.advance(3 * MILLI);
    assert!(other.is_granted());

    let newest = empty_bucket(&clock);
    newest.line().set_limits(limits);
    let mut callers = [4, 3].map(|permits| Caller::new(&newest, permits));
    // Nobody leaves for one that comes too late.
    let late = AcquireError::TimedOut { retry_after: 8 * MILLI };
    assert_eq!(newest.reserve_within(5, 7 * MILLI).unwrap_err(), late);
    assert!(callers[0].is_waiting());
    assert_eq!(newest.reserve(5).unwrap().ready_after(), 8 * MILLI);
    assert_eq!(callers[0].error(), evicted);
    assert!(callers[1].is_waiting());
}

#[test]
fn a_close_leaves_reservations_what_they_were_told() {
    let clock = ManualClock::new();
    let bucket = empty_bucket(&clock);
    let mut caller = Caller::new(&bucket, 4);
    let reservation = bucket.reserve(2).unwrap();
    bucket.line().close();
    assert_eq!(caller.error(), Some(AcquireError::Closed));
    assert_eq!((bucket.line().waiters(), balance(&bucket)), (0, -2));
    assert_eq!(reservation.at_nanos(), 6_000_000);
    assert_eq!(bucket.reserve(1).unwrap().ready_after(), 3 * MILLI);
}

#[test]
fn every_kind_of_bucket_has_reservations_in_its_line() {
    fn told(limiter: &(impl Reserve + Wait)) -> [Duration; 2] {
        limiter.try_acquire(1).unwrap();
        let caller = Caller::new(limiter, 1);
        let behind = limiter.reserve(1).map(|it| it.ready_after());
        drop(caller);
        [behind.unwrap(), limiter.reserve(1).unwrap().ready_after()]
    }
    let clock = ManualClock::new();
    let quota = quota!(1 / ms, burst 1, max_debt 5);
    let stepped = TokenBucket::with_clock(quota.with_refill(Refill::Interval), &clock);
    // What is earned in the meantime is beyond the burst of one.
    let expected = [2 * MILLI, early(3)];
    assert_eq!(told(&TokenBucket::with_clock(quota, &clock)), expected);
    assert_eq!(told(&stepped), [2 * MILLI; 2]);
    assert_eq!(told(&LeakyBucket::meter_with_clock(quota, &clock)), expected);
    let cells = Gcra::with_clock(MILLI, Duration::ZERO, &clock).unwrap();
    cells.try_acquire(1).unwrap();
    let _caller = Caller::new(&cells, 1);
    assert!(matches!(cells.reserve(1), Err(AcquireError::LineFull { .. })), "its debt is one cell");
}

#[test]
fn wrappers_pass_reservations_on_to_the_line() {
    let clock = ManualClock::new();
    let limiter = Counted::with_slots(Gate::new(empty_bucket(&clock)), 1);
    let mut caller = Caller::new(&limiter, 4);
    let reservation = limiter.reserve(2).unwrap();
    assert_eq!(reservation.ready_after(), 6 * MILLI);
    let counts = limiter.counts();
    assert_eq!((counts.granted, counts.denied, counts.permits), (1, 0, 2));
    assert!(reservation.cancel());
    clock.advance(4 * MILLI);
    assert!(caller.is_granted());
}

#[test]
fn a_gate_that_is_opened_or_closed_leaves_reservations_in_line_to_its_limiter() {
    for (mode, is_granted) in [(GateMode::Open, true), (GateMode::Closed, false)] {
        let clock = ManualClock::new();
        let gate = Gate::new(empty_bucket(&clock));
        let mut caller = Caller::new(&gate, 4);
        let told = [2, 3].map(|permits| gate.reserve(permits).unwrap());
        gate.set(mode);
        assert_eq!(caller.is_granted(), is_granted);
        assert_eq!((gate.line().waiters(), balance(gate.limiter())), (0, -5));
        let [first, second] = told;
        assert_eq!([&first, &second].map(Reservation::at_nanos), [6_000_000, 9_000_000]);
        assert!(second.cancel() && first.cancel());
        assert_eq!(balance(gate.limiter()), 0);
    }
}
