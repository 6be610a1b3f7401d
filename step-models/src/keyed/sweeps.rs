//! Sweeps: of a whole bucket, and of a slot on the way of a take that finds no word of
//! its key. They leave a tombstone, never nothing: a slot that is empty again can get a marker
//! by a reading from before its first one. That marker may be the same as one that another
//! thread means to charge, which has looked at the other slots long ago.

use super::matrix::{EMPTY, another, other, stale};
use super::*;

const TAKE: Op = take(1, 1);
const TWO: Op = take(1, 2);
const OTHER: Op = take(2, 1);
const SWEEP: Op = Op::Sweep(key(1));
/// Keys of one bucket each; and one of both.
const HOME: Key = key(1).at(0, 0);
const FAR: Key = key(2).at(1, 1);
const HERE: Key = key(1).at(0, 1);
const THERE: Key = key(1).at(1, 0);

const MODULUS: i8 = 5;

const fn also(key: Key, slot: u8) -> Op {
    Op::TakeAndSweep(key, 1, slot)
}

fn is_caught(scenes: impl IntoIterator<Item = Scene>, mutant: Mutant) -> bool {
    scenes.into_iter().any(|scene| {
        let scene = Scene { is_unique: false, ..scene }.mutate(&[mutant]);
        explore(&scene).is_err_and(|trace| trace.fault.contains("exceeds its capacity"))
    })
}

fn stale_placings(until: i8) -> impl Iterator<Item = Scene> {
    [1, 2].into_iter().map(move |cap| {
        let scene = Scene::new(2, cap, until, &[other(stale(cap, 1)), EMPTY]);
        scene.threads(&[&[TAKE], &[TAKE], &[SWEEP, TAKE, take(1, cap)]])
    })
}

#[test]
fn a_slot_is_never_empty_again() {
    all_hold(stale_placings(2));
    assert!(stale_placings(2).all(|scene| is_caught([scene], Mutant::SweepsToNothing)));
}

/// Every take looks at a slot of the other bucket before it puts its marker.
fn on_the_way(until: i8) -> Vec<Scene> {
    let programs: [&[&[Op]]; 4] = [
        &[&[also(HOME, 1), also(HOME, 1)], &[also(FAR, 0), also(FAR, 0)]],
        &[&[also(HERE, 1), Op::Take(HERE, 1)], &[also(THERE, 0), also(FAR, 0)]],
        &[&[also(HOME, 1)], &[also(FAR, 0), also(HOME, 1)], &[Op::Take(FAR, 1)]],
        &[
            &[Op::Take(HERE, 1)],
            &[also(THERE, 0)],
            &[Op::Sweep(key(1).at(1, 1)), Op::Take(THERE, 1)],
        ],
    ];
    let mut scenes = Vec::new();
    for cap in [1, 2] {
        let (old, mark) = (stale(cap, 1), 1 - cap);
        for table in [
            [EMPTY, EMPTY],
            [other(old), EMPTY],
            [EMPTY, other(old)],
            [other(old), another(old)],
            [Word::charged(1, old), Word::charged(2, old)],
            [Word::marker(1, mark), Word::marker(2, mark)],
        ] {
            // A key of one bucket must not be in the other.
            let is_home = table[0].print() != 1 || table[1].print() != 1;
            let programs = programs.iter().filter(|list| is_home && (until < 2 || list.len() < 3));
            for programs in programs {
                scenes.push(Scene::new(1, cap, until, &table).threads(programs));
            }
        }
    }
    scenes
}

#[test]
fn takes_that_sweep_on_the_way_hold() {
    all_hold(on_the_way(1));
}

#[test]
#[cfg(sluicegate_deep)]
fn takes_that_sweep_on_the_way_hold_in_full() {
    all_hold(on_the_way(2));
    all_hold(stale_placings(3));
}

#[test]
fn a_sweep_reads_the_clock_after_its_load() {
    assert!(is_caught(on_the_way(2), Mutant::SweepsByScan));
    assert!(is_caught(on_the_way(1), Mutant::SweepsLive));
}

/// Levels are known up to a multiple of the modulus, and words that no call asks for
/// are swept in time.
fn wrapping(oldest: i8) -> Vec<Scene> {
    let mut scenes = Vec::new();
    for age in [1, 3] {
        let word = Word::charged(1, 0);
        let mut add = |slots: &[Word], width, programs: &[&[Op]]| {
            let scene = Scene::new(width, 2, MODULUS + 2, slots);
            let ages = Ages::UpTo(oldest);
            let scene = Scene { from: age, modulus: Some(MODULUS), ages, ..scene };
            scenes.push(scene.threads(programs));
        };
        add(&[word], 1, &[&[TAKE], &[TWO], &[SWEEP]]);
        add(&[word], 1, &[&[TAKE], &[SWEEP, TWO, SWEEP, TWO]]);
        add(&[other(age), word], 2, &[&[OTHER], &[TWO, SWEEP, TAKE]]);
        add(&[EMPTY, Word::marker(1, 0)], 2, &[&[TAKE], &[SWEEP, TWO, SWEEP]]);
        add(&[word, Word::charged(2, 0)], 1, &[&[also(HOME, 1), also(FAR, 0)], &[also(FAR, 0)]]);
        add(&[other(0), Word::charged(2, 0)], 1, &[&[also(HOME, 1)], &[also(FAR, 0), SWEEP, TWO]]);
        add(&[word], 1, &[&[TAKE], &[Op::Reset(key(1)), TWO, SWEEP]]);
    }
    scenes
}

/// The bound holds as long as a word is written again, and a call that has loaded it ends, before
/// it is as old as the modulus; this goes for a tombstone too.
#[test]
fn sweeps_and_resets_hold_where_levels_wrap() {
    all_hold(wrapping(MODULUS - 1));
    let exceeds = |scene: &Scene| explore(scene).is_err();
    assert!(wrapping(MODULUS).iter().any(exceeds));
}
