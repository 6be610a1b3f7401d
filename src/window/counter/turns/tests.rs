//! The turns of a counter, without a line before it.

use super::*;
use crate::rate;
use crate::time::clock::manual::ManualClock;
use crate::window::counter::aligned::Aligned;

const MILLI: u64 = 1_000_000;

/// Ten in each 100 ms.
fn ten(clock: &ManualClock) -> CounterCore<Aligned, &ManualClock> {
    CounterCore::new(Aligned::new(rate!(10 / 100 ms)).unwrap(), clock)
}

fn turn(permits: u64, has_others: bool) -> Turn {
    Turn { permits, since_nanos: 0, now_nanos: 0, has_others, may_heal: true }
}

fn granted(taken: Taken) -> Charged {
    match taken {
        Taken::Granted(_, charged) => charged,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_gate_is_open_after_a_grant_that_could_not_be_taken_back() {
    let clock = ManualClock::new();
    let core = ten(&clock);
    let charged = granted(core.take_turn(turn(3, false)));
    core.try_acquire(1).unwrap();
    assert!(!core.undo(charged), "another one was made since");
    assert!(!TakesTurns::is_gated(&core));

    let core = ten(&clock);
    let charged = granted(core.take_turn(turn(3, false)));
    core.reset();
    core.try_acquire(3).unwrap();
    // The word is the same as after the grant.
    assert!(!core.undo(charged), "it was lost in the reset");
    assert!(!TakesTurns::is_gated(&core));
    assert_eq!(core.count(), 3);
}

#[test]
fn the_gate_is_closed_after_a_grant_that_was_taken_back() {
    let clock = ManualClock::new();
    for has_others in [false, true] {
        let core = ten(&clock);
        let charged = granted(core.take_turn(turn(3, has_others)));
        assert_eq!(TakesTurns::is_gated(&core), has_others);
        assert!(core.undo(charged));
        assert!(TakesTurns::is_gated(&core), "until the holder of the lock settles");
        assert_eq!(core.count(), 0);
    }
}

#[test]
fn a_caller_that_wants_more_than_a_counter_ever_grants_holds_nobody_up() {
    let clock = ManualClock::new();
    let core = ten(&clock);
    core.try_acquire(10).unwrap();
    let due = |sizes: &[u64]| core.last_due_nanos(turn(0, true), &mut sizes.iter().copied());
    assert_eq!(due(&[6, 6]), 200 * MILLI);
    assert_eq!(due(&[6, 11, u64::MAX, 6]), 200 * MILLI);
}
