//! The theorems, and the fault of each mutant.

use crate::explore::{Explored, explore};

use super::*;

fn call(tenant: usize, permits: i16) -> Call {
    Call { tenant, permits, may_leave: false }
}

fn leaves(tenant: usize, permits: i16) -> Call {
    Call { may_leave: true, ..call(tenant, permits) }
}

fn of(calls: &[&[Call]]) -> Tenants {
    let calls = calls.iter().map(|calls| calls.to_vec()).collect();
    Tenants { weights: [1, 2, 1, 1], places: 3, run: 8, calls, mutant: None }
}

fn holds(model: &Tenants) -> Explored {
    let explored = explore(model).unwrap();
    println!("tenants {model:?}: {explored:?}");
    assert!(explored.counts.grants > 0);
    explored
}

#[test]
fn tenants_have_their_parts_and_nobody_starves() {
    for calls in [
        [&[call(0, 1); 3][..], &[call(1, 2), call(1, 1), call(1, 2)], &[call(2, 3), call(2, 1)]],
        [&[call(0, 3), call(0, 1)][..], &[call(0, 1), call(0, 2)], &[call(1, 1); 4]],
        [&[call(0, 2); 2][..], &[call(1, 3), call(1, 3)], &[call(1, 1), call(0, 1)]],
    ] {
        assert!(holds(&of(&calls)).states > 500);
    }
}

#[test]
fn those_that_leave_were_not_charged() {
    for calls in [
        [&[leaves(0, 1); 3][..], &[call(1, 2), leaves(1, 1), call(1, 2)], &[leaves(2, 3); 2]],
        [&[leaves(0, 3), call(0, 1)][..], &[leaves(0, 1), call(0, 2)], &[leaves(1, 1); 3]],
    ] {
        let explored = holds(&of(&calls));
        assert!(explored.states > 1_000 && explored.counts.given_back > 0);
    }
}

#[test]
fn tenants_without_a_place_share_that_of_the_strangers() {
    for places in 0..=2 {
        let calls: [&[Call]; 4] = [
            &[call(0, 1), call(2, 1), call(3, 1)],
            &[call(1, 2), leaves(1, 1)],
            &[call(0, 2), call(2, 1)],
            &[leaves(3, 1)],
        ];
        assert!(holds(&Tenants { places, ..of(&calls) }).states > 5_000);
    }
}

#[test]
fn every_rule_of_a_divided_line_is_needed() {
    use Mutant::*;

    let few = |places, model: Tenants| Tenants { places, ..model };
    let even = |model: Tenants| Tenants { weights: [1; TENANTS], run: 12, ..model };
    let division = "the division";
    let order = "a tenant's callers in another order";
    let others = "others were granted too much before it";
    let pair = || of(&[&[call(0, 1); 5], &[call(0, 1); 5], &[call(1, 1); 5], &[call(1, 1); 5]]);
    let ones: &[Call] = &[call(1, 1); 6];
    let comes_and_goes: &[Call] =
        &[leaves(0, 1), leaves(0, 1), leaves(0, 1), leaves(0, 1), call(0, 1)];
    for (mutant, model, fault) in [
        (BeginsAtOwnPace, even(of(&[&[call(0, 1); 5], &[call(0, 1); 5], ones, ones])), division),
        (ForgetsAtOnce, even(of(&[&[call(0, 1); 3], &[call(0, 1); 2], &[call(1, 3); 4]])), others),
        (
            PlaceForAll,
            few(1, even(of(&[&[call(0, 1); 2], &[call(1, 1), call(3, 1)], &[call(2, 1)]]))),
            "it waited for too many",
        ),
        (ChargesWhoStands, even(of(&[comes_and_goes, ones, ones])), division),
        (LeavesFirst, of(&[&[leaves(0, 1)], &[call(1, 1)]]), "nobody is the first"),
        (ServesWhoFits, of(&[&[call(0, 1); 5], &[call(0, 1); 5], &[call(2, 3)]]), division),
        (NewestOfTenant, of(&[&[call(0, 1)], &[call(0, 1)], &[call(0, 1)]]), order),
        (IgnoresWeight, pair(), division),
        (ChargesCalls, even(of(&[&[call(0, 3); 4], &[call(0, 3); 4], ones, ones])), division),
        (StaysWithTenant, pair(), division),
        (
            StrangersMove,
            few(
                2,
                of(&[&[call(0, 1)], &[call(2, 1); 2], &[call(1, 2), call(1, 1)], &[call(1, 1)]]),
            ),
            order,
        ),
    ] {
        let model = Tenants { mutant: Some(mutant), ..model };
        match explore(&model) {
            Ok(explored) => panic!("{mutant:?} is not caught in {} states", explored.states),
            Err(trace) => {
                assert_eq!(trace.fault, fault, "{mutant:?}: {trace:?}");
            }
        }
    }
}
