//! Callers in line for the windows whose state is one word.

use std::time::Duration;

use sluicegate::wait::{AcquireError, LineLimits, WhenLineFull};
use sluicegate::window::WindowFromFirst;
use sluicegate::{Denied, FixedWindow, ManualClock, SlidingCounter, Wait, rate};

use super::support::{Caller, MILLI, assert_every_verb_denied};

/// Ten in each 100 ms.
fn fixed(clock: &ManualClock) -> FixedWindow<&ManualClock> {
    FixedWindow::with_clock(rate!(10 / 100 ms), clock).unwrap()
}

fn with_all_taken(clock: &ManualClock) -> FixedWindow<&ManualClock> {
    let window = fixed(clock);
    window.try_acquire(10).unwrap();
    window
}

#[test]
fn callers_are_granted_in_order_each_in_the_first_window_with_room_for_it() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let mut callers = [6, 6, 3, 9].map(|permits| Caller::new(&window, permits));
    // The third would fit beside the first, but then it would overtake the second.
    let sleeps = callers.each_ref().map(Caller::sleeps_for);
    assert_eq!(sleeps, [100, 200, 200, 300].map(|millis| MILLI * millis));
    for (at, granted) in [
        (99, [false, false, false, false]),
        (100, [true, false, false, false]),
        (199, [true, false, false, false]),
        (200, [true, true, true, false]),
        (300, [true, true, true, true]),
    ] {
        clock.set_nanos(at * 1_000_000);
        assert_eq!(callers.each_mut().map(Caller::is_granted), granted, "at {at} ms");
    }
    assert_eq!(window.peek(0).unwrap().remaining(), 1);
}

#[test]
fn no_verb_overtakes_a_caller_in_line_for_a_window() {
    let clock = ManualClock::new();
    let window = fixed(&clock);
    window.try_acquire(5).unwrap();
    let mut caller = Caller::new(&window, 6);
    assert_every_verb_denied(&window);
    assert_eq!((window.count(), window.line().waiters()), (5, 1));
    clock.advance(100 * MILLI);
    assert!(caller.is_granted());
    assert!(window.try_acquire(4).is_ok(), "the gate is open");
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
fn a_try_settles_for_a_line_for_a_window_that_nobody_polls() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let caller = Caller::new(&window, 5);
    clock.advance(100 * MILLI);
    assert_eq!(window.try_acquire(1).unwrap().remaining(), 4);
    assert_eq!((caller.woken(), window.line().waiters()), (1, 0));
}

#[test]
fn a_caller_that_leaves_the_line_for_a_window_has_taken_nothing() {
    for leaving in 0..3 {
        let clock = ManualClock::new();
        let window = with_all_taken(&clock);
        let mut callers: Vec<Caller<'_>> =
            [6, 7, 3].map(|permits| Caller::new(&window, permits)).into();
        drop(callers.remove(leaving));
        // Of the other two, only the last two share a window.
        let last = if leaving == 1 { 100 } else { [100, 0, 200][leaving] };
        clock.set_nanos(last * 1_000_000 - 1);
        assert!(callers[1].is_waiting());
        clock.set_nanos(last * 1_000_000);
        assert!(callers[1].is_granted() && callers[0].is_granted());
    }
}

#[test]
fn a_window_that_everybody_has_stopped_waiting_for_is_open() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    drop([2, 3].map(|permits| Caller::new(&window, permits)));
    clock.advance(100 * MILLI);
    assert_eq!(window.try_acquire(1).unwrap().remaining(), 9);
}

#[test]
fn the_next_one_for_a_window_is_woken_to_sleep_for_less() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let first = Caller::new(&window, 8);
    let mut second = Caller::new(&window, 8);
    assert_eq!(second.sleeps_for(), 200 * MILLI);
    drop(first);
    assert_eq!(second.woken(), 1);
    assert!(second.is_waiting());
    assert_eq!(second.sleeps_for(), 100 * MILLI);
}

#[test]
fn a_grant_of_a_window_that_was_not_seen_is_given_back_if_nothing_happened_since() {
    for (between, left) in [(0, 7), (1, 2), (2, 6)] {
        let clock = ManualClock::new();
        let window = with_all_taken(&clock);
        let unseen = Caller::new(&window, 4);
        clock.advance(100 * MILLI);
        // Settles for the one in line, and takes three.
        let receipt = window.try_acquire_revocable(3).unwrap();
        assert_eq!(unseen.woken(), 1);
        match between {
            // The last one takes its permits back, so it is as if it had not been there.
            0 => assert!(receipt.give_back() && window.try_acquire(0).is_ok()),
            1 => assert!(window.try_acquire(1).is_ok()),
            _ => {
                // The count is what it was after the grant, and it is not the grant.
                window.reset();
                window.try_acquire(4).unwrap();
            }
        }
        drop(unseen);
        let left = if between == 0 { left + 3 } else { left };
        assert_eq!(window.peek(0).unwrap().remaining(), left, "{between}");
        assert!(window.try_acquire(1).is_ok(), "the gate is open");
    }
}

