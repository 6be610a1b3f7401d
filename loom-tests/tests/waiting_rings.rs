//! Models of callers that wait in line for a ring. What is checked, over every
//! interleaving: nobody overtakes them; one that gives up has taken nothing; and nobody sleeps for
//! ever, whose permits have come otherwise than by time.

use std::pin::pin;

use sluicegate::{Limiter, SlidingWindow};
use sluicegate_loom_tests::in_line::{self, Lined, Part, fresh};
use sluicegate_loom_tests::line::{acquire, poll, stand_and_ask};
use sluicegate_loom_tests::{SECOND, TestClock, check, race};

type Window = SlidingWindow<TestClock>;

/// One waits for the only permit of the next window; another one tries to take it.
#[test]
fn nobody_overtakes_a_caller_in_line_for_a_ring() {
    in_line::nobody_overtakes::<Window>(2);
}

#[test]
fn nobody_overtakes_the_second_in_line_for_a_ring() {
    in_line::nobody_overtakes_the_second::<Window>(1);
}

#[test]
fn the_next_in_line_for_a_ring_is_granted_its_permit_when_the_first_gives_up() {
    in_line::the_next_is_granted_when_the_first_gives_up::<Window>(3);
}

#[test]
fn a_ring_whose_line_everybody_has_left_is_open() {
    check(2, || {
        let window = fresh::<Window>(2, 1);
        race(&window, [true, false], |window, waits| {
            if waits {
                let mut callers = [pin!(acquire(window, 2)), pin!(acquire(window, 2))];
                assert!(callers.iter_mut().all(|caller| poll(caller).is_pending()));
            } else {
                let _denied = window.try_acquire(1);
            }
        });
        let is_left = window.count() == 1;
        assert_eq!(window.try_acquire(1).is_ok(), is_left, "the gate is open");
    });
}

#[test]
fn a_reset_of_a_ring_is_seen_by_those_in_line() {
    in_line::a_change_is_seen(3, Window::reset, 1);
}

#[test]
fn a_caller_in_line_beside_a_reset_and_a_try_shares_the_ring_with_it() {
    check(2, || {
        let window = fresh::<Window>(1, 1);
        let granted = race(&window, [true, false], |window, waits| {
            if waits {
                return stand_and_ask(window, 0);
            }
            window.reset();
            window.try_acquire(1).is_ok()
        });
        let granted = granted.into_iter().filter(|granted| *granted).count();
        // Less if one that was granted did not ask again, while the reset went on.
        assert!(granted + usize::from(window.try_acquire(1).is_ok()) <= 1);
        TestClock::run_ahead(Window::LATER_NANOS);
        assert!(window.try_acquire(1).is_ok(), "the gate is open");
    });
}

#[test]
fn a_raised_limit_of_a_ring_is_seen_by_a_caller_in_line() {
    in_line::a_change_is_seen(3, |window: &Window| window.reconfigure(2).unwrap(), 2);
}

#[test]
fn a_ring_that_goes_back_goes_on_beside_a_caller_in_line() {
    check(2, || {
        let window = fresh::<Window>(1, 0);
        window.clock().set(100 * SECOND);
        window.try_acquire(1).unwrap();
        race(&window, [true, false], |window, waits| {
            if waits {
                stand_and_ask(window, Window::LATER_NANOS);
            } else {
                window.clock().set(10 * SECOND);
                let _answer = window.try_acquire(1);
            }
        });
        TestClock::run_ahead(0);
        window.clock().set(200 * SECOND);
        assert!(window.try_acquire(1).is_ok(), "the gate is open");
    });
}

#[test]
fn a_grant_of_a_ring_given_back_while_others_wait_is_theirs() {
    in_line::a_grant_given_back_is_theirs::<Window>(3);
}

#[test]
fn a_caller_in_line_for_a_ring_is_seen_by_those_after_it() {
    in_line::a_caller_is_seen_by_those_after_it::<Window, 2>(
        1,
        [Part::Waits, Part::SettlesAndLooks],
    );
}
