//! Clocks that start or end anywhere, stand still, or go back.

use std::time::Duration;

use sluicegate::keyed::HotKeys;
use sluicegate::*;

use super::{Open, SECOND, builder, one_line, table};
use crate::support::counted::{Counted, Failing};
use crate::support::held_up::HeldUp;

const TEN: Quota = quota!(10 / second);

#[test]
fn a_clock_may_start_anywhere() {
    for start_nanos in [0, 1, SECOND, 1 << 62, u64::MAX - SECOND, u64::MAX] {
        let clock = ManualClock::at(start_nanos);
        let table = table(TEN, &clock);
        for key in 0..50 {
            assert_eq!(table.try_acquire(&key, 10).unwrap().remaining(), 0);
            assert!(table.try_acquire(&key, 1).is_err());
        }
        clock.advance_nanos(SECOND / 10);
        for key in 0..50 {
            // At the end of its range a clock stands.
            assert_eq!(table.try_acquire(&key, 1).is_ok(), start_nanos != u64::MAX);
            assert!(table.try_acquire(&key, 1).is_err());
        }
    }
}

const YEAR: u64 = 31_557_600 * SECOND;

#[test]
fn a_table_that_is_asked_after_very_long_starts_again_and_goes_on() {
    for quota in [TEN, quota!(1 / 36525 days), quota!(134_217_728 / second, burst 1_000)] {
        for years in [10, 60, 72, 74, 80, 100, 130, 145, 147, 200, 500] {
            let clock = ManualClock::new();
            let table = table(quota, &clock);
            let burst = quota.burst();
            table.try_acquire(&1, burst).unwrap();
            clock.advance_nanos(years * YEAR);
            // (Time comes round after 146 years, and a slow key has earned nothing in one; a
            // level comes again every four minutes where the rate is that high.)
            if quota == TEN {
                assert!(table.peek(&1, burst).is_ok(), "{years}");
            }
            for key in 2..50 {
                assert_eq!(table.try_acquire(&key, burst).unwrap().remaining(), 0, "{years}");
                assert!(table.try_acquire(&key, 1).is_err());
            }
            clock.advance(table.try_acquire(&2, 1).unwrap_err().retry_after().unwrap());
            if clock.now_nanos() < u64::MAX {
                assert!((2..50).all(|key| table.try_acquire(&key, 1).is_ok()), "{years}");
                assert!((2..50).all(|key| table.try_acquire(&key, 1).is_err()), "{years}");
            }
        }
    }
}

#[test]
fn nobody_gains_at_the_end_of_a_clock() {
    let clock = ManualClock::at(9 * SECOND);
    let table = table(TEN, &clock);
    clock.set_nanos(u64::MAX);
    for key in 0..50 {
        assert_eq!(table.try_acquire(&key, 10).unwrap().remaining(), 0);
        assert!(table.try_acquire(&key, 1).is_err());
    }
    clock.set_nanos(u64::MAX - SECOND);
    assert!((0..50).all(|key| table.try_acquire(&key, 1).is_err()));
}

#[test]
fn a_clock_that_goes_back_within_the_skew_grants_nothing_again() {
    let quota = quota!(1_000_000 / second, burst 100);
    let clock = ManualClock::at(SECOND);
    let table = builder(quota, &clock).skew(Duration::from_millis(5)).keys(1_000).unwrap();
    let mut granted = 0;
    for step in 1..=2_000_u64 {
        clock.advance_nanos(10_000);
        let now_nanos = clock.now_nanos();
        granted += table.try_acquire_up_to(&1, u64::MAX).map_or(0, |grant| grant.permits());
        // At first to before the table was made.
        clock.set_nanos(now_nanos - step * 2_477 % 5_000_000);
        granted += table.try_acquire_up_to(&1, u64::MAX).map_or(0, |grant| grant.permits());
        let _ = (table.sweep(), table.peek(&1, 100), table.try_acquire(&step, 100));
        clock.set_nanos(now_nanos);
    }
    assert_eq!(granted, 100 + 2_000 * 10 - 10);
}

