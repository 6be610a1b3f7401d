//! Models of the ring, of two slots: the smallest that a strict window has, so
//! that a place comes round after two ticks. What is checked, over every
//! interleaving:
//!
//! * calls at the same time are answered as if one came after the other, in
//!   whatever tick each is, and whichever of them turns the ring or helps;
//! * what is left is counted as such, in this tick and in the next ones;
//! * time goes on from the tick of the word, once, if that is too far ahead of the
//!   clock, and else never;
//! * what a granted caller did is visible to the callers granted after it.

use sluicegate::window::MultiWindow;
use sluicegate::{SlidingWindow, rate};
use sluicegate_loom_tests::calls::Op;
use sluicegate_loom_tests::faults::{
    assert_a_leap_is_no_fault, assert_no_reading_is_of_before_its_shift,
    assert_no_second_reading_is_of_before_its_shift,
};
use sluicegate_loom_tests::orders::{Stage, Windows, assert_one_after_the_other};
use sluicegate_loom_tests::{Arc, SECOND, TestClock, check, race};

type Window = SlidingWindow<TestClock>;

/// So short that threads' clocks may be five of them apart.
const SLOT: u64 = SECOND / 4;

const NOW: u64 = 100 * SLOT + SLOT / 4;

const ONE: Op = Op::TryAcquire(1);
const TWO: Op = Op::TryAcquire(2);

/// Three in a window of one slot.
fn three(clock: TestClock) -> Window {
    SlidingWindow::with_slots(rate!(3 / 250 ms), 1, clock).unwrap()
}

/// From now on the thread's clock is in the slot this many after that of `NOW`.
fn slots(ahead: u64) -> Op {
    Op::RunAhead(ahead * SLOT)
}

/// A window that granted one in each of the two slots before that of `NOW`, and
/// one in it, of three.
fn used() -> Windows<Window> {
    let slot = |ago: u64| [Op::SetClock(NOW - ago * SLOT), ONE];
    Windows { new: three, capacity: None, now_nanos: NOW, before: [2, 1, 0].map(slot).concat() }
}

#[test]
fn no_window_admits_more_than_its_limit() {
    assert_one_after_the_other(2, &used(), [&[ONE], &[ONE], &[TWO]]);
    assert_one_after_the_other(1, &used(), [&[slots(1), ONE], &[slots(1), TWO], &[ONE]]);
    assert_one_after_the_other(1, &used(), [&[slots(1), ONE], &[slots(2), TWO], &[slots(1), ONE]]);
    assert_one_after_the_other(2, &used(), [&[slots(1), ONE, slots(2), ONE], &[slots(2), TWO]]);
}

/// In the present slot, where nothing is left, and in later ones, where one of two callers finds enough.
#[test]
fn nobody_leaves_less_than_the_reserve_in_a_ring() {
    for (ahead, reserve, granted) in [(0, 1, 0), (1, 1, 1), (2, 2, 1)] {
        check(2, move || {
            let window = used().set();
            window.clock().set(NOW + ahead * SLOT);
            let ask = |window: &Window, reserve| window.try_acquire_leaving(1, reserve).is_ok();
            let asked = race(&window, [reserve, reserve], ask);
            assert_eq!(asked.into_iter().filter(|granted| *granted).count(), granted);
        });
    }
}

/// The next slot counts one of the three with its own, the one after that none.
#[test]
fn as_many_are_admitted_as_have_been_forgotten() {
    for (ahead, room) in [(1, 2), (2, 3)] {
        check(1, move || {
            let window = used().set();
            window.clock().set(NOW + ahead * SLOT);
            let asked = race(&window, [1, 2, 1], Window::try_acquire);
            let granted: u64 = asked.into_iter().flatten().map(|grant| grant.permits()).sum();
            assert!(granted + window.peek(0).unwrap().remaining() == room, "{granted} of {room}");
        });
    }
}

/// The turn that leaves a slot out has to write its end too.
#[test]
fn an_idle_slot_is_counted_as_one() {
    assert_one_after_the_other(3, &used(), [&[slots(2), TWO, ONE], &[slots(2), ONE]]);
    assert_one_after_the_other(3, &used(), [&[slots(2), ONE, slots(3), TWO], &[slots(2), TWO]]);
}

#[test]
fn a_denial_is_of_a_moment_at_which_the_window_was_full() {
    for call in [Op::TryAcquire(3), Op::Peek(2), Op::Count, Op::TryAcquire(0)] {
        let others = [slots(1), ONE, slots(2), ONE, slots(3), TWO];
        assert_one_after_the_other(1, &used(), [&[call], &others]);
        assert_one_after_the_other(1, &used(), [&[slots(1), call], &others]);
    }
}

