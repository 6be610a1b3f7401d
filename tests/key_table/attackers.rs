//! Keys that are chosen to fill a line, and leave no room there for others.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hash, RandomState};

use sluicegate::*;

use super::{Open, builder};

const TEN: Quota = quota!(10 / second);

/// In a table of this many lines.
const LINES: usize = 512;

/// Keys that a table has no room for when the rest of it is nearly empty, as a caller finds that
/// can try them on it.
fn crowded<S: BuildHasher>(table: &KeyTable<u64, S, &ManualClock>, from: u64) -> Vec<u64> {
    let refused = |key: &u64| matches!(table.try_acquire(key, 10), Err(Denied::Full { .. }));
    (from..).filter(refused).take(400).collect()
}

/// Returns the number of the keys that a new table has no room for.
fn refused<S: BuildHasher>(table: &KeyTable<u64, S, &ManualClock>, keys: &[u64]) -> usize {
    let is_full = |key: &&u64| matches!(table.try_acquire(key, 10), Err(Denied::Full { .. }));
    keys.iter().filter(is_full).count()
}

fn secret(clock: &ManualClock) -> KeyTable<u64, RandomState, &ManualClock> {
    KeyTable::builder_with(TEN, RandomState::new(), clock).memory(64 * LINES).unwrap()
}

/// Keys whose hashes by `hasher` have the same of something, in groups, the largest first.
fn alike<T: Ord>(hasher: &impl BuildHasher, bits: impl Fn(u64) -> T) -> Vec<u64> {
    let mut groups: BTreeMap<T, Vec<u64>> = BTreeMap::new();
    for key in 0..200_000_u64 {
        groups.entry(bits(hasher.hash_one(key))).or_default().push(key);
    }
    let mut groups: Vec<Vec<u64>> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    groups.into_iter().flatten().take(400).collect()
}

#[test]
fn keys_that_crowd_a_table_of_a_known_secret_are_spread_in_one_of_its_own() {
    let clock = ManualClock::new();
    let open = builder(TEN, &clock).memory(64 * LINES).unwrap();
    // What does not fit into the first is where it is full.
    let keys = crowded(&open, 0);
    assert_eq!(refused(&builder(TEN, &clock).memory(64 * LINES).unwrap(), &[]), 0);
    assert_eq!(refused(&secret(&clock), &keys), 0);
    assert_eq!(refused(&secret(&clock), &crowded(&secret(&clock), 0)), 0);
}

#[test]
fn keys_of_one_line_by_a_known_secret_are_spread_by_another() {
    let clock = ManualClock::new();
    // The line of a key, as the source tells everybody.
    let line = |hash: u64| {
        let mixed = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = mixed ^ (mixed >> 32);
        ((u128::from(mixed) * LINES as u128) >> 64) as u64
    };
    let keys = alike(&Open::default(), line);
    let open = builder(TEN, &clock).memory(64 * LINES).unwrap();
    // One line is full, and of the others that their fingerprints name none is.
    assert_eq!(refused(&open, &keys), 0);
    assert_eq!(refused(&secret(&clock), &keys), 0);
}

#[test]
fn keys_of_one_pair_by_a_known_secret_are_spread_by_another() {
    const LINES: u64 = 64;
    let clock = ManualClock::new();
    // The lines of a key, as the source tells everybody.
    let mixed = |word: u64| word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let line = |word: u64| ((u128::from(word) * u128::from(LINES)) >> 64) as u64;
    let pair = |hash: u64| {
        let hash = mixed(hash ^ (hash >> 32));
        let hash = hash ^ (hash >> 32);
        let home = line(hash);
        let other = (line(mixed((hash & 0xff_ffff).max(1))) + LINES - home) % LINES;
        (home.min(other), home.max(other))
    };
    let keys: Vec<u64> = alike(&Open::default(), pair).into_iter().take(80).collect();
    let open = builder(TEN, &clock).memory(64 * LINES as usize).unwrap();
    assert_eq!(refused(&open, &keys), 80 - 16);
    let secret = KeyTable::<u64, _, _>::builder_with(TEN, RandomState::new(), &clock);
    assert_eq!(refused(&secret.memory(64 * LINES as usize).unwrap(), &keys), 0);
}

#[test]
fn two_tables_do_not_crowd_the_same_keys() {
    let clock = ManualClock::new();
    for _ in 0..5 {
        let tables = [(); 2].map(|()| secret(&clock));
        let keys = crowded(&tables[0], 0);
        assert_eq!(refused(&tables[1], &keys), 0);
        let again: Vec<u64> = keys.iter().map(|key| key + 1_000_000_000).collect();
        assert_eq!(refused(&secret(&clock), &again), 0);
    }
}

#[test]
fn keys_that_are_alike_in_most_bits_do_not_crowd_a_pair() {
    let clock = ManualClock::new();
    for shift in [0, 8, 20, 32, 40, 48] {
        let keys: Vec<u64> = (0..2_000_u64).map(|key| key << shift).collect();
        assert_eq!(refused(&secret(&clock), &keys), 0, "shift {shift}");
    }
    let names: Vec<String> = (0..2_000).map(|key| format!("user:{key:>40}")).collect();
    let table = KeyTable::<str, _, _>::builder_with(TEN, RandomState::new(), &clock);
    let table = table.memory(64 * LINES).unwrap();
    assert!(names.iter().all(|name| table.try_acquire(name, 10).is_ok()));
}

/// A hasher that hashes a number to itself, as some do where nobody chooses the keys to do harm.
#[derive(Clone, Copy, Default)]
struct Itself(u64);

impl BuildHasher for Itself {
    type Hasher = Itself;
    fn build_hasher(&self) -> Itself {
        *self
    }
}

impl std::hash::Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are numbers");
    }
    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[test]
fn a_hasher_that_hardly_hashes_spreads_keys_that_come_in_order() {
    let clock = ManualClock::new();
    for shift in [0, 3, 8, 16, 24, 32, 40, 48] {
        let table = KeyTable::<u64, _, _>::builder_with(TEN, Itself(0), &clock);
        let table = table.memory(64 * LINES).unwrap();
        let keys: Vec<u64> = (0..2_000_u64).map(|key| key << shift).collect();
        let refused = refused(&table, &keys);
        assert_eq!((refused, table.occupancy().live), (0, 2_000), "shift {shift}");
    }
    let mut hasher = Itself(0).build_hasher();
    7_u64.hash(&mut hasher);
    assert_eq!(std::hash::Hasher::finish(&hasher), 7);
}
