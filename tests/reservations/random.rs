//! Long random sequences of calls, and all sequences of a few calls on small windows.

use proptest::collection::vec;
use proptest::prelude::*;

use super::replay::{Op, replay};
use crate::support::cases::cases;

fn op(limit: u64, length: u64) -> impl Strategy<Value = Op> {
    let permits = 1..=limit + 1;
    let within = 1..=limit;
    prop_oneof![
        3 => (0..2 * length).prop_map(Op::Advance),
        3 => permits.clone().prop_map(Op::Take),
        1 => within.clone().prop_map(Op::UpTo),
        4 => permits.clone().prop_map(Op::Reserve),
        1 => (permits, 0..3 * length).prop_map(|(permits, within)| Op::ReserveWithin(permits, within)),
        3 => (0..4_usize).prop_map(Op::Cancel),
        2 => within.clone().prop_map(Op::Estimate),
        2 => (0..3_usize).prop_map(Op::Settle),
        1 => (1..=3 * limit).prop_map(Op::Overdraw),
        1 => within.prop_map(Op::Limit),
        1 => Just(Op::Reset),
    ]
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn every_answer_is_that_of_the_reference(
        (limit, length, ops) in (1..9_u64, 5..25_u64).prop_flat_map(|(limit, length)| {
            (Just(limit), Just(length), vec(op(limit, length), 1..60))
        }),
        windows in 0..5_u64,
        part in 0..25_u64,
        start in 0..1_000_u64,
    ) {
        let ahead = windows * length + part % length + 1;
        replay(limit, (length, ahead), start, &ops);
    }
}

/// Replays all sequences of `depth` of these calls.
fn all(ops: &[Op], depth: u32, mut run: impl FnMut(&[Op])) {
    let mut chosen = Vec::new();
    for number in 0..ops.len().pow(depth) {
        chosen.clear();
        let mut rest = number;
        for _ in 0..depth {
            chosen.push(ops[rest % ops.len()]);
            rest /= ops.len();
        }
        run(&chosen);
    }
}

#[test]
fn every_sequence_of_six_calls_answers_as_the_reference_does() {
    use Op::{Advance, Cancel, Reserve, Take};

    let ops = [Advance(4), Take(1), Reserve(1), Reserve(2), Cancel(0), Cancel(1)];
    for limit in 1..=2 {
        all(&ops, 6, |ops| replay(limit, (4, 9), 41, ops));
    }
    let ops = [Advance(3), Take(2), Reserve(1), Reserve(2), Cancel(0), Cancel(1)];
    all(&ops, 6, |ops| replay(3, (4, 8), 41, ops));
}

#[test]
fn every_sequence_of_five_calls_and_changes_answers_as_the_reference_does() {
    use Op::{Advance, Cancel, Estimate, Limit, Overdraw, Reserve, Reset, Settle, Take, UpTo};

    let changes =
        [Advance(4), Limit(1), Limit(3), Reserve(1), Reserve(2), Take(1), Cancel(0), Reset];
    all(&changes, 5, |ops| replay(2, (4, 9), 41, ops));
    let settled = [
        Advance(4),
        Estimate(1),
        Estimate(2),
        Settle(0),
        Overdraw(1),
        Overdraw(3),
        Reserve(1),
        UpTo(2),
    ];
    all(&settled, 5, |ops| replay(2, (4, 9), 41, ops));
    let both = [
        Advance(4),
        Estimate(1),
        Settle(0),
        Settle(1),
        Overdraw(2),
        Reserve(1),
        Cancel(0),
        Cancel(1),
    ];
    all(&both, 5, |ops| replay(2, (4, 9), 41, ops));
}
