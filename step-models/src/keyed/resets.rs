//! Resets, and what is given back: both leave a full key in its place, whose word may be
//! lower than a marker that was there. Then it is the margin that keeps markers from coming back.

use super::matrix::{EMPTY, other, stale};
use super::*;

const TAKE: Op = take(1, 1);
const OTHER: Op = take(2, 1);
const RESET: Op = Op::Reset(key(1));
const RESET_OTHER: Op = Op::Reset(key(2));
const SWEEP: Op = Op::Sweep(key(1));
const BACK: Op = Op::GiveBack;
/// Keys of two buckets, the same of all.
const HERE: Key = key(1).at(0, 1);
const THERE: Key = key(1).at(1, 0);
const STRANGER: Key = key(2).at(1, 0);

const fn one(key: Key) -> Op {
    Op::Take(key, 1)
}

/// Calls that make a key full again, beside threads that are about to put a marker or to charge
/// one.
const RACES: [&[&[Op]]; 8] = [
    &[&[TAKE, RESET, OTHER], &[TAKE, TAKE]],
    &[&[TAKE, RESET, SWEEP, TAKE], &[TAKE]],
    &[&[TAKE, RESET], &[OTHER, RESET_OTHER], &[TAKE]],
    &[&[TAKE, RESET, TAKE], &[RESET, OTHER]],
    &[&[TAKE, BACK, OTHER], &[TAKE, TAKE]],
    &[&[TAKE, BACK, SWEEP, TAKE], &[TAKE]],
    &[&[TAKE, BACK], &[OTHER, BACK], &[TAKE]],
    &[&[TAKE, BACK, TAKE], &[SWEEP, OTHER]],
];

/// The same with one more.
const CROWDS: [&[&[Op]]; 3] = [
    &[&[TAKE], &[TAKE, RESET, SWEEP, TAKE], &[TAKE]],
    &[&[TAKE], &[TAKE, BACK, SWEEP, TAKE], &[TAKE]],
    &[&[TAKE], &[TAKE, RESET, OTHER, RESET_OTHER, TAKE], &[TAKE]],
];

const BOTH_BUCKETS: [&[&[Op]]; 4] = [
    &[&[one(HERE), Op::Reset(HERE), one(STRANGER)], &[one(THERE), one(THERE)]],
    &[&[one(HERE), BACK, one(STRANGER)], &[one(THERE), one(THERE)]],
    &[&[one(HERE), Op::Reset(THERE), Op::Sweep(HERE), one(HERE)], &[one(THERE)]],
    &[&[one(HERE), BACK], &[one(STRANGER), Op::Reset(STRANGER)], &[one(THERE)]],
];

/// Readings are late by the skew, for which there is as much slack.
#[derive(Clone, Copy)]
struct Terms {
    width: u8,
    cap: i8,
    band: i8,
    skew: i8,
    until: i8,
}

fn scenes(terms: Terms, placing: Placing, programs: &[&[&[Op]]]) -> impl Iterator<Item = Scene> {
    let Terms { width, cap, band, skew, until } = terms;
    let gone = stale(cap, 2 * skew + band);
    let tables = [
        [EMPTY, EMPTY],
        [other(gone), EMPTY],
        [other(gone), Word::marker(1, 1 - cap)],
        [Word::charged(1, gone), other(gone)],
    ];
    tables.into_iter().flat_map(move |table| {
        programs.iter().map(move |programs| {
            let scene = Scene::new(width, cap, until, &table).threads(programs);
            Scene { band, skew, slack: skew, placing, ..scene }
        })
    })
}

#[test]
fn keys_that_are_made_full_hold() {
    for band in [1, 2] {
        let terms = Terms { width: 2, cap: band, band, skew: 0, until: 2 };
        all_hold(scenes(terms, Placing::HomeFirst, &RACES));
    }
    let terms = Terms { width: 2, cap: 1, band: 1, skew: 0, until: 1 };
    all_hold(scenes(terms, Placing::Any, &RACES));
    all_hold(scenes(Terms { until: 0, ..terms }, Placing::Any, &CROWDS));
    all_hold(scenes(Terms { skew: 1, ..terms }, Placing::Any, &RACES[..2]));
    let terms = Terms { width: 1, ..terms };
    all_hold(scenes(Terms { until: 2, ..terms }, Placing::Any, &BOTH_BUCKETS));
    all_hold(scenes(Terms { skew: 1, ..terms }, Placing::Any, &BOTH_BUCKETS));
}

