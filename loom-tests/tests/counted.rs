//! Models of a limiter whose answers are counted. What is checked, over every interleaving: no call
//! is lost, whether threads share a slot or each has one of its own; and a reader that sees a call counted sees
//! what it took.

use sluicegate::{Limiter, Quota, quota};
use sluicegate_loom_tests::{Arc, Bucket, TestClock, check, race};

type Counted = sluicegate::compose::Counted<Bucket>;
type Act = fn(&Counted);

const QUOTA: Quota = quota!(1 / hour, burst 3);

/// Makes a limiter with a slot for one thread, and another that all others share.
fn counted() -> Arc<Counted> {
    Arc::new(Counted::with_slots(Bucket::with_clock(QUOTA, TestClock::new()), 1))
}

/// Checks that three threads, of which those with a number have told it, are counted as `expected`.
fn check_counts(preemptions: usize, acts: [(Option<usize>, Act); 3], expected: [u64; 3]) {
    check(preemptions, move || {
        let limiter = counted();
        race(&limiter, acts, |limiter, (number, act)| {
            #[cfg(sluicegate_loom)]
            sluicegate::model::number_thread(number.unwrap_or(usize::MAX));
            let _ = number;
            act(limiter);
        });
        let counts = limiter.counts();
        assert_eq!([counts.granted, counts.denied, counts.permits], expected);
    });
}

const TAKE: Act = |limiter| _ = limiter.try_acquire(1);
const REFUSED: Act = |limiter| _ = limiter.try_acquire(4);
const LOOK: Act = |limiter| {
    let counts = limiter.counts();
    let left = limiter.limiter().peek(0).unwrap().remaining();
    assert!(counts.permits + left <= 3, "{counts:?}, and {left} are left");
    let left_by_calls = 3 - limiter.limiter().peek(0).unwrap().remaining();
    assert!(counts.granted <= left_by_calls, "{counts:?}, and {left_by_calls} are gone");
};

const TWICE: Act = |limiter| {
    TAKE(limiter);
    TAKE(limiter);
};

#[test]
fn every_call_is_counted_and_none_before_it_is_answered() {
    check_counts(2, [TAKE, TAKE, LOOK].map(|act| (None, act)), [2, 0, 2]);
    check_counts(2, [REFUSED, REFUSED, TAKE].map(|act| (None, act)), [1, 2, 1]);
}

#[test]
fn a_thread_adds_to_a_slot_of_its_own_without_a_locked_instruction() {
    check_counts(2, [(Some(0), TWICE), (Some(1), TAKE), (None, LOOK)], [3, 0, 3]);
    check_counts(2, [(Some(0), TWICE), (Some(1), REFUSED), (Some(2), TAKE)], [3, 1, 3]);
}
