//! Keys for which there is no room.

use std::hash::RandomState;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sluicegate::keyed::{Buckets, Each, WhenFull};
use sluicegate::*;

use super::SECOND;
use crate::support::observer::Told;

fn full(
    max_keys: usize,
    when_full: WhenFull,
    clock: &ManualClock,
) -> Keyed<u64, Buckets<&ManualClock>> {
    Keyed::builder(Buckets::with_clock(quota!(10 / second), clock))
        .max_keys(max_keys)
        .when_full(when_full)
        .build()
        .unwrap()
}

#[test]
fn a_key_too_many_is_refused_until_one_is_full_again() {
    let clock = ManualClock::new();
    let users = full(100, WhenFull::Deny, &clock);
    for key in 0..100 {
        users.try_acquire(&key, 5).unwrap();
    }
    for key in 100..1_000 {
        let denied = users.try_acquire(&key, 5).unwrap_err();
        assert!(matches!(denied, Denied::Full { .. }), "{denied:?}");
        assert!(denied.retry_after().unwrap() <= SECOND / 2);
    }
    // Those that are known are as ever; and what takes nothing needs no room.
    assert_eq!(users.try_acquire(&7, 1).unwrap().remaining(), 4);
    assert_eq!(users.peek(&1_000, 0).unwrap().remaining(), 10);
    assert!(users.try_acquire(&1_000, 0).is_ok());
    assert!(matches!(users.try_acquire(&1_000, 11), Err(Denied::TooLarge { .. })));
    clock.advance(SECOND / 2);
    for key in 1_000..1_099 {
        assert!(users.try_acquire(&key, 5).is_ok(), "{key}");
    }
    // One still holds what it was granted last.
    assert!(users.contains(&7) && users.len() == 100);
    assert!(users.try_acquire(&1_100, 5).is_err());
}

#[test]
fn a_request_above_the_shared_burst_is_refused_for_want_of_space() {
    let clock = ManualClock::new();
    let users = full(1, WhenFull::Share(quota!(3 / second)), &clock);
    users.try_acquire(&1, 10).unwrap();
    let denied = users.try_acquire(&2, 5).unwrap_err();
    assert!(matches!(denied, Denied::Full { .. }), "{denied:?}");
    assert!(denied.retry_after().is_some());
    assert_eq!(users.try_acquire(&2, 3).unwrap().remaining(), 0);
}

#[test]
fn a_key_too_many_may_be_admitted_without_a_count() {
    let clock = ManualClock::new();
    let users = full(1, WhenFull::Admit, &clock);
    users.try_acquire(&1, 10).unwrap();
    for _ in 0..3 {
        assert_eq!(users.try_acquire(&2, 10).unwrap().permits(), 10);
        assert_eq!(users.try_acquire_up_to(&2, 50).unwrap().permits(), 10);
    }
    assert!(matches!(users.try_acquire(&2, 11), Err(Denied::TooLarge { .. })));
    assert!(users.try_acquire(&1, 1).is_err() && !users.contains(&2));
}

#[test]
fn keys_too_many_may_share_one_bucket() {
    let clock = ManualClock::new();
    let users = full(1, WhenFull::Share(quota!(4 / second)), &clock);
    users.try_acquire(&1, 10).unwrap();
    for key in 2..6 {
        assert_eq!(users.try_acquire(&key, 1).unwrap().remaining(), 5 - key);
    }
    assert_eq!(users.try_acquire(&6, 1).unwrap_err().retry_after(), Some(SECOND / 4));
    assert_eq!(users.len(), 1);
}

