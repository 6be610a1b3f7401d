//! The theorems: every rule holds in every state of these scenes, and from each the goal is
//! within reach.

use super::*;

/// The standard scene with these calls.
macro_rules! scene {
    ($($op:expr),+) => { Scene::new(&[$(Op::from($op)),+]) };
}
pub(super) use scene;

use Op::{Burst, Close, Force, Reserve, Reset, Try, TryAndRefund};

pub(super) fn holds(scene: &Scene, at_least: usize) -> Explored {
    let explored = explore_with_goal(scene).unwrap();
    println!("waiting {:?}: {explored:?}", scene.ops);
    assert!(explored.states > at_least && explored.counts.grants > 0, "{explored:?}");
    explored
}

#[test]
fn waiters_are_granted_in_order_and_none_sleeps_on() {
    holds(&scene![dropped(2).until(3), acquire(1).until(4)].run(6), 17_000);
    let of_three = || scene![dropped(1), acquire(2)].cap(3).run(5);
    holds(&of_three(), 9_900);
    holds(&Scene { spent: 0, ..of_three() }, 1_800);
    holds(&scene![dropped(2), dropped(1), acquire(1)].run(3).exact(), 110_000);
    holds(&scene![acquire(2), acquire(1).until(2), acquire(1)].exact(), 100_000);
}

#[test]
fn no_try_overtakes_a_waiter() {
    holds(&scene![dropped(1), acquire(2), Try(1)], 98_000);
    holds(&scene![acquire(2).until(2), acquire(1).until(3), Try(1)], 89_000);
    holds(&scene![dropped(2), Try(1), Try(2)].run(5), 77_000);
    holds(&scene![dropped(2), Try(1), Try(2)].cap(3), 40_000);
    holds(&scene![acquire(2), acquire(1), acquire(1), Try(1)].run(2).exact(), 130_000);
    let ahead = scene![dropped(2), acquire(1), Try(1)].run(2);
    holds(&Scene { ahead: 1, ..ahead }, 43_000);
}

#[test]
fn a_waiter_that_nobody_polls_stalls_nobody() {
    holds(&scene![unpolled(1), acquire(1), Try(1)], 60_000);
    holds(&scene![unpolled(1), unpolled(1), Try(1)].exact(), 32_000);
    holds(&scene![unpolled(2), acquire(1), acquire(1).until(3)].exact(), 75_000);
}

#[test]
fn a_close_refuses_all_that_wait() {
    holds(&scene![dropped(2), acquire(1), Close].run(3), 17_000);
    holds(&scene![dropped(2), Close, Try(1)], 18_000);
}

#[test]
fn a_reset_and_a_change_of_burst_keep_the_bound_and_the_order() {
    holds(&scene![acquire(2), acquire(1), Reset].run(3), 73_000);
    holds(&scene![dropped(2).until(3), Reset, Try(1)].run(3), 49_000);
    holds(&scene![dropped(2), Burst(1), Try(1)].run(3), 42_000);
    holds(&scene![acquire(2), acquire(1), Burst(1)].run(3), 64_000);
    holds(&scene![acquire(2), acquire(1), Burst(3)].run(3), 57_000);
}

#[test]
fn force_goes_through_the_gate_and_a_reservation_does_not() {
    holds(&scene![dropped(2), Force(2), Try(1)].slack(2), 65_000);
    holds(&scene![dropped(2), Reserve(2), Try(1)], 30_000);
}

#[test]
fn a_line_of_one_refuses_the_newest_or_evicts_the_oldest() {
    let short =
        || Scene { longest: 1, ..scene![acquire(2), acquire(1), acquire(1)].run(3).exact() };
    holds(&short(), 25_000);
    holds(&Scene { when_long: WhenLong::EvictsOldest, ..short() }, 46_000);
}

/// A head whose grant comes late is a burst of its own, beside that of those behind it.
#[test]
fn by_the_time_of_the_grants_the_bound_has_the_head_as_slack() {
    let late = scene![acquire(2), acquire(2), acquire(1)].run(5).exact();
    let late = Scene { judge: Judge::Grant, ..late };
    holds(&late.clone().slack(2), 160_000);
    let trace = explore_with_goal(&late.slack(1)).unwrap_err();
    assert!(trace.fault.contains(BOUND), "{trace:?}");
}

