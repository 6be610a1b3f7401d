//! Keyed limiters:
//!
//! * keys that are known or not, on a clock that is moved by hand;
//! * any limiter for a key, tiers, and debts;
//! * `keyed/replay.rs`: the same answers as a map of buckets that forgets nothing;
//! * `keyed/batch.rs`: many keys at once;
//! * `keyed/change.rs`: changes of quota, snapshots;
//! * `keyed/clocks.rs`: clocks that go back, or far ahead;
//! * `keyed/credit.rs`: permits that a key is given from outside;
//! * `keyed/drops.rs`: keys whose `Drop` panics;
//! * `keyed/forms.rs`: the forms in which a key is given;
//! * `keyed/full.rs`: what becomes of a key for which there is no room;
//! * `keyed/memory.rs`: what is forgotten, and what is allocated;
//! * `keyed/reserve.rs`: permits that are taken for a later instant;
//! * `keyed/races.rs`: threads that meet at keys that come and go.

mod batch;
mod change;
mod clocks;
mod closures;
mod credit;
mod drops;
mod forms;
mod full;
mod memory;
mod races;
mod replay;
mod reserve;
mod tiers;

use std::hash::{BuildHasherDefault, Hasher};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::keyed::{Buckets, Each, Observe};
use sluicegate::*;

use crate::support::observer::Told;

const SECOND: Duration = Duration::from_secs(1);

fn keyed<K: std::hash::Hash + Eq>(
    quota: Quota,
    clock: &ManualClock,
) -> Keyed<K, Buckets<&ManualClock>> {
    Keyed::with_clock(quota, clock)
}

#[test]
fn each_key_has_a_bucket_of_its_own() {
    let clock = ManualClock::new();
    let users = keyed::<String>(quota!(2 / second), &clock);
    assert_eq!(users.try_acquire("ada", 2).unwrap().remaining(), 0);
    assert_eq!(users.try_acquire("bob", 1).unwrap().remaining(), 1);
    let denied = users.try_acquire("ada", 1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(SECOND / 2));
    clock.advance_nanos(499_999_999);
    assert!(users.try_acquire("ada", 1).is_err());
    clock.advance_nanos(1);
    assert!(users.try_acquire("ada", 1).is_ok());
    assert_eq!(users.len(), 2);
}

#[test]
fn what_takes_nothing_makes_no_key_known() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(2 / second), &clock);
    assert_eq!(users.try_acquire(&1, 0).unwrap().remaining(), 2);
    assert_eq!(users.peek(&1, 2).unwrap().remaining(), 0);
    assert!(matches!(users.peek(&1, 3), Err(Denied::TooLarge { limit: 2, .. })));
    assert!(matches!(users.try_acquire(&1, 3), Err(Denied::TooLarge { limit: 2, .. })));
    assert!(matches!(users.try_acquire(&1, u64::MAX), Err(Denied::TooLarge { .. })));
    assert_eq!(users.try_acquire_up_to(&1, 0).unwrap().permits(), 0);
    assert_eq!(users.force(&1, 0).unwrap().permits(), 0);
    users.reset(&1);
    assert!(!users.remove(&1) && !users.contains(&1) && users.is_empty());
}

#[test]
fn the_tier_of_a_key_is_a_function_of_it() {
    let clock = ManualClock::new();
    let quotas = [quota!(1 / second), quota!(10 / second), quota!(97 / second, burst 100)];
    let paying = Mutex::new(1);
    let tier = |key: &String| match key.as_str() {
        "free" => 0,
        "paying" => *paying.lock().unwrap(),
        _ => usize::MAX,
    };
    let users = Keyed::with(Buckets::tiered_with_clock(quotas, tier, &clock).unwrap());
    for (key, burst) in [("free", 1), ("paying", 10), ("root", 100)] {
        assert_eq!(users.try_acquire(key, 1).unwrap().limit(), burst);
        assert_eq!(users.peek(key, 0).unwrap().remaining(), burst - 1);
    }
    // An upgrade takes the tokens along.
    *paying.lock().unwrap() = 2;
    users.reassign("paying", Carry::Keep);
    assert_eq!(users.peek("paying", 0).unwrap().remaining(), 9);
    assert_eq!(users.peek("paying", 0).unwrap().limit(), 100);
    users.reassign("unknown", Carry::Keep);
    // Also after some time, which is worth more units at the one rate than at the other.
    clock.advance(100 * SECOND);
    users.try_acquire("paying", 95).unwrap();
    *paying.lock().unwrap() = 0;
    users.reassign("paying", Carry::Keep);
    assert_eq!(users.peek("paying", 0).unwrap().remaining(), 1);
    users.try_acquire("paying", 1).unwrap();
    *paying.lock().unwrap() = 2;
    users.reassign("paying", Carry::Keep);
    assert_eq!(users.peek("paying", 0).unwrap().remaining(), 0);
    for key in ["free", "root"] {
        users.try_acquire(key, 1).unwrap();
    }

    users.reconfigure_tier(0, quota!(3 / second), Carry::Reset).unwrap();
    assert_eq!(users.peek("free", 0).unwrap().remaining(), 3);
    assert_eq!(users.peek("root", 0).unwrap().remaining(), 99);
    assert_eq!(users.tier_quota(0), Some(quota!(3 / second)));
    assert_eq!(users.tier_quota(3), None);
    let error = users.reconfigure_tier(3, quota!(1 / second), Carry::Keep).unwrap_err();
    assert_eq!(error, ConfigError::Which { which: 3, count: 3 });
}

