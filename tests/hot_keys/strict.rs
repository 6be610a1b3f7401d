//! The promises at the edges, each with the smallest case that shows it.

use std::hash::{BuildHasherDefault, Hasher};

use sluicegate::keyed::{Buckets, HotKeys};
use sluicegate::*;

use super::chosen::Chosen;
use super::subject::{Hot, Kind, heat, rivals, take_all, with, with_each};
use super::{MS, Open, QUOTA, SECOND};
use crate::support::observer::Told;

/// A hasher whose hash of a key is the key.
type Plain = BuildHasherDefault<Itself>;

#[derive(Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn write(&mut self, _: &[u8]) {
        unreachable!("keys are integers");
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A hasher that gives all keys one hash.
type Same = BuildHasherDefault<One>;

#[derive(Default)]
struct One;

impl Hasher for One {
    fn write(&mut self, _: &[u8]) {}

    fn finish(&self) -> u64 {
        0x1234_5678_9ABC_DEF0
    }
}

#[test]
fn a_key_that_nobody_asks_for_any_more_makes_room_for_one_that_is_asked_for() {
    let keys = rivals(&Open::default(), 1, 2);
    with_each(QUOTA, 1, |kind, limiter, clock| {
        heat(limiter, 0, keys[0]);
        for _ in 0..200 {
            assert!(limiter.ask_at(0, keys[0], 1).is_ok());
        }
        clock.pass(3_600 * SECOND);
        for _ in 0..100_000 {
            let _ = limiter.ask_at(0, keys[1], 1);
        }
        assert!(limiter.has_seat(keys[1]), "{kind:?}");
    });
}

#[test]
fn a_key_that_is_asked_for_all_the_time_keeps_its_seat_from_one_that_is_seldom_asked_for() {
    let keys = rivals(&Open::default(), 1, 2);
    // Of which less than 64 are prepaid at once.
    with_each(quota!(400 / second), 1, |kind, limiter, clock| {
        heat(limiter, 0, keys[0]);
        for _ in 0..64 {
            for _ in 0..1_000 {
                let _ = limiter.ask_at(0, keys[0], 1);
                clock.pass(3 * MS);
            }
            let _ = limiter.ask_at(0, keys[1], 0);
        }
        assert!(limiter.has_seat(keys[0]), "{kind:?}");
    });
}

#[test]
fn a_wait_is_enough_if_what_is_in_the_seat_is_lost_before() {
    for kind in [Kind::Keyed, Kind::Table] {
        let clock = Chosen::at(SECOND);
        with(kind, QUOTA, 2, &clock, |limiter| {
            heat(limiter, 0, 1);
            // A few of the last prepayment are used; it is good for 125 ms.
            for _ in 0..4 {
                assert!(limiter.ask_at(0, 1, 1).is_ok());
            }
            let denied = limiter.ask_at(0, 1, 1_000).unwrap_err();
            clock.pass(denied.retry_after().unwrap().as_nanos() as u64);
            let again = limiter.ask_at(0, 1, 1_000);
            assert!(again.is_ok(), "{kind:?}: {:?} more", again.unwrap_err().retry_after());
        });
    }
}

/// Has limiters refuse a permit that takes 3.6 seconds to earn, in a call between whose readings
/// `step_nanos` pass.
fn refuse_slowly(step_nanos: u64, check: impl Fn(Kind, &dyn Hot, &Chosen, Denied)) {
    for kind in [Kind::Keyed, Kind::Table] {
        let clock = Chosen::at(SECOND);
        with(kind, quota!(1_000 / hour), 2, &clock, |limiter| {
            heat(limiter, 0, 1);
            take_all(limiter, &[0], 1);
            limiter.touch();
            clock.step(step_nanos);
            let denied = limiter.ask_at(0, 1, 1).unwrap_err();
            clock.step(0);
            check(kind, limiter, &clock, denied);
        });
    }
}

