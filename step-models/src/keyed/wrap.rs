//! Levels that are known up to a multiple of some modulus. What must hold: while a call
//! lasts, no word that it has loaded comes to be as old as the modulus; and one that reads
//! the clock first lasts no longer than half of that.

use super::matrix::{EMPTY, another, other};
use super::*;

const TAKE: Op = take(1, 1);
const TWO: Op = take(1, 2);
const OTHER: Op = take(2, 1);

const MODULUS: i8 = 8;
const CAP: i8 = 2;
const SPENDS: &[Op] = &[TWO, TAKE, TAKE];

/// A table whose first call has loaded all words, at an age of its key's of this, and
/// in which no call lasts longer than that.
fn loaded(op: Op, age: i8, longest: i8, slots: &[Word], seen: &[Word]) -> Scene {
    let until = (MODULUS + 3).max(age + longest + 2);
    let width = slots.len() as u8;
    let scene = Scene { from: age, modulus: Some(MODULUS), ..Scene::new(width, CAP, until, slots) };
    let mut all = [EMPTY; SEEN];
    all[..seen.len()].copy_from_slice(seen);
    let scene = Scene { longest: Some(longest), take_reads: TakeReads::AfterLoads, ..scene };
    scene.thread_amid(&[op], |thread| Thread { loaded: width, seen: all, ..thread.at(At::Scan) })
}

fn finds_its_key(age: i8, longest: i8) -> Scene {
    let slots = [Word::charged(1, 0)];
    loaded(TAKE, age, longest, &slots, &slots)
}

/// Another key's, that has seen no other slot that it may have.
fn takes_its_slot(age: i8, longest: i8) -> Scene {
    let seen = [another(age % MODULUS), Word::charged(1, 0)];
    loaded(OTHER, age, longest, &[other(0), seen[1]], &seen)
}

/// That too much is granted just where a word comes to be as old as the modulus: in
/// these scenes, of an age and the length of a call.
fn exceed_from_the_modulus(cells: impl IntoIterator<Item = (i8, i8)>) {
    let holds = |scene: Scene| explore(&scene.thread(SPENDS)).is_ok();
    for (age, longest) in cells {
        let is_young = age + longest < MODULUS;
        let cell = format!("of age {age}, for {longest}");
        assert_eq!(holds(finds_its_key(age, longest)), is_young, "{cell}");
        // No other key may take a word that is live.
        assert_eq!(holds(takes_its_slot(age, longest)), is_young || age == 0, "{cell}");
    }
}

#[test]
fn a_word_as_old_as_the_modulus_exceeds() {
    let ages = [0, 1, 4, MODULUS - 1].into_iter();
    exceed_from_the_modulus(ages.flat_map(|age| [-1, 0].map(|more| (age, MODULUS - age + more))));
}

#[test]
#[cfg(sluicegate_deep)]
fn a_word_as_old_as_the_modulus_exceeds_in_full() {
    exceed_from_the_modulus(
        (0..MODULUS).flat_map(|age| (0..=MODULUS).map(move |longest| (age, longest))),
    );
}

/// A table whose first call has read the clock, and loads a word of this age or what is
/// written since.
fn has_read(age: i8, longest: i8) -> Scene {
    let until = (MODULUS + 3).max(age + longest + 2);
    let scene = Scene::new(1, CAP, until, &[Word::charged(1, 0)]);
    let scene = Scene { from: age, modulus: Some(MODULUS), longest: Some(longest), ..scene };
    let scene = scene.thread_amid(&[TAKE], |thread| Thread { now: age, ..thread.at(At::First) });
    scene.thread(SPENDS)
}

/// By a reading from before the loads, a level that is ahead of it by more than half the
/// modulus seems to be behind. A word that is older than that seems to be ahead: for it
/// nothing is different.
fn exceed_from_half_the_modulus(cells: impl IntoIterator<Item = (i8, i8)>) {
    for (age, longest) in cells {
        let is_near = longest <= MODULUS / 2 && age + longest < MODULUS;
        let cell = format!("of age {age}, for {longest}");
        assert_eq!(explore(&has_read(age, longest)).is_ok(), is_near, "{cell}");
        // Not if it is seen to that the reading is near what the table keeps of the time: then
        // it is only a word as old as the modulus.
        let is_young = age + longest < MODULUS;
        let near = Scene { near: Some(1), keeps: Some(1), ..has_read(age, longest) };
        assert_eq!(explore(&near).is_ok(), is_young, "{cell}, near");
    }
}

#[test]
fn a_reading_as_old_as_half_the_modulus_exceeds_unless_it_is_near_what_is_kept() {
    let ages = [0, MODULUS / 2 - 1, MODULUS / 2, MODULUS - 1].into_iter();
    let last = |age: i8| (MODULUS / 2).min(MODULUS - age - 1);
    exceed_from_half_the_modulus(ages.flat_map(|age| [0, 1].map(|more| (age, last(age) + more))));
}

#[test]
#[cfg(sluicegate_deep)]
fn a_reading_as_old_as_half_the_modulus_exceeds_in_full() {
    exceed_from_half_the_modulus(
        (0..MODULUS).flat_map(|age| (0..=MODULUS).map(move |longest| (age, longest))),
    );
}
