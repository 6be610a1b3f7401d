//! Models of a limiter with a balance of permits beside it. What is checked, over every interleaving:
//!
//! * each permit of the balance is granted once, or is still there;
//! * a grant of the balance sees what was done before its permits were added, also if other grants
//!   came in between.

use sluicegate::compose::TopUp;
use sluicegate::{Limiter, Quota, quota};
use sluicegate_loom_tests::{Arc, Bucket, TestClock, check, race};

type Act = fn(&TopUp<Bucket>) -> u64;

/// Its limiter grants nothing more.
fn with_balance(balance: u64) -> TopUp<Bucket> {
    const QUOTA: Quota = quota!(1 / hour, burst 1);
    let bucket = Bucket::with_clock(QUOTA, TestClock::new());
    bucket.try_acquire(1).unwrap();
    TopUp::with_balance(bucket, balance)
}

fn take(limiter: &TopUp<Bucket>, permits: u64) -> u64 {
    limiter.try_acquire(permits).map_or(0, |grant| grant.permits())
}

const TAKE_TWO: Act = |limiter| take(limiter, 2);
const TAKE_UP_TO_TWO: Act =
    |limiter| limiter.try_acquire_up_to(2).map_or(0, |grant| grant.permits());
const WITHDRAW_ONE: Act = |limiter| limiter.withdraw(1);
const TAKE_AND_GIVE_BACK: Act = |limiter| {
    limiter.try_acquire_revocable(2).map_or(0, |receipt| if receipt.give_back() { 0 } else { 2 })
};
const ADD_ONE: Act = |limiter| {
    limiter.add(1);
    0
};

#[test]
fn permits_that_are_added_are_granted_once() {
    for (acts, in_all) in [
        ([TAKE_TWO, TAKE_TWO, ADD_ONE], 4),
        ([TAKE_TWO, TAKE_UP_TO_TWO, WITHDRAW_ONE], 3),
        ([TAKE_TWO, TAKE_UP_TO_TWO, TAKE_AND_GIVE_BACK], 3),
    ] {
        check(2, move || {
            let limiter = Arc::new(with_balance(3));
            let taken: u64 = race(&limiter, acts, |limiter, act| act(limiter)).iter().sum();
            let left = limiter.balance();
            assert_eq!(taken + left, in_all, "{taken} were taken, and {left} are left");
        });
    }
}

#[test]
#[cfg(sluicegate_loom)]
fn what_was_done_before_permits_were_added_is_seen_after_they_are_granted() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    check(3, || {
        let shared = Arc::new((with_balance(1), Atomic::new(0)));
        race(&shared, [0, 1, 2], |(limiter, done), who| match who {
            0 => {
                done.store(1, Relaxed);
                limiter.add(2);
            }
            _ => {
                // Of the first permit alone nothing would be left.
                if limiter.try_acquire(1).is_ok_and(|grant| grant.remaining() > 0) {
                    assert_eq!(done.load(Relaxed), 1, "what was done before was not seen");
                }
            }
        });
    });
}

#[test]
#[cfg(sluicegate_loom)]
fn what_was_done_before_permits_were_added_is_seen_after_a_look_at_them() {
    use std::sync::atomic::Ordering::Relaxed;

    use sluicegate::model::Atomic;

    check(3, || {
        let shared = Arc::new((with_balance(0), Atomic::new(0)));
        race(&shared, [true, false], |(limiter, done), adds| {
            if adds {
                done.store(1, Relaxed);
                limiter.add(1);
            } else if limiter.balance() > 0 {
                assert_eq!(done.load(Relaxed), 1, "what was done before was not seen");
            }
        });
    });
}
