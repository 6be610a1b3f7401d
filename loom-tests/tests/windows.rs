//! Models of the window counter: windows whose whole state is one word. What is checked,
//! over every interleaving:
//!
//! * calls at the same time are answered as if one came after the other, and no
//!   window grants more than its limit;
//! * a new limit holds for all callers that come after it;
//! * counts that are too far ahead of the clock are moved once, and others never;
//! * what a granted caller did is visible to the callers granted after it.

use sluicegate::window::{WeightedLog, WindowFromFirst};
use sluicegate::{FixedWindow, SlidingCounter, SlidingLog, SlidingWindow, rate};
use sluicegate_loom_tests::calls::Op;
use sluicegate_loom_tests::faults::leap;
use sluicegate_loom_tests::orders::{Windows, assert_one_after_the_other};
use sluicegate_loom_tests::{ANY, Admission, Arc, Ledger, SECOND, Subject, TestClock, check, race};

type Fixed = FixedWindow<TestClock>;

const NOW: u64 = 10 * SECOND + SECOND / 4;

/// Two a second.
fn fixed(clock: TestClock) -> Fixed {
    FixedWindow::with_clock(rate!(2 / second), clock).unwrap()
}

/// A limiter that granted one in the window before that of `NOW`, and one in it.
fn one_left<L>(new: fn(TestClock) -> L) -> Windows<L> {
    let before =
        vec![Op::SetClock(NOW - SECOND), Op::TryAcquire(1), Op::SetClock(NOW), Op::TryAcquire(1)];
    Windows { new, capacity: None, now_nanos: NOW, before }
}

/// Calls in the window, at its end and in the next one.
fn all_calls<L: Subject>(new: fn(TestClock) -> L) {
    const NEXT: Op = Op::RunAhead(SECOND);
    let scene = one_left(new);
    let [one, two] = [1, 2].map(Op::TryAcquire);
    assert_one_after_the_other(2, &scene, [&[one], &[one], &[two]]);
    assert_one_after_the_other(2, &scene, [&[one], &[NEXT, one], &[NEXT, two]]);
    assert_one_after_the_other(ANY, &scene, [&[one, two], &[NEXT, one, two]]);
    assert_one_after_the_other(ANY, &scene, [&[one, one], &[Op::Count, Op::TryAcquireUpTo(2)]]);
    assert_one_after_the_other(ANY, &scene, [&[one], &[Op::Peek(1), NEXT, Op::Peek(2)]]);
}

#[test]
fn a_window_admits_no_more_than_its_limit() {
    all_calls(fixed);
    all_calls(|clock| SlidingCounter::with_clock(rate!(3 / second), clock).unwrap());
    all_calls(|clock| WindowFromFirst::with_clock(rate!(2 / second), clock).unwrap());
}

/// Three callers, each of which has to leave one of two.
#[test]
fn nobody_leaves_less_than_the_reserve_in_a_window() {
    check(3, || {
        let window = Arc::new(fixed(TestClock::new()));
        let ask = |window: &Fixed, reserve| window.try_acquire_leaving(1, reserve).is_ok();
        let granted = race(&window, [1, 1, 1], ask);
        assert_eq!(granted.into_iter().filter(|granted| *granted).count(), 1);
        assert_eq!(window.peek(0).unwrap().remaining(), 1);
    });
}

/// Not compared with an order: the clock may be read at any time.
#[test]
fn a_window_admits_no_more_than_its_limit_while_the_clock_moves() {
    check(3, || {
        let window = Arc::new(fixed(TestClock::new()));
        window.clock().set(NOW);
        let admitted: Ledger = race(&window, [0, 1, 2], |window, who| {
            if who == 2 {
                window.clock().set(NOW + SECOND);
            }
            Admission::of(window.try_acquire(2 - who % 2))
        })
        .into_iter()
        .collect();
        let left = window.peek(0).unwrap().remaining();
        assert!(admitted.at(NOW + SECOND) + left <= 2, "{admitted:?}");
        assert!(admitted.at(NOW) <= 4 && admitted.total() + left <= 4, "{admitted:?}");
        assert_eq!(window.healed(), 0);
    });
}

