//! A limit for each key.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate_flow::concurrency::{ConcurrencyLimit, InFlight, KeyedConcurrency};

#[test]
fn keys_have_a_limit_each() {
    let keyed = KeyedConcurrency::<String>::new(2);
    let ada = keyed.try_acquire("ada", 2).unwrap();
    let bob = keyed.try_acquire("bob", 1).unwrap();
    assert_eq!(keyed.try_acquire("ada", 1).unwrap_err().in_flight(), 2);
    assert_eq!([keyed.in_flight("ada"), keyed.in_flight("bob"), keyed.in_flight("cy")], [2, 1, 0]);
    drop(ada);
    assert!(keyed.try_acquire("ada", 2).is_ok());
    drop(keyed);
    assert_eq!(bob.permits(), 1, "a guard outlives the store");
}

#[test]
fn what_no_key_would_grant_makes_no_key_known() {
    let keyed = KeyedConcurrency::<u64>::new(2);
    for permits in [3, u64::MAX] {
        let denied = keyed.try_acquire(&7, permits).unwrap_err();
        assert!(denied.is_too_large());
        assert_eq!((denied.limit(), denied.in_flight()), (2, 0));
    }
    assert!(keyed.is_empty());
    assert_eq!(keyed.try_acquire(&7, 0).unwrap().permits(), 0);
}

#[test]
fn keys_that_nothing_is_in_flight_of_are_dropped() {
    let keyed = KeyedConcurrency::<u64>::new(1);
    let held: Vec<_> = (0..100).map(|key| keyed.try_acquire(&key, 1).unwrap()).collect();
    for key in 1_000..101_000 {
        drop(keyed.try_acquire(&key, 1).unwrap());
    }
    // Up to 16 for each of 32 shards, or twice what is held.
    assert!(keyed.len() <= 2 * held.len() + 32 * 16, "{}", keyed.len());
    for key in 0..100 {
        assert_eq!(keyed.in_flight(&key), 1);
        assert!(keyed.try_acquire(&key, 1).is_err());
    }
}

#[test]
fn a_limit_is_changed_for_all_keys_but_those_with_one_of_their_own() {
    let keyed = KeyedConcurrency::<u64>::new(2);
    let one = keyed.try_acquire(&1, 1).unwrap();
    keyed.set_limit_of(&2, 9);
    keyed.set_limit_of(&1, 7);
    keyed.forget_limit_of(&1);
    keyed.forget_limit_of(&5);
    keyed.set_limit(4);
    assert_eq!([1, 2, 3].map(|key| keyed.limit_of(&key)), [4, 9, 4]);
    assert_eq!(keyed.limit(), 4);
    let nine = keyed.try_acquire(&2, 9).unwrap();
    keyed.forget_limit_of(&2);
    assert_eq!((keyed.limit_of(&2), keyed.in_flight(&2)), (4, 9));
    assert!(keyed.try_acquire(&2, 1).is_err());
    drop((one, nine));
    keyed.set_limit(u64::MAX);
    assert_eq!(keyed.limit(), ConcurrencyLimit::MAX);
    assert!(keyed.try_acquire(&1, ConcurrencyLimit::MAX).is_ok());
}

#[test]
fn a_limit_of_a_keys_own_is_not_forgotten_with_idle_keys() {
    let keyed = KeyedConcurrency::<u64>::new(1);
    keyed.set_limit_of(&7, 3);
    for key in 1_000..11_000 {
        drop(keyed.try_acquire(&key, 1).unwrap());
    }
    assert_eq!(keyed.limit_of(&7), 3);
}

#[test]
fn a_keyed_limit_is_shown_without_its_keys() {
    let keyed = KeyedConcurrency::<u64>::new(3);
    let _one = keyed.try_acquire(&1, 1).unwrap();
    assert_eq!(format!("{keyed:?}"), "KeyedConcurrency { limit: 3, keys: 1 }");
}

proptest! {
    #[test]
    fn keys_answer_as_a_map_of_sums_does(
        ops in prop::collection::vec((0..40_u64, 0..6_u64, any::<usize>(), 0..10_u32), 1..300),
    ) {
        let keyed = KeyedConcurrency::<u64>::new(3);
        let mut limit = 3;
        let mut own = HashMap::new();
        let mut held: Vec<(u64, InFlight<'static>)> = Vec::new();
        for (key, amount, index, act) in ops {
            let sum = held.iter().filter(|(other, _)| *other == key).map(|(_, guard)| guard.permits());
            let in_flight: u64 = sum.sum();
            let most = own.get(&key).copied().unwrap_or(limit);
            prop_assert_eq!((keyed.limit_of(&key), keyed.in_flight(&key)), (most, in_flight));
            match act {
                0..5 => match keyed.try_acquire(&key, amount) {
                    Ok(guard) => {
                        prop_assert!(amount == 0 || in_flight + amount <= most);
                        held.push((key, guard));
                    }
                    Err(denied) => {
                        prop_assert!(in_flight + amount > most);
                        prop_assert_eq!((denied.limit(), denied.in_flight()), (most, in_flight));
                    }
                },
                5..7 if !held.is_empty() => drop(held.swap_remove(index % held.len())),
                7 => {
                    keyed.set_limit(amount);
                    limit = amount;
                }
                8 => {
                    keyed.set_limit_of(&key, amount);
                    own.insert(key, amount);
                }
                9 => {
                    keyed.forget_limit_of(&key);
                    own.remove(&key);
                }
                _ => {}
            }
        }
    }
}

/// Keys come and go, so that some are dropped while others ask for them.
#[test]
fn no_key_has_more_in_flight_than_its_limit_while_keys_are_dropped() {
    const KEYS: u64 = 200;
    const LIMIT: u64 = 3;
    const CALLS: u64 = if cfg!(miri) { 200 } else { 30_000 };
    let keyed = KeyedConcurrency::<u64>::new(LIMIT);
    let held: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for seed in 0..4 {
            let (keyed, held) = (&keyed, &held);
            scope.spawn(move || {
                let mut random = SmallRng::seed_from_u64(seed);
                for _ in 0..CALLS {
                    // Half of the calls are for a few keys; the others fill the shards.
                    let key = match random.random_range(0..2) {
                        0 => random.random_range(0..4),
                        _ => random.random_range(0..1_000_000),
                    };
                    let permits = random.random_range(1..=LIMIT);
                    let Ok(guard) = keyed.try_acquire(&key, permits) else { continue };
                    if let Some(held) = held.get(key as usize) {
                        let now = held.fetch_add(permits, SeqCst) + permits;
                        assert!(now <= LIMIT, "{now} of {LIMIT}");
                        if random.random_ratio(1, 8) {
                            thread::yield_now();
                        }
                        held.fetch_sub(permits, SeqCst);
                    }
                    drop(guard);
                }
            });
        }
    });
    for key in 0..KEYS {
        assert_eq!(keyed.in_flight(&key), 0);
    }
}