#[test]
fn any_limiter_can_be_a_keys() {
    let clock = ManualClock::at(86_400_000_000_000);
    let make =
        |key: &u64| SlidingLog::with_clock(rate!(3 / minute), &clock).map(|log| (key, log).1);
    let logs = Keyed::with(Each::with_clock(|key| make(key).unwrap(), &clock));
    for _ in 0..3 {
        logs.try_acquire(&1, 1).unwrap();
        clock.advance(SECOND);
    }
    assert_eq!(logs.try_acquire(&1, 1).unwrap_err().retry_after(), Some(SECOND * 57));
    assert_eq!(logs.try_acquire_up_to(&2, 9).unwrap().permits(), 3);
    assert_eq!((logs.len(), logs.sweep()), (2, 0));
    clock.advance(SECOND * 57);
    assert_eq!(logs.peek(&1, 0).unwrap().remaining(), 1);
    clock.advance(SECOND * 3);
    assert_eq!((logs.sweep(), logs.len()), (2, 0));
    logs.try_acquire(&1, 1).unwrap();
    logs.reset(&1);
    assert_eq!(logs.peek(&1, 0).unwrap().remaining(), 3);
}

#[test]
fn a_limiter_may_be_of_the_key() {
    let clock = ManualClock::new();
    let each = Each::with_clock(
        |key: &u64| TokenBucket::with_clock(quota!(1 / second).with_burst(*key).unwrap(), &clock),
        &clock,
    );
    let users = Keyed::with(each);
    for key in [1, 7, 100] {
        assert_eq!(users.try_acquire_up_to(&key, 1_000).unwrap().permits(), key);
    }
    let bounds: u64 = users.iter().map(|(_, state)| state.limit()).sum();
    assert_eq!(bounds, 108);
}

#[test]
fn keys_of_any_type_are_looked_up_by_what_they_are_borrowed_as() {
    let clock = ManualClock::new();
    let addresses = keyed::<IpAddr>(quota!(1 / second), &clock);
    assert!(addresses.try_acquire(&IpAddr::V4(Ipv4Addr::LOCALHOST), 1).is_ok());
    assert!(addresses.try_acquire(&IpAddr::V4(Ipv4Addr::LOCALHOST), 1).is_err());
    let bytes = keyed::<Vec<u8>>(quota!(1 / second), &clock);
    assert!(bytes.try_acquire(&[1, 2][..], 1).is_ok());
    assert!(bytes.try_acquire(&vec![1, 2], 1).is_err());
    let pairs = keyed::<(String, u16)>(quota!(1 / second), &clock);
    assert!(pairs.try_acquire(&("ada".to_string(), 80), 1).is_ok());
    assert!(pairs.try_acquire(&("ada".to_string(), 81), 1).is_ok());
}

#[test]
fn the_clock_is_of_the_type_that_it_was_given() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(2 / second), &clock);
    users.try_acquire(&1, 2).unwrap();
    users.clock().advance(SECOND);
    assert!(users.try_acquire(&1, 2).is_ok());
}

/// A hasher that knows one hash: all keys are in one shard.
#[derive(Default)]
struct Same;

impl Hasher for Same {
    fn write(&mut self, _: &[u8]) {}

    fn finish(&self) -> u64 {
        0
    }
}

type InOneShard = BuildHasherDefault<Same>;

/// A hasher that knows two hashes.
#[derive(Default)]
struct Parity(u64);

impl Hasher for Parity {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = u64::from(bytes[0] & 1);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[test]
fn the_worst_of_hashers_is_only_slow() {
    let clock = ManualClock::new();
    let users = Keyed::<u64, _>::builder(Buckets::with_clock(quota!(2 / second), &clock))
        .hasher(BuildHasherDefault::<Parity>::default())
        .build()
        .unwrap();
    for round in 0..3 {
        for key in 0..600 {
            assert_eq!(users.try_acquire(&key, 1).is_ok(), round < 2);
        }
    }
    assert_eq!(users.len(), 600);
    for key in 0..300 {
        assert!(users.remove(&(2 * key)));
    }
    assert!((0..300).all(|key| users.try_acquire(&(2 * key + 1), 1).is_err()));
    clock.advance(SECOND);
    assert_eq!((users.sweep(), users.len()), (300, 0));
}

#[test]
fn all_keys_are_iterated_with_their_states() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(1_000 / second), &clock);
    for key in 1..=500 {
        users.try_acquire(&key, key).unwrap();
    }
    let mut states: Vec<_> = users.iter().map(|(key, state)| (key, state.remaining())).collect();
    states.sort_unstable();
    assert_eq!(states, (1..=500).map(|key| (key, 1_000 - key)).collect::<Vec<_>>());
}