#[test]
fn a_wait_is_enough_if_time_passes_within_the_call_that_was_refused() {
    refuse_slowly(100 * MS, |kind, limiter, clock, _| {
        let remembered = limiter.ask_at(0, 1, 1).unwrap_err();
        clock.pass(remembered.retry_after().unwrap().as_nanos() as u64);
        let again = limiter.ask_at(0, 1, 1);
        assert!(again.is_ok(), "{kind:?}: {:?} more", again.unwrap_err().retry_after());
    });
}

/// More time passes than the wait that the call ends with.
#[test]
fn a_denial_is_not_remembered_if_its_time_has_passed_within_the_call() {
    refuse_slowly(1_500 * MS, |kind, limiter, clock, _| {
        clock.pass(3_600 * MS);
        assert!(limiter.ask_at(0, 1, 1).is_ok(), "{kind:?}");
    });
}

#[test]
fn no_key_is_refused_for_what_another_was_refused() {
    let clock = Chosen::at(SECOND);
    let quota = quota!(400 / hour);
    let key = 8;
    let other = rivals(&Plain::default(), key, 200)
        .into_iter()
        .filter(|&other| other != key)
        .min_by_key(|other| other ^ key)
        .unwrap();
    let buckets = Buckets::with_clock(quota, &clock);
    let keyed = Keyed::<u64, _>::builder(buckets).hasher(Plain::default()).build().unwrap();
    let limiter = HotKeys::with_places(keyed, 1).unwrap();
    heat(&limiter, 0, key);
    take_all(&limiter, &[0], key);
    // The first call finds out how much the seat was used until now.
    (0..64).for_each(|_| assert!(limiter.ask_at(0, other, 0).is_ok()));
    heat(&limiter, 0, other);
    assert_eq!(limiter.store().peek(&other, 0).unwrap().remaining(), 400);
    for changes in 0..=(other ^ key) {
        let answer = limiter.ask_at(0, other, 1);
        assert!(answer.is_ok(), "{key} {other} {changes}");
        limiter.reset_key(other);
    }
}

#[test]
fn keys_of_one_hash_get_no_more_between_them_than_both_have() {
    let clock = Chosen::at(SECOND);
    let buckets = Buckets::with_clock(QUOTA, &clock);
    let keyed = Keyed::<u64, _>::builder(buckets).hasher(Same::default()).build().unwrap();
    let limiter = HotKeys::with_places(keyed, 1).unwrap();
    heat(&limiter, 0, 1);
    // One prepays, and the other may take that on top of its own.
    let first = (0..2).map(|_| limiter.ask_at(0, 1, 1).unwrap().permits()).sum::<u64>();
    let second = limiter.drain(2) + take_all(&limiter, &[0], 2);
    assert!(second > 900, "{second}");
    let all = first + second + limiter.drain(1) + take_all(&limiter, &[0], 1);
    assert!(all <= 2_000, "{all} of two bursts of 1000");
}

#[test]
fn a_caller_takes_single_permits_from_elsewhere_once_the_key_has_a_seat_where_it_is() {
    with_each(QUOTA, 2, |kind, limiter, _| {
        heat(limiter, 0, 1);
        assert!(limiter.ask_at(0, 1, 1).is_ok() && limiter.ask_at(0, 1, 1).is_ok());
        limiter.drain(1);
        assert!(limiter.ask_at(1, 1, 1).is_err(), "{kind:?}");
        heat(limiter, 1, 1);
        let grant = limiter.ask_at(1, 1, 1).unwrap();
        assert_eq!(grant.limit(), 1_000, "{kind:?}: the limit is told too");
        assert_eq!(grant.reset_after().as_nanos(), 1_000_000_000, "{kind:?}");
    });
}

