//! The theorems, and the fault of each mutant.

use super::*;

use Visit::{Force, One, Try};

const fn both(permits: i8) -> Visit {
    Visit::Both { permits, is_polled: true }
}

const UNPOLLED: Visit = Visit::Both { permits: 1, is_polled: false };

/// Two buckets of two that are empty.
fn pair(run: i8, visits: &[Visit]) -> Pair {
    Pair { cap: 2, run, slack: 0, drops: false, visits: visits.to_vec(), flaw: None }
}

fn dropped(run: i8, visits: &[Visit]) -> Pair {
    Pair { drops: true, ..pair(run, visits) }
}

fn forced(cap: i8, visits: &[Visit]) -> Pair {
    Pair { cap, slack: 1, ..pair(3, visits) }
}

fn holds(scene: &Pair, at_least: usize) -> Explored {
    let explored = explore_with_goal(scene).unwrap();
    println!("waiting for both {:?}: {explored:?}", scene.visits);
    assert!(explored.states > at_least && explored.counts.grants > 0);
    explored
}

#[test]
fn a_waiter_for_both_is_granted_by_both_or_neither_and_in_order() {
    holds(&pair(3, &[both(1), One(0, 2)]), 3_500);
    holds(&dropped(3, &[both(1), both(2)]), 6_000);
    holds(&pair(2, &[both(2), One(0, 1), One(1, 1)]), 50_000);
    holds(&pair(3, &[both(2), One(0, 1), Try(1, 1)]), 50_000);
    holds(&dropped(2, &[both(1), One(0, 1), Try(1, 1)]), 50_000);
    holds(&pair(3, &[both(1), both(1), Try(0, 1)]), 30_000);
}

#[test]
fn a_waiter_for_both_that_nobody_polls_stalls_nobody() {
    holds(&pair(2, &[UNPOLLED, One(0, 1), Try(1, 1)]), 12_000);
    holds(&pair(2, &[UNPOLLED, One(0, 1), One(1, 1)]), 30_000);
}

#[test]
fn beside_force_a_half_charge_is_taken_back_or_spent() {
    let explored = holds(&forced(2, &[both(2), Force(0, 1), Force(1, 1)]), 40_000);
    assert!(explored.counts.given_back > 0 && explored.counts.lost > 0);
    holds(&forced(1, &[both(1), Force(0, 1), Force(1, 1)]), 54_000);
    holds(&forced(2, &[both(2), Force(1, 1), Try(0, 1)]), 30_000);
}

#[cfg(sluicegate_deep)]
#[test]
fn larger_scenes_of_both_hold_in_full() {
    holds(&pair(3, &[both(2), One(0, 1), One(1, 1)]), 140_000);
    holds(&dropped(2, &[both(1), both(1), One(0, 1)]), 1);
    holds(&pair(2, &[both(1), both(1), One(0, 1), Try(1, 1)]), 1);
    holds(&dropped(2, &[both(2), One(0, 1), One(1, 1)]), 1);
}

#[test]
fn every_flaw_of_waiting_for_both_is_caught() {
    use Flaw::*;
    for (flaw, scene, fault) in [
        (JoinsOneByOne, pair(2, &[both(1), both(1)]), STALL),
        (LocksAsItLikes, pair(2, &[both(1), both(1)]), STALL),
        (WaitsForOther, pair(2, &[both(1), One(1, 1)]), STALL),
        (NobodyReaches, pair(2, &[UNPOLLED, One(0, 1)]), STALL),
        (ChargesFirst, pair(2, &[both(1), Force(1, 1)]), STALL),
        (OpensBetween, pair(2, &[both(1), Try(0, 1)]), OVERTAKES),
        (TakesBackBlindly, forced(1, &[both(1), Force(0, 1), Force(1, 1)]), LEVEL),
    ] {
        let scene = Pair { slack: 1, ..scene };
        holds(&scene, 1);
        let trace = explore_with_goal(&Pair { flaw: Some(flaw), ..scene }).unwrap_err();
        assert!(trace.fault.contains(fault), "{flaw:?}: {trace:?}");
    }
}
