//! The designs that the models must catch: a broken limiter, and three designs that look right,
//! each on the atomics that the crate itself is built on.
//!
//! If a test in this file that must panic does not, the crate was built without
//! loom's atomics, and no model in the other files proves anything.
//!
//! The designs are those that were not taken, with the reason why. They count in
//! whole tokens, earn one per tick of a clock of their own, hold two, and start
//! empty at tick 10. Their orderings are as strong as can be: order is not what
//! they lack.
#![cfg(sluicegate_loom)]

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};

use sluicegate::model::Atomic;
use sluicegate_loom_tests::{Admission, Arc, Ledger, check, race};

const CAPACITY: u64 = 2;

/// A load and a store where the limiter has a CAS.
#[test]
#[should_panic(expected = "admitted 2 of 1")]
fn canary_a_lost_update_is_caught() {
    check(3, || {
        let left = Arc::new(Atomic::new(1));
        let admitted = race(&left, [1, 1], |left, permits| match left.load(Acquire) {
            0 => 0,
            there => {
                left.store(there - permits, Release);
                permits
            }
        });
        let admitted: u64 = admitted.iter().sum();
        assert!(admitted <= 1, "admitted {admitted} of 1");
    });
}

/// One design: a clock, and how it admits and gives back.
trait Design: Send + Sync + 'static {
    fn at(tick: u64) -> Self;
    fn clock(&self) -> &Atomic;
    /// Returns whether two tokens could be taken at tick `now`.
    fn take_two(&self, now: u64) -> bool;
    /// Gives back two tokens that were taken at tick 10.
    fn give_back_two(&self) {}
}

/// One thread asks at tick 10 or gives back what it got then. The other waits
/// for tick 20 and asks twice.
fn assert_bounded<D: Design>(first: fn(&D) -> Admission) {
    check(3, move || {
        let design = Arc::new(D::at(10));
        let admitted = race(&design, [Some(first), None], |design, first| match first {
            Some(first) => vec![first(design)],
            None => {
                design.clock().store(20, Release);
                vec![ask(design), ask(design)]
            }
        });
        let ledger: Ledger = admitted.into_iter().flatten().collect();
        let admitted = ledger.at(20);
        assert!(admitted <= CAPACITY, "admitted {admitted} of {CAPACITY} at once");
    });
}

fn ask<D: Design>(design: &D) -> Admission {
    let now = design.clock().load(Acquire);
    Admission { at_nanos: now, permits: if design.take_two(now) { 2 } else { 0 } }
}

fn give_back<D: Design>(design: &D) -> Admission {
    design.give_back_two();
    Admission::NONE
}

/// Adds first and looks then; a caller that went too far takes it back.
///
/// It would be one instruction without a loop. But an idle bucket has to be
/// clamped, and a clamp that comes between the two forgets what was added; what is
/// taken back is then taken from another caller's spending, and is spent twice.
struct AddAndTakeBack {
    clock: Atomic,
    level: Atomic,
}

impl Design for AddAndTakeBack {
    fn at(tick: u64) -> AddAndTakeBack {
        AddAndTakeBack { clock: Atomic::new(tick), level: Atomic::new(tick) }
    }

    fn clock(&self) -> &Atomic {
        &self.clock
    }

    fn take_two(&self, now: u64) -> bool {
        let level = self.level.load(Acquire);
        if level < now - CAPACITY {
            // Whether or not it is this thread that clamps, one does.
            let _ = self.level.compare_exchange(level, now - CAPACITY, AcqRel, Acquire);
        }
        let fits = self.level.fetch_add(2, AcqRel) + 2 <= now;
        if !fits {
            self.level.fetch_sub(2, AcqRel);
        }
        fits
    }
}

#[test]
#[should_panic(expected = "admitted 4 of 2 at once")]
fn adding_first_and_taking_back_exceeds_the_bound() {
    assert_bounded::<AddAndTakeBack>(ask);
}

/// Spends by CAS, as the limiters do, and refunds by a subtraction.
///
/// A refund may come late. If the bucket was full again in the meantime, the
/// spending that it takes back is long forgotten, and it lowers the level below
/// what others have spent since. A refund needs to know what it would undo.
struct PlainRefund {
    clock: Atomic,
    level: Atomic,
}

impl Design for PlainRefund {
    fn at(tick: u64) -> PlainRefund {
        PlainRefund { clock: Atomic::new(tick), level: Atomic::new(tick) }
    }

    fn clock(&self) -> &Atomic {
        &self.clock
    }

    fn take_two(&self, now: u64) -> bool {
        let mut seen = self.level.load(Acquire);
        loop {
            let next = seen.max(now - CAPACITY) + 2;
            if next > now {
                return false;
            }
            match self.level.compare_exchange(seen, next, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(found) => seen = found,
            }
        }
    }

    fn give_back_two(&self) {
        self.level.fetch_sub(2, AcqRel);
    }
}

/// The control: asked the same, and never to give back, it keeps the bound.
#[test]
fn the_models_of_the_designs_pass_a_clamping_cas() {
    assert_bounded::<PlainRefund>(ask);
}

#[test]
#[should_panic(expected = "admitted 4 of 2 at once")]
fn a_late_refund_by_subtraction_exceeds_the_bound() {
    assert_bounded::<PlainRefund>(give_back);
}

/// Tokens in one word and the time of the last refill in another, each of them
/// changed by CAS only.
///
/// The caller that moves the time on has the tokens of that time in transit. If it is held
/// up there, a later refill can fill the bucket and callers can empty it, all
/// at one instant, before those tokens arrive and are spent at the same instant.
struct TwoWords {
    clock: Atomic,
    refilled: Atomic,
    tokens: Atomic,
}

impl Design for TwoWords {
    fn at(tick: u64) -> TwoWords {
        TwoWords { clock: Atomic::new(tick), refilled: Atomic::new(0), tokens: Atomic::new(0) }
    }

    fn clock(&self) -> &Atomic {
        &self.clock
    }

    fn take_two(&self, now: u64) -> bool {
        let last = self.refilled.load(Acquire);
        if last < now && self.refilled.compare_exchange(last, now, AcqRel, Acquire).is_ok() {
            let fill = |tokens: u64| Some((tokens + now - last).min(CAPACITY));
            assert!(self.tokens.fetch_update(AcqRel, Acquire, fill).is_ok());
        }
        let take = |tokens: u64| tokens.checked_sub(2);
        self.tokens.fetch_update(AcqRel, Acquire, take).is_ok()
    }
}

#[test]
#[should_panic(expected = "admitted 4 of 2 at once")]
fn tokens_and_time_in_two_words_exceed_the_bound() {
    assert_bounded::<TwoWords>(ask);
}
