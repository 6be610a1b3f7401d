//! A table without room: the keys that are refused, for how long, and those left undisturbed.

use std::time::Duration;

use sluicegate::keyed::WhenFull;
use sluicegate::*;

use super::bound::{Admission, assert_bounded};
use super::exact::{Exact, Said};
use super::{SECOND, builder, often, one_line};
use crate::support::observer::Told;

const TEN: Quota = quota!(10 / second);

/// A line that the first eight keys have filled.
fn filled(when_full: WhenFull, clock: &ManualClock) -> super::Table<'_> {
    let table = builder(TEN, clock).when_full(when_full).memory(64).unwrap();
    for key in 0..8 {
        table.try_acquire(&key, key + 3).unwrap();
    }
    table
}

#[test]
fn a_full_table_refuses_new_keys_and_says_when_there_is_a_place() {
    let clock = ManualClock::new();
    let table = filled(WhenFull::Deny, &clock);
    let denied = table.try_acquire(&100, 1).unwrap_err();
    let Denied::Full { retry_after } = denied else { panic!("{denied:?}") };
    // The first key is full after 300 ms, and by every clock a skew or two later.
    let about = Duration::from_millis(301)..=Duration::from_millis(303);
    assert!(about.contains(&retry_after), "{retry_after:?}");
    assert_eq!((denied.retry_after(), denied.which()), (Some(retry_after), 0));
    assert_eq!(table.try_acquire_up_to(&101, 9), Err(denied));
    assert_eq!(table.try_acquire_revocable(&102, 9).unwrap_err(), denied);
    assert_eq!(table.try_acquire_batch(&[100, 103], 10), [Err(denied); 2]);
    assert_eq!(table.full_events(), 5);
    // That says nothing about the amount, nor about those that are there.
    assert_eq!(table.try_acquire(&100, 11), Err(Denied::TooLarge { limit: 10, which: 0 }));
    assert_eq!(table.try_acquire(&100, 0).unwrap().permits(), 0);
    assert_eq!(table.peek(&100, 10).unwrap().remaining(), 0);
    assert!((0..8).all(|key| table.peek(&key, 0).unwrap().remaining() == 7 - key));
    clock.advance(retry_after.saturating_sub(Duration::from_micros(13)));
    assert!(table.try_acquire(&100, 1).is_err());
    clock.advance(Duration::from_micros(13));
    assert_eq!(table.try_acquire(&100, 10).unwrap().remaining(), 0);
    assert!(matches!(table.try_acquire(&101, 1), Err(Denied::Full { .. })));
}

#[test]
fn a_full_table_admits_what_it_cannot_count_if_it_is_told_to() {
    let clock = ManualClock::new();
    let table = filled(WhenFull::Admit, &clock);
    for key in 100..1_000 {
        let grant = table.try_acquire(&key, 10).unwrap();
        assert_eq!((grant.permits(), grant.remaining()), (10, 0));
        assert_eq!(table.try_acquire_up_to(&key, 7).unwrap().permits(), 7);
        assert_eq!(table.try_acquire_up_to(&key, 70).unwrap().permits(), 10);
        assert!(!table.try_acquire_revocable(&key, 1).unwrap().give_back());
    }
    assert_eq!((table.occupancy().live, table.full_events()), (8, 4 * 900));
    assert_eq!(table.try_acquire(&7, 1).unwrap_err().retry_after(), Some(SECOND_TENTH));
}

const SECOND_TENTH: Duration = Duration::from_millis(100);

#[test]
fn a_full_table_has_one_bucket_for_all_that_it_cannot_count_if_it_is_told_to() {
    let clock = ManualClock::new();
    let table = filled(WhenFull::Share(quota!(100 / second, burst 20)), &clock);
    let granted: u64 = (100..200).map(|key| u64::from(table.try_acquire(&key, 1).is_ok())).sum();
    assert_eq!(granted, 20);
    let denied = table.try_acquire(&100, 1).unwrap_err();
    assert!(matches!(denied, Denied::Wait(_)));
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(10)));
    clock.advance(Duration::from_millis(50));
    assert_eq!(table.try_acquire(&100, 5).unwrap().remaining(), 0);
    assert_eq!(table.try_acquire(&0, 7).unwrap().remaining(), 0, "its own bucket");
}

