//! A model of a word that falls, because a lease is given back, beside changes of the quota and a
//! caller that saw it before it fell: three threads.

use sluicegate::bucket::Carry;
use sluicegate::lease::Lease;
use sluicegate::{Quota, Refill, quota};
use sluicegate_loom_tests::{Arc, Bucket, TestClock, check, race};

/// A token of `FULL` is one unit, so that spending after two changes can bring the word back to the
/// level that it had before it fell. A caller that saw that level must not go by it. The call that
/// lowers the word may be held up in the middle: the level has to be noted by then.
#[test]
fn a_word_that_falls_beside_two_changes_does_not_come_back() {
    const TOKEN_UNITS: u64 = 1_000_000_000;
    const SLOW: Quota = quota!(1 / second, burst 4);
    const OTHER: Quota = quota!(3 / 7 seconds, burst 2).with_refill(Refill::Interval);
    const FULL: Quota = quota!(1 / ns, burst 1_000_000_000);
    enum Part {
        GiveBack(Lease<'static>),
        Change,
        Spend,
    }
    check(2, || {
        let bucket = Arc::new(Bucket::with_clock(SLOW, TestClock::new()));
        bucket.try_acquire(1).unwrap();
        let lease = bucket.lease_owned(1).unwrap();
        race(
            &bucket,
            [Part::Spend, Part::GiveBack(lease), Part::Change],
            |bucket, part| match part {
                Part::GiveBack(lease) => drop(lease),
                Part::Change => {
                    bucket.reconfigure(OTHER, Carry::Keep);
                    bucket.reconfigure(FULL, Carry::Reset);
                    let _ = bucket.try_acquire(TOKEN_UNITS - 1);
                }
                Part::Spend => _ = bucket.try_acquire(1),
            },
        );
        // Nobody forces a debt. A grant of before takes many tokens of now.
        assert!(bucket.peek(0).unwrap().balance() >= 0);
    });
}
