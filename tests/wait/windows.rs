//! Callers in line for windows, beside what `any_line.rs` says of all lines, `random.rs` of their grants and `least.rs` of
//! their waits.

use sluicegate::wait::AcquireError;
use sluicegate::{Denied, FixedWindow, ManualClock, SlidingWindow, rate};

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

/// Ten in any 100 ms, in slots of 10 ms: a permit counts in its slot and in the ten after it. 4 are granted at 0 and 6 at
/// 30 ms, which it is now.
fn full_ring(clock: &ManualClock) -> SlidingWindow<&ManualClock> {
    let window = SlidingWindow::with_slots(rate!(10 / 100 ms), 10, clock).unwrap();
    window.try_acquire(4).unwrap();
    clock.advance(30 * MILLI);
    window.try_acquire(6).unwrap();
    window
}

#[test]
fn a_denial_by_a_ring_tells_no_longer_wait_than_the_last_in_line_was_told() {
    let clock = ManualClock::new();
    let window = full_ring(&clock);
    // Two limits' worth in all, and each fits beside what is left of the one before.
    let callers = [4, 4, 2].map(|permits| Caller::new(&window, permits));
    assert_eq!(callers[2].sleeps_for(), 110 * MILLI);
    assert_eq!(window.try_acquire(10).unwrap_err().retry_after(), Some(110 * MILLI));
    clock.advance(109 * MILLI);
    assert_eq!(window.try_acquire(1).unwrap_err().retry_after(), Some(MILLI));
}

#[test]
fn a_denial_by_a_ring_tells_a_wait_until_the_line_has_passed() {
    let clock = ManualClock::new();
    let window = full_ring(&clock);
    let _callers = [3, 5].map(|permits| Caller::new(&window, permits));
    let denied = window.try_acquire(2).unwrap_err();
    assert_eq!((denied.retry_after(), denied.remaining()), (Some(110 * MILLI), Some(0)));
    assert_eq!(window.try_acquire(11), Err(Denied::TooLarge { limit: 10, which: 0 }));
}
