//! Models of callers that wait in line for a limiter whose word has no gate. What is checked, over
//! every interleaving: nobody overtakes them; one that gives up has taken nothing; and nobody sleeps
//! for ever, whose permits have come by an update.

use std::pin::pin;

use sluicegate::wait::Queued;
use sluicegate::{FixedWindow, Limiter, SlidingLog};
use sluicegate_loom_tests::in_line::{self, fresh};
use sluicegate_loom_tests::line::{acquire, poll, stand_and_ask};
use sluicegate_loom_tests::{ANY, SECOND, TestClock, check, race};

type Line = Queued<FixedWindow<TestClock>, TestClock>;

#[test]
fn nobody_overtakes_a_caller_in_line_for_a_queued_limiter() {
    in_line::nobody_overtakes::<Line>(ANY);
}

#[test]
fn nobody_overtakes_a_caller_in_line_for_a_queued_log() {
    in_line::nobody_overtakes::<Queued<SlidingLog<TestClock>, TestClock>>(2);
}

#[test]
fn nobody_overtakes_the_second_in_line_for_a_queued_limiter() {
    in_line::nobody_overtakes_the_second::<Line>(2);
}

#[test]
fn the_next_in_line_for_a_queued_limiter_is_granted_its_permit_when_the_first_gives_up() {
    in_line::the_next_is_granted_when_the_first_gives_up::<Line>(ANY);
}

#[test]
fn a_queued_limiter_whose_line_everybody_has_left_is_open() {
    check(2, || {
        let line = fresh::<Line>(2, 1);
        race(&line, [true, false], |line, waits| {
            if waits {
                let mut callers = [pin!(acquire(line, 2)), pin!(acquire(line, 2))];
                assert!(callers.iter_mut().all(|caller| poll(caller).is_pending()));
            } else {
                let _denied = line.try_acquire(1);
            }
        });
        let is_left = line.limiter().count() == 1;
        assert_eq!(line.try_acquire(1).is_ok(), is_left, "the gate is open");
    });
}

#[test]
fn an_update_of_a_queued_limiter_is_seen_by_a_caller_that_comes_to_stand() {
    let raise = |line: &Line| line.update(|window| window.reconfigure(2)).unwrap();
    in_line::a_change_is_seen(5, raise, 2);
}

#[test]
fn a_receipt_given_back_in_an_update_is_for_those_in_line() {
    in_line::a_grant_given_back_is_theirs::<Line>(ANY);
}

#[test]
fn a_caller_in_line_beside_a_reset_and_a_try_shares_a_queued_limiter_with_it() {
    check(2, || {
        let line = fresh::<Line>(1, 1);
        let granted = race(&line, [true, false], |line, waits| {
            if waits {
                return stand_and_ask(line, 0);
            }
            line.reset();
            line.try_acquire(1).is_ok()
        });
        let granted = granted.into_iter().filter(|granted| *granted).count();
        // Less if one that was granted did not ask again: its permit stays spent.
        assert!(granted + usize::from(line.try_acquire(1).is_ok()) <= 1);
        TestClock::run_ahead(SECOND);
        assert!(line.try_acquire(1).is_ok(), "the gate is open");
    });
}