#[test]
fn a_skew_of_seconds_is_kept() {
    let clock = ManualClock::at(1_000 * SECOND);
    let table = builder(TEN, &clock).skew(Duration::from_secs(5)).keys(1_000).unwrap();
    clock.advance_nanos(100 * SECOND);
    assert!(table.try_acquire(&1, 10).is_ok());
    clock.rewind(Duration::from_secs(3));
    assert!(table.try_acquire(&1, 1).is_err());
    assert!(table.peek(&1, 1).is_err());
    assert_eq!(table.healed(), 0);
    clock.advance_nanos(3 * SECOND + SECOND / 10);
    assert!(table.try_acquire(&1, 1).is_ok() && table.try_acquire(&1, 1).is_err());
}

#[test]
fn a_clock_that_goes_back_by_more_is_worth_one_burst_each_time() {
    let mut granted = 0;
    let clock = ManualClock::at(1_000 * SECOND);
    let table = table(TEN, &clock);
    clock.advance_nanos(500 * SECOND);
    for back in 1..=20_u64 {
        clock.rewind(Duration::from_secs(back));
        for _ in 0..30 {
            granted += u64::from(table.try_acquire(&1, 1).is_ok());
        }
        assert!(granted <= back * 10, "{granted} after {back} times");
        // And the key is none the worse for it.
        clock.advance_nanos(SECOND / 10);
        assert!(table.try_acquire(&1, 1).is_ok() && table.try_acquire(&1, 1).is_err());
    }
}

/// Asks for permits of one key.
type Ask<'a> = Box<dyn Fn(u64) -> Result<Grant, Denied> + 'a>;

/// The ways of asking, all of one key.
fn askers<'a>(
    one: &'a KeyTable<u64, Open, &'a ManualClock>,
    tiers: &'a KeyTable<u64, Open, &'a ManualClock>,
    hot: &'a HotKeys<KeyTable<u64, Open, &'a ManualClock>>,
) -> [Ask<'a>; 4] {
    [
        Box::new(|permits| one.try_acquire(&1, permits)),
        Box::new(|permits| tiers.tier(0).unwrap().try_acquire(&1, permits)),
        Box::new(|permits| tiers.tier(1).unwrap().try_acquire(&2, permits)),
        Box::new(|permits| hot.place(0).try_acquire(&1, permits)),
    ]
}

#[test]
fn a_wait_that_is_told_before_a_table_was_made_is_the_least_that_suffices() {
    let quota = quota!(10 / second, burst 3);
    for back in [1, SECOND / 10, SECOND / 2, SECOND] {
        let clock = ManualClock::at(100 * SECOND);
        let one = table(quota, &clock);
        let tiers = builder(quota!(5 / second, burst 3), &clock).tier(quota).keys(100).unwrap();
        let hot = HotKeys::with_places(table(quota, &clock), 1).unwrap();
        let keys = askers(&one, &tiers, &hot);
        for ask in &keys {
            while ask(1).is_ok() {}
        }
        clock.rewind(Duration::from_nanos(back));
        for (number, ask) in keys.iter().enumerate() {
            let before_nanos = clock.now_nanos();
            let per_second = if number == 1 { 5 } else { 10 };
            let wait = ask(1).unwrap_err().retry_after().unwrap();
            assert_eq!(wait, Duration::from_nanos(back + SECOND / per_second), "{number}");
            clock.advance(wait.saturating_sub(Duration::from_nanos(1)));
            assert!(ask(1).is_err(), "{number} {back}");
            clock.advance_nanos(1);
            assert!(ask(1).is_ok() && ask(1).is_err(), "{number} {back}");
            clock.set_nanos(before_nanos);
        }
        assert_eq!((one.healed(), tiers.healed(), hot.store().healed()), (0, 0, 0));
    }
}

#[test]
fn a_request_for_no_permits_is_granted_to_a_key_whose_balance_is_negative() {
    let clock = ManualClock::at(100 * SECOND);
    let table = table(TEN, &clock);
    clock.advance_nanos(SECOND);
    table.try_acquire(&1, 10).unwrap();
    clock.rewind(Duration::from_millis(500));
    // Five permits are missing, and the one that is wanted.
    let wait = table.peek(&1, 1).unwrap_err().retry_after();
    assert_eq!(wait, Some(Duration::from_millis(600)));
    let granted = [table.peek(&1, 0), table.try_acquire(&1, 0), table.try_acquire_up_to(&1, 0)];
    for grant in granted.map(Result::unwrap) {
        assert_eq!((grant.permits(), grant.remaining()), (0, 0));
    }
}

