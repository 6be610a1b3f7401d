//! Keys that are forgotten, and the memory that is allocated.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::compose::All;
use sluicegate::keyed::{Buckets, Each};
use sluicegate::*;

use super::{SECOND, keyed};
use crate::support::allocator::{allocated, held_bytes};

#[test]
fn no_verb_allocates_for_a_key_that_is_known() {
    let clock = ManualClock::at(86_400_000_000_000);
    let users = keyed::<String>(quota!(10 / second), &clock);
    users.try_acquire("ada", 1).unwrap();
    let before = allocated();
    for permits in [0, 1, 3, 10, u64::MAX] {
        let _ = users.try_acquire("ada", permits);
        let _ = users.try_acquire_up_to("ada", permits);
        let _ = users.force("ada", permits);
        let _ = users.peek("ada", permits);
        let _ = (users.contains("ada"), users.len(), users.quota(), users.snapshot_of("ada"));
        let _ = users.drain("ada");
        users.reset("ada");
        clock.advance_nanos(70_000_000);
    }
    assert_eq!(allocated(), before);
    assert!(users.remove("ada"));
    assert_eq!(allocated(), before);
    let _ = users.try_acquire("ada", 1);
    assert!(allocated() > before, "the counter counts");
}

/// A million keys are asked for once each. A thousand at a time are not full, and as many
/// have been so for less than a tenth of a second.
#[test]
fn memory_is_flat_over_a_million_keys() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(10 / second), &clock);
    let before = held_bytes();
    let (mut most, mut most_bytes) = (0, 0);
    for key in 0..1_000_000 {
        users.try_acquire(&key, 1).unwrap();
        clock.advance_nanos(100_000);
        most = most.max(users.len());
        most_bytes = most_bytes.max(held_bytes() - before);
    }
    assert!(most < 3_000, "{most}");
    assert!(most_bytes < 250_000, "{most_bytes}");
}

#[test]
fn a_key_that_is_asked_for_again_and_again_stays() {
    let clock = ManualClock::new();
    // Full again before it is asked for.
    let users = keyed::<u64>(quota!(1_000_000 / second), &clock);
    let before = allocated();
    for call in 0..100_000 {
        users.try_acquire(&(call % 1_000), 1).unwrap();
        clock.advance_nanos(50_000);
    }
    assert_eq!(users.len(), 1_000);
    assert!(allocated() - before < 2_000);
    assert_eq!(users.sweep(), 1_000);
}

#[test]
fn memory_is_given_back_after_a_flood() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(1_000 / second), &clock);
    let before = held_bytes();
    for key in 0..100_000 {
        users.try_acquire(&key, 1).unwrap();
    }
    let flooded = held_bytes() - before;
    assert_eq!(users.memory_bytes() as u64, flooded as u64, "all that was allocated is of places");
    clock.advance(SECOND);
    for key in 100_000..200_000 {
        users.try_acquire(&key, 1).unwrap();
        clock.advance_nanos(1_000_000);
    }
    assert!(users.len() < 1_000, "{}", users.len());
    assert!(held_bytes() - before < flooded / 20, "{} of {flooded}", held_bytes() - before);
    clock.advance(SECOND);
    users.sweep();
    assert!(users.is_empty() && held_bytes() - before < 50_000);
}

#[test]
fn a_key_that_is_forgotten_is_dropped() {
    #[derive(Clone, PartialEq, Eq, Hash)]
    struct Held(Arc<u64>);

    let clock = ManualClock::new();
    let key = Held(Arc::new(1));
    {
        let users = keyed::<Held>(quota!(1 / second), &clock);
        users.try_acquire(&key, 1).unwrap();
        assert_eq!(Arc::strong_count(&key.0), 2);
        clock.advance(SECOND);
        users.sweep();
        assert_eq!(Arc::strong_count(&key.0), 1);
        users.try_acquire(&key, 1).unwrap();
    }
    assert_eq!(Arc::strong_count(&key.0), 1);
}

#[test]
fn an_idle_key_is_forgotten_at_the_instant_that_it_is_full() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(10 / second), &clock);
    let grant = users.try_acquire(&1, 7).unwrap();
    assert_eq!(grant.reset_after(), Duration::from_millis(700));
    clock.advance(grant.reset_after());
    clock.rewind(Duration::from_nanos(1));
    assert_eq!(users.sweep(), 0);
    clock.advance_nanos(1);
    assert_eq!(users.sweep(), 1);
}

