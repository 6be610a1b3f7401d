//! Every verb beside every verb, itself included: 45 pairs, each in three scenes,
//! on one clock and on two that differ. Whatever the two threads are answered, and
//! whatever they leave, is what one thread would have got from the same two calls
//! in one order or the other. Then the same for two calls beside a third.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::{Quota, Refill, quota};
use sluicegate_loom_tests::calls::Op;
use sluicegate_loom_tests::orders::{Scene, assert_one_after_the_other};
use sluicegate_loom_tests::{ANY, SECOND, bucket, once};

const SMOOTH: Quota = quota!(1 / second, burst 3);
const STEPS: Quota = quota!(2 / 4 seconds, burst 3).with_refill(Refill::Interval);
const NEW: Quota = quota!(3 / 7 seconds, burst 5).with_refill(Refill::Interval);

/// One call of each verb, chosen to be in the way of most others.
fn verbs() -> [Op; 9] {
    let one_left = once(|| {
        let bucket = bucket(SMOOTH);
        assert!(bucket.try_acquire(2).is_ok());
        bucket.snapshot()
    });
    [
        Op::TryAcquire(2),
        Op::TryAcquireUpTo(2),
        Op::Peek(2),
        Op::Force(4),
        Op::Drain,
        Op::Reset,
        Op::Reconfigure(NEW, Carry::Scale),
        Op::Snapshot,
        Op::Restore(one_left, Duration::from_secs(1)),
    ]
}

fn scenes() -> [Scene; 3] {
    [
        // Two and a half are left.
        Scene { quota: SMOOTH, now_nanos: SECOND / 2, before: vec![Op::Force(1)] },
        // Idle for so long that every first decision clamps.
        Scene { quota: SMOOTH, now_nanos: 10 * SECOND, before: vec![] },
        // A debt of one, in the middle of a step.
        Scene { quota: STEPS, now_nanos: 10 * SECOND, before: vec![Op::Force(4)] },
    ]
}

/// The verb at `index` of `verbs`, beside itself and all that follow it.
fn beside_each_from(index: usize) {
    let verbs = verbs();
    for scene in &scenes() {
        for other in &verbs[index..] {
            let ahead = [Op::RunAhead(SECOND / 2), *other];
            assert_one_after_the_other(ANY, scene, [&[verbs[index]], &ahead[1..]]);
            assert_one_after_the_other(ANY, scene, [&[verbs[index]], &ahead]);
        }
    }
}

/// `name` is true of the verb at `index`.
macro_rules! pairs {
    ($(#[test] fn $name:ident() { $index:literal })*) => {
        $(
            #[test]
            fn $name() {
                beside_each_from($index);
            }
        )*
    };
}

pairs! {
    #[test] fn try_acquire_is_before_or_after_any_verb() { 0 }
    #[test] fn try_acquire_up_to_is_before_or_after_any_verb() { 1 }
    #[test] fn peek_is_before_or_after_any_verb() { 2 }
    #[test] fn force_is_before_or_after_any_verb() { 3 }
    #[test] fn drain_is_before_or_after_any_verb() { 4 }
    #[test] fn reset_is_before_or_after_any_verb() { 5 }
    #[test] fn reconfigure_is_before_or_after_any_verb() { 6 }
    #[test] fn snapshot_is_before_or_after_any_verb() { 7 }
    #[test] fn restore_is_before_or_after_any_verb() { 8 }
}

/// But for two changes in a row: those are in `change.rs`, where they cost more.
#[test]
fn any_two_verbs_are_in_some_order_with_any_third() {
    let verbs = verbs();
    let is_change = |op| matches!(op, Op::Reset | Op::Reconfigure(..) | Op::Restore(..));
    for first in verbs {
        for second in verbs {
            if is_change(first) && is_change(second) {
                continue;
            }
            for third in verbs {
                assert_one_after_the_other(ANY, &scenes()[0], [&[first, second], &[third]]);
            }
        }
    }
}
