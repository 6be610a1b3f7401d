//! Models of the registry's changes in several steps, on the real protocol of `sluicegate-policy` and real
//! buckets. What is checked, over every interleaving:
//!
//! * a limiter that takes the place of another knows all that the other has granted and that counts;
//! * no decision that counts is made by some of the old terms and some of the new;
//! * the checker does catch a protocol without its barrier (the canary).

use sluicegate::{Quota, quota};
use sluicegate_loom_tests::{ANY, Arc, Bucket, bucket, check, race};

use self::atomics::{AtomicU64, Ordering};
use self::generation::Generation;
use self::lock::Lock;

mod atomics {
    #[cfg(sluicegate_loom)]
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};
    pub(super) use std::sync::atomic::compiler_fence;
    #[cfg(not(sluicegate_loom))]
    pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
}

#[path = "../../crates/policy/src/registry/generation.rs"]
mod generation;

mod lock {
    #[cfg(sluicegate_loom)]
    pub(super) type Lock = loom::sync::Mutex<()>;
    #[cfg(not(sluicegate_loom))]
    pub(super) type Lock = std::sync::Mutex<()>;
}

/// Two permits, and none that comes back.
const TWO: Quota = quota!(1 / hour, burst 2);

/// The place of two buckets, the second of which takes over what the first has granted.
struct Place {
    generation: Generation,
    changing: Lock,
    old: Arc<Bucket>,
    new: Arc<Bucket>,
}

impl Place {
    fn new() -> Arc<Place> {
        Arc::new(Place {
            generation: Generation::default(),
            changing: Lock::new(()),
            old: bucket(TWO),
            new: bucket(TWO),
        })
    }

    /// Takes a permit from the bucket in force, as a handle does. Returns how many were granted.
    fn decide(&self, is_still: IsStill) -> u64 {
        loop {
            let seen = self.generation.get();
            if seen.is_multiple_of(2) {
                let bucket = if seen == 0 { &self.old } else { &self.new };
                let granted = u64::from(bucket.try_acquire(1).is_ok());
                if is_still(&self.generation, seen) {
                    return granted;
                }
            }
            drop(self.changing.lock());
        }
    }

    /// Puts the second bucket in the place of the first.
    fn replace(&self) {
        let _changing = self.changing.lock();
        self.generation.begin(0);
        let used = 2 - self.old.peek(0).map_or(0, |grant| grant.remaining());
        let _ = self.new.try_acquire_up_to(used);
        self.generation.publish(2);
    }

    /// Returns all that is left in the bucket in force.
    fn rest(&self) -> u64 {
        self.new.try_acquire_up_to(2).map_or(0, |grant| grant.permits())
    }
}

/// Tells whether a decision by the terms of a number counts.
type IsStill = fn(&Generation, u64) -> bool;

/// Lets a bucket take the place of another while two callers decide.
fn assert_takes_over(is_still: IsStill) {
    check(2, move || {
        let place = Place::new();
        let granted = race(&place, [Some(is_still), Some(is_still), None], |place, caller| {
            caller.map_or_else(
                || {
                    place.replace();
                    0
                },
                |is_still| place.decide(is_still),
            )
        });
        let all = granted.iter().sum::<u64>() + place.rest();
        assert!(all <= 2, "admitted {all} of 2");
    });
}

#[test]
fn a_limiter_that_takes_the_place_knows_all_that_was_granted() {
    assert_takes_over(Generation::is_still);
}

/// Without the barrier, the load may come before the grant, which the change then does not find.
#[test]
#[cfg(sluicegate_loom)]
#[should_panic(expected = "of 2")]
fn canary_a_grant_that_the_change_did_not_find() {
    assert_takes_over(|generation, seen| generation.get() == seen);
}

/// Two numbers, and the number of the terms that they are of.
struct Numbers {
    generation: Generation,
    a: AtomicU64,
    b: AtomicU64,
}

impl Numbers {
    fn new() -> Arc<Numbers> {
        let (a, b) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Numbers { generation: Generation::default(), a, b })
    }

    fn change(&self) {
        for (seen, number) in [(0, 1), (2, 2)] {
            self.generation.begin(seen);
            self.a.store(number, Ordering::Relaxed);
            self.b.store(number, Ordering::Relaxed);
            self.generation.publish(seen + 2);
        }
    }

    fn read(&self, is_still: IsStill) {
        let seen = self.generation.get();
        let read = (self.a.load(Ordering::Relaxed), self.b.load(Ordering::Relaxed));
        if seen.is_multiple_of(2) && is_still(&self.generation, seen) {
            assert_eq!(read.0, read.1, "mixed");
        }
    }
}

/// Changes two numbers while a caller reads them, and `is_still` tells whether that counts.
fn assert_not_mixed(is_still: IsStill) {
    check(ANY, move || {
        let numbers = Numbers::new();
        race(&numbers, [Some(is_still), None], |numbers, caller| match caller {
            Some(is_still) => numbers.read(is_still),
            None => numbers.change(),
        });
    });
}

#[test]
fn no_decision_is_made_by_some_of_the_old_terms_and_some_of_the_new() {
    assert_not_mixed(Generation::is_still);
}

/// Without a second look, a decision may have read numbers of two changes.
#[test]
#[cfg(sluicegate_loom)]
#[should_panic(expected = "mixed")]
fn canary_a_decision_that_does_not_look_again() {
    assert_not_mixed(|_, _| true);
}
