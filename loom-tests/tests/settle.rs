//! Models of settlement. What is checked, over every interleaving:
//!
//! * what is given back is taken once, and nothing else is; while the clock stands still, nothing is
//!   lost either;
//! * a caller whose reading of the clock is old does not take what was earned later, though it was
//!   given back;
//! * callers that leave a reserve leave it in the bucket and in what was given back together;
//! * a change of the terms voids what was given back before it, and what is after.

use sluicegate::bucket::Carry;
use sluicegate::settle::Estimate;
use sluicegate::{Limiter, Quota, quota};
use sluicegate_loom_tests::{ANY, Arc, SECOND, TestClock, check, race};

type Bucket = sluicegate::bucket::SettleableBucket<TestClock>;

const FOUR: Quota = quota!(1 / second, burst 4);

fn bucket(quota: Quota) -> Arc<Bucket> {
    Arc::new(Bucket::with_clock(quota, TestClock::new()))
}

fn estimate(bucket: &Bucket, permits: u64) -> Estimate<'_> {
    bucket.try_acquire_settleable(permits).unwrap()
}

/// A bucket of four, all taken, of which so many were given back.
fn given_back(permits: u64) -> Arc<Bucket> {
    let bucket = bucket(FOUR);
    let early = estimate(&bucket, 3);
    bucket.try_acquire(1).unwrap();
    early.settle(3 - permits).unwrap();
    bucket
}

/// A bucket of eight, all taken but two that are in one lot.
fn in_one_lot() -> Arc<Bucket> {
    let bucket = bucket(quota!(1 / second, burst 8));
    let early = estimate(&bucket, 2);
    bucket.try_acquire(6).unwrap();
    early.settle(0).unwrap();
    bucket
}

fn remaining(bucket: &Bucket) -> u64 {
    bucket.peek(0).unwrap().remaining()
}

/// Does the part of one thread. Returns the permits that it keeps.
#[derive(Clone, Copy)]
enum Act {
    Take(u64),
    UpTo(u64),
    /// Takes the first, in two parts gives back all but the second, and keeps that.
    Settle(u64, u64),
}

fn act(bucket: &Bucket, acts: &'static [Act]) -> u64 {
    let one = |act: &Act| match *act {
        Act::Take(permits) => bucket.try_acquire(permits).map_or(0, |grant| grant.permits()),
        Act::UpTo(permits) => bucket.try_acquire_up_to(permits).map_or(0, |grant| grant.permits()),
        Act::Settle(permits, kept) => {
            let Ok(mut estimate) = bucket.try_acquire_settleable(permits) else { return 0 };
            estimate.give_back(1);
            estimate.settle(kept).unwrap();
            kept
        }
    };
    acts.iter().map(one).sum()
}

