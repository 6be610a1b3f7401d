//! Models of a limiter whose answers are counted. What is checked, over every interleaving: no call
//! is lost, even if threads share a slot; and a reader that sees a call counted sees what it took.

use sluicegate::{Limiter, Quota, quota};
use sluicegate_loom_tests::{Arc, Bucket, TestClock, check, race};

type Counted = sluicegate::compose::Counted<Bucket>;
type Act = fn(&Counted);

const QUOTA: Quota = quota!(1 / hour, burst 3);

/// Makes a limiter with one slot, which all threads share.
fn counted() -> Arc<Counted> {
    Arc::new(Counted::with_slots(Bucket::with_clock(QUOTA, TestClock::new()), 1))
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

#[test]
fn every_call_is_counted_and_none_before_it_is_answered() {
    for (preemptions, acts, expected) in
        [(2, [TAKE, TAKE, LOOK], [2, 0, 2]), (2, [REFUSED, REFUSED, TAKE], [1, 2, 1])]
    {
        check(preemptions, move || {
            let limiter = counted();
            race(&limiter, acts, |limiter, act| act(limiter));
            let counts = limiter.counts();
            assert_eq!([counts.granted, counts.denied, counts.permits], expected);
        });
    }
}
