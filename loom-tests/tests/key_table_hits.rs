//! Models of a table of keys, and of keys that it knows. What is checked, over every
//! interleaving, is what `key_table.rs` checks:
//!
//! * however many charge a key, and whether or not its place expires and goes to another key
//!   or is swept meanwhile, no span of the clock admits more of it than the bound;
//! * so it is if the clocks of threads are apart, as far as the table was told;
//! * what is given back was never there, and what is not stays spent;
//! * a key for which there is no place is admitted nothing, or what was said.

#![cfg(sluicegate_loom)]

use std::time::Duration;

use sluicegate::keyed::WhenFull;
use sluicegate::{Quota, quota};
use sluicegate_loom_tests::SECOND;
use sluicegate_loom_tests::tables::Call::{
    Ask, AskUpTo, Back, Batch, Remove, RunAhead, SetClock, Sweep,
};
use sluicegate_loom_tests::tables::{Call, Scene, explore, keys, sweeping, twins};

const ONE: Quota = quota!(1 / second, burst 1);
const TWO: Quota = quota!(1 / second, burst 2);

const NOW: u64 = 10 * SECOND;

/// A key that was emptied at `NOW`, of burst 1, is just expired.
const LATER: u64 = NOW + SECOND + SECOND / 1_000;

/// A table of one line, after such calls; the last of them set the clock to `NOW`.
fn after(quota: Quota, before: &[Call]) -> Scene {
    let before = [before, &[SetClock(NOW)]].concat();
    Scene::new(1, quota, before)
}

/// A table of one line in which two keys are expired at `NOW`, the first of them `key`.
fn expired(quota: Quota, key: u64) -> Scene {
    let [.., gone] = keys::<9>(1, 0, 0);
    let burst = quota.burst();
    after(quota, &[SetClock(NOW - 3 * SECOND), Ask(key, burst), Ask(gone, burst)])
}

/// The same, but `key` has been emptied at `NOW`.
fn live(key: u64) -> Scene {
    let Scene { before, .. } = expired(ONE, key);
    after(ONE, &[&*before, &[Ask(key, 1)]].concat())
}

#[test]
fn a_key_is_charged_once_for_each_call() {
    let [key] = keys(1, 0, 0);
    let live = after(TWO, &[SetClock(NOW), Ask(key, 1)]);
    explore(3, live.clone(), [vec![Ask(key, 1)], vec![Ask(key, 1)], vec![Ask(key, 1)]], |_| {});
    explore(3, live, [vec![Ask(key, 2), Ask(key, 1)], vec![AskUpTo(key, 2)]], |_| {});
    let programs = [vec![Ask(key, 1), Ask(key, 1)], vec![Ask(key, 2)]];
    explore(3, expired(TWO, key), programs, |_| {});
}

#[test]
fn a_key_is_charged_by_a_clock_that_its_level_is_not_ahead_of() {
    let [key] = keys(1, 0, 0);
    explore(3, live(key), [vec![Ask(key, 1)], vec![SetClock(LATER), Ask(key, 1)]], |_| {});
}

#[test]
fn a_key_that_is_found_is_found_by_its_twin() {
    let [one, twin] = twins(2, 0, 1);
    let asked = |key| vec![Ask(key, 1), Ask(key, 1)];
    let scene = Scene::new(2, TWO, vec![SetClock(NOW)]);
    explore(2, scene, [asked(one), asked(twin)], |_| {});
    let scene = Scene::new(2, TWO, vec![SetClock(NOW), Ask(one, 1)]);
    explore(3, scene, [vec![Ask(twin, 1)], vec![Ask(one, 1)]], |_| {});
}

/// A table of three lines, where rules go wrong that do for two.
#[test]
fn twins_share_both_lines() {
    for (home, other) in [(0, 1), (0, 2), (1, 2)] {
        let [one, twin] = twins(3, home, other);
        let scene = Scene::new(3, TWO, vec![SetClock(NOW), Ask(one, 1)]);
        explore(2, scene, [vec![Ask(one, 1)], vec![Ask(twin, 1)]], |played| {
            assert_eq!(played.table.occupancy().live, 1);
        });
    }
}

