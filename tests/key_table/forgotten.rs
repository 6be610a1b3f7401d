//! Keys that are removed, reset or swept.

use std::time::Duration;

use sluicegate::*;

use super::{SECOND, one_line, table};

const TEN: Quota = quota!(10 / second);

#[test]
fn a_key_can_be_reset_any_number_of_times_while_the_clock_stands() {
    for quota in [TEN, quota!(5 / hour), quota!(1_000 / day), quota!(1_000_000 / second)] {
        let clock = ManualClock::new();
        let table = table(quota, &clock);
        for times in 0..1_000 {
            let answer = table.try_acquire(&1, quota.burst());
            assert!(answer.is_ok(), "{answer:?} after {times} times, {quota:?}");
            table.reset(&1);
        }
    }
}

#[test]
fn a_key_that_finds_no_place_among_removed_ones_does_after_the_wait_that_it_is_told() {
    let clock = ManualClock::new();
    let table = one_line(TEN, &clock);
    for key in 0..8 {
        table.try_acquire(&key, 10).unwrap();
        table.remove(&key);
    }
    for key in 100..120 {
        if let Err(denied) = table.try_acquire(&key, 1) {
            clock.advance(denied.retry_after().unwrap());
            assert!(table.try_acquire(&key, 1).is_ok(), "{:?}", denied.retry_after());
        }
        table.remove(&key);
    }
}

#[test]
fn a_removed_key_makes_room() {
    let clock = ManualClock::new();
    let table = one_line(TEN, &clock);
    for key in 0..200 {
        assert!(table.try_acquire(&key, 1).is_ok(), "{key}");
        assert!(table.remove(&key));
        clock.advance(Duration::from_millis(2));
    }
    assert_eq!((table.occupancy().live, table.full_events()), (0, 0));
}

#[test]
fn a_sweep_clears_what_is_full_and_leaves_the_rest() {
    let clock = ManualClock::new();
    let table = table(TEN, &clock);
    for key in 0..500 {
        table.try_acquire(&key, 1 + key % 10).unwrap();
    }
    assert_eq!(table.sweep(), 0);
    clock.advance(Duration::from_millis(505));
    let before: Vec<_> = (0..500).map(|key| table.peek(&key, 0)).collect();
    let occupied = table.occupancy();
    let swept = table.sweep();
    // New keys have swept lines too, but there was nothing to sweep then.
    assert_eq!((swept, occupied.expired, occupied.live), (250, 250, 250));
    assert_eq!((table.sweep(), table.occupancy().live), (0, 250));
    assert_eq!((table.occupancy().expired, table.iter().count()), (0, 250));
    assert_eq!((0..500).map(|key| table.peek(&key, 0)).collect::<Vec<_>>(), before);
    clock.advance(Duration::from_secs(2));
    assert_eq!((table.sweep(), table.occupancy().expired), (250, 0));
}

#[test]
fn a_sweep_frees_nothing_that_a_clock_within_the_skew_holds_for_live() {
    let clock = ManualClock::new();
    let table = one_line(TEN, &clock);
    table.try_acquire(&1, 10).unwrap();
    clock.set_nanos(SECOND);
    assert_eq!((table.sweep(), table.occupancy().expired), (0, 1));
    clock.set_nanos(SECOND + 3_000_000);
    assert_eq!(table.sweep(), 1);
}