#[test]
fn a_builder_keeps_what_it_was_told_in_any_order() {
    let clock = ManualClock::new();
    let builder = || {
        let buckets = Buckets::with_clock(quota!(10 / second), &clock);
        Keyed::<u64, _>::builder(buckets)
    };
    let hasher = RandomState::new;
    let (max_keys, when_full) = (1, WhenFull::Admit);
    let each = [
        builder().max_keys(max_keys).when_full(when_full).hasher(hasher()).build().unwrap(),
        builder().hasher(hasher()).when_full(when_full).max_keys(max_keys).build().unwrap(),
        builder().when_full(when_full).hasher(hasher()).max_keys(max_keys).build().unwrap(),
    ];
    for users in each {
        users.try_acquire(&1, 10).unwrap();
        assert_eq!(users.try_acquire(&2, 10).unwrap().permits(), 10);
        assert!(!users.contains(&2));
    }
    let told = Told::<u64>::default();
    let users = builder().observer(&told).max_keys(1).when_full(when_full).hasher(hasher());
    let users = users.build().unwrap();
    let each = [(1, 3, users.try_acquire(&1, 3)), (2, 10, users.try_acquire(&2, 10))];
    assert!(each[1].2.is_ok() && !users.contains(&2));
    assert_eq!(*told.0.lock().unwrap(), each);
}

#[test]
fn threads_never_put_in_more_keys_than_there_may_be() {
    let clock = ManualClock::new();
    let users = full(50, WhenFull::Deny, &clock);
    let (granted, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for thread in 0..4_u64 {
            let (users, granted, most, start) = (&users, &granted, &most, &start);
            scope.spawn(move || {
                start.wait();
                for key in 0..2_000 {
                    let key = thread << 32 | key;
                    granted.fetch_add(usize::from(users.try_acquire(&key, 1).is_ok()), Relaxed);
                    most.fetch_max(users.len(), Relaxed);
                }
            });
        }
    });
    assert_eq!(granted.into_inner(), 50);
    assert_eq!((users.len(), most.into_inner(), users.iter().count()), (50, 50, 50));
}

#[test]
fn a_caller_that_asks_for_as_many_as_there_are_gets_what_the_shared_bucket_has() {
    let clock = ManualClock::new();
    let users = full(1, WhenFull::Share(quota!(4 / hour)), &clock);
    users.try_acquire(&1, 10).unwrap();
    assert_eq!(users.try_acquire_up_to(&2, 10).unwrap().permits(), 4);
    clock.advance(SECOND * 1_800);
    users.try_acquire(&1, 10).unwrap();
    assert_eq!(users.drain(&3).unwrap().permits(), 2);
}

#[test]
fn nobody_is_told_to_come_back_at_once() {
    let clock = ManualClock::new();
    let users = full(1, WhenFull::Deny, &clock);
    users.try_acquire(&0, 10).unwrap();
    for key in 1..100 {
        let denied = users.try_acquire(&key, 1).unwrap_err();
        assert!(denied.retry_after().is_some_and(|wait| !wait.is_zero()), "{denied:?}");
    }
}

/// Whichever shard the idle one is in.
#[test]
fn a_key_that_is_restored_takes_the_place_of_one_that_is_full_again() {
    let clock = ManualClock::new();
    let old = full(100, WhenFull::Deny, &clock);
    for key in 0..100 {
        old.try_acquire(&key, 10).unwrap();
    }
    let saved: Vec<_> = old.snapshot().collect();
    let users = full(100, WhenFull::Deny, &clock);
    for key in 1_000..1_100 {
        users.try_acquire(&key, 1).unwrap();
    }
    // All are busy, or all but one.
    assert_eq!(users.restore(saved[..1].to_vec(), Duration::ZERO), 1);
    users.reset(&1_007);
    assert_eq!(users.restore(saved[..1].to_vec(), Duration::ZERO), 0);
    clock.advance(SECOND);
    assert_eq!(users.restore(saved, Duration::ZERO), 0);
    assert_eq!(users.len(), 100);
    assert!((0..100).all(|key| users.try_acquire(&key, 1).is_err()));
}