#[test]
fn more_than_the_one_bucket_holds_is_refused_only_until_there_is_a_place() {
    let clock = ManualClock::new();
    let table = filled(WhenFull::Share(quota!(5 / second)), &clock);
    let denied = table.try_acquire(&100, 8).unwrap_err();
    let Denied::Full { retry_after } = denied else { panic!("{denied:?}") };
    clock.advance(retry_after);
    assert_eq!(table.try_acquire(&100, 8).unwrap().remaining(), 2);
}

#[test]
fn an_observer_is_told_how_many_permits_were_asked_for_and_the_whole_answer() {
    let (clock, told) = (ManualClock::new(), Told::<u64>::default());
    let share = WhenFull::Share(quota!(4 / second));
    let table = builder(TEN, &clock).when_full(share).observer(&told).memory(64).unwrap();
    for key in 0..8 {
        table.try_acquire(&key, 7).unwrap();
    }
    told.0.lock().unwrap().clear();
    let keys = [0, 0, 100, 100];
    let answers = keys.map(|key| table.try_acquire_up_to(&key, 10));
    let granted = answers.map(|answer| answer.map_or(0, |grant| grant.permits()));
    assert_eq!(granted, [3, 0, 4, 0]);
    let mut expected: Vec<_> =
        std::iter::zip(keys, answers).map(|(key, answer)| (key, 10, answer)).collect();
    assert_eq!(*told.0.lock().unwrap(), expected);
    // More than the burst, a batch, a receipt; a request for none is a look, and not told.
    told.0.lock().unwrap().clear();
    expected.clear();
    expected.push((1, 11, table.try_acquire(&1, 11)));
    table.try_acquire(&1, 0).unwrap();
    table.try_acquire_batch_with(&[1, 2], 2, |index, answer| {
        expected.push((1 + index as u64, 2, answer));
    });
    expected.push((3, 1, table.try_acquire_revocable(&3, 1).map(|receipt| receipt.grant())));
    assert_eq!(*told.0.lock().unwrap(), expected);
}

#[test]
fn a_flood_of_keys_neither_disturbs_those_that_are_there_nor_gives_any_a_fresh_burst() {
    let clock = ManualClock::at(SECOND);
    let table = builder(TEN, &clock).memory(64 * 16).unwrap();
    let (bytes, places) = (table.memory_bytes(), table.occupancy().places as u64);
    let mut exact = Exact::new(&[TEN], SECOND);
    // These are never full for long enough that another could take their places.
    let present: Vec<u64> = (0..40).collect();
    let mut admissions = Vec::new();
    for key in &present {
        assert_eq!(Said::from(table.try_acquire(key, 10)), exact.acquire(0, *key, 10));
    }
    let (mut refused, mut checked) = (0, 0);
    for turn in 0..often(100 * places) {
        clock.advance_nanos(250_000);
        exact.at(clock.now_nanos());
        // New ones, and such as came some time ago.
        let key = 1_000 + turn - turn % 7 * 11;
        let from_nanos = clock.now_nanos();
        match table.try_acquire(&key, 1 + turn % 10) {
            Ok(grant) => admissions.push(Admission {
                key,
                from_nanos,
                to_nanos: from_nanos,
                permits: grant.permits(),
            }),
            Err(Denied::Full { .. }) => refused += 1,
            Err(_) => {}
        }
        let key = present[turn as usize % present.len()];
        let said = Said::from(table.try_acquire_up_to(&key, 2));
        assert_eq!(said, exact.up_to(0, key, 2), "key {key} at turn {turn}");
        checked += 1;
    }
    assert!(refused * 4 > checked, "{refused} of {checked}");
    assert_eq!((table.memory_bytes(), table.full_events()), (bytes, refused));
    assert_bounded(TEN, admissions);
}

