//! Callers in line for sliding windows.

use std::time::Duration;

use sluicegate::wait::AcquireError;
use sluicegate::window::MultiWindow;
use sluicegate::{Denied, ManualClock, SlidingWindow, Wait, rate};

use super::support::{Caller, MILLI, assert_every_verb_denied};

/// Ten in any 100 ms, in slots of 10 ms: a permit counts in its slot and in the ten after it.
fn sliding(clock: &ManualClock) -> SlidingWindow<&ManualClock> {
    SlidingWindow::with_clock(rate!(10 / 100 ms), 10, clock).unwrap()
}

/// The same, with 4 granted at 0 and 6 at 30 ms, which it is now.
fn full(clock: &ManualClock) -> SlidingWindow<&ManualClock> {
    let window = sliding(clock);
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
fn no_verb_overtakes_a_caller_in_line_for_a_ring() {
    let clock = ManualClock::new();
    let window = sliding(&clock);
    window.try_acquire(5).unwrap();
    let mut caller = Caller::new(&window, 6);
    assert_every_verb_denied(&window);
    assert_eq!((window.count(), window.line().waiters()), (5, 1));
    // Nor in a new slot.
    clock.advance(50 * MILLI);
    assert!(window.try_acquire(1).is_err());
    clock.advance(60 * MILLI);
    assert!(caller.is_granted());
    assert!(window.try_acquire(4).is_ok(), "the gate is open");
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
fn a_try_settles_for_a_line_for_a_ring_that_nobody_polls() {
    let clock = ManualClock::new();
    let window = full(&clock);
    let caller = Caller::new(&window, 3);
    clock.advance(80 * MILLI);
    assert_eq!(window.try_acquire(1).unwrap().remaining(), 0);
    assert_eq!((caller.woken(), window.line().waiters()), (1, 0));
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
fn a_grant_of_a_ring_that_was_not_seen_is_given_back_if_nothing_happened_since() {
    for (between, left) in [(0, 10), (1, 3), (2, 4)] {
        let clock = ManualClock::new();
        let window = full(&clock);
        let unseen = Caller::new(&window, 6);
        clock.advance(110 * MILLI);
        assert!(window.peek(1).is_ok());
        assert_eq!(unseen.woken(), 1);
        match between {
            0 => {}
            1 => _ = window.try_acquire(1).unwrap(),
            _ => {
                window.reset();
                window.try_acquire(6).unwrap();
            }
        }
        drop(unseen);
        assert_eq!(window.peek(0).unwrap().remaining(), left, "{between}");
    }
}

#[test]
fn changes_of_a_ring_are_for_those_in_line() {
    let clock = ManualClock::new();
    let window = full(&clock);
    let mut callers = [2, 8, 9].map(|permits| Caller::new(&window, permits));
    window.reconfigure(20).unwrap();
    assert_eq!(callers.each_mut().map(Caller::is_granted), [true, true, false]);
    window.reconfigure(8).unwrap();
    assert_eq!(callers[2].error(), Some(AcquireError::TooLarge { limit: 8 }));
    let mut caller = Caller::new(&window, 8);
    window.reset();
    assert_eq!(caller.woken(), 1);
    assert!(caller.is_granted());

    clock.advance(1_000 * MILLI);
    let receipt = window.try_acquire_revocable(8).unwrap();
    let mut caller = Caller::new(&window, 3);
    assert!(receipt.give_back());
    assert_eq!(caller.woken(), 1);
    assert!(caller.is_granted());
    let mut caller = Caller::new(&window, 6);
    window.line().close();
    assert_eq!(caller.error(), Some(AcquireError::Closed));
    assert!(window.try_acquire(5).is_ok(), "the gate is open");
}

#[test]
fn a_clock_that_goes_back_holds_nobody_up_for_longer_than_a_ring() {
    let clock = ManualClock::at(3_600_000_000_000);
    let window = full(&clock);
    let mut caller = Caller::new(&window, 4);
    clock.set_nanos(5_000_000);
    assert!(window.try_acquire(1).is_err());
    assert_eq!((window.healed(), caller.woken()), (1, 1));
    assert!(caller.is_waiting());
    // Time goes on from the slot that it was in, or from the one before it.
    assert!(caller.sleeps_for() <= 95 * MILLI, "{:?}", caller.sleeps_for());
    clock.advance(caller.sleeps_for());
    assert!(caller.is_granted());
}

#[test]
fn nobody_sleeps_for_no_time_at_the_end_of_the_clock_of_a_ring() {
    let clock = ManualClock::at(u64::MAX - 1_000);
    let window = sliding(&clock);
    window.try_acquire(10).unwrap();
    let mut first = Caller::new(&window, 4);
    clock.set_nanos(u64::MAX);
    assert!(first.is_waiting());
    assert_eq!(first.sleeps_for(), Duration::MAX);
    assert!(Caller::with_timeout(&window, 1, MILLI).error().is_some());
}

#[test]
fn callers_wait_for_all_windows_of_several() {
    let clock = ManualClock::new();
    let limits = [rate!(4 / 10 ms), rate!(10 / 100 ms)];
    let windows = MultiWindow::with_clock(limits, 10, &clock).unwrap();
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

#[test]
fn threads_that_wait_for_a_ring_are_all_granted_their_permits() {
    let window = SlidingWindow::new(rate!(3 / 5 ms)).unwrap();
    let granted: u64 = std::thread::scope(|scope| {
        let threads = [1, 2, 3, 1].map(|permits| {
            let window = &window;
            scope.spawn(move || {
                (0..5).map(|_| window.acquire_blocking(permits).unwrap().permits()).sum::<u64>()
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((granted, window.line().waiters()), (35, 0));
}
