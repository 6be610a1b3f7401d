//! The trait of all stores: each answers through it, and through a pointer, as by its own methods.

use std::sync::Arc;

use sluicegate::keyed::{Buckets, Each, HotKeys};
use sluicegate::*;

const TEN: Quota = quota!(10 / hour);

/// Goes through every operation of a store that is empty; `one` and `two` are two keys.
fn go_through<K: ?Sized>(store: &dyn KeyedLimiter<K>, one: &K, two: &K, what: &str) {
    assert_eq!(store.try_acquire(one, 4).unwrap().remaining(), 6, "{what}");
    assert_eq!(store.peek(one, 7).unwrap_err().limit(), Some(10), "{what}");
    assert_eq!(store.peek(one, 6).unwrap().permits(), 6, "{what}");
    assert_eq!(store.try_acquire_up_to(one, 8).unwrap().permits(), 6, "{what}");
    assert!(store.try_acquire_up_to(one, 8).is_err(), "{what}");
    assert!(store.try_acquire(two, 11).is_err(), "{what}");
    assert_eq!(store.len(), 1, "{what}");
    assert!(store.memory_bytes() > 0, "{what}");
    assert_eq!(store.sweep(), 0, "{what}");

    store.reset(one);
    assert_eq!(store.peek(one, 0).unwrap().remaining(), 10, "{what}");
    let answers = store.try_acquire_batch(&mut [one, two, one].into_iter(), 5);
    let left: Vec<u64> = answers.iter().map(|answer| answer.unwrap().remaining()).collect();
    assert_eq!(left, [5, 5, 0], "{what}");
    let mut granted = Vec::new();
    store.try_acquire_batch_with(&mut [one, two].into_iter(), 5, &mut |index, answer| {
        granted.push((index, answer.is_ok()));
    });
    assert_eq!(granted, [(0, false), (1, true)], "{what}");

    assert!(store.remove(one), "{what}");
    assert!(store.remove(two), "{what}");
    assert!(!store.remove(two) && store.is_empty(), "{what}");
    assert_eq!(store.try_acquire(two, 10).unwrap().remaining(), 0, "{what}");
    assert_eq!(store.healed(), 0, "{what}");
}

fn keyed(clock: &ManualClock) -> Keyed<String, Buckets<&ManualClock>> {
    Keyed::with_clock(TEN, clock)
}

fn table<K: std::hash::Hash + ?Sized>(
    clock: &ManualClock,
) -> KeyTable<K, std::hash::RandomState, &ManualClock> {
    let builder = KeyTable::builder_with(TEN, std::hash::RandomState::new(), clock);
    builder.tier(quota!(10 / hour, burst 10)).keys(1_000).unwrap()
}

#[test]
fn every_store_of_names_answers_through_the_trait() {
    let clock = ManualClock::new();
    let clock = &clock;
    let stores: [(&str, Box<dyn KeyedLimiter<str> + '_>); 6] = [
        ("keyed", Box::new(keyed(clock))),
        ("arc", Box::new(Arc::new(keyed(clock)))),
        ("box", Box::new(Box::new(table::<str>(clock)))),
        ("table", Box::new(table::<str>(clock))),
        ("hot keyed", Box::new(HotKeys::new(Arc::new(keyed(clock))))),
        ("hot table", Box::new(HotKeys::new(table::<str>(clock)))),
    ];
    for (what, store) in &stores {
        go_through(&**store, "ada", "bob", what);
    }
    let made = |_: &String| TokenBucket::with_clock(TEN, clock);
    let each = Keyed::<String, _>::with(Each::with_clock(made, clock));
    go_through::<str>(&each, "ada", "bob", "each");
    let table = table::<str>(clock);
    go_through::<str>(&&table, "ada", "bob", "reference");
    let tier = table.tier(1).unwrap();
    table.reset("bob");
    go_through::<str>(&tier, "ada", "bob", "tier");
}

#[test]
fn every_store_of_numbers_answers_through_the_trait() {
    let clock = ManualClock::new();
    let users = Keyed::<u64, _>::with_clock(TEN, &clock);
    go_through::<u64>(&users, &7, &8, "keyed");
    let table = table::<u64>(&clock);
    go_through::<u64>(&HotKeys::new(&table), &7, &8, "hot table");
}

#[test]
fn a_receipt_through_the_trait_gives_back_if_it_is_that_of_a_table() {
    let clock = &ManualClock::new();
    let table = table::<str>(clock);
    let tier = table.tier(1).unwrap();
    let stores: [(&dyn KeyedLimiter<str>, bool); 6] = [
        (&table, true),
        (&tier, true),
        (&&table, true),
        (&Box::new(&table), true),
        (&keyed(clock), false),
        (&HotKeys::new(&table), false),
    ];
    for (index, (store, gives_back)) in stores.into_iter().enumerate() {
        let key = ["a", "b", "c", "d", "e", "f"][index];
        let receipt = store.try_acquire_revocable(key, 4).unwrap();
        assert_eq!(receipt.grant().remaining(), 6, "{key}");
        assert_eq!(receipt.give_back(), gives_back, "{key}");
        let left = store.peek(key, 0).unwrap().remaining();
        assert_eq!(left, if gives_back { 10 } else { 6 }, "{key}");
        assert!(store.try_acquire_revocable(key, 11).is_err(), "{key}");
    }
}

#[test]
fn the_trait_is_shared_between_threads() {
    let clock = Arc::new(ManualClock::new());
    let users = Keyed::<u64, _>::with_clock(TEN, clock);
    let store: Arc<dyn KeyedLimiter<u64>> = Arc::new(users);
    let other = Arc::clone(&store);
    let granted = std::thread::spawn(move || other.try_acquire_up_to(&7, 6).unwrap().permits());
    assert_eq!(granted.join().unwrap(), 6);
    assert_eq!(store.peek(&7, 0).unwrap().remaining(), 4);
}
