//! Callers in line for the windows whose state is one word, beside what `any_line.rs` says of all lines.

use sluicegate::wait::AcquireError;
use sluicegate::window::WindowFromFirst;
use sluicegate::{Denied, FixedWindow, ManualClock, SlidingCounter, rate};

use super::support::{Caller, MILLI};

/// Ten in each 100 ms, which are taken.
fn with_all_taken(clock: &ManualClock) -> FixedWindow<&ManualClock> {
    let window = FixedWindow::with_clock(rate!(10 / 100 ms), clock).unwrap();
    window.try_acquire(10).unwrap();
    window
}

#[test]
fn a_denial_by_a_window_tells_the_wait_until_the_line_has_passed() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let _callers = [6, 4].map(|permits| Caller::new(&window, permits));
    clock.advance(20 * MILLI);
    let denied = window.try_acquire(1).unwrap_err();
    assert_eq!((denied.retry_after(), denied.remaining()), (Some(80 * MILLI), Some(0)));
    assert_eq!(window.try_acquire(11), Err(Denied::TooLarge { limit: 10, which: 0 }));
    // They have had all of that window then.
    clock.advance(80 * MILLI);
    assert_eq!(window.try_acquire(1).unwrap_err().retry_after(), Some(100 * MILLI));
}

#[test]
fn a_try_that_settles_for_a_window_is_answered_from_what_that_has_left() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let _callers = [6, 6].map(|permits| Caller::new(&window, permits));
    clock.advance(100 * MILLI);
    let denied = window.try_acquire(1).unwrap_err();
    assert_eq!((denied.retry_after(), denied.remaining()), (Some(100 * MILLI), Some(4)));
}

#[test]
fn a_denial_never_tells_to_come_back_at_once_although_the_line_is_late() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let callers = [6, 6, 6].map(|permits| Caller::new(&window, permits));
    // They were due at 100, 200 and 300 ms.
    clock.advance(350 * MILLI);
    let denied = window.try_acquire(1).unwrap_err();
    assert_eq!((callers[0].woken(), denied.remaining()), (1, Some(4)));
    // It is the second one's turn then.
    assert_eq!(denied.retry_after(), Some(50 * MILLI));
}

#[test]
fn a_line_that_has_passed_tells_nothing_to_the_one_after_it() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    drop([6, 6, 6].map(|permits| Caller::new(&window, permits)));
    let _caller = Caller::new(&window, 6);
    assert_eq!(window.try_acquire(1).unwrap_err().retry_after(), Some(100 * MILLI));
}

#[test]
fn a_caller_of_a_window_is_granted_in_the_window_in_which_it_is_settled() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let mut callers = [8, 8].map(|permits| Caller::with_timeout(&window, permits, 200 * MILLI));
    // Late by more than a window: what that would have granted is gone.
    clock.advance(250 * MILLI);
    assert!(callers[0].is_granted());
    let timed_out = AcquireError::TimedOut { retry_after: 50 * MILLI };
    assert_eq!(callers[1].error(), Some(timed_out));
}

#[test]
fn a_clock_that_goes_back_holds_nobody_up_for_longer_than_a_window() {
    let clock = ManualClock::at(3_600_000_000_000);
    let window = with_all_taken(&clock);
    let mut callers = [4, 7].map(|permits| Caller::new(&window, permits));
    clock.set_nanos(30_000_000);
    // The counts are moved to the window of now, and still count.
    assert!(callers.iter_mut().all(Caller::is_waiting));
    assert_eq!((window.healed(), window.count()), (1, 10));
    assert_eq!(callers.each_ref().map(Caller::sleeps_for), [70 * MILLI, 170 * MILLI]);
    clock.advance(70 * MILLI);
    assert_eq!(callers.each_mut().map(Caller::is_granted), [true, false]);
    clock.set_nanos(7_200_000_000_000);
    assert!(callers[1].is_granted());
}

#[test]
fn a_window_from_the_first_grant_and_a_sliding_counter_have_a_line_too() {
    let clock = ManualClock::at(128 * 1_000_000);
    let first = WindowFromFirst::with_clock(rate!(10 / 100 ms), &clock).unwrap();
    first.try_acquire(10).unwrap();
    let mut callers = [5, 6].map(|permits| Caller::new(&first, permits));
    assert_eq!(callers.each_ref().map(Caller::sleeps_for), [100 * MILLI, 200 * MILLI]);
    // The next window begins with the next grant.
    clock.advance(130 * MILLI);
    assert!(callers[0].is_granted() && callers[1].is_waiting());
    assert_eq!(callers[1].sleeps_for(), 100 * MILLI);

    let clock = ManualClock::new();
    let counter = SlidingCounter::with_clock(rate!(10 / 100 ms), &clock).unwrap();
    counter.try_acquire(10).unwrap();
    let mut callers = [5, 2].map(|permits| Caller::new(&counter, permits));
    // At 150 ms half of the ten count, and at 170 ms three of them.
    assert_eq!(callers.each_ref().map(Caller::sleeps_for), [150 * MILLI, 170 * MILLI]);
    clock.advance(150 * MILLI);
    assert!(callers[0].is_granted() && counter.try_acquire(1).is_err());
    clock.advance(20 * MILLI);
    assert!(callers[1].is_granted());
}
