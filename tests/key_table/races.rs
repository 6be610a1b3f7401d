//! Real threads on one table. What is checked:
//!
//! * while the clock stands, the threads get exactly the burst of each key between them, and
//!   what the table has left is what they did not get;
//! * on a clock that moves, by hand or by itself, no key is admitted more than its bound in
//!   any span, however the keys are spread, and however many more there are than places;
//! * a table that is swept and removed from all the while stays within it too.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::clock::MonotonicClock;
use sluicegate::*;

use super::bound::{Admission, assert_bounded};
use super::crowds::{Keys, Spread, crowds};
use super::{Open, SECOND, builder, often};

const THREADS: u64 = 2;

/// Has the threads ask for `keys` as often as is said, and returns what they were admitted.
/// The first moves the clock on before it asks.
fn race<C: Clock + Clone + Sync>(
    table: &KeyTable<u64, Open, C>,
    keys: &Keys,
    times: u64,
    pass: &(impl Fn(&mut SmallRng) + Sync),
) -> Vec<Admission> {
    let burst = table.quota().burst();
    let run = |index: u64| {
        let mut random = SmallRng::seed_from_u64(times + index);
        let mut admissions = Vec::new();
        let mut note = |key, from_nanos, to_nanos, answer: Result<Grant, Denied>| {
            let permits = answer.map_or(0, |grant| grant.permits());
            admissions.push(Admission { key, from_nanos, to_nanos, permits });
        };
        for turn in 0..times / THREADS {
            if index == 0 {
                pass(&mut random);
            }
            let key = keys.next(turn, &mut random);
            let from_nanos = table.clock().now_nanos();
            let verb = random.random_range(0..16);
            let answer = match verb {
                0 => table.try_acquire_up_to(&key, burst),
                1 => table.try_acquire(&key, burst),
                2 => {
                    let batch = [key, key, key + 1].map(|key| key % keys.count.max(turn + 2));
                    table.try_acquire_batch_with(&batch, 1, |place, answer| {
                        note(batch[place], from_nanos, table.clock().now_nanos(), answer);
                    });
                    continue;
                }
                3 => match table.try_acquire_revocable(&key, 1) {
                    Err(denied) => Err(denied),
                    Ok(receipt) => {
                        let grant = receipt.grant();
                        if receipt.give_back() {
                            continue;
                        }
                        Ok(grant)
                    }
                },
                _ => table.try_acquire(&key, 1),
            };
            note(key, from_nanos, table.clock().now_nanos(), answer);
        }
        admissions.retain(|admission| admission.permits > 0);
        admissions
    };
    let run = &run;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|index| scope.spawn(move || run(index))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn threads_on_a_standing_clock_get_exactly_the_burst_of_each_key() {
    let quota = quota!(10 / second);
    let clock = ManualClock::at(SECOND);
    for (spread, count) in crowds() {
        let keys = Keys::new(spread, count);
        let table = builder(quota, &clock).keys(count as usize).unwrap();
        let admissions = race(&table, &keys, often(30_000), &|_| ());
        let mut granted: HashMap<u64, u64> = HashMap::new();
        for Admission { key, permits, .. } in admissions {
            *granted.entry(key).or_default() += permits;
        }
        let left = |key: &u64| table.peek(key, 0).unwrap().remaining();
        // Two keys that the table takes for one are the only ones that have less. (None of
        // the first have a fingerprint and a line in common, and the same keys come each time.)
        let gone: u64 = granted.keys().map(|key| quota.burst() - left(key)).sum();
        assert_eq!(granted.values().sum::<u64>(), gone, "{spread:?} {count}");
        let short = granted.iter().filter(|(key, granted)| *granted + left(key) != quota.burst());
        assert_eq!(short.count(), 0, "{spread:?} {count}");
        assert!(granted.len() <= table.occupancy().live);
    }
}

#[test]
fn no_key_is_admitted_more_than_its_bound_on_a_clock_that_moves_by_hand() {
    for quota in [quota!(1_000 / second, burst 20), quota!(3 / ms, burst 2)] {
        for (spread, count) in crowds() {
            let keys = Keys::new(spread, count);
            let clock = ManualClock::at(SECOND);
            let table = builder(quota, &clock).keys(count as usize).unwrap();
            let pass = |random: &mut SmallRng| match random.random_range(0..2_000) {
                // Keys become full, and their places are taken.
                0 => clock.advance_nanos(random.random_range(0..30_000_000)),
                1..1_000 => {}
                _ => clock.advance_nanos(random.random_range(0..10_000)),
            };
            let admissions = race(&table, &keys, often(45_000), &pass);
            assert!(admissions.len() > 100, "{spread:?} {count}");
            assert_bounded(quota, admissions);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "nothing would be earned between two of Miri's steps")]
fn no_key_is_admitted_more_than_its_bound_on_a_clock_that_moves_by_itself() {
    let clock = MonotonicClock::new();
    for quota in [quota!(100_000 / second, burst 20), quota!(1_000 / second, burst 2)] {
        for (spread, count) in crowds() {
            let keys = Keys::new(spread, count);
            let table = KeyTable::builder_with(quota, Open::default(), &clock);
            let table = table.keys(count as usize).unwrap();
            assert_bounded(quota, race(&table, &keys, often(10_000), &|_| ()));
        }
    }
}

#[test]
fn keys_that_are_swept_and_expire_all_the_while_keep_their_bound() {
    let quota = quota!(3 / ms, burst 2);
    let clock = ManualClock::at(SECOND);
    let table = builder(quota, &clock).memory(128).unwrap();
    let (is_over, swept) = (AtomicBool::new(false), AtomicUsize::new(0));
    let keys = Keys::new(Spread::Uniform, 30);
    let admissions = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                swept.fetch_add(table.sweep(), Relaxed);
                thread::yield_now();
            }
        });
        let pass = |random: &mut SmallRng| match random.random_range(0..50) {
            // About when a key is full, by some clocks.
            0 => clock.advance_nanos(random.random_range(600_000..1_800_000)),
            1..20 => {}
            _ => clock.advance_nanos(random.random_range(0..20_000)),
        };
        // Until the sweeper had its turn, which it may miss on a busy machine.
        let mut admissions = Vec::new();
        for _ in 0..100 {
            admissions.extend(race(&table, &keys, often(100_000), &pass));
            if swept.load(Relaxed) > 0 {
                break;
            }
        }
        is_over.store(true, Relaxed);
        admissions
    });
    assert!(swept.into_inner() > 0);
    assert_bounded(quota, admissions);
}

#[test]
fn each_removal_is_worth_one_burst() {
    let quota = quota!(10 / second);
    for _ in 0..often(30) {
        let clock = ManualClock::at(SECOND);
        let table = builder(quota, &clock).memory(128).unwrap();
        let run = |index: u64| {
            let mut random = SmallRng::seed_from_u64(index);
            let (mut granted, mut removed) = ([0_u64; 4], [0_u64; 4]);
            for _ in 0..500 {
                let key = random.random_range(0..4_u64);
                if random.random_range(0..40) == 0 {
                    removed[key as usize] += u64::from(table.remove(&key));
                } else {
                    granted[key as usize] += u64::from(table.try_acquire(&key, 1).is_ok());
                }
                if index == 0 {
                    clock.advance_nanos(10_000);
                }
            }
            (granted, removed)
        };
        let run = &run;
        let all: Vec<_> = thread::scope(|scope| {
            let threads = [0, 1].map(|index| scope.spawn(move || run(index)));
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for key in 0..4 {
            let granted: u64 = all.iter().map(|(granted, _)| granted[key]).sum();
            let removed: u64 = all.iter().map(|(_, removed)| removed[key]).sum();
            assert!(granted <= 10 * (1 + removed), "{granted} with {removed} removals");
        }
    }
}
