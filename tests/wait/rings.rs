//! Callers in line for sliding windows, beside what `any_line.rs` says of all lines.

use std::time::Duration;

use sluicegate::wait::AcquireError;
use sluicegate::window::MultiWindow;
use sluicegate::{Denied, ManualClock, SlidingWindow, rate};

use super::support::{Caller, MILLI};

/// Ten in any 100 ms, in slots of 10 ms: a permit counts in its slot and in the ten after it. 4 are granted at 0 and 6 at
/// 30 ms, which it is now.
fn full(clock: &ManualClock) -> SlidingWindow<&ManualClock> {
    let window = SlidingWindow::with_slots(rate!(10 / 100 ms), 10, clock).unwrap();
    window.try_acquire(4).unwrap();
    clock.advance(30 * MILLI);
    window.try_acquire(6).unwrap();
    window
}

#[test]
fn callers_are_granted_in_order_when_enough_slots_have_left_the_window() {
    let clock = ManualClock::new();
    let window = full(&clock);
    let mut callers = [3, 5, 2, 9].map(|permits| Caller::new(&window, permits));
    // The third would fit beside the first, at 110 ms, but then it would overtake the second.
    let sleeps = callers.each_ref().map(Caller::sleeps_for);
    assert_eq!(sleeps, [80, 110, 110, 220].map(|millis| MILLI * millis));
    for (at, granted) in [
        (109, [false, false, false, false]),
        (110, [true, false, false, false]),
        (139, [true, false, false, false]),
        (140, [true, true, true, false]),
        (249, [true, true, true, false]),
        (250, [true, true, true, true]),
    ] {
        clock.set_nanos(at * 1_000_000);
        assert_eq!(callers.each_mut().map(Caller::is_granted), granted, "at {at} ms");
    }
    assert_eq!(window.peek(0).unwrap().remaining(), 1);
}

#[test]
fn a_denial_by_a_ring_tells_no_longer_wait_than_the_last_in_line_was_told() {
    let clock = ManualClock::new();
    let window = full(&clock);
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
    let window = full(&clock);
    let _callers = [3, 5].map(|permits| Caller::new(&window, permits));
    let denied = window.try_acquire(2).unwrap_err();
    assert_eq!((denied.retry_after(), denied.remaining()), (Some(110 * MILLI), Some(0)));
    assert_eq!(window.try_acquire(11), Err(Denied::TooLarge { limit: 10, which: 0 }));
}

#[test]
fn a_caller_that_leaves_the_line_for_a_ring_has_taken_nothing() {
    let clock = ManualClock::new();
    let window = full(&clock);
    let first = Caller::new(&window, 8);
    let mut second = Caller::with_timeout(&window, 4, 220 * MILLI);
    assert_eq!(second.sleeps_for(), 220 * MILLI);
    let late = Caller::with_timeout(&window, 3, Duration::from_nanos(219_999_999)).error();
    assert_eq!(late, Some(AcquireError::TimedOut { retry_after: 220 * MILLI }));
    drop(first);
    assert_eq!(second.woken(), 1);
    assert!(second.is_waiting());
    assert_eq!(second.sleeps_for(), 80 * MILLI);
    drop(second);
    clock.advance(80 * MILLI);
    assert!(window.try_acquire(4).is_ok(), "the gate is open");
}

#[test]
fn callers_wait_for_all_windows_of_several() {
    let clock = ManualClock::new();
    let limits = [rate!(4 / 10 ms), rate!(10 / 100 ms)];
    let windows = MultiWindow::with_slots(limits, 10, &clock).unwrap();
    windows.try_acquire(4).unwrap();
    let mut callers = [4, 4, 1].map(|permits| Caller::new(&windows, permits));
    assert_eq!(Caller::new(&windows, 5).error(), Some(AcquireError::TooLarge { limit: 4 }));
    let sleeps = callers.each_ref().map(Caller::sleeps_for);
    // The second has to wait for the longer window, and the third for the shorter one after that.
    assert_eq!(sleeps, [11, 112, 123].map(|millis| MILLI * millis));
    clock.advance(sleeps[0]);
    assert!(callers[0].is_granted() && windows.try_acquire(1).is_err());
    clock.set_nanos(112_000_000 - 1);
    assert!(callers[1].is_waiting() && callers[2].is_waiting());
    clock.advance_nanos(1);
    assert!(callers[1].is_granted() && callers[2].is_waiting());
    windows.reconfigure(0, 9).unwrap();
    assert!(callers[2].is_granted());
}
