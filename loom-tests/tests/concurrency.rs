//! Models of `ConcurrencyLimit` and `Adaptive`. What is checked, over every interleaving:
//!
//! * no more permits are in flight than the limit, also while it is lowered;
//! * no end is lost: after all guards have ended, nothing is in flight and the limit is what it
//!   was set to;
//! * what is done before an end, before an admission or before a change of the limit is seen by
//!   those that are admitted later;
//! * a key has one limit, also while keys are dropped and while the limit of all is changed;
//! * one sample at a time changes an adaptive limit, and no drop is lost.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::atomic::Ordering::Relaxed;

use sluicegate_flow::concurrency::{
    ConcurrencyLimit, InFlight, KeyedConcurrency, LimitAlgorithm, Outcome, Sample,
};
use sluicegate_loom_tests::{Arc, TestClock, check, race};

#[cfg(sluicegate_loom)]
use loom::sync::atomic::AtomicU64;
#[cfg(not(sluicegate_loom))]
use std::sync::atomic::AtomicU64;

/// A limit, and two words of the test's own, which nothing but the limit puts in order.
struct Watched {
    limit: ConcurrencyLimit,
    /// The permits that the test counts as in flight.
    holders: AtomicU64,
    written: AtomicU64,
}

fn watched(limit: u64) -> Arc<Watched> {
    Arc::new(Watched {
        limit: ConcurrencyLimit::new(limit),
        holders: AtomicU64::new(0),
        written: AtomicU64::new(0),
    })
}

impl Watched {
    /// Takes `permits` and ends them, and checks meanwhile that no more than `most` are held.
    fn hold(&self, permits: u64, most: u64) -> bool {
        let Ok(guard) = self.limit.try_acquire(permits) else { return false };
        let others = self.holders.fetch_add(permits, Relaxed);
        assert!(others + permits <= most, "{} held of {most}", others + permits);
        self.holders.fetch_sub(permits, Relaxed);
        drop(guard);
        true
    }

    fn assert_idle(&self, limit: u64) {
        assert_eq!((self.limit.in_flight(), self.limit.limit()), (0, limit));
    }
}

#[test]
fn no_more_are_in_flight_than_the_limit() {
    check(2, || {
        let watched = watched(2);
        let held = race(&watched, [1, 1, 2], |watched, permits| watched.hold(permits, 2));
        assert!(held.contains(&true), "the first to ask is always admitted");
        watched.assert_idle(2);
    });
}

#[test]
fn as_many_are_in_flight_as_the_limit_says() {
    check(3, || {
        let limit = Arc::new(ConcurrencyLimit::new(2));
        let admitted = race(&limit, [1, 1, 1], |limit, permits| {
            limit.try_acquire(permits).map(core::mem::forget).is_ok()
        });
        assert_eq!(admitted.iter().filter(|&&is_admitted| is_admitted).count(), 2);
        assert_eq!(limit.in_flight(), 2);
    });
}

/// A request that is too large is in nobody's way.
#[test]
fn a_request_that_fits_is_admitted_beside_one_that_does_not() {
    check(3, || {
        let limit = Arc::new(ConcurrencyLimit::new(2));
        let admitted =
            race(&limit, [3, 2], |limit, permits| limit.try_acquire(permits).map(drop).is_ok());
        assert_eq!(admitted, [false, true]);
        assert_eq!(limit.in_flight(), 0);
    });
}