#[test]
fn a_clock_that_is_set_far_back_before_a_table_was_made_earns_as_ever_and_is_counted() {
    let quota = quota!(10 / second, burst 3);
    for back in [2 * SECOND, 3_600 * SECOND, 56 * YEAR] {
        let clock = ManualClock::at(100 * SECOND + 56 * YEAR);
        let one = table(quota, &clock);
        let tiers = builder(quota!(5 / second, burst 3), &clock).tier(quota).keys(100).unwrap();
        let hot = HotKeys::with_places(table(quota, &clock), 1).unwrap();
        let keys = askers(&one, &tiers, &hot);
        for ask in &keys {
            while ask(1).is_ok() {}
        }
        clock.rewind(Duration::from_nanos(back));
        // A new history, once.
        for (number, ask) in keys.iter().enumerate() {
            assert!((0..3).all(|_| ask(1).is_ok()) && ask(1).is_err(), "{number} {back}");
        }
        let healed = || [one.healed(), tiers.healed(), hot.store().healed()];
        let counted = healed();
        assert!(counted.iter().all(|&healed| healed > 0), "{counted:?}");
        for _ in 0..3_000 {
            clock.advance_nanos(SECOND);
            assert!(keys.iter().all(|ask| ask(1).is_ok()));
        }
        assert_eq!(healed(), counted);
    }
}

#[test]
fn the_clock_is_read_as_often_as_is_said() {
    let clock = Counted::at(SECOND);
    let table = KeyTable::<u64, _, _>::builder_with(TEN, Open::default(), &clock).keys(4_096);
    let (table, mut sweeps) = (table.unwrap(), 0);
    for key in 0..200 {
        let (_, readings) = clock.readings(|| table.try_acquire(&key, 1).unwrap());
        // One more for each key that sweeps a line: one in 16.
        assert!((2..=3).contains(&readings), "{readings} for a new key");
        sweeps += readings - 2;
        assert_eq!(clock.readings(|| table.try_acquire(&key, 1)).1, 1);
        assert_eq!(clock.readings(|| table.try_acquire(&key, 9)).1, 1);
        assert_eq!(clock.readings(|| table.try_acquire(&key, 11)).1, 0);
        assert_eq!(clock.readings(|| table.peek(&key, 1)).1, 1);
    }
    assert!((5..25).contains(&sweeps), "{sweeps} of 200");
    let keys: Vec<u64> = (0..160).collect();
    let (_, readings) = clock.readings(|| table.try_acquire_batch(&keys, 1));
    assert_eq!(readings, 10, "once for every 16");
}

#[test]
fn a_call_that_never_comes_back_from_the_clock_is_in_nobodys_way_for_long() {
    let panics =
        |run: &dyn Fn()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    for readings in 0..4 {
        let clock = Failing::at(SECOND);
        let table = KeyTable::<u64, _, _>::builder_with(TEN, Open::default(), &clock).memory(64);
        let table = table.unwrap();
        for key in 0..8 {
            clock.fail_after(readings);
            let is_held_up = panics(&|| assert!(table.try_acquire(&key, 10).is_ok()));
            // One reading more for those that have not four places to choose from.
            let enough = if key < 5 { 2 } else { 3 };
            assert!(is_held_up || readings >= enough);
            clock.fail_after(i64::MAX);
        }
        let pending = [0, 5, 3, 0][readings as usize];
        assert_eq!(table.occupancy().pending, pending);
        // Each key finds the place that was being taken for it.
        if readings == 1 {
            assert!(table.try_acquire(&0, 10).is_ok() && table.try_acquire(&0, 1).is_err());
        }
        if readings == 2 {
            assert!(table.try_acquire(&7, 10).is_ok() && table.try_acquire(&7, 1).is_err());
            let denied = table.try_acquire(&100, 1).unwrap_err();
            assert!(denied.retry_after() <= Some(Duration::from_micros(1_020)), "{denied:?}");
            clock.manual.advance(denied.retry_after().unwrap());
            assert_eq!(table.try_acquire(&100, 10).unwrap().remaining(), 0);
        }
    }
    std::panic::set_hook(hook);
}

