//! Every combination of a few calls, in small scenes.

use super::*;

use Op::{Burst, Close, Force, Reserve, ReserveAndCancel, Reset, Try, TryAndRefund};

/// Calls that every kind of limiter has.
fn common() -> Vec<Op> {
    let gives_back = dropped(2).gives_back();
    let waiters = [acquire(2), dropped(1), acquire(1).until(1), unpolled(1)];
    let mut calls: Vec<Op> = waiters.into_iter().map(Op::from).collect();
    calls.extend([gives_back.until(2).into(), Try(1), Try(2), TryAndRefund(1), Close]);
    calls
}

/// Calls that a bucket has besides.
fn of_a_bucket() -> Vec<Op> {
    let mut calls = vec![dropped(2).gives_back().into(), Reserve(1), ReserveAndCancel(2)];
    calls.extend([Force(1), Reset, Burst(1), Burst(3)]);
    calls
}

/// The standard scene; as much may be forced as the calls force.
fn scene_of(ops: &[Op], spent: i8, run: i8) -> Scene {
    let forced = ops.iter().filter(|op| matches!(op, Force(_))).count();
    Scene { spent, ..Scene::new(ops).run(run).slack(forced as i8) }
}

fn states(scene: &Scene) -> usize {
    match explore_with_goal(scene) {
        Ok(explored) => explored.states,
        Err(trace) => panic!("{:?}: {trace:?}", scene.ops),
    }
}

fn pairs(calls: &[Op], explore: impl Fn(&[Op]) -> usize) -> usize {
    let mut sum = 0;
    for (place, &first) in calls.iter().enumerate() {
        for &second in &calls[place..] {
            sum += explore(&[first, second]);
        }
    }
    sum
}

#[test]
fn any_two_calls_keep_every_rule() {
    let calls = [common(), of_a_bucket()].concat();
    let sum = pairs(&calls, |ops| states(&scene_of(ops, 0, 3)) + states(&scene_of(ops, 2, 3)));
    println!("any two calls: {sum} states");
    assert!(sum > 300_000);
}

#[test]
fn any_two_calls_beside_a_fixed_window_keep_every_rule() {
    let sum = pairs(&common(), |ops| states(&scene_of(ops, 2, 4).window(2)));
    println!("any two calls beside a window: {sum} states");
    assert!(sum > 120_000);
}

#[cfg(sluicegate_deep)]
#[test]
fn any_three_calls_keep_every_rule_in_full() {
    let calls = [common(), of_a_bucket()].concat();
    let mut sum = 0;
    for &third in &calls {
        sum += pairs(&calls, |ops| states(&scene_of(&[ops, &[third]].concat(), 2, 2).exact()));
    }
    println!("any three calls: {sum} states");
    assert!(sum > 10_000_000);
}
