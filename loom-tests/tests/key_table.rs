//! Models of a table of keys, and of keys that it does not know yet. What is checked, over
//! every interleaving:
//!
//! * at most one place of each fingerprint is charged, whether callers take it, join, or come
//!   late;
//! * no span of the clock admits more of a key than the bound, though its place expires and
//!   goes to another key meanwhile;
//! * while the clock stands, not one permit is lost either.

#![cfg(sluicegate_loom)]

use std::time::Duration;

use sluicegate::keyed::WhenFull;
use sluicegate::{Quota, quota};
use sluicegate_loom_tests::tables::Call::{
    Ask, AskUpTo, Back, Finish, Mark, Remove, RunAhead, SetClock, Sweep,
};
use sluicegate_loom_tests::tables::{Call, Plain, Scene, Table, explore, keys, twins};
use sluicegate_loom_tests::{Arc, SECOND, TestClock, check, race};

const ONE: Quota = quota!(1 / second, burst 1);
const TWO: Quota = quota!(1 / second, burst 2);

const NOW: u64 = 10 * SECOND;

/// A key that was emptied at `NOW`, of burst 1, is just expired.
const LATER: u64 = NOW + SECOND + SECOND / 1_000;

/// A table of two lines that has not been used.
fn empty(quota: Quota) -> Scene {
    Scene::new(2, quota, vec![SetClock(NOW)])
}

/// The same, after such calls.
fn after(before: &[Call]) -> Scene {
    Scene::new(2, ONE, [&[SetClock(NOW)], before].concat())
}

/// A table of one line, at `NOW`.
fn one_line() -> Arc<Table> {
    let clock = Arc::new(TestClock::new());
    clock.set(NOW);
    let builder = Table::builder_with(ONE, Plain::default(), clock);
    Arc::new(builder.skew(Duration::ZERO).keys(1).unwrap())
}

/// The promise of the limiters' section on memory ordering.
#[test]
fn what_was_done_before_a_grant_is_seen_after_the_next_of_a_key() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    let [key] = keys(1, 0, 0);
    check(2, move || {
        let clock = Arc::new(TestClock::new());
        clock.set(NOW);
        let quota = quota!(1 / second, burst 3);
        let builder = Table::builder_with(quota, Plain::default(), clock);
        let table = builder.skew(Duration::ZERO).keys(1).unwrap();
        assert!(table.try_acquire(&key, 1).is_ok());
        let shared = Arc::new((table, key, [Atomic::new(0), Atomic::new(0)]));
        race(&shared, [0, 1], |(table, key, done), who| {
            done[who].store(1, Relaxed);
            if table.try_acquire(key, 1).unwrap().remaining() == 0 {
                assert_eq!(done[1 - who].load(Relaxed), 1, "the first grant was not seen");
            }
        });
    });
}

/// It lost its place by the time to which the clock has stepped forward, and comes again by one
/// from before.
#[test]
fn a_step_back_brings_no_key_back_fuller() {
    let [key, guest, last] = keys(1, 0, 0);
    check(3, move || {
        let table = one_line();
        let ask = |key| u64::from(table.try_acquire(&key, 1).is_ok());
        let mut granted = ask(key);
        table.clock().set(LATER);
        // The other place is a live one's.
        assert_eq!(ask(last), 1);
        let parts = [(guest, None), (key, Some(NOW + SECOND / 10))];
        let [_, more] = race(&table, parts, |table, (key, back)| {
            if let Some(nanos) = back {
                table.clock().set(nanos);
            }
            u64::from(table.try_acquire(&key, 1).is_ok())
        });
        granted += more;
        // What it has earned by now is one permit, whatever the clock has read meanwhile.
        table.clock().set(NOW + SECOND + SECOND / 9);
        granted += u64::from(table.try_acquire(&key, 1).is_ok());
        assert!(granted <= 2, "{granted} to {table:?}");
    });
}

/// A call that is held up between its reading and its look at the table's time.
#[test]
fn a_clock_that_others_are_ahead_of_has_not_gone_back() {
    let [one, two] = keys(1, 0, 0);
    // Also where no call has come for so long that both catch up.
    for now in [NOW, NOW + 100 * SECOND] {
        check(3, move || {
            let table = one_line();
            table.clock().set(now);
            race(&table, [(one, None), (two, Some(now + 10 * SECOND))], |table, (key, later)| {
                if let Some(nanos) = later {
                    table.clock().set(nanos);
                }
                assert!(table.try_acquire(&key, 1).is_ok());
            });
            assert_eq!(table.healed(), 0);
        });
    }
}

#[test]
fn a_new_key_has_one_place() {
    let [one, twin] = twins(2, 0, 1);
    explore(3, empty(ONE), [vec![Ask(one, 1)], vec![Ask(twin, 1)]], |_| {});
    explore(3, empty(TWO), [vec![Ask(one, 1)], vec![Ask(one, 2)]], |_| {});
}

#[test]
fn a_new_key_has_one_place_whoever_goes_on() {
    let [one, twin] = twins(2, 0, 1);
    let twice = |key| vec![Ask(key, 1), AskUpTo(key, 2)];
    explore(3, empty(TWO), [twice(one), twice(twin)], |_| {});
}