enum Act {
    End(InFlight<'static>),
    SetLimit(u64),
    Take(u64),
}

impl Act {
    /// Returns whether it took permits, which stay in flight.
    fn on(limit: &ConcurrencyLimit, act: Act) -> bool {
        match act {
            Act::End(guard) => drop(guard),
            Act::SetLimit(to) => limit.set_limit(to),
            Act::Take(permits) => {
                return limit.try_acquire(permits).map(core::mem::forget).is_ok();
            }
        }
        false
    }
}

/// One of two that are in flight ends while the limit is lowered to one and a third caller asks.
#[test]
fn no_end_is_lost_beside_a_change_of_the_limit() {
    check(3, || {
        let limit = Arc::new(ConcurrencyLimit::new(2));
        let [ends, stays] = [(); 2].map(|()| limit.try_acquire_owned(1).unwrap());
        let acts = [Act::End(ends), Act::SetLimit(1), Act::Take(1)];
        let [_, _, is_admitted] = race(&limit, acts, Act::on);
        assert_eq!(limit.in_flight(), 1 + u64::from(is_admitted));
        assert_eq!(limit.limit(), 1);
        drop(stays);
        assert_eq!(limit.try_acquire(1).is_ok(), !is_admitted);
    });
}

/// Nobody that begins after the limit was lowered is admitted beyond it.
#[test]
fn a_lowered_limit_holds_from_then_on() {
    check(2, || {
        let watched = watched(2);
        race(&watched, [0, 1, 1], |watched, permits| {
            if permits == 0 {
                watched.limit.set_limit(1);
                watched.hold(1, 2);
                assert!(watched.limit.try_acquire(2).is_err());
            } else {
                watched.hold(permits, 2);
            }
        });
        watched.assert_idle(1);
    });
}

#[test]
fn what_was_done_before_an_end_is_seen_after_the_next_admission() {
    check(3, || {
        let watched = watched(1);
        let seen = race(&watched, [true, false, false], |watched, writes| {
            let guard = watched.limit.try_acquire(1).ok()?;
            let found = watched.written.load(Relaxed);
            if writes {
                watched.written.store(1, Relaxed);
            }
            let order = watched.holders.load(Relaxed);
            watched.holders.store(order + 1, Relaxed);
            drop(guard);
            Some((order, found))
        });
        // Each that was admitted is after all that were admitted before, and knows it.
        let mut orders: Vec<u64> = seen.iter().flatten().map(|&(order, _)| order).collect();
        orders.sort_unstable();
        assert!(orders.iter().copied().eq(0..orders.len() as u64), "{orders:?}");
        if let [Some((first, _)), others @ ..] = seen {
            for (order, found) in others.iter().flatten() {
                assert_eq!(*found == 1, *order > first, "{order} after {first}");
            }
        }
    });
}

/// Nothing ends, so only the admissions put the callers in order. A caller that does not get both
/// permits comes after the other.
#[test]
fn what_was_done_before_an_admission_is_seen_after_the_next() {
    check(3, || {
        let watched = watched(2);
        race(&watched, [true, false], |watched, writes| {
            if writes {
                watched.written.store(1, Relaxed);
                core::mem::forget(watched.limit.try_acquire(1));
            } else if let Err(denied) = watched.limit.try_acquire(2).map(core::mem::forget) {
                assert_eq!(denied.in_flight(), 1);
                core::mem::forget(watched.limit.try_acquire(1).unwrap());
                assert_eq!(watched.written.load(Relaxed), 1);
            }
        });
        assert_eq!(watched.limit.in_flight(), 2);
    });
}

#[test]
fn a_raised_limit_is_found_with_what_was_done_before_it() {
    check(3, || {
        let watched = watched(0);
        race(&watched, [true, false], |watched, raises| {
            if raises {
                watched.written.store(1, Relaxed);
                watched.limit.set_limit(1);
            } else if let Ok(guard) = watched.limit.try_acquire(1) {
                assert_eq!(watched.written.load(Relaxed), 1);
                drop(guard);
            }
        });
        watched.assert_idle(1);
    });
}

/// A guard that is split ends in two threads.
#[test]
fn the_parts_of_a_guard_end_in_any_order() {
    check(3, || {
        let limit = Arc::new(ConcurrencyLimit::new(3));
        let mut one: InFlight<'static> = limit.try_acquire_owned(3).unwrap();
        let two = one.split(2).unwrap();
        let acts = [Act::End(one), Act::End(two), Act::Take(2)];
        let [_, _, is_admitted] = race(&limit, acts, Act::on);
        assert_eq!(limit.in_flight(), if is_admitted { 2 } else { 0 });
    });
}

/// An algorithm that counts its samples in two places, and adds one to its limit for each; a drop
/// counts as ten.
#[derive(Debug)]
struct Counting {
    samples: u64,
    again: u64,
}

impl LimitAlgorithm for Counting {
    fn limit(&self) -> u64 {
        100 + self.samples
    }