#[test]
fn a_deadline_before_the_end_of_the_window_refuses_a_caller_at_once() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let mut first = Caller::with_timeout(&window, 4, 100 * MILLI);
    assert!(first.is_waiting());
    let mut second = Caller::with_timeout(&window, 7, Duration::from_nanos(199_999_999));
    assert_eq!(second.error(), Some(AcquireError::TimedOut { retry_after: 200 * MILLI }));
    assert!(Caller::with_timeout(&window, 6, 100 * MILLI).is_waiting());
    clock.advance(100 * MILLI);
    assert!(first.is_granted());
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
fn more_than_a_window_ever_grants_is_an_error_at_once() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let mut callers = [2, 6, 3, 7].map(|permits| Caller::new(&window, permits));
    let too_large = |limit| Some(AcquireError::TooLarge { limit });
    assert_eq!(Caller::new(&window, 11).error(), too_large(10));
    window.reconfigure(5).unwrap();
    let errors = callers.each_mut().map(Caller::error);
    assert_eq!(errors, [None, too_large(5), None, too_large(5)]);
    assert_eq!(window.line().permits(), 5);
    clock.advance(100 * MILLI);
    assert!(callers[2].is_granted() && callers[0].is_granted());
}

#[test]
fn a_change_of_a_windows_limit_re_arms_those_in_line() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let mut callers = [2, 8, 9].map(|permits| Caller::new(&window, permits));
    window.reconfigure(20).unwrap();
    assert_eq!(callers.each_ref().map(Caller::woken), [1, 1, 1]);
    assert_eq!(callers.each_mut().map(Caller::is_granted), [true, true, false]);
    assert_eq!(callers[2].sleeps_for(), 100 * MILLI);
    assert!(window.try_acquire(0).is_ok() && window.peek(0).unwrap().remaining() == 0);
}

#[test]
fn a_reset_of_a_window_grants_those_in_line_what_they_wait_for() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    let mut callers = [4, 5, 3].map(|permits| Caller::new(&window, permits));
    window.reset();
    assert_eq!(callers.each_ref().map(Caller::woken), [1, 1, 1], "the last one sleeps for less");
    assert_eq!(callers.each_mut().map(Caller::is_granted), [true, true, false]);
    assert!(window.try_acquire(1).is_err());
}

#[test]
fn a_grant_of_a_window_that_is_given_back_is_for_those_in_line() {
    let clock = ManualClock::new();
    let window = fixed(&clock);
    let receipt = window.try_acquire_revocable(10).unwrap();
    let mut caller = Caller::new(&window, 5);
    assert!(receipt.give_back());
    assert_eq!(caller.woken(), 1);
    assert!(caller.is_granted());
    assert_eq!(window.peek(0).unwrap().remaining(), 5);
}

#[test]
fn a_line_for_a_window_can_be_bounded_and_closed() {
    let clock = ManualClock::new();
    let window = with_all_taken(&clock);
    window.line().set_limits(LineLimits::new().max_waiters(2));
    let mut callers = [6, 6].map(|permits| Caller::new(&window, permits));
    let full = AcquireError::LineFull { retry_after: 300 * MILLI };
    assert_eq!(Caller::new(&window, 6).error(), Some(full));
    let evicting = LineLimits::new().max_waiters(2).when_full(WhenLineFull::EvictOldest);
    window.line().set_limits(evicting);
    let late = Duration::from_nanos(199_999_999);
    let timed_out = AcquireError::TimedOut { retry_after: 200 * MILLI };
    assert_eq!(Caller::with_timeout(&window, 6, late).error(), Some(timed_out));
    let mut third = Caller::with_timeout(&window, 6, 200 * MILLI);
    assert!(third.is_waiting());
    assert_eq!(callers[0].error(), Some(AcquireError::Evicted));
    window.line().close();
    assert_eq!([&mut callers[1], &mut third].map(Caller::error), [Some(AcquireError::Closed); 2]);
    assert!(window.try_acquire(1).is_err(), "the window is full");
    clock.advance(100 * MILLI);
    assert!(
        window.try_acquire(10).is_ok() && window.acquire_blocking(1) == Err(AcquireError::Closed)
    );
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
fn a_clock_that_went_back_is_noticed_by_a_try_too() {
    let clock = ManualClock::at(3_600_000_000_000);
    let window = with_all_taken(&clock);
    let caller = Caller::new(&window, 4);
    clock.set_nanos(0);
    assert!(window.try_acquire(1).is_err());
    assert_eq!((window.healed(), caller.woken()), (1, 1));
    clock.advance(100 * MILLI);
    assert_eq!(window.try_acquire(1).unwrap().remaining(), 5);
}

#[test]
fn nobody_sleeps_for_no_time_at_the_end_of_the_clock_of_a_window() {
    let clock = ManualClock::at(u64::MAX - 1_000);
    let window = with_all_taken(&clock);
    let mut first = Caller::new(&window, 4);
    clock.set_nanos(u64::MAX);
    assert!(first.is_waiting());
    assert_eq!(first.sleeps_for(), Duration::MAX);
    assert!(Caller::with_timeout(&window, 1, MILLI).error().is_some());
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

#[test]
fn threads_that_wait_for_a_window_are_all_granted_their_permits() {
    let window = FixedWindow::new(rate!(3 / 5 ms)).unwrap();
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