/// One place is left, for the first of the keys; the other was not told that it is taken.
#[test]
fn a_key_that_has_its_place_is_not_refused_for_want_of_one() {
    let [one, a, b] = keys(2, 0, 1);
    let [c] = keys(2, 1, 0);
    let before = [a, b, c].map(|key| Ask(key, 2));
    let scene = || Scene::new(2, TWO, [&[SetClock(NOW)], &before[..]].concat());
    explore(3, scene(), [vec![Ask(one, 1)], vec![Ask(one, 1)]], |played| {
        assert_eq!(played.full(), 0);
    });
    let admits = Scene { when_full: WhenFull::Admit, ..scene() };
    explore(3, admits, [vec![Ask(one, 2)], vec![AskUpTo(one, 2)]], |_| {});
}

#[test]
fn three_who_bring_a_key_find_one_place() {
    let [one, twin] = twins(2, 0, 1);
    for held_up in [one, twin] {
        let programs = [vec![Finish(held_up)], vec![Ask(one, 1)], vec![Ask(twin, 1)]];
        explore(2, after(&[Mark(held_up)]), programs, |_| {});
    }
}

/// The higher of two markers becomes a tombstone while its caller is held up. Another caller saw
/// its place empty before, and comes late; or saw it after that, and the line below before.
#[test]
fn a_marker_that_was_taken_back_does_not_come_again() {
    let [one, twin] = twins(2, 0, 1);
    let [last] = keys(2, 1, 1);
    let buried = vec![Mark(one), Ask(one, 1), Finish(twin)];
    let late = vec![Ask(twin, 1)];
    let whole = [&[Mark(twin)], &*buried].concat();
    explore(3, empty(ONE), [late.clone(), whole], |_| {});
    explore(3, after(&[Mark(twin), Ask(last, 1)]), [late, buried], |_| {});
}

/// The same, but the marker was left behind, and swept away.
#[test]
fn a_marker_that_was_swept_away_does_not_come_again() {
    let [one, twin] = twins(2, 0, 1);
    let swept = vec![Mark(one), SetClock(LATER), Sweep, Ask(twin, 1), Finish(one)];
    explore(3, empty(ONE), [vec![Ask(one, 1)], swept], |_| {});
}

/// Nor if it was placed by a clock that is ahead, and the key and another one in its place
/// were removed by one that is behind.
#[test]
fn a_marker_does_not_come_again_by_clocks_that_are_apart() {
    let [one, twin] = twins(2, 0, 1);
    let [guest, last] = keys(2, 0, 0);
    // Another key gets no place from the one that is removed, nor that of its marker.
    let before = vec![
        SetClock(NOW),
        // So that the table has this time, and not that of the clock that is ahead.
        Sweep,
        RunAhead(SECOND),
        Mark(one),
        RunAhead(0),
        Ask(last, 1),
        Ask(one, 1),
        Remove(one),
        RunAhead(SECOND),
        Ask(guest, 1),
        RunAhead(0),
        Remove(guest),
    ];
    let scene = Scene { skew: Duration::from_secs(1), ..Scene::new(2, ONE, before) };
    let late = vec![RunAhead(SECOND), Ask(one, 1)];
    let held_up = vec![RunAhead(SECOND), Ask(twin, 1), Finish(one)];
    explore(3, scene, [late, held_up], |_| {});
}

/// Meanwhile it was charged by another caller, expired, and lost its place.
#[test]
fn a_new_key_may_have_come_and_gone() {
    let [one, twin] = twins(2, 0, 1);
    let [guest, gone, last] = keys(2, 1, 1);
    // The place that the twin takes is the first to be free again.
    let before = vec![SetClock(NOW - 3 * SECOND), Ask(gone, 1), SetClock(NOW), Ask(last, 1)];
    let away = vec![Ask(twin, 1), SetClock(LATER), Ask(guest, 1)];
    explore(3, Scene::new(2, ONE, before), [vec![Ask(one, 1)], away], |_| {});
}

/// Removed while a caller whose marker it was is held up.
#[test]
fn a_removed_key_has_one_place() {
    let [one, twin] = twins(2, 0, 1);
    let removed = after(&[Mark(one), Ask(one, 1), Remove(one)]);
    let programs = [vec![Finish(one)], vec![Ask(one, 1)], vec![Ask(twin, 1)]];
    explore(1, removed, programs, |_| {});
    explore(3, empty(ONE), [one, twin].map(|key| vec![Ask(key, 1), Remove(key)]), |_| {});
}

/// Given back, the same.
#[test]
fn a_new_key_that_is_given_back_has_one_place() {
    let [one, twin] = twins(2, 0, 1);
    let back = Scene { quota: TWO, ..after(&[Mark(one), Back(one, 1)]) };
    let programs = [vec![Finish(one)], vec![Ask(one, 1)], vec![Ask(twin, 1)]];
    explore(2, back, programs, |_| {});
    explore(3, empty(ONE), [vec![Back(one, 1)], vec![Back(twin, 1), Ask(twin, 1)]], |_| {});
}