/// An hour ahead, all places are taken; then the clock is right again.
fn after_a_glitch(
    max_keys: u64,
    clock: &ManualClock,
    is_before: bool,
) -> Keyed<u64, Buckets<&ManualClock>> {
    clock.set_nanos(86_400_000_000_000);
    if is_before {
        clock.advance(SECOND * 3_600);
    }
    let users = full(max_keys as usize, WhenFull::Deny, clock);
    clock.set_nanos(86_400_000_000_000 + 3_600_000_000_000);
    for key in 0..max_keys {
        users.try_acquire(&key, 10).unwrap();
    }
    clock.rewind(SECOND * 3_600);
    users
}

#[test]
fn keys_from_ahead_of_a_clock_that_has_gone_back_leave_a_full_store_to_others() {
    let clock = ManualClock::new();
    for is_before in [false, true] {
        let users = after_a_glitch(100, &clock, is_before);
        let mut admitted = 0;
        for key in 1_000..1_300 {
            admitted += usize::from(users.try_acquire(&key, 5).is_ok());
            clock.advance(SECOND);
        }
        assert_eq!(admitted, 300, "{is_before}");
        assert!(users.healed() > 0);
    }
    // In a large one not all are looked at by one call.
    let users = after_a_glitch(3_000, &clock, false);
    let admitted = (10_000..10_300).filter(|key| users.try_acquire(key, 5).is_ok()).count();
    assert!(admitted >= 290, "{admitted}");
}

#[test]
fn a_sweep_forgets_keys_from_ahead_of_a_clock_that_has_gone_back_and_counts_them() {
    let clock = ManualClock::new();
    let users = after_a_glitch(100, &clock, false);
    assert_eq!((users.sweep(), users.len(), users.healed()), (100, 0, 100));
    // Where all of a shard starts again it is counted once for each.
    let users = after_a_glitch(100, &clock, true);
    assert_eq!((users.sweep(), users.len()), (100, 0));
    assert!((1..=128).contains(&users.healed()));
    // Those that are ahead by no more than clocks are apart stay.
    let users = full(100, WhenFull::Deny, &clock);
    clock.advance(SECOND);
    users.try_acquire(&1, 10).unwrap();
    clock.rewind(SECOND);
    assert_eq!((users.sweep(), users.len(), users.healed()), (0, 1, 0));
}

#[test]
fn limiters_of_keys_that_are_ahead_of_a_clock_leave_a_full_store_to_others() {
    let clock = ManualClock::at(86_400_000_000_000);
    let make = |_: &u64| TokenBucket::with_clock(quota!(10 / second), &clock);
    let users = Keyed::builder(Each::with_clock(make, &clock)).max_keys(100).build().unwrap();
    clock.advance(SECOND * 3_600);
    for key in 0..100 {
        users.try_acquire(&key, 10).unwrap();
    }
    clock.rewind(SECOND * 3_600);
    assert!((1_000..1_100).all(|key| users.try_acquire(&key, 5).is_ok()));
}

#[test]
fn a_caller_that_is_refused_in_a_large_store_is_not_told_to_come_back_at_once() {
    let clock = ManualClock::new();
    let buckets = Buckets::with_clock(quota!(10 / second), &clock);
    let users = Keyed::builder(buckets).hasher(super::InOneShard::default()).max_keys(2_000);
    let users = users.build().unwrap();
    for key in 0..2_000 {
        users.try_acquire(&key, 10).unwrap();
    }
    let mut refused = 0;
    for key in 10_000..10_100 {
        // Of the first of its shard, in order, some are full again.
        let first: Vec<u64> = users.iter().take(4).map(|(key, _)| key).collect();
        for key in &first {
            users.reset(key);
        }
        let Err(denied) = users.try_acquire(&key, 10) else { continue };
        assert!(denied.retry_after().is_some_and(|wait| !wait.is_zero()), "{denied:?}");
        refused += 1;
    }
    assert!(refused > 50, "{refused}");
}
