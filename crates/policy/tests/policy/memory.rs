//! The memory that a policy says of each key is what an allocator counts.

use std::sync::Arc;

use sluicegate::ManualClock;
use sluicegate_policy::{Kind, Policies, Registry};

use self::allocator::held_bytes;

#[path = "../../../../tests/support/allocator.rs"]
mod allocator;

const POLICIES: &str = include_str!("policies/every_option.toml");

/// Windows and logs of many sizes, whose memory is in slots and entries.
const SIZES: &str = r"
limiters:
  one: { policy: sliding_window, limit: 5, interval: 1 s, slots: 1 }
  buckets: { policy: token_bucket, limit: 5, rate: { amount: 1, interval: 1 day } }
  seven: { policy: sliding_window, limit: 5, interval: 10 s, slots: 7 }
  many: { policy: sliding_window, limit: 5, interval: 10 s, slots: 9000 }
  more than nanoseconds: { policy: sliding_window, limit: 5, interval: 50 ns, slots: 64 }
  log: { policy: sliding_log, limit: 1, interval: 1 s }
  long log: { policy: sliding_log, limit: 1000, interval: 1 s }
  weighted: { policy: weighted_log, limit: 1000, interval: 1 s }
  weighted, short: { policy: weighted_log, limit: 1000, interval: 1 s, capacity: 1 }
  window alone: { policy: multi_window, limits: [{ limit: 5, interval: 1 s }], slots: 1 }
  windows:
    policy: multi_window
    limits:
      - { limit: 5, interval: 1 s }
      - { limit: 50, interval: 1 minute }
      - { limit: 500, interval: 1 hour }
      - { limit: 5000, interval: 1 day }
      - { limit: 9, interval: 1700 ms }
    slots: 31
  several:
    policy: all
    of:
      - { policy: gcra, interval: 1 s, tolerance: 9 s }
      - { policy: sliding_log, limit: 100, interval: 1 s }
      - { policy: all, of: [{ policy: sliding_window, limit: 100, interval: 1 s }] }
";

fn kinds() -> Vec<(String, Kind)> {
    let all = [Policies::from_toml("p", POLICIES), Policies::from_yaml("p", SIZES)];
    all.into_iter()
        .flat_map(|policies| policies.unwrap().into_limiters())
        .map(|limiter| (limiter.name, limiter.kind))
        .collect()
}

#[test]
fn the_bytes_of_a_limiter_are_those_that_it_allocates() {
    let clock = Arc::new(ManualClock::new());
    for (name, kind) in kinds() {
        // Of those that all keys have in common, none belongs to a key.
        if kind.is_common() {
            continue;
        }
        let said = kind.own_bytes();
        let before = held_bytes();
        let limiter = kind.limiter(clock.clone()).unwrap();
        let counted = held_bytes() - before;
        drop(limiter);
        assert_eq!(said, counted as u64, "{name}");
    }
}

/// Numbers of keys for which hash tables are full and empty.
const KEYS: [u32; 3] = [8_000, 11_000, 14_000];

#[test]
fn the_bytes_of_a_key_are_about_those_of_its_store() {
    for limiter in Policies::from_yaml("p", SIZES).unwrap().limiters() {
        let said = limiter.kind.key_bytes();
        // So large that the store takes no part in it.
        if said > 4_000 {
            continue;
        }
        for keys in KEYS {
            let policies = Policies::from_yaml("p", SIZES).unwrap();
            let clock = Arc::new(ManualClock::new());
            let registry = Registry::with_clock(policies, clock).unwrap();
            let handle = registry.keyed(&limiter.name).unwrap();
            let before = held_bytes();
            for key in 0..keys {
                handle.try_acquire(&key.to_be_bytes(), 1).unwrap();
            }
            // Without the key itself.
            let counted = (held_bytes() - before) as u64 / u64::from(keys) - 4;
            // Chance decides how full the parts of a store are.
            assert!(
                said.abs_diff(counted) * 7 <= counted,
                "{}: {said}, not {counted} for each of {keys} keys",
                limiter.name
            );
        }
    }
}