/// Also of a shard that has been gone over in part, and is almost empty at the end of it.
#[test]
fn a_sweep_forgets_all_that_is_idle() {
    for keys in [1_000, 4_000, 16_000, 20_000] {
        let clock = ManualClock::new();
        let users = keyed::<u64>(quota!(10 / second), &clock);
        for key in 0..keys {
            users.try_acquire(&key, 1).unwrap();
        }
        clock.advance(SECOND);
        assert_eq!((users.sweep() as u64, users.len()), (keys, 0));
    }
}

/// The bucket of a key is full again after a second; its window still counts.
#[test]
fn a_key_of_several_limiters_is_kept_as_long_as_one_of_them_counts() {
    let clock = Arc::new(ManualClock::new());
    let made = Arc::clone(&clock);
    let each = Each::new(move |_: &u64| {
        let second = TokenBucket::with_clock(quota!(1 / second), Arc::clone(&made));
        let hour = FixedWindow::with_clock(rate!(3 / hour), Arc::clone(&made)).unwrap();
        All::new([Box::new(second) as Box<dyn Limiter + Send + Sync>, Box::new(hour)]).unwrap()
    });
    let users = Keyed::<u64, _>::with(each);
    for _ in 0..3 {
        users.try_acquire(&7, 1).unwrap();
        clock.advance(SECOND);
        assert_eq!((users.sweep(), users.len()), (0, 1));
    }
    assert!(users.try_acquire(&7, 1).is_err(), "three in this hour");
    clock.advance(3_600 * SECOND);
    assert_eq!((users.sweep(), users.len()), (1, 0));
}

/// Its limiter is full again by the time that it is looked at: it is made once all the same.
#[test]
fn a_key_that_refills_at_once_is_put_in_at_its_first_grant() {
    struct Racing(std::sync::atomic::AtomicU64);

    impl Clock for Racing {
        fn now_nanos(&self) -> u64 {
            self.0.fetch_add(1_000_000_000, std::sync::atomic::Ordering::Relaxed)
        }
    }

    let clock = Arc::new(Racing(1.into()));
    let made = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = Arc::clone(&made);
    let each = Each::new(move |_: &u64| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        TokenBucket::with_clock(quota!(10 / second), Arc::clone(&clock))
    });
    let users = Keyed::with(each);
    assert!(users.try_acquire(&7, 0).is_ok() && users.is_empty());
    for _ in 0..100 {
        assert!(users.try_acquire(&7, 1).is_ok());
    }
    // Once to be asked for none, and once for good.
    assert_eq!((users.len(), made.load(std::sync::atomic::Ordering::Relaxed)), (1, 2));
}

/// A key that is full by the terms of one tier is not by those of another.
#[test]
fn a_key_is_forgotten_by_the_terms_of_its_own_tier() {
    let clock = ManualClock::at(86_400_000_000_000);
    for quotas in [
        [quota!(10 / second), quota!(10 / hour)],
        [quota!(10 / hour), quota!(10 / second)],
        [quota!(10 / second), quota!(10 / second, burst 100)],
    ] {
        let tier = |key: &u64| (key % 2) as usize;
        let buckets = Buckets::tiered_with_clock(quotas, tier, &clock).unwrap();
        let users = Keyed::builder(buckets).build().unwrap();
        for key in 0..20 {
            users.try_acquire(&key, quotas[tier(&key)].burst()).unwrap();
        }
        clock.advance(SECOND * 2);
        let is_full = |key: &u64| {
            let quota = quotas[tier(key)];
            quota.rate() == rate!(10 / second) && quota.burst() <= 20
        };
        assert_eq!(users.sweep(), (0..20).filter(is_full).count(), "{quotas:?}");
        for key in 0..20 {
            assert_eq!(users.contains(&key), !is_full(&key), "{quotas:?} {key}");
        }
        clock.advance(SECOND * 3_600);
        assert_eq!((users.sweep(), users.len()), ((0..20).filter(|key| !is_full(key)).count(), 0));
    }
}