    fn sample(&mut self, sample: &Sample) {
        assert_eq!(self.samples, self.again, "two samples at once");
        let counts = if sample.was_dropped { 10 } else { 1 };
        self.samples += counts;
        self.again += counts;
    }
}

type Adaptive = sluicegate_flow::concurrency::Adaptive<Counting, TestClock>;

fn counting() -> Arc<Adaptive> {
    Arc::new(Adaptive::with_clock(Counting { samples: 0, again: 0 }, TestClock::new()))
}

#[test]
fn samples_are_taken_one_after_the_other() {
    check(3, || {
        let adaptive = counting();
        race(&adaptive, [1, 2], |adaptive, permits| {
            adaptive.try_acquire(permits).unwrap().end(Outcome::Success);
        });
        let limit = adaptive.limit();
        // The first to end is never left out, and the limit is that of the last that was not.
        let samples = adaptive.with_algorithm(|algorithm| algorithm.samples);
        assert_eq!(samples.map(|samples| 100 + samples), Some(limit));
        assert!((101..=102).contains(&limit));
        assert_eq!(adaptive.in_flight(), 0);
    });
}

#[test]
fn a_drop_beside_another_sample_is_not_lost() {
    check(3, || {
        let adaptive = counting();
        race(&adaptive, [Outcome::Dropped, Outcome::Success], |adaptive, outcome| {
            adaptive.try_acquire(1).unwrap().end(outcome);
        });
        adaptive.try_acquire(1).unwrap().end(Outcome::Success);
        // Either beside the success, and then together with the last sample, or on its own.
        let limit = adaptive.limit();
        assert!([111, 112].contains(&limit), "{limit}");
    });
}

type Keys = KeyedConcurrency<u64, BuildHasherDefault<DefaultHasher>>;

/// A keyed limit, and the permits of key 1 that the test counts as in flight.
fn keyed(limit: u64) -> Arc<(Keys, AtomicU64)> {
    Arc::new((Keys::with_hasher(limit, BuildHasherDefault::default()), AtomicU64::new(0)))
}

/// Another key, which is inserted and dropped at any time, has the shard sweep.
#[test]
fn a_key_has_one_limit_while_keys_are_dropped() {
    check(2, || {
        let keyed = keyed(1);
        race(&keyed, [1, 1, 2], |(keyed, holders), key| {
            let Ok(guard) = keyed.try_acquire(&key, 1) else { return };
            if key == 1 {
                assert_eq!(holders.fetch_add(1, Relaxed), 0, "two limits of a key");
                holders.fetch_sub(1, Relaxed);
            }
            drop(guard);
        });
        assert_eq!(keyed.0.in_flight(&1), 0);
    });
}

#[test]
fn a_key_that_is_inserted_beside_a_change_has_the_new_limit() {
    check(2, || {
        let keyed = keyed(2);
        race(&keyed, [0, 1], |(keyed, _), key| match key {
            0 => keyed.set_limit(1),
            _ => core::mem::forget(keyed.try_acquire(&key, 1).unwrap()),
        });
        assert_eq!((keyed.0.limit_of(&1), keyed.0.in_flight(&1)), (1, 1));
        assert!(keyed.0.try_acquire(&1, 1).is_err());
    });
}

#[test]
fn two_changes_leave_one_limit() {
    check(2, || {
        let keyed = keyed(3);
        let _held = keyed.0.try_acquire(&1, 1).unwrap();
        race(&keyed, [1, 2], |(keyed, _), limit| keyed.set_limit(limit));
        assert_eq!(keyed.0.limit_of(&1), keyed.0.limit());
    });
}