#[test]
fn every_key_that_finds_no_room_is_admitted_after_the_wait_that_it_is_told() {
    for quota in [TEN, quota!(1_000 / day, burst 3), quota!(1_000_000 / second), quota!(7 / ms)] {
        let clock = ManualClock::at(3);
        let mut checked = 0;
        for key in 0..often(150) {
            let table = builder(quota, &clock).memory(64 * 4).unwrap();
            for other in 0..200 {
                clock.advance_nanos(17);
                let _ = table.try_acquire(&(key * 1_000 + other), 1 + other % quota.burst());
            }
            let key = key * 1_000 + 999;
            if let Err(Denied::Full { retry_after }) = table.try_acquire(&key, 1) {
                let nanos = u64::try_from(retry_after.as_nanos()).unwrap();
                // Two ticks before there is none; a tick is no more than this.
                let tick = table.wrap_period().as_nanos() >> 39;
                let early = 2 * u64::try_from(tick).unwrap() + 2;
                if nanos > early {
                    clock.advance_nanos(nanos - early);
                    assert!(table.try_acquire(&key, 1).is_err(), "{quota:?} {retry_after:?}");
                    clock.advance_nanos(early);
                } else {
                    clock.advance_nanos(nanos);
                }
                assert!(table.try_acquire(&key, 1).is_ok(), "{quota:?} {retry_after:?}");
                checked += 1;
            }
        }
        assert!(checked > 0, "{quota:?}");
    }
}

#[test]
fn keys_in_their_rated_number_have_room_but_for_a_few_in_a_million() {
    let clock = ManualClock::new();
    for keys in [1_000, 30_000, 100_000] {
        let table = builder(TEN, &clock).keys(keys).unwrap();
        let refused = (0..keys as u64).filter(|key| table.try_acquire(key, 10).is_err()).count();
        assert!(refused <= 3, "{refused} of {keys}");
        assert!(table.occupancy().live >= keys - refused - 2, "merged");
    }
    let table = one_line(TEN, &clock);
    assert_eq!((0..100).filter(|key| table.try_acquire(key, 1).is_ok()).count(), 8);
}

/// The wait is told to a caller whose clock is behind the table's time.
#[test]
fn a_wait_for_a_place_is_enough_by_a_clock_that_is_a_little_behind() {
    let clock = ManualClock::at(SECOND);
    let table = filled(WhenFull::Deny, &clock);
    clock.advance(Duration::from_millis(200));
    assert!(matches!(table.try_acquire(&100, 1), Err(Denied::Full { .. })));
    clock.rewind(Duration::from_millis(150));
    let Err(Denied::Full { retry_after }) = table.try_acquire(&100, 1) else { panic!() };
    let about = Duration::from_millis(251)..=Duration::from_millis(253);
    assert!(about.contains(&retry_after), "{retry_after:?}");
    clock.advance(retry_after.saturating_sub(Duration::from_micros(13)));
    assert!(matches!(table.try_acquire(&100, 1), Err(Denied::Full { .. })));
    clock.advance(Duration::from_micros(13));
    assert_eq!(table.try_acquire(&100, 10).unwrap().remaining(), 0);
}

/// By every time of the table its key is full then: two that are read at once may be two skews
/// apart.
#[test]
fn a_place_goes_to_another_key_two_skews_after_its_own_is_full() {
    for millis in [1, 10, 100] {
        let (clock, skew) = (ManualClock::new(), Duration::from_millis(millis));
        let table = builder(TEN, &clock).skew(skew).memory(64).unwrap();
        for key in 0..8 {
            table.try_acquire(&key, key + 3).unwrap();
        }
        clock.advance(Duration::from_millis(300) + 2 * skew);
        assert!(matches!(table.try_acquire(&100, 1), Err(Denied::Full { .. })), "{millis}");
        // Less than a permit.
        clock.advance(Duration::from_millis(1));
        assert!(table.try_acquire(&100, 1).is_ok(), "{millis}");
    }
}
