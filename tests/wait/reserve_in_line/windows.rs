//! Reservations in the line of a window: what is promised of a window to come is kept for them.

use sluicegate::window::WindowFromFirst;
use sluicegate::{FixedWindow, rate};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A window of 10 permits each second, five of which can be reserved, that has granted them.
fn window(clock: &ManualClock) -> FixedWindow<&ManualClock> {
    let window = FixedWindow::with_clock(rate!(10 / second), clock).unwrap();
    let window = window.with_reservations(5 * SECOND);
    window.try_acquire(10).unwrap();
    window
}

#[test]
fn a_reservation_behind_others_is_for_the_first_window_with_room_after_them() {
    let clock = ManualClock::new();
    let window = window(&clock);
    let mut first = Caller::new(&window, 6);
    let told = [4, 4].map(|permits| window.reserve(permits).unwrap());
    assert_eq!(told.each_ref().map(Reservation::ready_after), [SECOND, 2 * SECOND]);
    let mut second = Caller::new(&window, 3);
    assert_eq!(second.sleeps_for(), 2 * SECOND);
    assert_every_verb_denied(&window);
    let late = AcquireError::TimedOut { retry_after: 3 * SECOND };
    assert_eq!(window.reserve_within(4, 2 * SECOND).unwrap_err(), late);
    clock.advance(SECOND);
    assert!(first.is_granted() && second.is_waiting());
    clock.advance(SECOND);
    assert!(second.is_granted());
    assert_eq!((window.count(), window.line().waiters(), window.healed()), (7, 0, 0));
}

#[test]
fn callers_that_are_late_leave_a_window_what_was_promised_of_it() {
    let clock = ManualClock::new();
    let window = window(&clock);
    let mut caller = Caller::new(&window, 6);
    let reservation = window.reserve(6).unwrap();
    assert_eq!(reservation.ready_after(), 2 * SECOND);
    // Nobody serves the line in the window of the caller's turn.
    clock.advance(2 * SECOND);
    assert!(caller.is_waiting());
    assert_eq!((window.count(), caller.sleeps_for()), (6, SECOND));
    clock.advance(SECOND);
    assert!(caller.is_granted());
}

/// Use beyond an estimate took the window that the reservation was told, and windows after it: it is charged
/// to none.
#[test]
fn a_reservation_that_was_charged_to_no_window_gives_nothing_back() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(10 / second), &clock).unwrap();
    let window = window.with_reservations(5 * SECOND);
    let estimate = window.try_acquire_settleable(10).unwrap();
    let caller = Caller::new(&window, 6);
    let reservation = window.reserve(4).unwrap();
    assert_eq!(reservation.ready_after(), SECOND);
    estimate.settle(35).unwrap();
    drop(caller);
    assert_eq!(window.line().waiters(), 0);
    // It has taken nothing, so there is nothing to be given back.
    assert!(reservation.cancel());
    clock.advance(3 * SECOND);
    assert!(window.try_acquire(5).is_ok() && window.try_acquire(1).is_err());
}

/// A count of three bits, which use beyond an estimate has filled but for two.
#[test]
fn a_reservation_that_was_charged_in_part_gives_nothing_back() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(7 / 4 ns), &clock).unwrap();
    let window = window.with_reservations(Duration::from_nanos(20));
    let estimate = window.try_acquire_settleable(7).unwrap();
    let caller = Caller::new(&window, 3);
    let [whole, part] = [1, 2].map(|permits| window.reserve(permits).unwrap());
    assert_eq!(part.ready_after(), Duration::from_nanos(4));
    estimate.settle(12).unwrap();
    drop(caller);
    assert_eq!(window.line().waiters(), 0);
    assert!(whole.cancel() && !part.cancel());
    clock.advance_nanos(4);
    assert_eq!(window.count(), 6, "what was used, and what was charged of the other");
}

#[test]
fn a_reservation_keeps_its_window_if_others_leave_and_those_behind_it_come_after_it() {
    let clock = ManualClock::new();
    let window = window(&clock);
    let first = Caller::new(&window, 6);
    let mut second = Caller::new(&window, 6);
    let reservation = window.reserve(6).unwrap();
    drop(first);
    clock.advance(SECOND);
    assert!(second.is_granted());
    let mut last = Caller::new(&window, 4);
    assert_eq!(last.sleeps_for(), 2 * SECOND);
    assert_eq!(reservation.wait_left(), 2 * SECOND);
    clock.advance(2 * SECOND);
    assert!(last.is_granted() && window.try_acquire(1).is_err());
}