/// Checks that of the `free` permits of a bucket from `make` none is taken twice, and none is lost.
fn all_is_there<const N: usize>(
    preemptions: usize,
    make: fn() -> Arc<Bucket>,
    acts: [&'static [Act]; N],
) {
    check(preemptions, move || {
        let bucket = make();
        let free = remaining(&bucket);
        let kept: u64 = race(&bucket, acts, act).into_iter().sum();
        assert_eq!(kept + remaining(&bucket), free);
        assert_eq!(bucket.drain().permits(), free - kept);
        assert!(bucket.try_acquire(1).is_err());
    });
}

#[test]
fn what_is_given_back_is_taken_once() {
    use Act::{Settle, Take, UpTo};

    let two = || given_back(2);
    let three = || given_back(3);
    all_is_there(ANY, two, [&[Take(1)], &[Take(1)]]);
    all_is_there(3, two, [&[Take(2)], &[Take(2)]]);
    all_is_there(3, three, [&[Take(2)], &[UpTo(3)]]);
    all_is_there(2, two, [&[Take(1)], &[Take(1)], &[UpTo(2)]]);
    all_is_there(3, two, [&[Settle(2, 1)], &[Take(1)]]);
    all_is_there(ANY, in_one_lot, [&[Settle(1, 0)], &[Take(1)]]);
    all_is_there(3, in_one_lot, [&[Settle(1, 0)], &[Settle(1, 0), Take(2)]]);
    all_is_there(2, three, [&[Settle(2, 0)], &[Settle(2, 1), Take(1)]]);
}

/// Two are in the bucket and two in a lot, beside others who take and give back.
#[test]
fn callers_that_leave_a_reserve_leave_it_in_the_bucket_and_in_lots_together() {
    for (reserve, one, other) in [(2, 1, 2), (1, 3, 1), (1, 2, 2)] {
        check(3, move || {
            let bucket = bucket(quota!(1 / second, burst 8));
            let early = estimate(&bucket, 2);
            bucket.try_acquire(4).unwrap();
            early.settle(0).unwrap();
            let asks = [(one, reserve), (other, reserve)];
            let kept = race(&bucket, asks, |bucket, (permits, reserve)| {
                bucket.try_acquire_leaving(permits, reserve).map_or(0, |grant| grant.permits())
            });
            let left = remaining(&bucket);
            assert_eq!(kept.into_iter().sum::<u64>() + left, 4);
            assert!(left >= reserve, "{left}");
        });
    }
    check(2, || {
        let bucket = given_back(3);
        let kept = race(&bucket, [true, false], |bucket, leaves| {
            if !leaves {
                return act(bucket, &[Act::Settle(1, 0)]);
            }
            bucket.try_acquire_leaving(1, 2).map_or(0, |grant| grant.permits())
        });
        assert_eq!(kept.into_iter().sum::<u64>() + remaining(&bucket), 3);
    });
}

/// The one that takes a permit and gives it back finds the bucket in debt, with some in the lots.
#[test]
fn in_debt_nothing_is_taken_of_what_was_given_back() {
    check(3, || {
        let bucket = bucket(quota!(1 / second, burst 4, max_debt 2));
        let kept = race(&bucket, [true, false], |bucket, forces| {
            if !forces {
                if let Ok(receipt) = bucket.try_acquire_revocable(1) {
                    receipt.give_back();
                }
                return 0;
            }
            let early = estimate(bucket, 3);
            let kept = bucket.try_acquire(1).map_or(0, |grant| grant.permits()) + 2;
            bucket.force(1).unwrap();
            early.settle(0).unwrap();
            bucket.force(1).unwrap();
            kept
        });
        let kept: u64 = kept.into_iter().sum();
        assert!(kept + bucket.drain().permits() <= 4, "more than was earned");
    });
}

#[test]
fn a_settlement_beside_others_takes_and_gives_what_it_says() {
    use Act::{Settle, Take};

    let full = || bucket(FOUR);
    all_is_there(3, full, [&[Settle(2, 1)], &[Settle(2, 0)]]);
    all_is_there(2, full, [&[Settle(3, 1)], &[Take(1), Settle(2, 1)]]);
    all_is_there(2, full, [&[Settle(3, 0)], &[Take(2), Take(2)]]);
}

/// Eight were taken at 0, and one at 1 s: by that time, there are no more. Another caller, whose
/// clock is ahead, takes what is earned by then and gives it back. That is the second unit of a lot,
/// which gives it the label of the first.
#[test]
fn a_unit_is_not_taken_before_it_was_earned() {
    check(ANY, || {
        let bucket = bucket(quota!(1 / second, burst 8));
        bucket.drain();
        bucket.clock().set(SECOND);
        bucket.try_acquire(1).unwrap();
        let kept = race(&bucket, [true, false], |bucket, is_ahead| {
            if !is_ahead {
                return bucket.try_acquire(1).is_ok();
            }
            TestClock::run_ahead(SECOND);
            let early = estimate(bucket, 1);
            TestClock::run_ahead(2 * SECOND);
            bucket.try_acquire(1).unwrap();
            early.settle(0).unwrap();
            true
        });
        assert_eq!(kept, [true, false]);
        // By its time it is there, and can be taken.
        TestClock::run_ahead(0);
        bucket.clock().set(3 * SECOND);
        assert!(bucket.try_acquire(1).is_ok() && bucket.try_acquire(1).is_err());
    });
}

/// Units given back die, also for a caller that looks late at what it has seen.
#[test]
fn a_unit_is_not_taken_after_its_life() {
    check(3, || {
        let bucket = bucket(FOUR);
        let early = estimate(&bucket, 4);
        bucket.clock().set(2 * SECOND);
        bucket.try_acquire(2).unwrap();
        early.settle(0).unwrap();
        // By this time two of the four are dead, and three earned.
        bucket.clock().set(2 * SECOND);
        let kept = race(&bucket, [0, SECOND], |bucket, ahead| {
            TestClock::run_ahead(ahead);
            bucket.try_acquire_up_to(4).map_or(0, |grant| grant.permits())
        });
        assert!(kept[0] <= 2 && kept.iter().sum::<u64>() <= 3, "{kept:?}");
    });
}

/// A permit is fewer units, and they live longer.
const NEW: Quota = quota!(10 / second, burst 100);

#[test]
fn a_change_voids_what_was_given_back() {
    check(3, || {
        let bucket = bucket(FOUR);
        let early = estimate(&bucket, 2);
        estimate(&bucket, 2).settle(2).unwrap();
        early.settle(1).unwrap();
        race(&bucket, [true, false], |bucket, is_change| {
            if is_change {
                return bucket.reconfigure(NEW, Carry::Keep);
            }
            let is_new = bucket.quota() == NEW;
            if let Ok(estimate) = bucket.try_acquire_settleable(1) {
                assert!(!is_new, "it was void");
                estimate.settle(0).unwrap();
            }
        });
        assert_eq!(remaining(&bucket), 0);
        assert_eq!(bucket.drain().permits(), 0);
    });
}

#[test]
fn what_was_taken_before_a_change_is_not_given_back_after_it() {
    check(2, || {
        let bucket = bucket(FOUR);
        race(&bucket, [true, false], |bucket, is_change| {
            if is_change {
                return bucket.reconfigure(NEW, Carry::Keep);
            }
            let early = bucket.try_acquire_settleable(2);
            let rest = bucket.drain().permits();
            if let Ok(early) = early {
                assert!(rest <= 3);
                early.settle(0).unwrap();
            }
        });
        // Four at first; two came back if both ends were before the change, or after it.
        let left = remaining(&bucket);
        assert!(left <= 2, "{left}");
        assert_eq!(bucket.drain().permits(), left);
    });
}
