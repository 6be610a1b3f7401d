//! Models of keys that have seats at two places, and of changes to them. What is checked, over
//! every interleaving:
//!
//! * a permit that lies at another place is taken once;
//! * after a change nothing is granted that was prepaid before it, and nothing refused because
//!   of what was refused before it;
//! * nothing is refused because of what was refused while no caller could tell.

#![cfg(sluicegate_loom)]

use sluicegate::{Quota, quota};
use sluicegate_loom_tests::hot::Key::{One, Other};
use sluicegate_loom_tests::hot::Step::{Ask, Fill, Take, TakeAll};
use sluicegate_loom_tests::hot::{Scene, Step, Store, Users, bounded, explore, sum};
use sluicegate_loom_tests::tables::Table;

/// A prepayment takes a quarter of what there is, divided by the places.
const QUOTA: Quota = quota!(1 / second, burst 16);
const TWICE: Quota = quota!(1 / second, burst 32);

/// Two are in the seat of the second place, and nothing in the store.
const ELSEWHERE: Scene = Scene {
    quota: TWICE,
    places: 2,
    before: &[
        Take(One, 4),
        Ask(0, One, 1),
        Ask(0, One, 1),
        Ask(1, One, 1),
        Ask(1, One, 1),
        Ask(1, One, 1),
        TakeAll(One),
    ],
};

#[test]
fn a_permit_of_another_place_is_taken_once() {
    let here: &[Step] = &[Ask(1, One, 1), Ask(1, One, 1)];
    bounded::<Table, 2>(3, ELSEWHERE, [&[Ask(0, One, 1)], here], &[One]);
    bounded::<Table, 2>(2, ELSEWHERE, [&[Ask(0, One, 1), Ask(0, One, 2)], here], &[One]);
    bounded::<Users, 2>(2, ELSEWHERE, [&[Ask(0, One, 1)], here], &[One]);
    bounded::<Table, 3>(
        1,
        ELSEWHERE,
        [&[Ask(0, One, 1)], &[Ask(0, One, 1)], &[Ask(1, One, 1)]],
        &[One],
    );
}

/// The permits that lie there are another key's.
#[test]
fn a_key_takes_nothing_of_another_elsewhere() {
    let scene = Scene {
        before: &[
            Take(One, 4),
            Ask(0, One, 1),
            Ask(0, One, 1),
            TakeAll(One),
            Take(Other, 4),
            Ask(1, Other, 1),
            Ask(1, Other, 1),
            Ask(1, Other, 1),
        ],
        ..ELSEWHERE
    };
    bounded::<Table, 2>(3, scene, [&[Ask(0, One, 1)], &[Ask(1, Other, 1)]], &[Other]);
}

/// Both prepay.
#[test]
fn two_places_have_one_burst() {
    let scene = Scene {
        before: &[Take(One, 4), Ask(0, One, 1), Ask(0, One, 1), Ask(1, One, 1), Ask(1, One, 1)],
        ..ELSEWHERE
    };
    let draws: [&[Step]; 2] =
        [&[Ask(0, One, 1), Ask(0, One, 3)], &[Ask(1, One, 1), Ask(1, One, 22)]];
    bounded::<Table, 2>(3, scene, draws, &[One]);
    bounded::<Users, 2>(2, scene, draws, &[One]);
}

/// Checks that after the race there is no more than the burst.
fn is_taken_back<S: Store, const N: usize>(
    preemptions: usize,
    scene: Scene,
    programs: [&'static [Step]; N],
) {
    explore::<S, N>(preemptions, scene, programs, |hot, _, _| {
        let rest = sum(&hot.rest(One));
        assert!(rest <= QUOTA.burst(), "{rest} after the change");
    });
}

/// Checks that a caller that was refused is granted what is there after the race.
fn is_forgotten<S: Store>(preemptions: usize, scene: Scene, other: &'static [Step]) {
    let programs: [&[Step]; 2] = [&[Ask(0, One, 1)], other];
    explore::<S, 2>(preemptions, scene, programs, |hot, _, _| {
        assert_eq!(sum(&hot.play(&[Ask(0, One, 1)])), 1, "refused for what is there");
    });
}

#[test]
fn a_change_takes_back_what_was_drawn() {
    let scene = |before| Scene { quota: QUOTA, places: 1, before };
    let seated = scene(&[Take(One, 2), Ask(0, One, 1), Ask(0, One, 1)]);
    let two_left = scene(&[Take(One, 2), Ask(0, One, 1), Ask(0, One, 1), Ask(0, One, 1)]);
    for scene in [seated, two_left] {
        is_taken_back::<Table, 2>(3, scene, [&[Ask(0, One, 1)], &[Fill(One)]]);
        is_taken_back::<Users, 2>(3, scene, [&[Ask(0, One, 1)], &[Fill(One)]]);
        is_taken_back::<Table, 2>(2, scene, [&[Ask(0, One, 1), Ask(0, One, 2)], &[Fill(One)]]);
    }
    is_taken_back::<Table, 2>(2, seated, [&[Fill(One), Ask(0, One, 1)], &[Fill(One)]]);
    is_taken_back::<Table, 3>(1, seated, [&[Ask(0, One, 1)], &[Ask(0, One, 1)], &[Fill(One)]]);
    let empty = scene(&[Take(One, 2), Ask(0, One, 1), Ask(0, One, 1), TakeAll(One)]);
    is_forgotten::<Table>(3, empty, &[Fill(One)]);
    is_forgotten::<Users>(3, empty, &[Fill(One)]);
}

/// A request for more than there is closes the seat at the second place, in which two are left.
#[test]
fn a_refusal_beside_a_closed_seat_is_not_remembered() {
    is_forgotten::<Table>(3, ELSEWHERE, &[Ask(1, One, 33)]);
    is_forgotten::<Users>(2, ELSEWHERE, &[Ask(1, One, 33)]);
    is_forgotten::<Table>(2, ELSEWHERE, &[Ask(1, One, 3)]);
}
