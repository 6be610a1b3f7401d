//! Models of a change of a table's quota beside calls. What is checked, over every interleaving:
//!
//! * a call is decided by the old quota as a whole or by the new one as a whole; and by the new
//!   one after the change, and after any other call that was decided by it;
//! * while the clock stands, all grants of a key before and after a change are earned in no more
//!   than the longer of the two fills; the key may be known, or get its slot meanwhile.

#![cfg(sluicegate_loom)]

use std::time::Duration;

use sluicegate::{Denied, Grant, Quota, quota};
use sluicegate_loom_tests::tables::{Plain, Table, keys};
use sluicegate_loom_tests::{Arc, SECOND, TestClock, check, race};

const OLD: Quota = quota!(1 / second, burst 2);
const NEW: Quota = quota!(2 / second, burst 3);

/// The longer fill of the two.
const FILL: Duration = Duration::from_secs(2);

/// A table of one line with two keys that have just become full.
fn table([one, other]: [u64; 2]) -> Arc<Table> {
    let builder = Table::builder_with(OLD, Plain::default(), Arc::new(TestClock::new()));
    let table = builder.room_for(NEW).skew(Duration::ZERO).keys(1).unwrap();
    assert!(table.try_acquire(&one, 2).is_ok() && table.try_acquire(&other, 2).is_ok());
    table.clock().set(2 * SECOND);
    Arc::new(table)
}

/// Returns true if the first grant of a full key was decided by the new quota, and false if by the
/// old one. Panics at a mixture.
fn is_new(answer: Result<Grant, Denied>) -> bool {
    let grant = answer.expect("the key is full");
    match (grant.limit(), grant.remaining(), grant.reset_after().as_millis()) {
        (2, 1, 1_000) => false,
        (3, 2, 500) => true,
        mixed => panic!("decided by parts of two quotas: {mixed:?}"),
    }
}

#[test]
fn a_call_is_decided_by_one_quota_and_later_calls_by_the_new_one() {
    check(3, || {
        let keys = keys(1, 0, 0);
        let beside: fn(&Table, [u64; 2]) -> Vec<bool> =
            |table, [one, _]| vec![is_new(table.peek(&one, 1)), is_new(table.try_acquire(&one, 1))];
        let change: fn(&Table, [u64; 2]) -> Vec<bool> = |table, [_, other]| {
            table.reconfigure(NEW).unwrap();
            vec![true, is_new(table.try_acquire(&other, 1))]
        };
        let table = table(keys);
        let parts = [(beside, keys), (change, keys)];
        for answers in race(&table, parts, |table, (act, keys)| act(table, keys)) {
            assert!(answers.is_sorted(), "the old quota after the new one");
        }
    });
}

/// Returns the time in which all that was granted is earned, each permit at the rate of its grant.
fn earned_in(answers: impl IntoIterator<Item = Result<Grant, Denied>>) -> Duration {
    let time = |grant: Grant| {
        let permit = Duration::from_millis(if grant.limit() == 2 { 1_000 } else { 500 });
        permit * u32::try_from(grant.permits()).expect("there are three at most")
    };
    answers.into_iter().flatten().map(time).sum()
}

/// Checks the grants of a key from which two callers take all they can, one of them after a change.
fn is_bounded(preemptions: usize, key: fn() -> u64, now_nanos: u64) {
    check(preemptions, move || {
        let key = key();
        let two: fn(&Table, u64) -> Vec<Result<Grant, Denied>> =
            |table, key| vec![table.try_acquire_up_to(&key, 2), table.try_acquire(&key, 1)];
        let change: fn(&Table, u64) -> Vec<Result<Grant, Denied>> = |table, key| {
            table.reconfigure(NEW).unwrap();
            vec![table.try_acquire_up_to(&key, 3)]
        };
        let table = table(keys(1, 0, 0));
        table.clock().set(now_nanos);
        let answers =
            race(&table, [(two, key), (change, key)], |table, (act, key)| act(table, key));
        let spent = earned_in(answers.into_iter().flatten());
        let left = table.peek(&key, 0).unwrap();
        assert!(spent <= FILL, "{spent:?}");
        // Nothing is lost either: what is missing now was granted.
        assert_eq!(left.remaining(), 0, "{spent:?}");
        assert!(spent >= Duration::from_millis(1_500), "{spent:?}");
    });
}

#[test]
fn the_longer_fill_bounds_a_key_across_a_change() {
    is_bounded(3, || keys::<1>(1, 0, 0)[0], 2 * SECOND);
}

/// Both places of the line belong to keys that have long been full; the new key takes one of them.
#[test]
fn the_longer_fill_bounds_a_new_key_across_a_change() {
    is_bounded(2, || keys::<3>(1, 0, 0)[2], 3 * SECOND);
}
