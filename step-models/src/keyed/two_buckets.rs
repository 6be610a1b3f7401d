//! A key that may be in either of two buckets, which any two keys of one fingerprint share
//! both or none of.

use super::matrix::*;
use super::*;

/// Keys of fingerprint 1, in buckets 0 and 1, with either as the home.
const HERE: Key = key(1).at(0, 1);
const THERE: Key = key(1).at(1, 0);
/// A key of fingerprint 2, which shares one bucket with them.
const STRANGER: Key = key(2).at(1, 2);
const STRANGER_BACK: Key = key(2).at(2, 1);
/// One that shares both.
const NEIGHBOUR: Key = key(2).at(1, 0);
/// A key of fingerprint 1 that shares only one bucket with them, which must not exist.
const ASTRAY: Key = key(1).at(2, 1).owned_by(3);

const fn one(key: Key) -> Op {
    Op::Take(key, 1)
}

const PAIRS: [&[&[Op]]; 6] = [
    &[&[one(HERE)], &[one(THERE)]],
    &[&[one(HERE), one(THERE)], &[one(THERE)]],
    &[&[one(HERE), one(STRANGER)], &[one(THERE)]],
    &[&[one(HERE), one(STRANGER)], &[one(STRANGER_BACK), one(THERE)]],
    &[&[one(HERE), one(NEIGHBOUR)], &[one(NEIGHBOUR), one(THERE)]],
    &[&[one(HERE), one(HERE)], &[one(THERE), one(THERE)]],
];

const TRIPLES: [&[&[Op]]; 3] = [
    &[&[one(HERE)], &[one(THERE)], &[one(STRANGER)]],
    &[&[one(HERE)], &[one(THERE)], &[one(HERE)]],
    &[&[one(HERE)], &[one(THERE)], &[one(NEIGHBOUR)]],
];

/// Three buckets of so many slots.
fn tables(width: u8, cap: i8) -> Vec<Vec<Word>> {
    let (old, mark) = (stale(cap, 1), Word::marker(1, 1 - cap));
    let full = other(0);
    let narrow: [[Word; 3]; 9] = [
        [EMPTY, EMPTY, EMPTY],
        [full, EMPTY, EMPTY],
        [other(old), EMPTY, full],
        [other(old), another(old), EMPTY],
        [full, other(old), another(old)],
        [other(old), Word::charged(1, old), full],
        [Word::charged(1, old), other(old), EMPTY],
        [mark, mark, EMPTY],
        [other(old), mark, EMPTY],
    ];
    if width == 1 {
        return narrow.iter().map(|table| table.to_vec()).collect();
    }
    let sparse = |[a, b, c]: &[Word; 3]| vec![*a, EMPTY, *b, other(old), *c, full];
    let dense = |[a, b, c]: &[Word; 3]| vec![full, *a, *b, another(0), *c, full];
    narrow.iter().map(sparse).chain(narrow.iter().map(dense)).collect()
}

fn scenes(
    (width, cap, until): (u8, i8, i8),
    placing: Placing,
    programs: &[&[&[Op]]],
) -> impl Iterator<Item = Scene> {
    tables(width, cap).into_iter().flat_map(move |table| {
        programs.iter().map(move |programs| {
            let scene = Scene::new(width, cap, until, &table).threads(programs);
            Scene { placing, ..scene }
        })
    })
}

#[test]
fn two_buckets_hold() {
    for cap in [1, 2] {
        all_hold(scenes((1, cap, 2), Placing::HomeFirst, &PAIRS[..4]));
        all_hold(scenes((1, cap, 1), Placing::Any, &PAIRS));
    }
    all_hold(scenes((1, 1, 1), Placing::Lowest, &PAIRS[..2]));
    all_hold(scenes((1, 1, 1), Placing::HomeFirst, &TRIPLES));
    all_hold(scenes((2, 1, 1), Placing::Any, &PAIRS[..2]));
}

#[test]
#[cfg(sluicegate_deep)]
fn two_buckets_hold_in_full() {
    for placing in [Placing::HomeFirst, Placing::Lowest, Placing::Any] {
        for cap in [1, 2] {
            all_hold(scenes((1, cap, 3), placing, &PAIRS));
            all_hold(scenes((1, cap, 2), placing, &TRIPLES));
            all_hold(scenes((2, cap, 2), placing, &PAIRS));
        }
        all_hold(scenes((2, 1, 2), placing, &TRIPLES));
    }
}

fn how_many_fail(scenes: impl Iterator<Item = Scene>, mutant: Mutant) -> usize {
    let fails = |scene: Scene| {
        let scene = Scene { is_unique: false, ..scene }.mutate(&[mutant]);
        explore(&scene).is_err_and(|trace| trace.fault.contains("exceeds its capacity"))
    };
    scenes.map(fails).filter(|&fails| fails).count()
}

#[test]
fn both_buckets_are_looked_at_again() {
    assert!(how_many_fail(scenes((1, 1, 1), Placing::HomeFirst, &PAIRS), Mutant::RescansHome) > 0);
}

#[test]
fn the_clock_is_read_after_both_buckets() {
    assert!(how_many_fail(scenes((1, 2, 3), Placing::HomeFirst, &PAIRS), Mutant::ClockBetween) > 0);
}

/// Two keys of one fingerprint that share one bucket: the first finds the other's word in
/// its home, and has its own in the other bucket.
#[test]
fn keys_of_one_print_share_both_buckets_or_none() {
    let all = Op::Take(THERE, 3);
    let table = [EMPTY, other(stale(3, 1)), other(0)];
    let scene = |print| {
        let programs: [&[Op]; 2] = [&[all, Op::Take(THERE, 2)], &[one(print)]];
        Scene { is_unique: false, ..Scene::new(1, 3, 1, &table).threads(&programs) }
    };
    let trace = explore(&scene(ASTRAY)).expect_err("is caught");
    assert!(trace.fault.contains("owner 1 exceeds its capacity"), "{trace:?}");
    all_hold([scene(HERE), scene(STRANGER_BACK)]);
}
