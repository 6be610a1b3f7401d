//! Threads that meet at keys that come and go.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

use sluicegate::bucket::Carry;
use sluicegate::*;

use super::{SECOND, keyed};

/// Two threads ask for a few keys as fast as they can, while one forgets what is idle and
/// moves the clock. No key is granted more than its burst and what it has earned.
#[test]
fn a_key_that_comes_and_goes_has_no_second_burst() {
    const KEYS: u64 = 4;
    let clock = ManualClock::at(86_400_000_000_000);
    // Full again after 20 ns.
    let users = keyed::<u64>(quota!(1 / 10 ns, burst 2), &clock);
    let granted: [AtomicU64; KEYS as usize] = Default::default();
    let is_over = AtomicBool::new(false);
    let swept = thread::scope(|scope| {
        for thread in 0..2 {
            let (users, granted, is_over) = (&users, &granted, &is_over);
            scope.spawn(move || {
                let mut key = thread;
                while !is_over.load(Relaxed) {
                    key = (key * 5 + 3) % KEYS;
                    if users.try_acquire(&key, 1).is_ok() {
                        granted[key as usize].fetch_add(1, Relaxed);
                    }
                }
            });
        }
        let mut swept = 0;
        for _ in 0..30_000 {
            clock.advance_nanos(7);
            swept += users.sweep();
        }
        is_over.store(true, Relaxed);
        swept
    });
    assert!(swept > 0);
    for granted in granted {
        let granted = granted.into_inner();
        assert!(granted <= 2 + 30_000 * 7 / 10, "{granted}");
    }
}

/// Threads that go through the same new keys in step, so that they often put in the same
/// one at a time.
#[test]
fn a_burst_is_granted_once_among_threads_that_put_the_key_in() {
    const KEYS: u64 = 100_000;
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(1 / hour), &clock);
    let (granted, start) = (AtomicU64::new(0), Barrier::new(3));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                start.wait();
                let calls = (0..KEYS).filter(|key| users.try_acquire(key, 1).is_ok());
                granted.fetch_add(calls.count() as u64, Relaxed);
            });
        }
    });
    assert_eq!(granted.into_inner(), KEYS);
    assert_eq!((users.len() as u64, users.iter().count() as u64), (KEYS, KEYS));
}

#[test]
fn the_tables_grow_and_shrink_under_their_callers() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(3 / second), &clock);
    thread::scope(|scope| {
        for thread in 0..3_u64 {
            let users = &users;
            scope.spawn(move || {
                let own = u64::MAX - thread;
                for key in 0..20_000 {
                    let granted = users.try_acquire(&own, 1).is_ok();
                    assert_eq!(granted, key < 3, "the key stays");
                    users.try_acquire(&(thread << 32 | key), 1).unwrap();
                }
                for key in 0..20_000 {
                    assert!(users.remove(&(thread << 32 | key)));
                }
            });
        }
    });
    assert_eq!((users.len(), users.iter().count()), (3, 3));
}

#[test]
fn changes_meet_callers_and_no_tokens_come_of_it() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(1_000 / hour), &clock);
    let granted = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for call in 0..30_000_u64 {
                    let granted_one = users.try_acquire(&(call % 10), 1).is_ok();
                    granted.fetch_add(u64::from(granted_one), Relaxed);
                }
            });
        }
        for change in 0..200 {
            let rate =
                if change % 2 == 0 { quota!(7 / hour, burst 1_000) } else { quota!(1_000 / hour) };
            users.reconfigure(rate, Carry::Keep);
        }
    });
    assert_eq!(granted.into_inner(), 10_000);
    clock.advance(SECOND);
}
