//! The lines without a mutant.

use super::*;

use Visit::{Close, Lower, Other, OtherReturns, Reset, ResetAll, Try, TryAndReturn};

pub(super) const fn wait(permits: i8) -> Visit {
    Visit::Wait(permits, Polled::Woken)
}

pub(super) const fn dropped(permits: i8) -> Visit {
    Visit::Wait(permits, Polled::UntilDropped)
}

pub(super) const fn unpolled(permits: i8) -> Visit {
    Visit::Wait(permits, Polled::Never)
}

/// Calls of a limiter without keys.
pub(super) fn of(visits: &[Visit]) -> Outside {
    Outside {
        cap: 2,
        spent: 2,
        run: 3,
        tells: true,
        shards: 0,
        visits: visits.iter().map(|&visit| (visit, 0)).collect(),
        checks_gate: true,
        tells_of_returns: false,
        flaw: None,
    }
}

/// Calls of one key.
pub(super) fn one_key(visits: &[Visit]) -> Outside {
    Outside { shards: 1, cap: 1, spent: 1, run: 2, ..of(visits) }
}

/// Calls of several keys, whose lines are in so many shards.
pub(super) fn keys(shards: usize, visits: &[(Visit, usize)]) -> Outside {
    Outside { visits: visits.to_vec(), shards, ..one_key(&[]) }
}

fn holds(scene: &Outside, at_least: usize) -> Explored {
    let explored = explore_with_goal(scene).unwrap();
    println!("line outside {:?}: {explored:?}", scene.visits);
    assert!(explored.states > at_least && explored.counts.grants > 0);
    explored
}

#[test]
fn a_line_outside_is_fair_and_nobody_in_it_stalls() {
    for (visits, at_least) in [
        (&[dropped(2), Try(1)][..], 1_500),
        (&[wait(1), wait(2), Try(1)], 60_000),
        (&[dropped(2), wait(1), Try(1)], 130_000),
        (&[unpolled(1), Try(1), Try(1)], 8_700),
        (&[unpolled(1), wait(1), Try(1)], 66_000),
    ] {
        let explored = holds(&of(visits), at_least);
        // Tries that began before the gate was closed are granted permits after it.
        assert!(explored.counts.denials > 0 && explored.counts.lost > 0);
    }
}

#[test]
fn a_line_outside_hears_of_changes_and_of_a_close() {
    for (visits, at_least) in [
        (&[wait(2), wait(1), Reset][..], 170_000),
        (&[wait(2), Try(1), Reset], 23_000),
        (&[wait(2), wait(1), Lower(1)], 86_000),
        (&[wait(2), wait(1), TryAndReturn(1)], 100_000),
        (&[wait(1), wait(1), Close], 53_000),
        (&[wait(1), Try(1), Close], 10_000),
    ] {
        holds(&of(visits), at_least);
    }
}

#[test]
fn a_limiter_that_tells_no_wait_is_asked_again() {
    for (visits, at_least) in [
        (&[dropped(2), wait(1), Try(1)][..], 200_000),
        (&[wait(2), Try(1), Reset], 35_000),
        (&[wait(2), wait(1), Lower(1)], 110_000),
        (&[wait(1), wait(1), Close], 45_000),
    ] {
        holds(&Outside { tells: false, ..of(visits) }, at_least);
    }
}

/// They may take what those in line wait for, but stall nobody.
#[test]
fn other_callers_of_the_limiter_do_not_stall_the_line() {
    for (visits, at_least) in [
        (&[wait(2), Other(1), Try(1)][..], 6_000),
        (&[wait(2), wait(1), Other(1)], 33_000),
        (&[wait(1), OtherReturns(1), Try(1)], 20_000),
        (&[wait(2), wait(1), OtherReturns(1)], 40_000),
    ] {
        holds(&of(visits), at_least);
        holds(&Outside { tells: false, ..of(visits) }, at_least);
    }
}

/// A waiter whose limiter told it a wait sleeps until then. In an update it would hear of them.
#[test]
fn permits_that_another_caller_gives_back_are_not_told() {
    let visits = [OtherReturns(2), wait(2)];
    let scene = Outside { spent: 0, ..of(&visits) };
    holds(&scene, 300);
    let trace = explore_with_goal(&Outside { tells_of_returns: true, ..scene }).unwrap_err();
    assert!(trace.fault.contains(STALL), "{trace:?}");
    let visits = [TryAndReturn(2), wait(2)];
    holds(&Outside { spent: 0, tells_of_returns: true, ..of(&visits) }, 300);
}

#[test]
fn all_who_use_a_key_use_one_line() {
    for (visits, at_least) in [
        (&[dropped(1), Try(1)][..], 2_900),
        (&[dropped(1), wait(1)], 12_000),
        (&[dropped(1), wait(1), Try(1)], 340_000),
        (&[wait(1), Reset], 1_700),
        (&[wait(1), Try(1), Reset], 37_000),
    ] {
        holds(&one_key(visits), at_least);
    }
}

#[test]
fn lines_of_keys_are_closed_and_told_of_changes() {
    holds(&one_key(&[dropped(1), wait(1), Close]), 220_000);
    holds(&keys(1, &[(wait(1), 0), (wait(1), 1), (Close, 0)]), 150_000);
    holds(&keys(1, &[(wait(1), 0), (wait(1), 1), (ResetAll, 0)]), 440_000);
}

#[test]
fn keys_do_not_hold_each_other_up() {
    for shards in [1, 2] {
        holds(&keys(shards, &[(wait(1), 0), (wait(1), 1), (Try(1), 1)]), 160_000);
        let visits = [(wait(2), 0), (wait(1), 1), (Reset, 1)];
        holds(&Outside { cap: 2, spent: 2, ..keys(shards, &visits) }, 80_000);
    }
}

#[cfg(sluicegate_deep)]
#[test]
fn larger_lines_outside_are_fair_and_nobody_in_them_stalls() {
    for visits in [
        &[dropped(2), wait(1), wait(1)][..],
        &[dropped(2), wait(1), Try(1), Try(1)],
        &[wait(2), wait(1), Reset, Close],
        &[wait(2), dropped(1), Try(1), OtherReturns(1)],
    ] {
        holds(&of(visits), 400_000);
        holds(&Outside { tells: false, ..of(visits) }, 400_000);
    }
}

#[cfg(sluicegate_deep)]
#[test]
fn larger_lines_of_keys_are_one_for_each_key() {
    for shards in [1, 2] {
        holds(&keys(shards, &[(dropped(1), 0), (dropped(1), 1), (Close, 0)]), 150_000);
        holds(&keys(shards, &[(wait(1), 0), (dropped(1), 1), (ResetAll, 0)]), 440_000);
    }
    holds(&one_key(&[dropped(1), dropped(1), wait(1)]), 1_000_000);
    holds(&one_key(&[dropped(1), wait(1), Try(1), Try(1)]), 1_000_000);
}
