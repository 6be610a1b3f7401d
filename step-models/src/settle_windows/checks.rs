//! The theorem about the counts, and the fault of each mutant.

use crate::explore::{Explored, explore};

use super::*;

use Op::{Ahead, Estimate, Receipt, Reset, Try, Unseen};

fn of(ops: &[Op]) -> Settle {
    Settle {
        limit: 2,
        is_sliding: false,
        most_beyond: 0,
        run: 1,
        ops: ops.to_vec(),
        checks_counts: true,
        mutant: None,
    }
}

fn sliding(ops: &[Op]) -> Settle {
    Settle { is_sliding: true, ..of(ops) }
}

fn holds(model: &Settle) -> Explored {
    let explored = explore(model).unwrap();
    println!("settle windows {model:?}: {explored:?}");
    assert!(explored.counts.grants > 0 && explored.counts.given_back > 0);
    explored
}

/// Several estimates, grants and receipts, also in windows that follow each other.
#[test]
fn the_count_of_a_window_is_its_charge() {
    for (ops, at_least) in [
        (&[Estimate(2), Estimate(1), Try(1)][..], 260_000),
        (&[Estimate(2), Receipt(1), Try(1)], 55_000),
        (&[Estimate(1), Receipt(1), Receipt(1)], 55_000),
    ] {
        let model = Settle { run: 2, most_beyond: 1, ..of(ops) };
        assert!(holds(&model).states > at_least);
        assert!(holds(&Settle { is_sliding: true, ..model }).states > at_least);
    }
    for of in [of, sliding] {
        assert!(holds(&of(&[Estimate(2), Receipt(1), Try(1), Try(1)])).states > 70_000);
    }
}

#[test]
fn nothing_is_given_back_over_a_reset_or_a_healing() {
    for (ops, at_least) in [
        (&[Estimate(2), Try(2), Reset][..], 50_000),
        (&[Estimate(1), Estimate(1), Reset], 290_000),
        (&[Estimate(2), Ahead(1), Try(1)], 60_000),
        (&[Estimate(1), Ahead(1), Reset], 40_000),
    ] {
        let model = Settle { run: 2, most_beyond: 1, ..of(ops) };
        assert!(holds(&model).states > at_least);
        assert!(holds(&Settle { is_sliding: true, ..model }).states > at_least);
    }
    for ops in [
        [Estimate(1), Try(1), Try(1), Reset],
        [Estimate(1), Try(1), Reset, Reset],
        [Estimate(1), Ahead(1), Try(1), Try(1)],
    ] {
        assert!(holds(&Settle { limit: 1, ..of(&ops) }).states > 40_000);
    }
}

#[test]
fn a_caller_that_leaves_the_line_takes_off_its_own_grant() {
    let model = Settle { run: 2, most_beyond: 1, ..of(&[Unseen(1), Estimate(2), Try(1)]) };
    assert!(holds(&model).states > 100_000);
    assert!(holds(&Settle { is_sliding: true, ..model }).states > 75_000);
    for ops in [[Unseen(1), Reset, Try(1), Try(1)], [Unseen(1), Estimate(1), Try(1), Reset]] {
        assert!(holds(&Settle { limit: 1, ..of(&ops) }).states > 25_000);
    }
}

#[cfg(sluicegate_deep)]
#[test]
fn longer_programs_of_settlements_of_windows_keep_the_counts() {
    for of in [of, sliding] {
        for ops in [
            [Estimate(2), Estimate(1), Receipt(1), Try(1)],
            [Estimate(2), Estimate(1), Try(2), Reset],
            [Estimate(2), Ahead(1), Try(1), Reset],
            [Unseen(1), Estimate(2), Receipt(1), Try(1)],
        ] {
            holds(&Settle { most_beyond: 1, ..of(&ops) });
        }
    }
}

#[test]
fn every_rule_of_settlement_is_needed() {
    use Mutant::*;

    let one = |ops: &[Op]| Settle { limit: 1, run: 0, ..of(ops) };
    for (mutant, model) in [
        (NoNote, one(&[Estimate(1), Reset, Try(1), Try(1)])),
        (NotesLate, one(&[Estimate(1), Reset, Try(1), Try(1)])),
        (NotesBegun, one(&[Estimate(1), Reset, Try(1), Try(1)])),
        (LooksFirst, one(&[Estimate(1), Reset, Try(1), Try(1)])),
        (ResetDoesNotWait, one(&[Estimate(1), Reset, Try(1), Try(1)])),
        (HealDoesNotWait, one(&[Estimate(1), Ahead(1), Try(1), Try(1)])),
        (HealUncounted, one(&[Estimate(1), Ahead(1), Try(1), Try(1)])),
        (EndsFirst, one(&[Estimate(1), Reset, Try(1), Try(1)])),
        (AnyNumber, Settle { run: 1, ..one(&[Estimate(1), Try(1), Try(1)]) }),
        (IntoPresent, Settle { run: 2, ..sliding(&[Estimate(1), Try(1), Try(2)]) }),
        (Uncut, of(&[Estimate(1), Try(1), Try(1), Try(1)])),
        (LowersByStore, of(&[Estimate(1), Try(1), Try(1), Try(1)])),
        (BeyondByStore, Settle { limit: 3, most_beyond: 1, ..of(&[Estimate(1), Try(2), Try(1)]) }),
        (RevertsBlindly, of(&[Receipt(1), Try(2), Try(2)])),
        (RevertsOverCount, of(&[Receipt(1), Try(1), Try(2)])),
        (UndoOverAChange, one(&[Unseen(1), Reset, Try(1), Try(1)])),
        (UndoLooksFirst, one(&[Unseen(1), Reset, Try(1), Try(1)])),
    ] {
        let whole = Settle { checks_counts: false, ..model };
        holds(&whole);
        match explore(&Settle { mutant: Some(mutant), ..whole }) {
            Ok(explored) => panic!("{mutant:?} is not caught in {} states", explored.states),
            Err(trace) => {
                assert!(trace.fault.contains("more than the limit"), "{mutant:?}: {trace:?}");
            }
        }
    }
}
