//! The theorem about the calls, and the fault of each mutant.

use crate::explore::{Explored, explore};

use super::*;

/// Two threads, each with any calls.
const TWO: Settle = Settle {
    cap: 2,
    lots: 2,
    width: 1,
    run: 3,
    threads: 2,
    takes: 3,
    permits: &[1, 2],
    settles: 2,
    forces: 0,
    changes: 0,
    lag: 0,
    debt: 0,
    excess: 0,
    rules: Rules { any_falls: false, may_move: false },
    mutant: None,
};

/// The rules of the reference.
const LOOSE: Rules = Rules { any_falls: true, may_move: true };

fn holds(model: &Settle) -> Explored {
    let explored = explore(model).unwrap();
    println!("settle {model:?}: {explored:?}");
    assert!(explored.counts.grants > 0 && explored.counts.given_back > 0);
    assert!(explored.counts.lost > 0 && explored.counts.denials > 0);
    explored
}

fn exceeds(model: Settle) {
    let trace = explore(&model).expect_err(&format!("{:?}", model.mutant));
    assert!(trace.fault.contains("more than the bound"), "{:?}: {trace:?}", model.mutant);
}
/// Two bands of two units.
const WIDE: Settle = Settle { cap: 4, width: 2, takes: 4, permits: &[2, 4], ..TWO };

const CHANGED: Settle = Settle { changes: 1, ..TWO };
const IN_DEBT: Settle = Settle { takes: 2, settles: 1, forces: 2, debt: 2, excess: 2, ..TWO };

#[test]
fn what_is_given_back_with_its_birthday_is_kept_within_the_bound() {
    assert!(holds(&TWO).states > 90_000);
    assert!(holds(&Settle { takes: 3, ..WIDE }).states > 300_000);
    // More than two fill the lots, and fewer than there are units.
    let wider = Settle { cap: 3, width: 2, ..TWO };
    assert!(holds(&wider).states > 100_000);
    assert!(explore(&Settle { cap: 3, ..TWO }).unwrap().states > 100_000);
    assert!(explore(&Settle { threads: 3, settles: 1, run: 2, ..TWO }).unwrap().states > 25_000);
}

/// All that the clock is needed for is a reading between the call and its return; or not even
/// that.
#[test]
fn late_readings_of_the_clock_do_no_harm_to_birthdays() {
    assert!(holds(&Settle { lag: 2, ..TWO }).states > 100_000);
}

/// Another checker of these rules found this many states, and there is one to begin with.
#[test]
fn looser_rules_of_the_same_size_hold_too() {
    let explored = holds(&Settle { takes: 4, rules: LOOSE, ..TWO });
    assert_eq!(explored.states, 488_356 + 1);
}

#[test]
fn what_was_used_beyond_the_estimate_exceeds_the_bound_by_no_more_than_the_debt() {
    let explored = explore(&IN_DEBT).unwrap();
    assert!(explored.states > 500_000 && explored.counts.given_back > 0);
    exceeds(Settle { excess: 1, ..IN_DEBT });
}

#[test]
fn a_change_voids_what_was_given_back_before_it_and_what_is_later() {
    assert!(holds(&CHANGED).states > 900_000);
}

#[test]
fn every_mutant_of_settlement_is_caught() {
    use Mutant::*;

    for mutant in [NoExpiry, Uncut, TopBand, ClaimByStore, InDebt, NoSecondLook, KeepsClaims] {
        exceeds(Settle { mutant: Some(mutant), ..TWO });
    }
    for mutant in [BandEnd, IntoYounger, PutByStore] {
        exceeds(Settle { mutant: Some(mutant), ..WIDE });
    }
    for mutant in [NoVoid, VoidLate] {
        exceeds(Settle { mutant: Some(mutant), ..CHANGED });
    }
}

#[cfg(sluicegate_deep)]
#[test]
fn longer_programs_of_settlement_keep_the_bound() {
    holds(&Settle { takes: 3, permits: &[1, 2, 4], run: 4, ..WIDE });
    holds(&Settle { lots: 3, cap: 3, takes: 4, permits: &[1, 3], ..TWO });
    holds(&Settle { changes: 2, ..TWO });
    holds(&Settle { takes: 3, settles: 2, ..IN_DEBT });
}
