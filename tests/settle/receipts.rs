//! Answers of receipts: one that says that the permits stay spent is right about all of them.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use sluicegate::bucket::SettleableBucket;
use sluicegate::compose::All;
use sluicegate::settle::Receipt;
use sluicegate::*;

use crate::support::cases::cases;

#[derive(Clone, Copy, Debug)]
enum Op {
    Take(u64),
    GiveBack(usize),
    Spend(u64),
    /// Tenths of a second.
    Advance(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (0..16_u64).prop_map(Op::Take),
        4 => (0..6_usize).prop_map(Op::GiveBack),
        2 => (1..9_u64).prop_map(Op::Spend),
        4 => (0..30_u64).prop_map(Op::Advance),
    ];
    prop::collection::vec(op, 1..50)
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_receipt_that_is_not_given_back_leaves_all_of_its_permits_spent(ops in ops()) {
        let clock = ManualClock::new();
        let bucket = SettleableBucket::with_clock(quota!(10 / second, burst 16), &clock);
        let mut receipts = Vec::new();
        for op in ops {
            match op {
                Op::Take(permits) => receipts.extend(bucket.try_acquire_revocable(permits)),
                Op::GiveBack(at) if at < receipts.len() => {
                    let before = bucket.peek(0).unwrap();
                    let receipt: Receipt<'_> = receipts.remove(at);
                    let is_back = receipt.give_back();
                    let after = bucket.peek(0).unwrap();
                    prop_assert!(is_back || after == before, "{:?} became {:?}", before, after);
                    prop_assert!(after.remaining() >= before.remaining());
                }
                Op::GiveBack(_) => {}
                Op::Spend(permits) => drop(bucket.try_acquire(permits)),
                Op::Advance(tenths) => clock.advance(Duration::from_millis(100 * tenths)),
            }
        }
    }
}

#[test]
fn a_receipt_of_which_a_part_has_died_says_that_the_rest_is_back() {
    let bucket = SettleableBucket::with_clock(quota!(10 / second, burst 16), ManualClock::new());
    bucket.clock().advance(Duration::from_millis(2_300));
    let receipt = bucket.try_acquire_revocable(15).unwrap();
    bucket.try_acquire(1).unwrap();
    assert!(receipt.give_back());
    assert_eq!(bucket.peek(0).unwrap().remaining(), 14);
}

#[test]
fn a_lease_gives_back_as_an_estimate_does_whatever_has_happened_since() {
    let clock = Arc::new(ManualClock::new());
    let bucket = Arc::new(SettleableBucket::with_clock(quota!(10 / second), Arc::clone(&clock)));
    for is_owned in [false, true] {
        bucket.reset();
        bucket.try_acquire(4).unwrap();
        let mut lease = if is_owned { bucket.lease_owned(6) } else { bucket.lease(6) }.unwrap();
        assert!(lease.spend(1));
        clock.advance(Duration::from_millis(100));
        bucket.try_acquire(1).unwrap();
        drop(lease);
        assert_eq!(bucket.peek(0).unwrap().remaining(), 5);
    }
}

#[test]
fn a_composite_that_fails_gives_back_whatever_was_taken_since() {
    let clock = ManualClock::new();
    let buckets = [(); 2].map(|()| SettleableBucket::with_clock(quota!(10 / second), &clock));
    let all = All::new(buckets.each_ref()).unwrap();
    let receipt = all.try_acquire_revocable(4).unwrap();
    for bucket in &buckets {
        bucket.try_acquire(5).unwrap();
    }
    assert!(receipt.give_back());
    assert_eq!(all.try_acquire_up_to(10).unwrap().permits(), 5);
}
