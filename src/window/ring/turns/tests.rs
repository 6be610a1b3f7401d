//! The turns of a ring.

use core::task::Waker;

use super::*;
use crate::time::clock::manual::ManualClock;
use crate::wait::line;
use crate::window::ring::plan::Plan;
use crate::window::sliding_window::Padded;

const MILLI: u64 = 1_000_000;

type OneWindow<'a> = Ring<Padded, [WindowSlots; 1], &'a ManualClock>;

/// Ten in any 100 ms, in slots of 10 ms.
fn ten(clock: &ManualClock) -> OneWindow<'_> {
    Ring::new(&[Plan { limit: 10, window_nanos: 100 * MILLI, slots: 10 }], clock).unwrap()
}

fn turn(permits: u64, has_others: bool) -> Turn {
    Turn { permits, since_nanos: 0, now_nanos: 0, has_others, may_heal: true, told_nanos: None }
}

#[test]
fn the_gate_is_open_after_a_grant_of_a_ring_that_could_not_be_taken_back() {
    let clock = ManualClock::new();
    let ring = ten(&clock);
    let Taken::Granted(_, charged) = ring.take_turn(turn(3, false)) else { panic!() };
    ring.try_acquire(1).unwrap();
    assert!(!ring.undo(charged) && !TakesTurns::is_gated(&ring));
    assert_eq!(ring.count(), 4);
}

#[test]
fn a_turn_is_due_at_the_same_instant_however_late_it_is_asked_for() {
    let clock = ManualClock::new();
    let ring = ten(&clock);
    ring.try_acquire(10).unwrap();
    assert_eq!(ring.due_nanos(turn(5, false)), 110 * MILLI);
    // The thread was held up between the line's reading of the clock and this.
    clock.advance_nanos(150 * MILLI);
    assert_eq!(ring.due_nanos(turn(5, false)), 110 * MILLI);
}

#[test]
fn those_in_line_are_granted_what_a_restored_ring_has() {
    let clock = ManualClock::new();
    let mut ring = ten(&clock);
    let empty = ring.snapshot();
    ring.try_acquire(10).unwrap();
    // A caller that was forgotten, so that nothing borrows the ring any more.
    line::stand(&ring, 4, &mut None, None, Waker::noop().clone()).unwrap();
    assert!(TakesTurns::is_gated(&ring));
    ring.restore(&empty, 0);
    assert_eq!((TakesTurns::is_gated(&ring), ring.count()), (false, 4));
}
