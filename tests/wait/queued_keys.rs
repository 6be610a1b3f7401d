//! Callers in line for the keys of a store.

mod changes;

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluicegate::bucket::Carry;
use sluicegate::compose::Counted;
use sluicegate::keyed::{Buckets, Each, HotKeys, QueuedKeys, TieredKeyed, WaitingForKey, WhenFull};
use sluicegate::wait::{AcquireError, LineLimits, WhenLineFull};
use sluicegate::window::WeightedLog;
use sluicegate::{Denied, KeyTable, Keyed, KeyedLimiter, ManualClock, quota, rate};

use super::support::{MILLI, Noted, Polled};

/// A caller that stands in line for a key, or did.
type Caller<'a, K> = Polled<WaitingForKey<'a, K, Noted>>;

impl<'a, K: ToOwned<Owned: Sync> + Sync + ?Sized> Caller<'a, K> {
    /// A caller that has asked once.
    fn of(future: WaitingForKey<'a, K>) -> Caller<'a, K> {
        let noted = Noted::default();
        Polled::once(future.timer(noted.clone()), noted)
    }
}

type Store<'a> = Box<dyn KeyedLimiter<str> + 'a>;

/// Ten at once, and one each 10 ms.
fn table(clock: &ManualClock) -> QueuedKeys<Store<'_>, str, &ManualClock> {
    QueuedKeys::with_clock(store(clock), clock)
}

fn store(clock: &ManualClock) -> Store<'_> {
    let table = KeyTable::<str>::builder(quota!(100 / second, burst 10)).clock(clock);
    Box::new(table.keys(1_000).unwrap())
}

#[test]
fn callers_for_a_key_are_granted_in_order_and_those_of_others_are_not_held_up() {
    let clock = ManualClock::new();
    let users = table(&clock);
    assert!(users.acquire_blocking("ada", 10).is_ok() && users.lines() == 0);
    users.acquire_blocking("bob", 8).unwrap();
    let mut ada = [6, 2, 3].map(|permits| Caller::of(users.acquire("ada", permits)));
    let mut bob = [5, 1].map(|permits| Caller::of(users.acquire("bob", permits)));
    assert_eq!((users.lines(), users.waiters("ada"), users.waiters("bob")), (2, 3, 2));
    assert!(users.try_acquire("cyd", 10).is_ok(), "nobody waits for it");
    for (at, of_ada, of_bob) in [
        (29, [false; 3], [false; 2]),
        (31, [false; 3], [true, false]),
        (61, [true, false, false], [true; 2]),
        (81, [true, true, false], [true; 2]),
        (111, [true; 3], [true; 2]),
    ] {
        clock.set_nanos(at * 1_000_000);
        assert_eq!(ada.each_mut().map(Caller::is_granted), of_ada, "at {at} ms");
        assert_eq!(bob.each_mut().map(Caller::is_granted), of_bob, "at {at} ms");
    }
    // Those who know their answers use no line.
    assert_eq!(users.lines(), 0);
}

#[test]
fn a_caller_for_a_key_can_wait_on_another_thread() {
    fn assert_send<T: Send>(_: &T) {}
    let clock = ManualClock::new();
    let users = table(&clock);
    assert_send(&users.acquire("ada", 1));
}

#[test]
fn a_caller_that_keeps_its_store_and_key_stands_in_the_same_line() {
    let clock = Arc::new(ManualClock::new());
    let table = KeyTable::<str>::builder(quota!(100 / second, burst 10)).clock(Arc::clone(&clock));
    let users = QueuedKeys::with_clock(table.keys(1_000).unwrap(), Arc::clone(&clock));
    let users: Arc<QueuedKeys<_, str, _>> = Arc::new(users);
    users.try_acquire("ada", 10).unwrap();
    let mut first = Caller::of(users.acquire_owned("ada".to_owned(), 1));
    let mut second = Caller::of(users.acquire("ada", 1));
    drop(Caller::of(users.acquire_owned("ada".to_owned(), 1)));
    assert_eq!((first.is_waiting(), users.waiters("ada")), (true, 2));
    clock.advance(20 * MILLI);
    assert!(first.is_granted() && second.is_granted());
    drop(second);

    // The last one keeps it alive, and leaves no line.
    let mut third = Caller::of(users.acquire_owned("ada".to_owned(), 1));
    let weak = Arc::downgrade(&users);
    drop((first, users));
    assert!(weak.upgrade().is_some_and(|users| users.lines() == 1));
    clock.advance(10 * MILLI);
    assert!(third.is_granted());
    assert!(weak.upgrade().is_some_and(|users| users.lines() == 0));
    drop(third);
    assert!(weak.upgrade().is_none());
}