#[test]
fn a_reservation_in_the_line_of_a_window_is_cancelled_exactly() {
    let clock = ManualClock::new();
    let window = window(&clock);
    let mut first = Caller::new(&window, 6);
    let reservation = window.reserve(6).unwrap();
    let mut second = Caller::new(&window, 4);
    assert_eq!(second.sleeps_for(), 2 * SECOND);
    assert!(reservation.cancel());
    clock.advance(SECOND);
    assert!(first.is_granted() && second.is_granted());
    let mut third = Caller::new(&window, 1);
    let charged = window.reserve(10).unwrap();
    clock.advance(SECOND);
    assert!(third.is_granted());
    assert_eq!(charged.wait_left(), SECOND);
    assert!(charged.cancel());
    assert!(window.try_acquire(9).is_ok(), "as if it had never been made");
}

#[test]
fn a_lowered_limit_leaves_what_was_promised_of_a_window() {
    let clock = ManualClock::new();
    let window = window(&clock);
    let mut caller = Caller::new(&window, 6);
    let reservation = window.reserve(6).unwrap();
    window.reconfigure(4).unwrap();
    assert_eq!(caller.error(), Some(AcquireError::TooLarge { limit: 4 }));
    assert_eq!((window.line().waiters(), reservation.wait_left()), (0, 2 * SECOND));
    clock.advance(2 * SECOND);
    assert!(window.try_acquire(1).is_err());
    clock.advance(SECOND);
    assert!(window.try_acquire(4).is_ok());
}

#[test]
fn a_window_whose_clock_was_set_back_is_not_held_up_by_a_reservation_of_before() {
    let clock = ManualClock::new();
    clock.set_nanos(3_600_000_000_000);
    let window = window(&clock);
    let mut caller = Caller::new(&window, 6);
    let reservation = window.reserve(4).unwrap();
    clock.set_nanos(0);
    assert!(caller.is_waiting());
    clock.advance(SECOND);
    assert!(caller.is_granted());
    assert_eq!((window.line().waiters(), window.healed()), (0, 1));
    assert!(window.try_acquire(4).is_ok());
    assert_eq!(reservation.at_nanos(), 3_601_000_000_000);
}

#[test]
fn what_cannot_be_reserved_without_a_line_cannot_be_in_one() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(10 / second), &clock).unwrap();
    window.try_acquire(10).unwrap();
    let _caller = Caller::new(&window, 6);
    let full = AcquireError::LineFull { retry_after: SECOND };
    assert_eq!(window.reserve(4).unwrap_err(), full);
    // As far ahead as windows can be reserved.
    let window = FixedWindow::with_clock(rate!(10 / second), &clock).unwrap();
    let window = window.with_reservations(SECOND);
    window.try_acquire(10).unwrap();
    let _caller = Caller::new(&window, 6);
    assert_eq!(window.reserve(5).unwrap_err(), full);
    assert_eq!(window.reserve(4).unwrap().ready_after(), SECOND);
}

#[test]
fn a_window_that_begins_with_its_first_permit_has_reservations_in_its_line() {
    let clock = ManualClock::new();
    let window = WindowFromFirst::with_clock(rate!(10 / second), &clock).unwrap();
    let window = window.with_reservations(5 * SECOND);
    window.try_acquire(10).unwrap();
    let mut first = Caller::new(&window, 6);
    let told = [4, 6].map(|permits| window.reserve(permits).unwrap());
    let mut second = Caller::new(&window, 4);
    let at = told.each_ref().map(Reservation::at_nanos);
    clock.set_nanos(at[0]);
    assert!(first.is_granted() && second.is_waiting());
    clock.set_nanos(at[1]);
    assert!(second.is_granted() && window.try_acquire(1).is_err());
    assert_eq!(window.line().waiters(), 0);
}

#[test]
fn a_window_that_begins_with_a_late_caller_ends_by_the_instant_of_a_reservation_behind_it() {
    let clock = ManualClock::new();
    let window = WindowFromFirst::with_clock(rate!(10 / second), &clock).unwrap();
    let window = window.with_reservations(5 * SECOND);
    window.try_acquire(10).unwrap();
    let mut first = Caller::new(&window, 6);
    let reservation = window.reserve(6).unwrap();
    assert_eq!(reservation.ready_after(), 2 * SECOND);
    clock.advance(SECOND * 3 / 2);
    assert!(first.is_granted());
    clock.advance(SECOND / 2);
    assert_eq!(window.count(), 6, "the reservation alone");
    assert!(window.try_acquire(4).is_ok() && window.try_acquire(1).is_err());
}

#[test]
fn a_reservation_is_told_a_window_after_those_that_were_used_beyond_an_estimate() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(10 / second), &clock).unwrap();
    let window = window.with_reservations(5 * SECOND);
    let estimate = window.try_acquire_settleable(10).unwrap();
    let mut caller = Caller::new(&window, 6);
    assert_eq!(caller.sleeps_for(), SECOND);
    estimate.settle(20).unwrap();
    // It has room beside the caller in the window after the one that is used up.
    assert_eq!(window.reserve(4).unwrap().ready_after(), 2 * SECOND);
    clock.advance(SECOND);
    assert!(caller.is_waiting());
    clock.advance(SECOND);
    assert!(caller.is_granted());
    assert_eq!(window.count(), 10);
}
