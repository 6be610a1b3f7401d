//! Keys of different capacities in one table, whose words all live by the largest; and
//! one key that is asked under two, whose bound is the larger.

use super::matrix::*;
use super::*;

const SMALL: Key = key(1).tier(1);
const LARGE: Key = key(1).tier(2);
const NEXT_SMALL: Key = key(2).tier(1);
const NEXT_LARGE: Key = key(2).tier(2);

const fn one(key: Key) -> Op {
    Op::Take(key, 1)
}

const fn two(key: Key) -> Op {
    Op::Take(key, 2)
}

const PROGRAMS: [&[&[Op]]; 8] = [
    &[&[one(SMALL), one(SMALL)], &[two(NEXT_LARGE), one(SMALL)]],
    &[&[one(SMALL), one(NEXT_LARGE)], &[one(SMALL), two(NEXT_LARGE)]],
    &[&[one(NEXT_SMALL), two(LARGE)], &[one(LARGE), one(NEXT_SMALL)]],
    &[&[one(SMALL), one(LARGE)], &[two(LARGE), one(SMALL)]],
    &[&[one(SMALL), two(LARGE)], &[one(NEXT_LARGE), one(SMALL)]],
    &[&[one(SMALL)], &[one(SMALL)], &[two(NEXT_LARGE)]],
    &[&[two(LARGE)], &[one(LARGE)], &[one(NEXT_SMALL)]],
    &[&[one(SMALL)], &[two(LARGE)], &[one(LARGE)]],
];

/// Readings are late by up to `skew`.
fn scenes(
    (cap, band, until): (i8, i8, i8),
    skew: i8,
    programs: &[&[&[Op]]],
) -> impl Iterator<Item = Scene> {
    let (old, mark) = (stale(cap, 2 * skew + band), Word::marker(1, 1 - cap));
    let tables = [
        [EMPTY, EMPTY],
        [other(old), EMPTY],
        [other(old), another(0)],
        [other(0), another(old)],
        [other(old), Word::charged(1, 0)],
        [other(old), Word::charged(1, old)],
        [another(old), mark],
        [mark, mark],
        [Word::charged(1, -1), Word::charged(2, -1)],
    ];
    tables.into_iter().flat_map(move |table| {
        programs.iter().map(move |programs| {
            let scene = Scene::new(2, cap, until, &table).threads(programs);
            Scene { band, skew, slack: skew, ..scene }
        })
    })
}

#[test]
fn tiers_hold() {
    all_hold(scenes((2, 2, 2), 0, &PROGRAMS[..5]));
    all_hold(scenes((3, 1, 1), 0, &PROGRAMS));
    all_hold(scenes((2, 2, 1), 1, &PROGRAMS[..5]));
}

#[test]
#[cfg(sluicegate_deep)]
fn tiers_hold_in_full() {
    for cap in [2, 3] {
        for band in [1, cap] {
            all_hold(scenes((cap, band, 3), 0, &PROGRAMS));
            all_hold(scenes((cap, band, 2), 1, &PROGRAMS[..5]));
        }
    }
}
