//! Models of keys with seats, and of callers that take from them. What is checked, over every
//! interleaving:
//!
//! * no span of the clock grants more of a key than the bound, whichever caller prepays, and
//!   though two keys want one seat;
//! * while the clock stands, not one permit of a key that keeps its seat is lost either;
//! * prepaid permits are granted for as long as they are good, and no longer;
//! * what was refused to one key is not refused to another.

#![cfg(sluicegate_loom)]

use sluicegate::{Quota, quota};
use sluicegate_loom_tests::hot::Key::{self, One, Other};
use sluicegate_loom_tests::hot::Step::{Ask, Change, RunAhead, Set, Take, TakeAll};
use sluicegate_loom_tests::hot::{NOW, Scene, Step, Store, Users, bounded, explore, sum};
use sluicegate_loom_tests::tables::Table;
use sluicegate_loom_tests::{Admission, SECOND};

/// A prepayment takes a quarter of what there is, and up to two more than are needed.
const QUOTA: Quota = quota!(1 / second, burst 16);

const fn one_place(before: &'static [Step]) -> Scene {
    Scene { quota: QUOTA, places: 1, before }
}

/// The second call has the seat.
const SEATED: Scene = one_place(&[Take(One, 2), Ask(0, One, 1), Ask(0, One, 1)]);

/// Three are prepaid: two are left there, and nine in the store.
const TWO_LEFT: Scene = one_place(&[Take(One, 2), Ask(0, One, 1), Ask(0, One, 1), Ask(0, One, 1)]);

/// The time at which the prepaid permits of `TWO_LEFT` are not good any more.
const EXPIRED: u64 = NOW + 4 * SECOND;

/// When all that the models use comes back.
const FULL: u64 = NOW + 20 * SECOND;

#[test]
fn callers_of_one_place_take_a_permit_once() {
    let single: &[Step] = &[Ask(0, One, 1)];
    let twice: &[Step] = &[Ask(0, One, 1), Ask(0, One, 1)];
    bounded::<Table, 2>(3, TWO_LEFT, [single, twice], &[One]);
    bounded::<Table, 2>(2, TWO_LEFT, [twice, &[Ask(0, One, 3), Ask(0, One, 1)]], &[One]);
    // More than is prepaid for.
    bounded::<Table, 2>(3, TWO_LEFT, [single, &[Ask(0, One, 8)]], &[One]);
    bounded::<Table, 3>(1, TWO_LEFT, [single; 3], &[One]);
}

#[test]
fn what_is_drawn_is_not_granted_by_the_store() {
    let draws: &[Step] = &[Ask(0, One, 1), Ask(0, One, 1)];
    let takes: &[Step] = &[Take(One, 2), Take(One, 9)];
    bounded::<Table, 2>(3, SEATED, [draws, takes], &[One]);
    bounded::<Users, 2>(2, SEATED, [draws, takes], &[One]);
    bounded::<Table, 2>(2, SEATED, [draws, draws], &[One]);
    bounded::<Users, 2>(2, SEATED, [draws, draws], &[One]);
}

/// The second call of the other key takes the seat away, and its third prepays as much.
#[test]
fn a_key_takes_nothing_of_another() {
    let scene = one_place(&[
        Take(One, 2),
        Ask(0, One, 1),
        Ask(0, One, 1),
        Ask(0, One, 1),
        Take(Other, 2),
        Ask(0, Other, 1),
    ]);
    let other: &[Step] = &[Ask(0, Other, 1), Ask(0, Other, 1)];
    bounded::<Table, 2>(3, scene, [&[Ask(0, One, 1)], other], &[Other]);
    bounded::<Table, 2>(2, scene, [&[Ask(0, One, 2)], other], &[Other]);
    // And comes back.
    let twice: &[Step] = &[Ask(0, One, 1), Ask(0, One, 1)];
    bounded::<Table, 2>(2, scene, [twice, other], &[]);
}

/// Somebody has closed the seat to give it away, and it is emptied.
#[test]
fn a_seat_is_in_one_hand() {
    let scene = one_place(&[
        Take(One, 4),
        Ask(0, One, 1),
        Ask(0, One, 1),
        Take(Other, 2),
        Ask(0, Other, 1),
    ]);
    let other: &[Step] = &[Change, Ask(0, One, 1), Ask(0, Other, 1)];
    bounded::<Table, 2>(3, scene, [&[Ask(0, Other, 1)], other], &[]);
}

