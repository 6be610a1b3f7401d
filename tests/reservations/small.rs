//! All sequences of a few calls on small windows.

use super::replay::{Op, replay};

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
