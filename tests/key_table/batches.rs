//! Many keys at once: as one after the other.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::keyed::WhenFull;
use sluicegate::*;

use super::{SECOND, builder, often, one_line, table};

const TEN: Quota = quota!(10 / second);

#[test]
fn a_batch_answers_as_single_calls_in_its_order() {
    let clock = ManualClock::at(SECOND);
    let tables = [(); 2].map(|()| table(TEN, &clock));
    let mut random = SmallRng::seed_from_u64(5);
    for turn in 0..often(400) {
        let count = random.random_range(0..70);
        let most = [3, 40, 2_000][turn as usize % 3];
        let keys: Vec<u64> = (0..count).map(|_| random.random_range(0..most)).collect();
        let permits = random.random_range(0..=11);
        let batch = tables[0].try_acquire_batch(&keys, permits);
        let single: Vec<_> = keys.iter().map(|key| tables[1].try_acquire(key, permits)).collect();
        assert_eq!(batch, single, "{permits} for each of {keys:?}");
        clock.advance_nanos(random.random_range(0..SECOND / 10));
    }
    let left = tables.each_ref().map(|table| table.iter().collect::<Vec<_>>());
    assert_eq!(left[0].len(), left[1].len());
}

#[test]
fn a_key_that_a_batch_puts_in_the_last_place_has_its_place() {
    let five = quota!(5 / second);
    let (mut last, mut full) = (0, 0);
    for first in (0..often(400)).map(|turn| turn * 100) {
        let clock = ManualClock::at(SECOND);
        let table = builder(five, &clock).when_full(WhenFull::Admit).memory(128).unwrap();
        // One place is left, in one line or the other.
        for key in first..first + 15 {
            assert!(table.try_acquire(&key, 1).is_ok());
        }
        if table.full_events() > 0 {
            continue;
        }
        let answers = table.try_acquire_batch(&[first + 99; 16], 1);
        let granted = answers.iter().filter(|answer| answer.is_ok()).count();
        match table.full_events() {
            0 => assert_eq!(granted, 5),
            events => assert_eq!((granted, events), (16, 16)),
        }
        if granted == 5 { last += 1 } else { full += 1 }
    }
    assert!(last > full || cfg!(miri), "{last} {full}");
}

#[test]
fn a_batch_names_each_key_once_by_its_place() {
    let clock = ManualClock::new();
    let table = table(TEN, &clock);
    for count in [0, 1, 15, 16, 17, 32, 33, 1_000] {
        let keys: Vec<u64> = (0..count).collect();
        for permits in [0, 1, 11] {
            let mut places = Vec::new();
            table.try_acquire_batch_with(&keys, permits, |place, _| places.push(place as u64));
            assert_eq!(places, keys);
        }
    }
    assert_eq!(table.try_acquire_batch(&[0_u64; 0], 1), []);
}

#[test]
fn a_batch_takes_whatever_a_key_can_be_borrowed_from() {
    let clock = ManualClock::new();
    let table = KeyTable::<str, _, _>::builder_with(TEN, super::Open::default(), &clock);
    let table = table.keys(100).unwrap();
    let names = ["ada", "bob", "ada"].map(str::to_owned);
    let left = |answers: Vec<Result<Grant, Denied>>| -> Vec<u64> {
        answers.iter().map(|answer| answer.unwrap().remaining()).collect()
    };
    assert_eq!(left(table.try_acquire_batch(names.iter().map(String::as_str), 1)), [9, 9, 8]);
    assert_eq!(left(table.try_acquire_batch(["ada", "bob"], 1)), [7, 8]);
    assert_eq!(table.try_acquire("ada", 1).unwrap().remaining(), 6);
}

#[test]
fn a_batch_of_a_full_table_refuses_what_single_calls_refuse() {
    let clock = ManualClock::new();
    let tables = [(); 2].map(|()| one_line(TEN, &clock));
    let keys: Vec<u64> = (0..40).map(|n| n % 13).collect();
    for _ in 0..14 {
        let batch = tables[0].try_acquire_batch(&keys, 1);
        let single: Vec<_> = keys.iter().map(|key| tables[1].try_acquire(key, 1)).collect();
        assert_eq!(batch, single);
        assert!(batch.iter().any(|answer| matches!(answer, Err(Denied::Full { .. }))));
        clock.advance_nanos(SECOND / 20);
    }
    assert_eq!(tables[0].full_events(), tables[1].full_events());
}

#[test]
fn an_answer_may_call_the_table_again() {
    let clock = ManualClock::new();
    let table = table(TEN, &clock);
    let keys: Vec<u64> = (0..40).map(|n| n % 3).collect();
    let mut granted = [0; 3];
    table.try_acquire_batch_with(&keys, 1, |place, answer| {
        let key = keys[place];
        granted[key as usize] += u64::from(answer.is_ok());
        let more = table.try_acquire_up_to(&key, 2);
        granted[key as usize] += more.map_or(0, |grant| grant.permits());
        clock.advance_nanos(SECOND / 1_000);
    });
    // Each at most its burst: 40 ms earn no permit.
    assert_eq!(granted, [10; 3]);
}

#[test]
fn batches_of_two_threads_share_the_bursts_of_their_keys() {
    let clock = ManualClock::new();
    for turn in 0..often(20) {
        let table = builder(TEN, &clock).keys(500).unwrap();
        let granted: Vec<AtomicU64> = (0..200).map(|_| AtomicU64::new(0)).collect();
        thread::scope(|scope| {
            for index in 0..2 {
                let (table, granted) = (&table, &granted);
                scope.spawn(move || {
                    let mut random = SmallRng::seed_from_u64(2 * turn + index);
                    for _ in 0..150 {
                        let keys: Vec<u64> = (0..40).map(|_| random.random_range(0..200)).collect();
                        table.try_acquire_batch_with(&keys, 1, |place, answer| {
                            let one = u64::from(answer.is_ok());
                            granted[keys[place] as usize].fetch_add(one, Relaxed);
                        });
                    }
                });
            }
        });
        for (key, granted) in (0..).zip(&granted) {
            let left = table.peek(&key, 0).unwrap().remaining();
            assert_eq!(granted.load(Relaxed) + left, 10, "key {key}");
        }
    }
}