#[test]
fn what_was_drawn_is_not_good_for_ever() {
    let late: &[Step] = &[Set(EXPIRED + 3 * SECOND), Take(One, 16)];
    bounded::<Table, 2>(3, TWO_LEFT, [&[Ask(0, One, 1)], late], &[]);
    bounded::<Users, 2>(2, TWO_LEFT, [&[Ask(0, One, 1)], late], &[]);
    // Permits prepaid next, from a full bucket, are good for less long than those there.
    let used = one_place(&[Take(One, 6), Ask(0, One, 1), Ask(0, One, 1), Ask(0, One, 1)]);
    let draws: &[Step] = &[Set(FULL), Ask(0, One, 1), Set(FULL + 5 * SECOND), Take(One, 16)];
    bounded::<Table, 2>(3, used, [&[Ask(0, One, 1)], draws], &[]);
    // Prepaid anew by a caller that found too little that was good.
    bounded::<Table, 2>(
        3,
        TWO_LEFT,
        [&[Ask(0, One, 1)], &[Set(EXPIRED), Ask(0, One, 1), TakeAll(One)]],
        &[],
    );
}

/// None of it is put beside the permits that are prepaid next.
#[test]
fn what_is_not_good_any_more_is_lost() {
    let scene = one_place(&[
        Take(One, 2),
        Ask(0, One, 1),
        Ask(0, One, 1),
        Ask(0, One, 1),
        Set(NOW + 40 * SECOND),
        Ask(0, One, 1),
        Set(NOW + 80 * SECOND),
        Ask(0, One, 1),
    ]);
    bounded::<Table, 2>(
        2,
        scene,
        [&[Ask(0, One, 1)], &[Set(NOW + 120 * SECOND), Ask(0, One, 1), TakeAll(One)]],
        &[],
    );
}

/// A caller has nothing left if its clock is behind that of the caller that drew.
#[test]
fn what_was_drawn_is_not_good_before() {
    let quota = quota!(100 / second, burst 16);
    let before = &[
        Take(One, 2),
        Ask(0, One, 1),
        Ask(0, One, 1),
        TakeAll(One),
        RunAhead(SECOND / 10),
        Ask(0, One, 1),
        RunAhead(0),
    ];
    let ahead: &[Step] = &[RunAhead(SECOND / 10), Ask(0, One, 1), RunAhead(0)];
    bounded::<Users, 2>(1, Scene { quota, ..one_place(before) }, [&[Ask(0, One, 1)], ahead], &[]);
}

/// Prepaid permits that are left are granted together with newly prepaid ones only if they are good
/// by then.
#[test]
fn all_permits_of_a_request_fit_one_reading() {
    // The store grants the rest of it.
    let later: &[Step] = &[Set(NOW + 7 * SECOND)];
    bounded::<Table, 2>(3, TWO_LEFT, [&[Ask(0, One, 9)], later], &[]);
    bounded::<Users, 2>(2, TWO_LEFT, [&[Ask(0, One, 9)], later], &[]);
    // A prepayment does: from a full bucket, so that more is left than it passes over.
    let scene = Scene {
        quota: quota!(1 / second, burst 32),
        ..one_place(&[
            Ask(0, One, 1),
            Ask(0, One, 1),
            Ask(0, One, 1),
            Ask(0, One, 2),
            Ask(0, One, 1),
            Ask(0, One, 4),
            Set(NOW + 40 * SECOND),
            Ask(0, One, 1),
            Ask(0, One, 1),
        ])
    };
    let later: &[Step] = &[Set(NOW + 80 * SECOND)];
    bounded::<Table, 2>(3, scene, [&[Ask(0, One, 6)], later], &[]);
    bounded::<Users, 2>(2, scene, [&[Ask(0, One, 6)], later], &[]);
}

/// Checks that the other key, which has enough, is refused nothing.
fn other_is_granted<S: Store>(preemptions: usize, scene: Scene, programs: [&'static [Step]; 2]) {
    explore::<S, 2>(preemptions, scene, programs, move |hot, _, raced| {
        let is_refused =
            |&&(key, admission): &&(Key, Admission)| key == Other && admission.permits == 0;
        assert_eq!(raced.iter().find(is_refused), None, "refused in the race");
        assert_eq!(sum(&hot.play(&[Ask(0, Other, 1)])), 1, "refused after the race");
    });
}

/// Its next call takes the seat away from the one that has nothing, and was refused there.
#[test]
fn a_key_is_not_refused_what_another_was() {
    let single: &[Step] = &[Ask(0, Other, 1)];
    let refused = one_place(&[
        Ask(0, One, 1),
        Ask(0, One, 1),
        TakeAll(One),
        Ask(0, One, 1),
        Ask(0, Other, 1),
    ]);
    other_is_granted::<Table>(2, refused, [single, &[Ask(0, Other, 1), Ask(0, Other, 1)]]);
    other_is_granted::<Users>(2, refused, [single, &[Ask(0, Other, 1), Ask(0, Other, 1)]]);
    // The one takes it away from the other, and is refused while the other asks.
    let seated = one_place(&[Ask(0, Other, 1), Ask(0, Other, 1), TakeAll(One), Ask(0, One, 1)]);
    other_is_granted::<Table>(1, seated, [single, &[Ask(0, One, 1), Ask(0, One, 1)]]);
}