/// Expired or not, its place is its own until another key takes it.
#[test]
fn a_hit_and_a_takeover_never_exceed_the_bound() {
    let [key, guest] = keys(1, 0, 0);
    let away = vec![Ask(guest, 1), Ask(key, 1)];
    explore(3, expired(ONE, key), [vec![Ask(key, 1)], away], |_| {});
    let away = vec![Ask(guest, 1), SetClock(LATER), Ask(key, 1)];
    explore(3, expired(ONE, key), [vec![Ask(key, 1)], away], |_| {});
    let away = vec![SetClock(LATER), Ask(guest, 1), Ask(key, 1)];
    explore(3, live(key), [vec![Ask(key, 1), Ask(key, 1)], away], |_| {});
}

#[test]
fn a_key_that_is_charged_just_now_loses_no_place() {
    let [key, guest] = keys(1, 0, 0);
    let back = vec![SetClock(LATER), Ask(key, 1), Ask(key, 1)];
    explore(3, expired(ONE, key), [vec![Ask(guest, 1)], back.clone()], |_| {});
    explore(3, live(key), [vec![Ask(guest, 1)], back], |_| {});
}

/// By three quarters of a wrap, so that what is written there would seem to be of long ago.
#[test]
fn a_reading_from_before_a_jump_forward_is_made_again() {
    const JUMP: u64 = (3 << 19) * SECOND;
    let [key] = keys(1, 0, 0);
    let there = vec![SetClock(NOW + JUMP), Ask(key, 1), Ask(key, 1)];
    explore(3, live(key), [vec![Ask(key, 1)], there.clone()], |_| {});
    explore(3, live(key), [vec![Batch(vec![key], 1)], there], |_| {});
}

/// By a second, so much as it takes to fill.
#[test]
fn clocks_may_be_apart_by_the_skew() {
    let [key, guest] = keys(1, 0, 0);
    let skew = Duration::from_secs(1);
    let live = Scene { skew, ..live(key) };
    let ahead = |call| vec![RunAhead(SECOND), call];
    explore(3, live.clone(), [ahead(Ask(key, 1)), vec![Ask(key, 1)]], |_| {});
    // Half full, and by the other clock long since expired.
    // (By the call for the one that is gone the table has that time, and not that of the clock
    // that is ahead by no more than is told apart.)
    let [.., gone] = keys::<9>(1, 0, 0);
    let before = [&*live.before, &[SetClock(NOW + SECOND / 2), Remove(gone)]].concat();
    let half = Scene { before, ..live };
    explore(3, half.clone(), [ahead(Ask(guest, 1)), vec![Ask(key, 1)]], |_| {});
    explore(3, half, [ahead(Sweep), vec![Ask(key, 1), Ask(guest, 1)]], |_| {});
}

#[test]
fn a_sweep_takes_no_live_key() {
    let [key, guest] = keys(1, 0, 0);
    let asked = vec![Ask(key, 1), Ask(key, 1)];
    explore(3, expired(ONE, key), [vec![Sweep], asked.clone()], |_| {});
    let later = [vec![SetClock(LATER)], asked].concat();
    explore(3, expired(ONE, key), [vec![Sweep], later.clone()], |_| {});
    // One that is just being charged is not taken for one of long ago.
    explore(3, live(key), [vec![Sweep], later.clone()], |_| {});
    explore(1, expired(ONE, key), [vec![Sweep], later, vec![Ask(guest, 1)]], |_| {});
    // Beside a key that is just being brought.
    let swept = vec![SetClock(LATER), Sweep, Ask(key, 1)];
    explore(3, after(ONE, &[]), [vec![Ask(key, 1)], swept], |_| {});
    // By a new key, on its way.
    let guest = sweeping(1);
    let programs = [vec![Ask(guest, 1)], vec![Ask(key, 1), Ask(key, 1)]];
    explore(2, expired(ONE, key), programs, |_| {});
}

