//! A key's limiter in a closure: every verb, the same limiter for all callers, and a store that
//! has no space.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::keyed::{Each, WhenFull};
use sluicegate::*;

type Made<'c> = Keyed<String, Each<TokenBucket<&'c ManualClock>, Make<'c>, &'c ManualClock>>;
type Make<'c> = Box<dyn Fn(&String) -> TokenBucket<&'c ManualClock> + Send + Sync + 'c>;

fn each(clock: &ManualClock, max_keys: usize, when_full: WhenFull) -> Made<'_> {
    let make: Make<'_> =
        Box::new(|_| TokenBucket::with_clock(quota!(10 / second, max_debt 5), clock));
    let builder = Keyed::builder(Each::with_clock(make, clock));
    builder.max_keys(max_keys).when_full(when_full).build().unwrap()
}

#[test]
fn a_closure_has_every_verb_of_the_limiter_that_the_store_asks() {
    let clock = ManualClock::new();
    let users = each(&clock, 100, WhenFull::Deny);
    users.try_acquire("ada", 4).unwrap();
    let lease_left = users.with_limiter("ada", |bucket| {
        let mut lease = bucket.lease(3).unwrap();
        assert!(lease.spend(2));
        lease.left()
    });
    assert_eq!(lease_left, Ok(1));
    assert_eq!(users.peek("ada", 0).unwrap().remaining(), 4);
    assert!(users.with_limiter("ada", |bucket| bucket.force(9)).unwrap().is_ok());
    assert!(users.try_acquire("ada", 1).is_err());
    let snapshot = users.with_limiter("ada", TokenBucket::snapshot).unwrap();
    let restored = users.with_limiter("bob", |bucket| {
        bucket.restore(&snapshot, Duration::ZERO);
    });
    assert_eq!(restored, Ok(()));
    assert!(users.try_acquire("bob", 1).is_err());
    assert_eq!(users.len(), 2);
}

#[test]
fn a_key_whose_limiter_is_idle_after_the_closure_stays_unknown() {
    let clock = ManualClock::new();
    let users = each(&clock, 100, WhenFull::Deny);
    let remaining = users.with_limiter("ada", |bucket| bucket.peek(0).unwrap().remaining());
    assert_eq!((remaining, users.len()), (Ok(10), 0));
    users.with_limiter("ada", |bucket| bucket.try_acquire(1)).unwrap().unwrap();
    assert_eq!((users.len(), users.contains("ada")), (1, true));
}

#[test]
fn a_full_store_calls_no_closure_whatever_it_answers_itself() {
    let clock = ManualClock::new();
    for when_full in [WhenFull::Deny, WhenFull::Admit, WhenFull::Share(quota!(1 / second))] {
        let users = each(&clock, 1, when_full);
        users.try_acquire("ada", 10).unwrap();
        let denied = users.with_limiter("bob", |_| panic!("there is no limiter")).unwrap_err();
        let Denied::Full { retry_after } = denied else { panic!("{denied:?}") };
        assert!(!retry_after.is_zero());
        // An idle key makes space.
        clock.advance(Duration::from_secs(1));
        assert!(users.with_limiter("bob", |bucket| bucket.try_acquire(1)).unwrap().is_ok());
        assert!(!users.contains("ada"));
    }
}

#[test]
fn a_closure_that_panics_leaves_what_it_took_taken() {
    let clock = ManualClock::new();
    let users = each(&clock, 100, WhenFull::Deny);
    for left in [7, 4] {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            users.with_limiter("ada", |bucket| {
                bucket.try_acquire(3).unwrap();
                panic!("in the closure");
            })
        }));
        assert!(outcome.is_err());
        assert_eq!(users.peek("ada", 0).unwrap().remaining(), left);
    }
    assert_eq!(users.len(), 1);
}

#[test]
fn threads_are_given_one_limiter_of_a_key_though_it_is_evicted_in_between() {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = if cfg!(miri) { 20 } else { 2_000 };
    let clock = ManualClock::new();
    let users = each(&clock, 3, WhenFull::Deny);
    let granted = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (users, granted) = (&users, &granted);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let taken = users.with_limiter("ada", |bucket| bucket.try_acquire(1).is_ok());
                    granted.fetch_add(u64::from(taken == Ok(true)), Relaxed);
                    // Idle at once, so that others evict it.
                    let _ = users.with_limiter(&*format!("{thread} {round}"), |_| ());
                }
            });
        }
    });
    assert_eq!(granted.into_inner(), 10);
}

#[test]
fn the_limiters_of_all_keys_are_changed_at_once() {
    let clock = ManualClock::new();
    let users = each(&clock, 1_000, WhenFull::Deny);
    let names: Vec<String> = (0..300).map(|number| number.to_string()).collect();
    for name in &names {
        users.try_acquire(name, 10).unwrap();
    }
    let mut changed = Vec::new();
    users.for_each_limiter(|name, bucket| {
        bucket.reconfigure(quota!(20 / second), Carry::Reset);
        changed.push(name.clone());
    });
    changed.sort_by_key(|name| name.parse::<u64>().unwrap());
    assert_eq!(changed, names);
    for name in &names {
        assert_eq!(users.try_acquire(name, 20).unwrap().remaining(), 0);
    }
    // One that comes later is as it is made.
    assert!(users.try_acquire("late", 11).is_err());
}