#[test]
fn no_verb_overtakes_a_caller_in_line_for_a_key() {
    let clock = ManualClock::new();
    let users = table(&clock);
    users.try_acquire("ada", 8).unwrap();
    let mut caller = Caller::of(users.acquire("ada", 5));
    assert!(users.try_acquire("ada", 1).is_err() && users.peek("ada", 1).is_err());
    assert!(users.try_acquire_up_to("ada", 1).is_err());
    assert!(users.try_acquire_revocable("ada", 1).is_err());
    assert!(users.try_acquire("ada", 0).is_ok());
    let answers = users.try_acquire_batch(&mut ["ada", "bob"].into_iter(), 1);
    assert!(answers[0].is_err() && answers[1].is_ok());
    assert!(matches!(users.try_acquire("ada", 11), Err(Denied::TooLarge { limit: 10, .. })));
    clock.advance(31 * MILLI);
    // Settles for it.
    assert!(users.try_acquire("ada", 1).is_err());
    assert_eq!((caller.woken(), users.waiters("ada")), (1, 0));
    assert!(caller.is_granted() && users.lines() == 0);
}

#[test]
fn every_store_of_keys_can_be_waited_for() {
    let clock = ManualClock::new();
    let quota = quota!(100 / second, burst 10);
    let keyed = Keyed::<String, _>::with_clock(quota, &clock);
    let hot = KeyTable::<str>::builder(quota).clock(&clock).keys(100).unwrap();
    let hot = HotKeys::with_places(hot, 2).unwrap();
    let logs = Each::new(|_: &String| WeightedLog::with_clock(rate!(10 / 100 ms), &clock).unwrap());
    let logs = Keyed::<String, _>::with(logs);
    let stores: [Store<'_>; 4] = [Box::new(keyed), store(&clock), Box::new(hot), Box::new(logs)];
    for store in stores {
        let store = QueuedKeys::<_, str, _>::with_clock(store, &clock);
        store.acquire_blocking("ada", 10).unwrap();
        let mut callers = [7, 1].map(|permits| Caller::of(store.acquire("ada", permits)));
        assert_eq!(callers.each_mut().map(Caller::is_waiting), [true; 2]);
        for _ in 0..12 {
            clock.advance(10 * MILLI);
            assert!(!callers[1].is_granted() || callers[0].is_granted());
        }
        assert_eq!(callers.each_mut().map(Caller::is_granted), [true; 2]);
        assert_eq!(store.lines(), 0);
        clock.advance(Duration::from_secs(1));
    }
}

/// The tier of a key is its own, also while keys of another one wait.
#[test]
fn keys_of_two_tiers_wait_at_the_rates_of_their_tiers() {
    let clock = ManualClock::new();
    let (slow, fast) = (quota!(10 / second), quota!(100 / second));
    let tier_of = |key: &u64| (key % 2) as usize;
    let users = TieredKeyed::tiered_with_clock([slow, fast], tier_of, &clock).unwrap();
    let users = QueuedKeys::<_, u64, _>::with_clock(users, &clock);
    let limits = [10, 100];
    for key in 0..2 {
        users.acquire_blocking(&key, limits[key as usize]).unwrap();
    }
    let callers = [(0, 2), (1, 3), (0, 1), (1, 1)]
        .map(|(key, permits)| Caller::of(users.acquire(if key == 0 { &0 } else { &1 }, permits)));
    let sleeps = callers.each_ref().map(|caller| caller.sleeps_for().as_millis());
    assert_eq!((users.lines(), sleeps), (2, [200, 30, 300, 40]));
    let mut line: Vec<_> = callers.into_iter().enumerate().collect();
    for (millis, granted) in [(30, 1), (10, 3), (160, 0), (100, 2)] {
        clock.advance_nanos(millis * 1_000_000 - 1);
        assert!(line.iter_mut().all(|(_, caller)| caller.is_waiting()));
        clock.advance_nanos(1);
        line.retain_mut(|(place, caller)| *place != granted || !caller.is_granted());
        assert!(line.iter().all(|(place, _)| *place != granted), "{granted}");
    }
    assert_eq!(users.lines(), 0);
    // A change of one tier lets those of its keys look again.
    let mut slow = Caller::of(users.acquire(&0, 10));
    users.update(|users| users.reconfigure_tier(0, fast, Carry::Keep)).unwrap();
    assert!(slow.is_waiting());
    clock.advance(100 * MILLI);
    assert!(slow.is_granted());
}

/// Each tier of a table is a store of its own, and so has a line for each of its keys.
#[test]
fn a_tier_of_a_table_can_be_waited_for_beside_the_others() {
    let clock = ManualClock::new();
    let quota = quota!(100 / second, burst 10);
    let table = KeyTable::<str>::builder(quota).tier(quota!(10 / second)).clock(&clock);
    let table = table.keys(100).unwrap();
    let tiers =
        [0, 1].map(|tier| QueuedKeys::<_, str, _>::with_clock(table.tier(tier).unwrap(), &clock));
    let mut callers: Vec<_> = std::iter::zip(&tiers, ["ada", "bob"])
        .map(|(tier, key)| {
            tier.try_acquire(key, 10).unwrap();
            Caller::of(tier.acquire(key, 1))
        })
        .collect();
    assert!(callers.iter_mut().all(Caller::is_waiting));
    clock.advance(11 * MILLI);
    assert!(callers[0].is_granted() && callers[1].is_waiting());
    clock.advance(90 * MILLI);
    assert!(callers[1].is_granted());
    assert_eq!(tiers.each_ref().map(QueuedKeys::lines), [0; 2]);
}

#[test]
fn a_caller_that_leaves_takes_nothing_and_the_last_one_takes_the_line_with_it() {
    let clock = ManualClock::new();
    let users = table(&clock);
    users.acquire_blocking("ada", 10).unwrap();
    let mut callers: Vec<_> =
        [9, 5, 5].map(|permits| Caller::of(users.acquire("ada", permits))).into();
    drop(callers.remove(0));
    assert_eq!((callers[0].woken(), users.waiters("ada")), (1, 2));
    clock.advance(51 * MILLI);
    assert!(callers[0].is_granted() && callers[1].is_waiting());
    drop(callers);
    assert_eq!(users.lines(), 0);
    clock.advance(50 * MILLI);
    assert!(users.try_acquire("ada", 5).is_ok());
}

#[test]
fn the_lines_of_many_keys_leave_no_memory() {
    let clock = ManualClock::new();
    let keyed = Keyed::<u64, _>::with_clock(quota!(1 / second), &clock);
    let keys = QueuedKeys::<_, u64, _>::with_clock(keyed, &clock);
    let count = if cfg!(miri) { 40 } else { 4_000 };
    let names: Vec<u64> = (0..count).collect();
    for key in &names {
        keys.try_acquire(key, 1).unwrap();
    }
    let mut callers: Vec<_> = names.iter().map(|key| Caller::of(keys.acquire(key, 1))).collect();
    assert_eq!(keys.lines() as u64, count);
    clock.advance(Duration::from_secs(1));
    assert!(callers.iter_mut().all(Caller::is_granted));
    assert_eq!(keys.lines(), 0);
}

#[test]
fn deadlines_bounds_and_closing_are_those_of_each_line() {
    let clock = ManualClock::new();
    let users = table(&clock);
    users.acquire_blocking("ada", 10).unwrap();
    users.set_line_limits(LineLimits::new().max_waiters(1));
    let soon = 10 * MILLI;
    let late = Caller::of(users.acquire("ada", 5).timeout(soon)).error();
    assert!(matches!(late, Some(AcquireError::TimedOut { .. })));
    let too_large = Caller::of(users.acquire("ada", 11)).error();
    assert_eq!(too_large, Some(AcquireError::TooLarge { limit: 10 }));
    assert_eq!(users.lines(), 0);
    let mut ada = Caller::of(users.acquire("ada", 1));
    let full = Caller::of(users.acquire("ada", 1)).error();
    assert!(matches!(full, Some(AcquireError::LineFull { .. })));
    let evicting = LineLimits::new().max_waiters(1).when_full(WhenLineFull::EvictOldest);
    users.set_line_limits(evicting);
    let mut newer = Caller::of(users.acquire("ada", 1));
    assert_eq!((ada.error(), newer.is_waiting()), (Some(AcquireError::Evicted), true));
    users.acquire_blocking("bob", 10).unwrap();
    let mut bob = Caller::of(users.acquire("bob", 1));
    users.close_lines();
    for caller in [&mut newer, &mut bob] {
        assert_eq!(caller.error(), Some(AcquireError::Closed));
    }
    assert_eq!(users.acquire_blocking("bob", 1), Err(AcquireError::Closed));
    let too_large = Err(AcquireError::TooLarge { limit: 10 });
    assert_eq!(users.acquire_blocking("bob", 11), too_large, "as where there is one line");
    assert!(users.acquire_blocking("cyd", 1).is_ok() && users.lines() == 0);
    assert!(users.acquire("cyd", 1).wait_blocking_until(Instant::now()).is_err());
}

#[test]
fn a_caller_asks_the_store_once_before_it_stands_in_line_and_once_there() {
    let clock = ManualClock::new();
    let log =
        |_: &String| Counted::new(WeightedLog::with_clock(rate!(10 / 100 ms), &clock).unwrap());
    let logs = Keyed::<String, _>::with(Each::with_clock(log, &clock));
    let users = QueuedKeys::<_, str, _>::with_clock(logs, &clock);
    users.acquire_blocking("ada", 10).unwrap();
    let denied = || users.store().with_limiter("ada", |log| log.counts().denied).unwrap();
    let mut first = Caller::of(users.acquire("ada", 6));
    assert!(first.is_waiting());
    assert_eq!(denied(), 3, "one more for its second poll");
    // The gate denies it, and the line asks for the first.
    let _second = Caller::of(users.acquire("ada", 1));
    assert_eq!(denied(), 4);
}

#[test]
fn a_caller_of_a_full_store_waits_for_space() {
    let clock = ManualClock::new();
    let keyed = Keyed::<u64, _>::builder(Buckets::with_clock(quota!(1 / second), &clock));
    let keyed = keyed.max_keys(1).when_full(WhenFull::Deny).build().unwrap();
    let keys = QueuedKeys::<_, u64, _>::with_clock(keyed, &clock);
    let mut taken = 0;
    while keys.try_acquire(&taken, 1).is_ok() {
        taken += 1;
    }
    assert!(matches!(keys.try_acquire(&taken, 1), Err(Denied::Full { .. })));
    let mut caller = Caller::of(keys.acquire(&taken, 1));
    assert!(caller.is_waiting() && caller.sleeps_for() > Duration::ZERO);
    clock.advance(Duration::from_secs(2));
    assert!(caller.is_granted());
}

#[test]
fn threads_that_wait_for_keys_are_all_granted_their_permits() {
    let keyed = Keyed::<u64, _>::with(Buckets::new(quota!(2_000 / second, burst 3)));
    let keys = QueuedKeys::<_, u64>::new(keyed);
    let granted: u64 = std::thread::scope(|scope| {
        let threads = [(1, 3), (1, 2), (2, 1), (2, 3)].map(|(key, permits)| {
            let keys = &keys;
            scope.spawn(move || {
                (0..5).map(|_| keys.acquire_blocking(&key, permits).unwrap().permits()).sum::<u64>()
            })
        });
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!((granted, keys.lines()), (45, 0));
}