/// The promise of the limiters' section on memory ordering.
#[test]
#[cfg(sluicegate_loom)]
fn what_was_done_before_a_grant_is_seen_after_the_next() {
    use sluicegate_loom_tests::seen::assert_a_grant_is_seen_by_the_next;

    assert_a_grant_is_seen_by_the_next(
        3,
        || fixed(TestClock::new()),
        |window| window.try_acquire(1).unwrap(),
    );
}

/// The limit is one, so both are granted only if the reset is between them.
#[test]
#[cfg(sluicegate_loom)]
fn a_reset_forgets_and_keeps_the_order() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    check(3, || {
        let window = FixedWindow::with_clock(rate!(1 / second), TestClock::new()).unwrap();
        let shared = Arc::new((window, [Atomic::new(0), Atomic::new(0)]));
        let saw = race(&shared, [0, 1, 2], |(window, done), who| {
            if who == 2 {
                window.reset();
                return None;
            }
            done[who].store(1, Relaxed);
            window.try_acquire(1).ok().map(|_| done[1 - who].load(Relaxed) == 1)
        });
        if let [Some(saw), Some(other), None] = saw {
            assert!(saw || other, "neither grant saw the other");
        }
        assert!(saw[0].is_some() || saw[1].is_some());
    });
}

#[test]
fn a_reset_is_before_or_after_any_call() {
    let scene = one_left(fixed);
    let one = Op::TryAcquire(1);
    assert_one_after_the_other(ANY, &scene, [&[Op::Reset, one], &[one, one]]);
    assert_one_after_the_other(2, &scene, [&[Op::Reset], &[one], &[Op::RunAhead(SECOND), one]]);
    assert_one_after_the_other(ANY, &scene, [&[Op::Reset, Op::Count], &[Op::Reset, one]]);
}

/// A caller that lowers the limit to one and is then granted one is alone: nobody was granted any
/// before, and a caller that still decides by the old limit cannot have seen that grant.
fn is_lowered<L: Subject>(new: fn(TestClock) -> L) {
    check(3, move || {
        let window = Arc::new(new(TestClock::new()));
        let granted = race(&window, [1, 2], |window, who| {
            if who == 1 {
                window.call(Op::Limit(1));
            }
            let asked = (0..who).map(|_| window.try_acquire(1));
            asked.flatten().count()
        });
        assert!(matches!(granted, [1, 0] | [0, 1 | 2]), "{granted:?}");
    });
}

#[test]
fn a_lowered_limit_holds_for_whoever_comes_after() {
    is_lowered(fixed);
    is_lowered(|clock| SlidingCounter::with_clock(rate!(2 / second), clock).unwrap());
    is_lowered(|clock| SlidingWindow::with_slots(rate!(2 / second), 1, clock).unwrap());
    is_lowered(|clock| SlidingLog::with_clock(rate!(2 / second), clock).unwrap());
    is_lowered(|clock| WeightedLog::with_clock(rate!(2 / second), clock).unwrap());
}

/// Two windows ahead is as far as threads' clocks may be apart.
#[test]
fn a_window_too_far_ahead_is_moved_once() {
    let far = |new| {
        let before = vec![Op::SetClock(100 * SECOND), Op::TryAcquire(1), Op::SetClock(NOW)];
        Windows { new, capacity: None, now_nanos: NOW, before }
    };
    let one = Op::TryAcquire(1);
    assert_one_after_the_other(2, &far(fixed), [&[one], &[one], &[one]]);
    assert_one_after_the_other(ANY, &far(fixed), [&[one, Op::Count], &[Op::Count, one]]);
    assert_one_after_the_other(ANY, &far(fixed), [&[Op::RunAhead(SECOND), one], &[one]]);
    assert_one_after_the_other(ANY, &far(fixed), [&[Op::Reset, one], &[one]]);
}

#[test]
fn a_window_that_began_in_between_is_not_moved() {
    check(ANY, || {
        let window = Arc::new(fixed(TestClock::new()));
        window.clock().set(NOW);
        leap(&window);
        assert_eq!(window.healed(), 0);
    });
}

/// The same beside counts that are to be moved.
#[test]
fn a_window_that_began_while_another_was_moved_is_not() {
    check(ANY, || {
        let window = Arc::new(fixed(TestClock::new()));
        window.clock().set(100 * SECOND);
        assert!(window.try_acquire(1).is_ok());
        window.clock().set(NOW);
        leap(&window);
        assert!(window.healed() <= 1);
    });
}