/// Two were refused before, twice: the second one is kept. It is told again as long as it is of the word,
/// the limit and the tick that are there, and for as many.
#[test]
fn a_denial_that_is_kept_is_of_what_is_there_now() {
    let mut refused = used();
    refused.before.extend([Op::SetClock(NOW), TWO, TWO]);
    let more = Op::Limit(4);
    for others in [&[more, TWO][..], &[slots(1), TWO], &[Op::TryAcquire(3)], &[ONE, TWO]] {
        assert_one_after_the_other(1, &refused, [&[TWO, TWO], others]);
    }
}

/// The other goes on for more slots than the ring has places.
#[test]
fn a_helper_that_was_held_up_spoils_no_later_boundary() {
    let others = [slots(1), ONE, slots(2), ONE, slots(3), ONE, slots(4), ONE];
    assert_one_after_the_other(1, &used(), [&[slots(1), ONE], &others]);
    assert_one_after_the_other(1, &used(), [&[slots(2), TWO], &others]);
}

#[test]
fn a_reset_forgets_what_was_before_and_nothing_after() {
    assert_one_after_the_other(2, &used(), [&[Op::Reset, ONE], &[TWO, ONE]]);
    assert_one_after_the_other(1, &used(), [&[Op::Reset, TWO], &[slots(1), ONE, TWO]]);
    assert_one_after_the_other(1, &used(), [&[Op::Reset], &[Op::Reset, ONE], &[TWO]]);
    assert_one_after_the_other(1, &used(), [&[Op::Reset], &[slots(1), ONE], &[slots(2), TWO]]);
}

/// The longer window has slots of four ticks.
#[test]
fn several_windows_are_turned_together() {
    fn two_windows(clock: TestClock) -> MultiWindow<TestClock> {
        MultiWindow::with_slots([rate!(2 / 250 ms), rate!(4 / second)], 1, clock).unwrap()
    }
    let now_nanos = 103 * SLOT;
    let before = vec![Op::SetClock(now_nanos - SLOT), ONE, Op::SetClock(now_nanos), ONE];
    let scene = Windows { new: two_windows, capacity: None, now_nanos, before };
    assert_one_after_the_other(2, &scene, [&[slots(1), ONE], &[slots(1), TWO]]);
    assert_one_after_the_other(2, &scene, [&[slots(1), ONE], &[slots(5), TWO, slots(6), ONE]]);
    assert_one_after_the_other(2, &scene, [&[Op::Reset], &[slots(1), TWO]]);
}

#[test]
fn a_ring_too_far_ahead_goes_on_from_there() {
    let before = vec![Op::SetClock(100 * SECOND), ONE, Op::SetClock(NOW)];
    let scene = Windows { new: three, capacity: None, now_nanos: NOW, before };
    assert_one_after_the_other(2, &scene, [&[ONE], &[ONE], &[TWO]]);
    assert_one_after_the_other(2, &scene, [&[ONE, Op::Count], &[Op::Count, ONE]]);
    assert_one_after_the_other(2, &scene, [&[ONE], &[ONE, slots(1), TWO]]);
}

#[test]
fn a_tick_that_came_in_between_is_no_fault() {
    assert_a_leap_is_no_fault(three, NOW);
}

#[test]
fn a_ring_adds_its_shift_to_no_earlier_reading() {
    let two = |clock| SlidingWindow::with_slots(rate!(2 / 250 ms), 1, clock).unwrap();
    assert_no_reading_is_of_before_its_shift(two);
    assert_no_second_reading_is_of_before_its_shift(two);
}

/// Both find the same fault, by different readings of the clock. If each moved the time on by its
/// own difference, the ring would get ahead of the clock, and that would be another fault.
#[test]
fn two_healers_of_a_ring_go_on_by_one_shift() {
    check(2, || {
        let window = SlidingWindow::with_slots(rate!(3 / 10 seconds), 1, TestClock::new()).unwrap();
        let window = Arc::new(window);
        window.clock().set(1_000 * SECOND);
        assert!(window.try_acquire(1).is_ok());
        window.clock().set(30 * SECOND);
        race(&window, [None, Some(130 * SECOND)], |window, later| {
            if let Some(nanos) = later {
                window.clock().set(nanos);
            }
            _ = window.try_acquire(1);
        });
        _ = window.try_acquire(1);
        assert_eq!(window.healed(), 1);
    });
}

/// The promise of the limiters' section on memory ordering.
#[test]
#[cfg(sluicegate_loom)]
fn what_was_done_before_a_grant_is_seen_after_the_next_of_a_ring() {
    use sluicegate_loom_tests::seen::assert_a_grant_is_seen_by_the_next;

    let two = || SlidingWindow::with_slots(rate!(2 / second), 1, TestClock::new()).unwrap();
    assert_a_grant_is_seen_by_the_next(2, two, |window| window.try_acquire(1).unwrap());
}