#[test]
fn a_grant_that_is_not_seen_is_given_back_if_the_level_has_not_moved() {
    let gives_back = |permits| dropped(permits).gives_back();
    let gives = |scene: &Scene| assert!(holds(scene, 1).counts.given_back > 0);
    gives(&scene![gives_back(1), acquire(1), Try(1)].run(3));
    gives(&scene![gives_back(1), gives_back(1), Try(1)].run(3).exact());
    gives(&scene![gives_back(2), Force(1), Try(1)].slack(1));
    gives(&scene![gives_back(2), Reset, Try(2)]);
    gives(&scene![gives_back(2), Burst(1), Try(1)]);
    gives(&scene![gives_back(2), Burst(3), Try(1)]);
    gives(&scene![gives_back(2), Close, Try(2)]);
    gives(&scene![gives_back(1), TryAndRefund(1), Try(1)].run(3));
}

#[test]
fn permits_that_are_given_back_let_waiters_go_earlier() {
    let refunds = |scene: &Scene| assert!(holds(scene, 1).counts.given_back > 0);
    refunds(&Scene { spent: 1, ..scene![dropped(2), acquire(1), TryAndRefund(1)].run(3) });
    refunds(&Scene { spent: 0, ..scene![acquire(2), TryAndRefund(2), TryAndRefund(1)].run(3) });
    refunds(&scene![acquire(2), TryAndRefund(1), Try(1)].cap(3));
}

#[test]
fn a_waiter_whose_turn_is_after_its_deadline_may_be_turned_away_at_once() {
    let turns_away = |scene| Scene { turns_away: true, ..scene };
    holds(&turns_away(scene![dropped(1), acquire(2).until(2), Try(1)]), 84_000);
    holds(&turns_away(scene![dropped(2), acquire(1).until(2), acquire(1)].exact()), 140_000);
    holds(&turns_away(scene![dropped(1).gives_back(), acquire(2).until(3), Try(1)].run(3)), 54_000);
}

/// Otherwise it may be, if another settles before it wakes.
#[test]
fn no_waiter_is_granted_as_of_a_turn_after_its_deadline_if_settling_refuses_such() {
    let strict = |scene| Scene { refuses_late: true, ..scene };
    holds(&strict(scene![acquire(2).until(1), acquire(1), Try(1)]), 74_000);
    holds(&strict(scene![acquire(2).until(2), acquire(1).until(3), Try(1)]), 74_000);
    holds(&strict(scene![unpolled(2).until(1), acquire(1), Try(1)].exact()), 37_000);
    holds(&strict(scene![dropped(1), acquire(2).until(2), acquire(1)].exact()), 140_000);
    holds(&strict(scene![unpolled(2).until(1), unpolled(1).until(2), acquire(1)].exact()), 48_000);
    holds(&strict(scene![acquire(2).until(2), acquire(1), Reset].run(3)), 83_000);
}

#[test]
fn the_same_line_stands_beside_a_fixed_window() {
    holds(&scene![acquire(2), dropped(1), Try(1)].window(2), 70_000);
    holds(&scene![dropped(2), acquire(1).until(3), Try(1)].window(2), 86_000);
    holds(&scene![unpolled(2), acquire(1), Try(1)].window(2).exact(), 25_000);
    holds(&scene![acquire(2), Try(1), Try(2)].window(2).run(5), 35_000);
}

#[cfg(sluicegate_deep)]
#[test]
fn larger_scenes_hold_in_full() {
    holds(&scene![dropped(1), acquire(2), Try(1), Try(2)].run(3).exact(), 370_000);
    holds(&scene![dropped(1), acquire(1), acquire(2)].run(3), 73_000);
    holds(&scene![dropped(2).until(3), Reset, Burst(1), Try(1)].run(3).exact(), 970_000);
    let gives_back = |permits| dropped(permits).gives_back();
    holds(&scene![gives_back(2).until(2), gives_back(1).until(3), acquire(1)].exact(), 320_000);
    holds(&scene![gives_back(1), gives_back(1), Try(1), Force(1)].run(2).slack(1), 1_300_000);
    holds(&scene![unpolled(2), Reserve(1), Reserve(1), Try(2)].exact(), 170_000);
    holds(&scene![dropped(2), Op::ReserveAndCancel(1), acquire(1), Try(1)].run(3).exact(), 930_000);
}
