//! Models of callers that wait in line for a window of one word. What is checked, over every
//! interleaving: nobody overtakes them; one that gives up has taken nothing; and nobody sleeps for
//! ever, whose permits have come otherwise than by time.

use std::future::Future;
use std::mem;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

#[cfg(sluicegate_loom)]
use loom::sync::atomic::{AtomicBool, Ordering};
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::{AtomicBool, Ordering};

use sluicegate::wait::Jitter;
use sluicegate::{FixedWindow, Limiter, SlidingCounter};
use sluicegate_loom_tests::in_line::{self, Part, fresh};
use sluicegate_loom_tests::line::{acquire, poll, stand_and_ask};
use sluicegate_loom_tests::{ANY, Arc, SECOND, TestClock, check, race};

type Fixed = FixedWindow<TestClock>;

#[test]
fn nobody_overtakes_a_caller_in_line_for_a_window() {
    in_line::nobody_overtakes::<Fixed>(ANY);
}

#[test]
fn nobody_overtakes_a_caller_in_line_for_a_counter() {
    in_line::nobody_overtakes::<SlidingCounter<TestClock>>(ANY);
}

#[test]
fn nobody_overtakes_the_second_in_line_for_a_window() {
    in_line::nobody_overtakes_the_second::<Fixed>(2);
}

#[test]
fn the_next_in_line_for_a_window_is_granted_its_permit_when_the_first_gives_up() {
    in_line::the_next_is_granted_when_the_first_gives_up::<Fixed>(ANY);
}

#[test]
fn a_window_whose_line_everybody_has_left_is_open() {
    check(2, || {
        let window = fresh::<Fixed>(2, 1);
        race(&window, [0, 1, 2], |window, part| {
            if part < 2 {
                let mut caller = pin!(acquire(window, 2));
                assert!(poll(&mut caller).is_pending());
            } else {
                let _denied = window.try_acquire(1);
            }
        });
        let is_left = window.count() == 1;
        assert_eq!(window.try_acquire(1).is_ok(), is_left, "the gate is open");
    });
}

#[test]
fn a_reset_of_a_window_is_seen_by_those_in_line() {
    in_line::a_change_is_seen(ANY, Fixed::reset, 1);
}

#[test]
fn a_caller_in_line_beside_a_reset_and_a_try_shares_the_window_with_it() {
    check(2, || {
        let window = fresh::<Fixed>(1, 1);
        let granted = race(&window, [0, 1, 2], |window, part| match part {
            0 => stand_and_ask(window, 0),
            1 => window.try_acquire(1).is_ok(),
            _ => {
                window.reset();
                false
            }
        });
        let granted = granted.into_iter().filter(|granted| *granted).count();
        // Less if one that was granted did not ask again, while the reset went on.
        assert!(granted + usize::from(window.try_acquire(1).is_ok()) <= 1);
        TestClock::run_ahead(SECOND);
        assert!(window.try_acquire(1).is_ok(), "the gate is open");
    });
}

#[test]
fn a_raised_limit_is_seen_by_a_caller_in_line() {
    in_line::a_change_is_seen(ANY, |window: &Fixed| window.reconfigure(2).unwrap(), 2);
}

#[test]
fn a_window_that_goes_back_is_moved_beside_a_caller_in_line() {
    check(2, || {
        let window = fresh::<Fixed>(1, 0);
        window.clock().set(100 * SECOND);
        window.try_acquire(1).unwrap();
        race(&window, [0, 1, 2], |window, part| match part {
            0 => _ = stand_and_ask(window, SECOND),
            1 => window.clock().set(10 * SECOND),
            _ => _ = window.try_acquire(1),
        });
        TestClock::run_ahead(0);
        window.clock().set(200 * SECOND);
        assert!(window.try_acquire(1).is_ok(), "the gate is open");
    });
}

#[test]
fn a_grant_of_a_window_given_back_while_others_wait_is_theirs() {
    in_line::a_grant_given_back_is_theirs::<Fixed>(ANY);
}

/// The grant of the other one leaves the word that the grant in line had left.
#[test]
fn a_grant_of_a_window_that_was_not_seen_is_not_given_back_over_a_reset() {
    check(3, || {
        let window = fresh::<Fixed>(1, 1);
        let [_, tried] = race(&window, [true, false], |window, waits| {
            if waits {
                let mut caller = pin!(acquire(window, 1));
                let _in_line = poll(&mut caller);
                TestClock::run_ahead(SECOND);
                let _settles = window.peek(1);
                return false;
            }
            TestClock::run_ahead(SECOND);
            window.reset();
            window.try_acquire(1).is_ok()
        });
        TestClock::run_ahead(SECOND);
        let count = window.count();
        assert!(!tried || count == 1, "a grant was forgotten");
        assert_eq!(window.try_acquire(1).is_ok(), count == 0, "the gate is open");
    });
}

#[test]
fn a_delayed_grant_of_a_window_that_is_dropped_opens_the_gate_over_nobody() {
    const LATER: Duration = Duration::from_secs(1);

    check(3, || {
        let shared = Arc::new((fresh::<Fixed>(1, 1), AtomicBool::new(false)));
        race(&shared, [true, false], |(window, stands), is_delayed| {
            if !is_delayed {
                TestClock::run_ahead(SECOND);
                let mut caller = Box::pin(acquire(window, 1));
                // Nobody is to be woken who may have ended.
                let mut context = Context::from_waker(Waker::noop());
                if caller.as_mut().poll(&mut context).is_pending() {
                    stands.store(true, Ordering::Release);
                }
                // It stays in line, or is granted its permit there, until the other one has tried.
                return mem::forget(caller);
            }
            {
                let delay = Jitter::between(LATER, LATER).seeded(0);
                let mut caller = pin!(acquire(window, 1).jitter(delay));
                assert!(poll(&mut caller).is_pending());
                TestClock::run_ahead(SECOND);
                assert!(poll(&mut caller).is_pending(), "not yet told");
            }
            let stands = stands.load(Ordering::Acquire);
            let is_granted = window.try_acquire(1).is_ok();
            assert!(!(stands && is_granted), "overtaken");
        });
    });
}

#[test]
fn a_caller_in_line_for_a_window_is_seen_by_those_after_it() {
    in_line::a_caller_is_seen_by_those_after_it::<Fixed, 3>(
        2,
        [Part::Waits, Part::Settles, Part::Looks],
    );
}
