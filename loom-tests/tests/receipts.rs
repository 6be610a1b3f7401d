//! Models of grants that are given back. What is checked, over every interleaving:
//! a grant that was given back leaves the limiter as if it had never been, and one
//! that was not stays spent, whatever others do with the limiter meanwhile.

use sluicegate::bucket::Carry;
use sluicegate::window::Compact;
use sluicegate::{FixedWindow, Quota, SlidingWindow, quota, rate};
use sluicegate_loom_tests::calls::Op;
use sluicegate_loom_tests::orders::{Scene, Stage, Windows, assert_one_after_the_other};
use sluicegate_loom_tests::{ANY, SECOND, TestClock};

const NOW: u64 = 10 * SECOND + SECOND / 4;

const ONE: Op = Op::TryAcquire(1);
const TWO: Op = Op::TryAcquire(2);

/// Takes one and gives it back.
const BACK: [Op; 2] = [Op::Revocable(1), Op::GiveBack];

const QUOTA: Quota = quota!(1 / second, burst 3);
const NEW: Quota = quota!(3 / 7 seconds, burst 5);

/// One of three is taken.
fn bucket() -> Scene {
    Scene { quota: QUOTA, now_nanos: NOW, before: vec![ONE] }
}

fn tally() -> Windows<FixedWindow<TestClock>> {
    let new = |clock| FixedWindow::with_clock(rate!(3 / second), clock).unwrap();
    Windows { new, capacity: None, now_nanos: NOW, before: vec![ONE] }
}

fn one_in_each_slot() -> Vec<Op> {
    vec![Op::SetClock(NOW - SECOND), ONE, Op::SetClock(NOW), ONE]
}

fn ring() -> Windows<SlidingWindow<TestClock>> {
    let new = |clock| SlidingWindow::with_slots(rate!(3 / second), 1, clock).unwrap();
    Windows { new, capacity: None, now_nanos: NOW, before: one_in_each_slot() }
}

/// A ring without a line. Its limit is two more than what is taken.
fn compact() -> Windows<SlidingWindow<TestClock, Compact>> {
    let new = |clock| SlidingWindow::compact(rate!(4 / second), 1, clock).unwrap();
    Windows { new, capacity: None, now_nanos: NOW, before: one_in_each_slot() }
}

/// Checks `scene` beside other callers that take, and give back too.
fn among_others(preemptions: usize, scene: &impl Stage) {
    let later = Op::RunAhead(SECOND);
    assert_one_after_the_other(preemptions, scene, [&BACK, &[ONE, TWO]]);
    assert_one_after_the_other(preemptions, scene, [&BACK, &[later, TWO]]);
    assert_one_after_the_other(preemptions, scene, [&BACK, &[ONE, Op::Revocable(1), Op::GiveBack]]);
    assert_one_after_the_other(2, scene, [&BACK, &BACK, &[TWO]]);
}

#[test]
fn a_grant_given_back_was_never_there() {
    among_others(ANY, &bucket());
    among_others(ANY, &tally());
    among_others(2, &ring());
}

#[test]
fn a_grant_of_a_compact_ring_given_back_was_never_there() {
    among_others(2, &compact());
}

/// A count from before a change is carried over, and is no longer the receipt's.
#[test]
fn a_grant_is_not_given_back_after_a_change() {
    for change in [Op::Reconfigure(NEW, Carry::Keep), Op::Reset] {
        assert_one_after_the_other(2, &bucket(), [&BACK, &[change, ONE]]);
        assert_one_after_the_other(2, &bucket(), [&BACK, &[change]]);
    }
    assert_one_after_the_other(2, &bucket(), [&BACK, &[Op::Reset], &[Op::Reset]]);
}

#[test]
fn a_grant_is_not_given_back_after_a_reset() {
    assert_one_after_the_other(2, &ring(), [&BACK, &[Op::Reset, ONE]]);
    assert_one_after_the_other(2, &ring(), [&BACK, &[Op::Reset, Op::RunAhead(SECOND), TWO]]);
}
