//! The theorem, and the fault of each mutant.

use crate::explore::{Explored, explore};

use super::*;

fn ask(place: usize, permits: i8) -> Op {
    Op::Ask { place, tenant: 0, permits }
}

fn another(place: usize, permits: i8) -> Op {
    Op::Ask { place, tenant: 1, permits }
}

const NUMBERS: Numbers = Numbers { common: (2, 6), own: [(1, 2), (1, 2)] };

fn of(ops: &[&[Op]]) -> Shares {
    let ops = ops.iter().map(|ops| ops.to_vec()).collect();
    Shares { numbers: NUMBERS, run: 2, ops, mutant: None }
}

fn holds(model: &Shares) -> Explored {
    let explored = explore(model).unwrap();
    println!("shares {model:?}: {explored:?}");
    assert!(explored.counts.grants > 0 && explored.counts.denials > 0);
    explored
}

#[test]
fn calls_that_overlap_keep_to_the_bound_and_the_lag() {
    for ops in [
        [&[ask(0, 2), ask(0, 1)][..], &[ask(1, 2), ask(1, 2)], &[ask(0, 1), ask(1, 1)]],
        [&[ask(0, 1), ask(0, 2)][..], &[ask(0, 1), ask(0, 1)], &[ask(1, 2), ask(1, 1)]],
        [&[ask(0, 2), ask(0, 2)][..], &[ask(1, 1), ask(0, 1)], &[ask(1, 1), ask(1, 1)]],
    ] {
        assert!(holds(&of(&ops)).states > 10_000);
    }
}

#[test]
fn tenants_that_come_and_go_keep_to_the_bound() {
    for ops in [
        [&[ask(0, 2), ask(0, 1)][..], &[another(0, 2), another(0, 1)], &[ask(1, 2), ask(1, 1)]],
        [&[another(0, 1), ask(1, 2)][..], &[ask(0, 2), another(0, 2)], &[another(1, 1), ask(1, 1)]],
    ] {
        assert!(holds(&of(&ops)).states > 10_000);
    }
}

#[test]
fn a_change_of_all_numbers_keeps_to_the_bound() {
    let changes = [
        // More for one, and less for the other.
        Numbers { common: (2, 5), own: [(2, 4), (0, 1)] },
        Numbers { common: (2, 5), own: [(0, 1), (2, 3)] },
        // Less for all, more for all.
        Numbers { common: (1, 3), own: [(1, 1), (0, 2)] },
        Numbers { common: (3, 8), own: [(2, 4), (1, 3)] },
        // A smaller burst for all, and the others' as they are.
        Numbers { common: (2, 4), own: [(1, 2), (1, 2)] },
        // Another sum alone.
        Numbers { common: (2, 6), own: [(1, 1), (1, 1)] },
        Numbers { common: (2, 5), own: [(1, 3), (1, 2)] },
    ];
    for (which, numbers) in changes.into_iter().enumerate() {
        let [one, other] = [[ask(0, 1), ask(1, 2)], [ask(0, 2), ask(1, 1)]][which % 2];
        assert!(holds(&of(&[&[Op::Change(numbers)], &[one; 2], &[other; 2]])).states > 10_000);
    }
}

#[test]
fn every_rule_of_shares_is_needed() {
    use Mutant::*;

    let wide = |ops: &[&[Op]]| Shares { numbers: Numbers { common: (2, 8), ..NUMBERS }, ..of(ops) };
    let still = |ops: &[&[Op]]| Shares { run: 0, ..wide(ops) };
    let numbers = |own| Numbers { common: (2, 8), own };
    let raises: &[Op] = &[Op::Change(numbers([(1, 3), (1, 2)]))];
    let lowers: &[Op] = &[Op::Change(numbers([(1, 1), (1, 1)]))];
    // With the length of the shortest run to the fault.
    for (mutant, model, steps) in [
        (NoFloor, still(&[&[ask(0, 5), ask(0, 2)], &[ask(1, 2)]]), 11),
        (FloorMissesOne, still(&[&[ask(0, 6), ask(0, 2)], &[ask(1, 2)]]), 11),
        (CommonLater, of(&[&[ask(0, 1); 4], &[ask(1, 2), ask(1, 1), ask(1, 1)]]), 26),
        (PaysBack, still(&[&[ask(0, 2), ask(0, 1)]]), 8),
        (AsksForAssured, of(&[&[ask(0, 2), ask(0, 1)], &[ask(1, 2), ask(1, 1)]]), 8),
        (BorrowsByStore, still(&[&[ask(0, 3), ask(0, 2)], &[ask(1, 3), ask(1, 2)]]), 16),
        (EvictsEarly, still(&[&[ask(1, 4), ask(0, 2)], &[another(0, 2), ask(1, 2)]]), 14),
        (FloorFirst, wide(&[raises, &[ask(1, 4), ask(1, 2)], &[ask(0, 3)]]), 16),
        (RaisesFirst, wide(&[raises, &[ask(1, 4), ask(1, 2)], &[ask(0, 3)]]), 13),
        (LowersLast, still(&[lowers, &[ask(0, 6), ask(0, 2)], &[ask(1, 2)]]), 14),
        (RaiseFills, still(&[raises, &[ask(0, 4), ask(0, 3)], &[ask(1, 2)]]), 16),
    ] {
        let model = Shares { mutant: Some(mutant), ..model };
        let fault = match mutant {
            PaysBack => "an own bucket is in debt",
            AsksForAssured => "a share is refused",
            BorrowsByStore => "more than the bound",
            _ => "the common bucket is in debt",
        };
        match explore(&model) {
            Ok(explored) => panic!("{mutant:?} is not caught in {} states", explored.states),
            Err(trace) => {
                assert_eq!(
                    (trace.fault.as_str(), trace.steps()),
                    (fault, steps),
                    "{mutant:?}: {trace:?}"
                );
            }
        }
    }
}
