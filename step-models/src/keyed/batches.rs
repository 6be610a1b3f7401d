//! Takes of two keys by one reading of the clock, which must be no older than the last
//! load by more than levels may be ahead. That it is no older than the first is not
//! enough: what is loaded later may be ahead of it by any time.

use super::matrix::*;
use super::*;

const TAKE: Op = take(1, 1);
const HOME: Key = key(1).at(0, 1);
const AWAY: Key = key(1).at(1, 0);

const fn both(first: Key, second: Key) -> Op {
    Op::Batch(first, 1, second, 1)
}

/// Two buckets of one slot, or one of two.
fn scenes(width: u8, until: i8, is_full: bool) -> Vec<Scene> {
    let mut scenes = Vec::new();
    let second = if width == 1 { key(2).at(1, 1) } else { key(2) };
    let other_take = Op::Take(second, 1);
    for cap in [1, 2] {
        let (old, gone) = (1 - cap, stale(cap, 1));
        let tables = [
            [Word::charged(1, old), Word::charged(2, old)],
            [Word::charged(1, 0), Word::charged(2, old)],
            [Word::charged(1, old), EMPTY],
            [EMPTY, Word::charged(2, -cap)],
            [other(gone), Word::charged(2, -cap)],
            [Word::charged(1, -cap), other(gone)],
        ];
        let mut programs: Vec<Vec<&[Op]>> = Vec::new();
        let pair = [both(key(1), second), TAKE];
        let back = [both(second, key(1))];
        let same = [both(key(1), key(1)), TAKE];
        let all = [Op::Batch(key(1), cap, second, cap)];
        let full = [Op::Take(key(1), cap), Op::Take(second, cap)];
        let takes = [TAKE, other_take];
        let takes_back = [other_take, TAKE];
        let homes = [both(HOME, AWAY)];
        let aways = [both(AWAY, HOME)];
        let away_takes = [Op::Take(AWAY, 1), Op::Take(HOME, 1)];
        programs.push(vec![&pair[..1], &takes]);
        programs.push(vec![&pair[..1], &back]);
        programs.push(vec![&pair, &takes_back]);
        programs.push(vec![&same[..1], &takes]);
        programs.push(vec![&same, &pair[..1]]);
        programs.push(vec![&all, &full]);
        programs.push(vec![&homes, &away_takes]);
        programs.push(vec![&homes, &aways]);
        if is_full {
            programs.push(vec![&pair[..1], &takes[..1], &takes[1..]]);
        }
        for table in tables {
            let both = [table[0], table[1], other(gone), EMPTY];
            for programs in &programs {
                let slots = if width == 1 { &both[..2] } else { &both };
                scenes.push(Scene::new(width, cap, until, slots).threads(programs));
            }
        }
    }
    scenes
}

/// Readings of takes that are late by `skew`, and those of batches that are as late
/// as this.
fn late(width: u8, until: i8, skew: i8, batch_reads: BatchReads) -> impl Iterator<Item = Scene> {
    let late = move |scene| Scene { batch_reads, skew, slack: 1, ..scene };
    scenes(width, until, false).into_iter().map(late)
}

#[test]
fn batches_hold() {
    all_hold(scenes(1, 2, false));
    all_hold(late(1, 1, 1, BatchReads::AfterLoads));
    all_hold(late(1, 2, 0, BatchReads::UntilLast(1)));
}

#[test]
#[cfg(sluicegate_deep)]
fn batches_hold_in_full() {
    for width in [1, 2] {
        all_hold(scenes(width, 3, true));
        all_hold(late(width, 3, 1, BatchReads::AfterLoads));
        all_hold(late(width, 4, 0, BatchReads::UntilLast(1)));
        all_hold(late(width, 4, 1, BatchReads::UntilLast(1)));
    }
}

fn some_exceed(mut scenes: impl Iterator<Item = Scene>) -> bool {
    let exceeds = |scene| {
        let scene = Scene { is_unique: false, ..scene };
        explore(&scene).is_err_and(|trace| trace.fault.contains("exceeds its capacity"))
    };
    scenes.any(exceeds)
}

#[test]
fn a_batch_reads_the_clock_after_all_loads() {
    let first = scenes(1, 2, false).into_iter().map(|scene| scene.mutate(&[Mutant::ClockFirst]));
    assert!(some_exceed(first));
    assert!(some_exceed(late(1, 4, 0, BatchReads::UntilFirst(1))));
}
