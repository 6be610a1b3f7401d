//! Keys whose `Drop` panics, wherever a store lets go of one.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use sluicegate::keyed::Buckets;
use sluicegate::*;

use super::{InOneShard, SECOND};

thread_local! {
    /// The key whose `Drop` panics, once.
    static FRAGILE: Cell<Option<u64>> = const { Cell::new(None) };
    static DROPPED: Cell<u64> = const { Cell::new(0) };
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key(u64);

impl Drop for Key {
    fn drop(&mut self) {
        DROPPED.set(DROPPED.get() + 1);
        if FRAGILE.get() == Some(self.0) {
            FRAGILE.set(None);
            panic!("key {} is dropped", self.0);
        }
    }
}

type Users<'a> = Keyed<Key, Buckets<&'a ManualClock>, InOneShard>;

const ROOM: u64 = 40;

fn users(clock: &ManualClock) -> Users<'_> {
    let buckets = Buckets::with_clock(quota!(10 / second), clock);
    let builder = Keyed::builder(buckets).hasher(InOneShard::default());
    builder.max_keys(ROOM as usize).build().unwrap()
}

/// The key as it is asked for: whose `Drop` is never run.
fn asked(key: u64) -> ManuallyDrop<Key> {
    ManuallyDrop::new(Key(key))
}

/// Runs `run` while `key` is fragile, and returns whether that was dropped.
fn dropping(key: u64, run: impl FnOnce()) -> bool {
    FRAGILE.set(Some(key));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let has_panicked = catch_unwind(AssertUnwindSafe(run)).is_err();
    std::panic::set_hook(hook);
    assert_eq!(has_panicked, FRAGILE.take().is_none());
    has_panicked
}

/// Asserts that as many keys are known as there are, and that as many find space as may.
fn assert_whole(users: &Users<'_>, clock: &ManualClock) {
    assert_eq!(users.len(), users.iter().count());
    // Until it is where it was before it went back, and all are full.
    clock.advance(SECOND * 1_000);
    users.sweep();
    assert_eq!((users.len(), users.iter().count()), (0, 0));
    let found_room =
        (1_000..1_000 + ROOM + 2).filter(|&key| users.try_acquire(&Key(key), 1).is_ok());
    assert_eq!(found_room.count() as u64, ROOM);
}

type LetGo = fn(&Users<'_>, &ManualClock, u64);

/// Ways to let go of keys, of those from 0 to 27 that are there and have long been full.
const WAYS: [(&str, LetGo); 9] = [
    ("a sweep", |users, _, _| _ = users.sweep()),
    ("a removal", |users, _, key| assert!(users.remove(&*asked(key)))),
    // A new key looks at one group of places; or at all, when the shard is full.
    ("new keys", |users, _, _| {
        for key in 100..100 + ROOM {
            let _ = users.try_acquire(&Key(key), 1);
        }
    }),
    // Which is when nobody in that group may go.
    ("a new key for which a shard is swept", |users, _, key| {
        for other in (0..28).filter(|&other| other != key).map(Key) {
            if users.contains(&other) {
                assert_eq!(users.drain(&other).unwrap().permits(), 10);
            }
        }
        users.try_acquire(&Key(100), 1).unwrap();
    }),
    ("restored keys", |users, _, _| {
        users.drain(&Key(0)).unwrap();
        let less = users.snapshot_of(&Key(0)).unwrap();
        let keys = (100..100 + ROOM).map(|key| (Key(key), less));
        _ = users.restore(keys, Duration::ZERO);
    }),
    ("a clock that goes back", |users, clock, key| {
        users.drain(&*asked(key)).unwrap();
        clock.rewind(Duration::from_secs(50));
        users.try_acquire(&*asked(key), 1).unwrap();
    }),
    ("a clock that goes back before the beginning", |users, clock, _| {
        clock.rewind(Duration::from_secs(500));
        users.try_acquire(&Key(200), 1).unwrap();
    }),
    ("a look", |users, clock, key| {
        users.drain(&*asked(key)).unwrap();
        clock.rewind(Duration::from_secs(50));
        users.peek(&*asked(key), 1).unwrap();
    }),
    ("a batch", |users, _, _| {
        let keys: Vec<Key> = (100..100 + ROOM).map(Key).collect();
        users.try_acquire_batch_with(&keys, 1, |_, _| ());
    }),
];

#[test]
fn a_key_whose_drop_panics_costs_no_place_wherever_it_is_let_go() {
    for (way, let_go) in WAYS {
        let mut dropped = 0;
        // As many as a shard holds that is about to grow.
        for there in [14, 28] {
            for key in (0..there).step_by(there as usize / 14) {
                let clock = ManualClock::at(1_000_000_000_000);
                let users = users(&clock);
                clock.advance(SECOND * 100);
                for key in 0..there {
                    users.try_acquire(&Key(key), 1).unwrap();
                }
                clock.advance(SECOND * 100);
                dropped += u64::from(dropping(key, || let_go(&users, &clock, key)));
                assert_whole(&users, &clock);
            }
        }
        assert!(dropped > 0, "{way} lets go of no key");
    }
}

#[test]
fn a_store_is_dropped_though_a_key_panics() {
    let clock = ManualClock::new();
    let users = users(&clock);
    for key in 0..30 {
        users.try_acquire(&Key(key), 1).unwrap();
    }
    let before = DROPPED.get();
    assert!(dropping(7, || drop(users)));
    assert_eq!(DROPPED.get() - before, 30, "all the others too");
}