#[test]
fn a_key_is_forgotten_once() {
    let [key] = keys(1, 0, 0);
    let live = after(TWO, &[SetClock(NOW), Ask(key, 1)]);
    explore(3, live.clone(), [vec![Remove(key), Ask(key, 1)], vec![Ask(key, 1)]], |_| {});
    explore(3, live.clone(), [vec![Remove(key)], vec![Remove(key), Ask(key, 2)]], |_| {});
    explore(3, live, [vec![Remove(key)], vec![Remove(key)]], |played| {
        assert_eq!(played.removed(), 1);
    });
}

#[test]
fn permits_of_a_key_that_are_given_back_were_never_there() {
    let [key] = keys(1, 0, 0);
    let live = after(TWO, &[SetClock(NOW), Ask(key, 1)]);
    explore(3, live.clone(), [vec![Back(key, 1)], vec![Ask(key, 1)]], |_| {});
    explore(3, live, [vec![Back(key, 1), Ask(key, 1)], vec![Back(key, 1)]], |_| {});
    let programs = [vec![Back(key, 1)], vec![Ask(key, 1), Ask(key, 1)]];
    explore(3, expired(TWO, key), programs.clone(), |_| {});
    explore(3, after(TWO, &[]), programs, |_| {});
}

#[test]
fn a_batch_is_as_many_calls() {
    let [key] = keys(2, 0, 0);
    let [new] = keys(2, 1, 1);
    let live = Scene::new(2, TWO, vec![SetClock(NOW), Ask(key, 1)]);
    let batch = vec![Batch(vec![key, new], 1)];
    explore(3, live.clone(), [batch.clone(), vec![Ask(new, 1), Ask(key, 1)]], |_| {});
    explore(2, live.clone(), [batch.clone(), vec![Batch(vec![new, key], 1)]], |_| {});
    explore(3, live, [vec![Batch(vec![key, key], 1)], vec![Ask(key, 1)]], |_| {});
    // The clock is read once, and after all words.
    let full = Scene::new(2, ONE, vec![SetClock(NOW), Ask(key, 1)]);
    explore(3, full, [batch, vec![SetClock(LATER), Ask(key, 1)]], |_| {});
}

#[test]
fn a_key_without_a_place_is_admitted_nothing() {
    let [one, two, guest, last] = keys(1, 0, 0);
    let full = after(TWO, &[SetClock(NOW), Ask(guest, 1), Ask(last, 1)]);
    explore(3, full.clone(), [vec![Ask(one, 1)], vec![Ask(two, 1)]], move |played| {
        assert_eq!((played.full(), played.table.full_events()), (2, 2));
    });
    explore(3, full, [vec![Ask(one, 1)], vec![SetClock(LATER), Ask(two, 1)]], move |played| {
        assert_eq!(played.admitted(two), 1);
    });
    // One place, and two callers that want it.
    let before = [SetClock(NOW - 3 * SECOND), Ask(guest, 1), SetClock(NOW), Ask(last, 1)];
    let one_left = after(ONE, &before);
    explore(3, one_left, [vec![Ask(one, 1)], vec![Ask(two, 1)]], move |played| {
        assert_eq!((played.full(), played.admitted(one) + played.admitted(two)), (1, 1));
    });
}

#[test]
fn keys_without_a_place_share_what_was_said() {
    let [one, two, guest, last] = keys(1, 0, 0);
    let full = after(TWO, &[SetClock(NOW), Ask(guest, 1), Ask(last, 1)]);
    let full = Scene { when_full: WhenFull::Share(ONE), ..full };
    explore(3, full, [vec![Ask(one, 1)], vec![Ask(two, 1)]], move |played| {
        assert_eq!(played.admitted(one) + played.admitted(two), 1);
        assert_eq!(played.table.full_events(), 2);
    });
}
