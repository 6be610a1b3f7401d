//! Single scenes of one bucket, each of something that the matrix has not.

use super::matrix::{EMPTY, another, other, stale};
use super::*;

const TAKE: Op = take(1, 1);
const TWO: Op = take(1, 2);
const OTHER: Op = take(2, 1);
const RESET: Op = Op::Reset(key(1));
const SWEEP: Op = Op::Sweep(key(1));

/// A thread is about to charge a marker, another about to put one over its tombstone,
/// and the key's neighbour about to take its own back.
pub(super) fn stalled_mark(level: i8) -> Scene {
    let mark = Word::marker(1, 0);
    let theirs = Word::marker(2, 0);
    let new = Word::marker(1, level);
    let slots = [theirs, mark, Word::charged(2, 1)];
    let scene = Scene { from: 1, band: 2, ..Scene::new(3, 2, 1, &slots) };
    scene
        .thread_amid(&[TWO], |thread| Thread {
            slot: 1,
            new: mark,
            now: 1,
            ..thread.at(At::Charge)
        })
        .thread_amid(&[TWO], |thread| Thread {
            slot: 0,
            old: Word::tombstone(0),
            new,
            ..thread.at(At::Place)
        })
        .thread_amid(&[OTHER], |thread| Thread { slot: 0, new: theirs, ..thread.at(At::Clean) })
        .thread(&[TAKE])
}

/// A reset, and a marker that is about to be charged.
pub(super) fn reset_over_a_mark() -> Scene {
    let mark = Word::marker(1, -1);
    Scene::new(2, 2, 1, &[other(-2), mark])
        .thread_amid(&[TAKE], |thread| Thread {
            slot: 1,
            new: mark,
            now: 0,
            ..thread.at(At::Charge)
        })
        .threads(&[&[TAKE, RESET], &[TAKE], &[TAKE]])
}

/// Two for one key, at a clock that stands still, and nearly no slot.
pub(super) fn climb(cap: i8) -> Scene {
    let slots = [other(stale(cap, cap)), EMPTY];
    let scene = Scene { band: cap, climbs: true, ..Scene::new(2, cap, 1, &slots) };
    scene.threads(&[&[TAKE], &[TAKE]])
}

/// Readings that are late by at most one.
pub(super) fn late(slack: i8, programs: &[&[Op]]) -> Scene {
    let scene = Scene::new(2, 2, 5, &[other(stale(2, 2)), EMPTY]);
    Scene { skew: 1, slack, ..scene }.threads(programs)
}

/// The small ones, or else those of hundreds of thousands of states.
fn scenes(is_full: bool) -> Vec<(&'static str, Scene)> {
    let tight = |until| Scene::new(2, 1, until, &[other(-1), EMPTY]);
    let three = |cap| Scene::new(3, cap, 2, &[other(stale(cap, 1)), another(0), EMPTY]);
    let banded = |band| {
        let scene = Scene { band, ..Scene::new(2, 3, 2, &[other(stale(3, band)), EMPTY]) };
        scene.threads(&[&[TAKE, TAKE], &[TAKE, OTHER], &[TAKE]])
    };
    let old = || Scene::new(2, 2, 2, &[other(-2), EMPTY]);
    let light = vec![
        ("three slots, two keys", three(1).threads(&[&[TAKE, OTHER], &[TAKE, TAKE]])),
        ("three slots, weights", three(2).threads(&[&[TAKE], &[TAKE], &[TWO]])),
        ("three slots, three keys", three(1).threads(&[&[TAKE], &[OTHER], &[take(3, 1)]])),
        (
            "four for one key",
            Scene::new(2, 2, 1, &[other(-2), EMPTY]).threads(&[&[TAKE] as &[Op]; 4]),
        ),
        ("late readings", late(1, &[&[TWO, OTHER, TAKE], &[TAKE]])),
        ("a reset", old().threads(&[&[TAKE], &[RESET, OTHER], &[TAKE, TAKE]])),
        ("a reset over a mark", reset_over_a_mark()),
        ("a sweep", tight(2).threads(&[&[TAKE, TAKE], &[OTHER, TAKE], &[SWEEP]])),
        ("marks that differ", stalled_mark(1)),
        (
            "marks that are spared",
            Scene { grace: 2, ..tight(3) }.threads(&[&[TAKE, OTHER], &[TAKE]]),
        ),
        ("no climb", climb(24)),
        ("given back by two", tight(2).threads(&[&[TAKE, Op::GiveBack, OTHER], &[TAKE, TAKE]])),
    ];
    let large = vec![
        ("five calls", tight(2).threads(&[&[TAKE, OTHER], &[OTHER, TAKE], &[TAKE]])),
        ("a longer time", tight(3).threads(&[&[TAKE, OTHER], &[TAKE], &[TAKE]])),
        ("a band of one", banded(1)),
        ("a band of two", banded(2)),
        ("given back", tight(2).threads(&[&[TAKE, Op::GiveBack, OTHER], &[TAKE, TAKE], &[TAKE]])),
        ("a reset by late readings", late(1, &[&[TAKE], &[RESET, OTHER], &[TAKE]])),
        ("a sweep and a mark", tight(3).threads(&[&[TAKE], &[TAKE, TAKE], &[SWEEP, SWEEP]])),
        ("a sweep by late readings", late(1, &[&[TWO, TAKE], &[TAKE], &[SWEEP]])),
    ];
    if is_full { large } else { light }
}

fn hold(scenes: Vec<(&'static str, Scene)>) {
    for (name, scene) in scenes {
        let explored = explore(&scene).unwrap_or_else(|trace| panic!("{name}: {trace:?}"));
        assert!(explored.counts.grants > 0, "{name}: nothing is granted");
    }
}

#[test]
fn every_scene_of_one_bucket_holds() {
    hold(scenes(false));
}

#[test]
#[cfg(sluicegate_deep)]
fn every_scene_of_one_bucket_holds_in_full() {
    hold(scenes(true));
}

/// Joining a marker needs no level above it, so it makes no difference how many there are.
#[test]
fn the_band_is_not_climbed() {
    let states = [6, 12, 24].map(|cap| explore(&climb(cap)).unwrap().states);
    assert_eq!(states, [states[0]; 3]);
}