#[test]
fn an_observer_is_told_of_each_decision_and_the_whole_answer() {
    let clock = ManualClock::new();
    let told = Told::<String>::default();
    let users = Keyed::<String, _>::builder(Buckets::with_clock(quota!(2 / second), &clock))
        .observer(&told)
        .max_keys(1)
        .build()
        .unwrap();
    let mut expected = vec![
        ("ada", 1, users.try_acquire("ada", 1)),
        ("ada", 5, users.try_acquire_up_to("ada", 5)),
        ("ada", 2, users.try_acquire("ada", 2)),
        ("bob", 2, users.try_acquire("bob", 2)),
        ("ada", 2, users.force("ada", 2)),
        ("ada", 0, users.drain("ada")),
    ];
    let _ = users.peek("ada", 1);
    users.try_acquire_batch_with(["ada", "bob"], 1, |index, answer| {
        expected.push((["ada", "bob"][index], 1, answer));
    });
    drop(users);
    assert_eq!(expected[1].2.map(|grant| grant.permits()), Ok(1), "one of five");
    let expected: Vec<_> = expected
        .into_iter()
        .map(|(key, permits, answer)| (key.to_owned(), permits, answer))
        .collect();
    assert_eq!(told.0.into_inner().unwrap(), expected);
}

#[test]
fn observers_compose_and_each_that_is_there_is_told_once() {
    let clock = ManualClock::new();
    let told: [Arc<Told<String>>; 4] = Default::default();
    let boxed: Box<dyn Observe<str>> = Box::new(Arc::clone(&told[2]));
    let nobody: Option<&Told<String>> = None;
    let users = Keyed::<String, _>::builder(Buckets::with_clock(quota!(2 / second), &clock))
        .observer(((&*told[0], Arc::clone(&told[1])), (boxed, (Some(&*told[3]), (nobody, ())))))
        .build()
        .unwrap();
    let answers =
        [2, 1].map(|permits| ("ada".to_owned(), permits, users.try_acquire("ada", permits)));
    for told in &told {
        assert_eq!(*told.0.lock().unwrap(), answers);
    }
}

#[test]
fn a_set_up_that_cannot_be_is_refused() {
    let none = Keyed::<u64, _>::builder(Buckets::new(quota!(1 / second))).max_keys(0);
    assert_eq!(none.build().unwrap_err(), ConfigError::Keys { keys: 0 });
    let tiers = |count| Buckets::tiered(vec![quota!(1 / second); count], |_: &u64| 0).map(|_| ());
    assert_eq!(tiers(0), Err(ConfigError::Count { count: 0 }));
    assert_eq!(tiers(64), Ok(()));
    assert_eq!(tiers(65), Err(ConfigError::Count { count: 65 }));
}

#[test]
fn a_keyed_limiter_can_be_shared_and_shown() {
    fn shared<T: Send + Sync>(_: &T) {}
    let users = Keyed::<String>::new(quota!(1 / second));
    shared(&users);
    users.try_acquire("ada", 1).unwrap();
    let text = format!("{users:?} {:?}", users.limiter());
    assert!(text.starts_with("Keyed { len: 1, max_keys: 4294967296 }"), "{text}");
    assert_eq!(users.quota(), quota!(1 / second));
}

#[test]
fn the_largest_quotas_hold() {
    let clock = ManualClock::at(1 << 60);
    for quota in [
        quota!(1 / 36525 days, burst 4_294_967_296),
        quota!(2_147_483_648 / second, burst 4_294_967_296),
        quota!(1 / 36525 days, burst 1).with_refill(Refill::Interval),
    ] {
        let users = keyed::<u64>(quota, &clock);
        assert_eq!(users.try_acquire_up_to(&1, u64::MAX).unwrap().permits(), quota.burst());
        assert!(users.try_acquire(&1, 1).is_err());
        let wait = users.try_acquire(&1, 1).unwrap_err().retry_after().unwrap();
        clock.advance(wait);
        clock.rewind(Duration::from_nanos(1));
        assert!(users.try_acquire(&1, 1).is_err());
        clock.advance_nanos(1);
        assert!(users.try_acquire(&1, 1).is_ok());
        assert_eq!(users.healed(), 0);
    }
}
