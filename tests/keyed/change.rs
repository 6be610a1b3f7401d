//! Changes of quota, snapshots.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::keyed::Buckets;
use sluicegate::*;

use super::{SECOND, keyed};

#[test]
fn a_key_that_was_forgotten_gains_nothing_by_a_larger_burst() {
    let clock = ManualClock::new();
    let users = keyed::<u64>(quota!(1 / second, burst 2), &clock);
    users.try_acquire(&1, 2).unwrap();
    clock.advance(SECOND * 10);
    assert_eq!(users.sweep(), 1);
    users.reconfigure(quota!(1 / second, burst 100), Carry::Keep);
    // As if it had been kept: it held two.
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 2);
    clock.advance(SECOND * 3);
    assert_eq!(users.try_acquire(&1, 1).unwrap().remaining(), 4);
    assert!(users.contains(&1));
    // To remember it or not is the same once it is full.
    clock.advance(SECOND * 97);
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 100);
    assert_eq!((users.sweep(), users.peek(&1, 0).unwrap().remaining()), (1, 100));
}

#[test]
fn a_store_is_restored_elsewhere_and_earns_while_away() {
    let (clock, other) = (ManualClock::new(), ManualClock::at(77));
    let old = keyed::<String>(quota!(10 / second), &clock);
    for (key, permits) in [("ada", 10), ("bob", 7), ("eve", 1)] {
        old.try_acquire(key, permits).unwrap();
    }
    old.force("eve", 12).unwrap();
    assert_eq!(old.snapshot_of("bob").unwrap().remaining(), 3);
    assert_eq!(old.snapshot_of("joe"), None);
    let new = keyed::<String>(quota!(10 / second), &other);
    assert_eq!(new.restore(old.snapshot(), SECOND / 2), 0);
    assert_eq!(new.peek("ada", 0).unwrap().remaining(), 5);
    assert_eq!(new.peek("bob", 0).unwrap().remaining(), 8);
    assert_eq!(new.peek("eve", 0).unwrap().remaining(), 2);
    // What is full again is not kept, and what there is no room for is counted.
    let new = Keyed::builder(Buckets::with_clock(quota!(10 / second), &other));
    let new = new.max_keys(2).build().unwrap();
    assert_eq!(new.restore(old.snapshot(), SECOND * 5), 0);
    assert!(new.is_empty());
    assert_eq!(new.restore(old.snapshot(), Duration::ZERO), 1);
    assert_eq!(new.len(), 2);
}

/// The change is made by a thread whose clock is behind the one that forgot the key.
#[test]
fn a_key_that_was_forgotten_gains_nothing_by_a_change_at_an_earlier_time() {
    let quota = quota!(1_000 / second);
    let larger = quota!(1_000 / second, burst 100_000);
    for is_swept in [false, true] {
        let clock = ManualClock::new();
        let users = keyed::<u64>(quota, &clock);
        clock.advance(SECOND * 100);
        users.try_acquire(&7, 1_000).unwrap();
        clock.advance(SECOND);
        if is_swept {
            assert_eq!(users.sweep(), 1);
        }
        clock.set_nanos(100_100_000_000);
        users.reconfigure(larger, Carry::Keep);
        clock.set_nanos(101_000_000_000);
        let left = users.peek(&7, 0).unwrap().remaining();
        assert!(left <= 1_000, "{left}, swept: {is_swept}");
    }
}

/// A clock that, when `stalls` is set, goes on by half a second during its next reading.
struct Slow {
    manual: ManualClock,
    stalls: AtomicBool,
    is_read: AtomicBool,
}

impl Clock for Slow {
    fn now_nanos(&self) -> u64 {
        if self.stalls.swap(false, Relaxed) {
            self.is_read.store(true, Relaxed);
            // Time for the change to begin to wait. If it comes later, it has nothing to wait for.
            thread::sleep(Duration::from_millis(100));
            self.manual.advance(SECOND / 2);
        }
        self.manual.now_nanos()
    }
}

#[test]
fn a_change_that_waits_for_a_call_is_made_at_a_time_after_it() {
    let (stalls, is_read) = (AtomicBool::new(false), AtomicBool::new(false));
    let clock = Slow { manual: ManualClock::at(1), stalls, is_read };
    let quota = quota!(1 / day, burst 1_000);
    let users = Keyed::<u64, _>::with_clock(quota, &clock);
    let bucket = TokenBucket::with_clock(quota, ManualClock::new());
    bucket.drain();
    clock.stalls.store(true, Relaxed);
    thread::scope(|scope| {
        // It reads the clock while it holds the lock of the key's shard.
        scope.spawn(|| assert_eq!(users.restore([(1, bucket.snapshot())], Duration::ZERO), 0));
        while !clock.is_read.load(Relaxed) {
            thread::yield_now();
        }
        users.reconfigure(quota!(1_000 / second), Carry::Keep);
    });
    assert_eq!(users.peek(&1, 0).unwrap().remaining(), 0);
}