#[test]
fn a_table_of_one_line_is_a_table() {
    let clock = ManualClock::new();
    let table = one_line(TEN, &clock);
    for key in 0..8 {
        assert_eq!(table.try_acquire(&key, 10).unwrap().remaining(), 0);
    }
    assert!((0..8).all(|key| table.try_acquire(&key, 1).is_err()));
    assert_eq!((table.occupancy().live, table.occupancy().places), (8, 8));
    clock.advance_nanos(2 * SECOND);
    assert!((10..18).all(|key| table.try_acquire(&key, 10).is_ok()));
    assert!((0..8).all(|key| matches!(table.try_acquire(&key, 1), Err(Denied::Full { .. }))));
}

#[test]
fn a_place_that_nobody_had_is_taken_at_any_time_without_a_fault() {
    for eighth in 0..8 {
        let clock = ManualClock::at(9);
        let table = one_line(TEN, &clock);
        clock.advance(table.wrap_period() / 8 * eighth);
        for key in 0..8 {
            table.try_acquire(&key, 10).unwrap();
        }
        assert_eq!(table.healed(), 0, "{eighth}");
    }
}

/// A table of a line, by a clock whose callers may be held up.
fn held_up(
    quota: Quota,
    start_nanos: u64,
) -> (&'static HeldUp, &'static KeyTable<u64, Open, &'static HeldUp>) {
    let clock: &HeldUp = Box::leak(Box::new(HeldUp::at(start_nanos)));
    let table = KeyTable::builder_with(quota, Open::default(), clock).memory(64).unwrap();
    (clock, Box::leak(Box::new(table)))
}

/// For longer than clocks are apart: what is written meanwhile is ahead of its reading.
#[test]
fn a_look_by_a_caller_that_is_held_up_promises_no_more_than_there_ever_was() {
    let (clock, table) = held_up(quota!(10 / second, burst 100), 0);
    table.try_acquire(&1, 100).unwrap();
    clock.meanwhile(move || {
        clock.manual.advance_nanos(2 * SECOND);
        table.try_acquire(&1, 20).unwrap();
    });
    assert!(table.peek(&1, 21).is_err());
    assert!(clock.has_happened());
}

#[test]
fn a_sweep_that_is_held_up_forgets_no_key_that_was_charged_meanwhile() {
    let (clock, table) = held_up(TEN, 1_000 * SECOND);
    table.try_acquire(&1, 1).unwrap();
    clock.meanwhile(move || {
        clock.manual.advance_nanos(60 * SECOND);
        table.try_acquire(&1, 10).unwrap();
    });
    table.sweep();
    assert!(clock.has_happened());
    assert!(table.try_acquire(&1, 1).is_err());
}

#[test]
fn a_removal_that_is_held_up_makes_full_what_was_emptied_meanwhile() {
    let (clock, table) = held_up(TEN, 1_000 * SECOND);
    table.try_acquire(&1, 1).unwrap();
    clock.meanwhile(move || {
        clock.manual.advance_nanos(100 * SECOND);
        table.try_acquire(&1, 10).unwrap();
    });
    assert!(table.remove(&1));
    assert!(clock.has_happened());
    assert_eq!(table.peek(&1, 0).unwrap().remaining(), 10);
}

/// A caller finds the clock behind, twice, and while it is held up the clock is ahead of all.
#[test]
fn a_table_does_not_go_back_to_a_reading_from_before_its_time_went_on() {
    let (clock, table) = held_up(TEN, 1_000 * SECOND);
    clock.manual.advance_nanos(SECOND);
    table.try_acquire(&1, 10).unwrap();
    clock.manual.rewind(Duration::from_secs(50));
    clock.meanwhile(move || {
        clock.meanwhile(move || {
            clock.manual.advance_nanos(70 * SECOND);
            table.try_acquire(&2, 10).unwrap();
        });
    });
    table.remove(&1);
    assert!(clock.has_happened());
    assert_eq!(table.healed(), 0);
    assert!(table.try_acquire(&2, 1).is_err());
}