#[test]
#[cfg(sluicegate_deep)]
fn keys_that_are_made_full_hold_in_full() {
    for (cap, band) in [(1, 1), (2, 1), (2, 2)] {
        for placing in [Placing::HomeFirst, Placing::Any] {
            let terms = Terms { width: 2, cap, band, skew: 0, until: 3 };
            all_hold(scenes(terms, placing, &RACES));
            all_hold(scenes(Terms { width: 1, ..terms }, placing, &BOTH_BUCKETS));
        }
    }
    // Until what is made full by the latest reading may go.
    let late = Terms { width: 2, cap: 1, band: 1, skew: 1, until: 3 };
    all_hold(scenes(late, Placing::HomeFirst, &RACES));
    all_hold(scenes(Terms { width: 1, ..late }, Placing::Any, &BOTH_BUCKETS));
    all_hold(scenes(Terms { until: 0, ..late }, Placing::Any, &CROWDS));
    all_hold(scenes(Terms { skew: 0, until: 1, ..late }, Placing::Any, &CROWDS));
}

/// Scenes in which the first thread to come in is about to charge its marker, and another is about
/// to put it again. What is read before that makes no difference.
fn crowds(skew: i8) -> impl Iterator<Item = Scene> {
    let terms = Terms { width: 2, cap: 1, band: 1, skew, until: 0 };
    let scenes = scenes(terms, Placing::Any, &CROWDS).take(3);
    scenes.map(|scene| Scene { take_reads: TakeReads::AfterLoads, ..scene })
}

#[test]
fn a_smaller_margin_lets_a_mark_come_back() {
    use Mutant::*;
    for (skew, mutant) in [(0, NoBandInMargin), (1, NoBandInMargin), (1, OneSlackInMargin)] {
        for scene in crowds(skew) {
            let scene = Scene { is_unique: false, ..scene }.mutate(&[mutant]);
            let trace = explore(&scene).expect_err("is caught");
            assert!(trace.fault.contains("exceeds its capacity"), "{mutant:?}: {trace:?}");
        }
    }
}

#[test]
fn a_key_that_was_reset_is_full_by_every_clock() {
    let scene = |mutants: &[Mutant]| {
        let scene = Scene::new(1, 2, 2, &[Word::charged(1, 0)]).threads(&[&[RESET, take(1, 2)]]);
        Scene { skew: 1, slack: 1, ..scene }.mutate(mutants)
    };
    let denials = |mutants: &[Mutant]| explore(&scene(mutants)).unwrap().counts.denials;
    assert_eq!(denials(&[]), 0);
    assert!(denials(&[Mutant::ResetsToSpan]) > 0);
}

/// It takes away the word that it left, and after a reset another's can be the same.
#[test]
fn a_receipt_from_before_a_reset_may_give_back_what_another_took() {
    let races: &[&[&[Op]]] = &[&[&[TAKE, BACK], &[RESET, TAKE, TAKE]]];
    let terms = Terms { width: 2, cap: 1, band: 1, skew: 1, until: 0 };
    let exceeds = |scene| explore(&scene).is_err();
    assert!(scenes(terms, Placing::HomeFirst, races).any(exceeds));
}

/// The margin is enough for that too, so that a charge need not keep its marker's level.
#[test]
fn a_charge_may_be_below_its_mark() {
    let terms = Terms { width: 2, cap: 2, band: 2, skew: 0, until: 1 };
    let below = |scene: Scene| scene.mutate(&[Mutant::BelowMark]);
    all_hold(scenes(terms, Placing::Any, &RACES).map(below));
    all_hold(crowds(1).map(below));
}
