//! The theorem, and the fault of each mutant.

use crate::explore::{Explored, explore};

use super::*;

use Op::{Beyond, Receipt, Reset, Try};

fn of(ops: &[Op]) -> Reserve {
    Reserve { limit: 2, run: 1, ops: ops.to_vec(), checks_counts: true, mutant: None }
}

fn holds(model: &Reserve) -> Explored {
    let explored = explore(model).unwrap();
    println!("reserve {model:?}: {explored:?}");
    assert!(explored.counts.grants > 0);
    explored
}

#[test]
fn no_window_has_more_than_its_limit_reserved_and_granted() {
    for ops in [
        [Op::Reserve(2), Op::Reserve(1), Try(1), Try(2)],
        [Op::Reserve(1), Op::Reserve(2), Receipt(1), Try(1)],
        [Op::Reserve(2), Receipt(2), Receipt(1), Try(1)],
        [Op::Reserve(1), Op::Reserve(1), Beyond(3), Try(1)],
        [Op::Reserve(2), Beyond(1), Beyond(4), Receipt(1)],
    ] {
        let explored = holds(&Reserve { run: 2, ..of(&ops) });
        assert!(explored.states > 10_000 && explored.counts.given_back > 0);
    }
}

#[test]
fn nothing_is_cancelled_over_a_reset() {
    for ops in [
        [Op::Reserve(2), Op::Reserve(1), Try(2), Reset],
        [Op::Reserve(2), Beyond(2), Try(1), Reset],
        [Op::Reserve(1), Try(1), Reset, Reset],
    ] {
        let explored = holds(&of(&ops));
        assert!(explored.states > 10_000 && explored.counts.lost > 0);
        assert!(explored.counts.given_back > 0);
    }
}

#[test]
fn every_rule_of_reservations_is_needed() {
    use Mutant::*;

    let one = |ops: &[Op]| Reserve { limit: 1, ..of(ops) };
    let still = |ops: &[Op]| Reserve { run: 0, ..one(ops) };
    // With the length of the shortest run to the fault.
    for (mutant, model, steps) in [
        (ReservesByStore, still(&[Op::Reserve(1), Try(1)]), 8),
        (ReservesUnfit, still(&[Op::Reserve(1), Op::Reserve(1)]), 8),
        (NextInPlace, one(&[Try(1), Op::Reserve(1), Op::Reserve(1)]), 12),
        (GrantsAhead, Reserve { run: 0, ..of(&[Try(2), Op::Reserve(1), Try(1)]) }, 12),
        (GoesBack, one(&[Try(1), Op::Reserve(1), Try(1), Try(1)]), 12),
        (StaysBehind, one(&[Try(1), Op::Reserve(1), Try(1)]), 9),
        (CancelsBlindly, of(&[Op::Reserve(1), Try(2), Try(1)]), 16),
        (CancelsOverCount, of(&[Op::Reserve(1), Try(1), Try(2)]), 16),
        (CancelsTwice, of(&[Try(1), Op::Reserve(1), Try(2)]), 22),
        (AnyNumber, one(&[Op::Reserve(1), Try(1), Try(1)]), 23),
        (
            LowersByStore,
            Reserve { limit: 3, ..still(&[Op::Reserve(1), Try(1), Try(1), Try(2)]) },
            26,
        ),
        (NoNote, still(&[Op::Reserve(1), Reset, Try(1), Try(1)]), 23),
        (LooksFirst, still(&[Op::Reserve(1), Reset, Try(1), Try(1)]), 23),
        (ResetDoesNotWait, still(&[Op::Reserve(1), Reset, Try(1), Try(1)]), 23),
        (FillsOneMore, still(&[Beyond(2)]), 4),
        (FillsByStore, still(&[Beyond(1), Try(1)]), 8),
    ] {
        let whole = Reserve { checks_counts: false, ..model };
        holds(&whole);
        match explore(&Reserve { mutant: Some(mutant), ..whole }) {
            Ok(explored) => panic!("{mutant:?} is not caught in {} states", explored.states),
            Err(trace) => {
                assert!(trace.fault.contains("more than the limit"), "{mutant:?}: {trace:?}");
                assert_eq!(trace.steps(), steps, "{mutant:?}: {trace:?}");
            }
        }
    }
}