#[test]
fn a_key_that_starts_again_because_the_clock_was_set_back_has_no_more_on_top_than_was_in_seats() {
    for kind in [Kind::Keyed, Kind::Table] {
        let clock = Chosen::at(SECOND);
        with(kind, QUOTA, 2, &clock, |limiter| {
            clock.pass(3_600 * SECOND);
            heat(limiter, 0, 1);
            heat(limiter, 1, 1);
            let _ = limiter.ask_at(0, 1, 1);
            assert!(limiter.ask_at(0, 1, 1).is_ok());
            clock.set(SECOND);
            // Starts again.
            assert!(limiter.ask_at(1, 1, 1).is_ok());
            clock.pass(3_600 * SECOND);
            let all = limiter.drain(1) + take_all(limiter, &[0, 1], 1);
            assert!(all <= 1_000 + 16, "{kind:?} {all}");
        });
    }
}

#[test]
fn an_observer_is_told_of_a_request_for_nothing_only_if_the_store_tells_it() {
    let clock = Chosen::at(SECOND);
    let told = Told::<u64>::default();
    let count = || told.0.lock().unwrap().len();
    let table = KeyTable::builder_with(QUOTA, Open::default(), &clock).observer(&told);
    let table = HotKeys::with_places(table.memory(640).unwrap(), 1).unwrap();
    assert!(table.store().try_acquire(&1, 0).is_ok());
    let by_table = count();
    assert!(table.ask_at(0, 1, 0).is_ok());
    assert_eq!(count(), 2 * by_table);
    let buckets = Buckets::with_clock(QUOTA, &clock);
    let keyed = Keyed::<u64, _>::builder(buckets).observer(&told).build().unwrap();
    let keyed = HotKeys::with_places(keyed, 1).unwrap();
    let before = count();
    assert!(keyed.store().try_acquire(&1, 0).is_ok());
    let by_store = count() - before;
    assert!(keyed.ask_at(0, 1, 0).is_ok());
    assert_eq!(count() - before, 2 * by_store);
}

#[test]
fn a_clock_that_is_a_little_behind_for_some_callers_costs_no_more_than_a_quarter() {
    with_each(QUOTA, 1, |kind, limiter, clock| {
        let now = clock.next() + MS;
        heat(limiter, 0, 1);
        let mut granted = 0;
        for turn in 0..4_000 {
            clock.set(now - turn % 2);
            granted += limiter.ask_at(0, 1, 1).map_or(0, |grant| grant.permits());
        }
        // An eighth is passed over, and of the rest at most a quarter lies in seats.
        assert!(granted >= 656, "{kind:?} {granted} of 1000");
    });
}

#[test]
fn a_key_that_was_never_asked_for_is_not_hot_whatever_its_hash() {
    let clock = Chosen::at(SECOND);
    let table = KeyTable::builder_with(QUOTA, Plain::default(), &clock).memory(640).unwrap();
    let limiter = HotKeys::with_places(table, 1).unwrap();
    assert_eq!((0..100_u64).find(|key| limiter.is_hot(key)), None);
}

/// The next call may come before the wait that was told is over.
#[test]
fn a_refusal_that_took_long_is_remembered_no_longer_than_the_store_would_refuse() {
    let step = 100 * MS;
    refuse_slowly(step, |kind, limiter, clock, denied| {
        // The last reading but one was the store's.
        let asked_nanos = clock.next() - 2 * step;
        clock.set(asked_nanos + denied.retry_after().unwrap().as_nanos() as u64);
        assert!(limiter.ask_at(0, 1, 1).is_ok(), "{kind:?}");
    });
}

#[test]
fn a_hot_key_that_starts_again_because_the_clock_was_set_back_is_counted() {
    let clock = Chosen::at(1_000 * SECOND);
    let table = KeyTable::builder_with(QUOTA, Open::default(), &clock).memory(640).unwrap();
    let limiter = HotKeys::with_places(table, 1).unwrap();
    heat(&limiter, 0, 1);
    (0..5).for_each(|_| assert!(limiter.ask_at(0, 1, 1).is_ok()));
    clock.set(900 * SECOND);
    assert!(limiter.ask_at(0, 1, 1).is_ok());
    // The clock, and the key.
    assert_eq!(limiter.store().healed(), 2);
}
