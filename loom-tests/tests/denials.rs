//! Models of denials that a shard remembers. What is checked, over every interleaving:
//!
//! * a denial is not remembered beyond the return of what it was for want of;
//! * it says what is true of one request, however many are refused at once.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::{Quota, quota};
use sluicegate_loom_tests::shards::{ask, fill, rest, sharded};
use sluicegate_loom_tests::{SECOND, TestClock, check, race};

type Sharded = sluicegate::Sharded<TestClock>;
type Act = fn(&Sharded) -> u64;

/// Too few for a shard to refill.
const EIGHT: Quota = quota!(1 / second, burst 8);

/// A shard refills by four.
const FEW: Quota = quota!(1 / second, burst 32);

/// Checks that `wanted` of `quota`, which are refused at most because of what `other` has
/// on its way, can be had when it is done.
fn is_forgotten(preemptions: usize, quota: Quota, prepare: Act, wanted: Act, other: Act) {
    check(preemptions, move || {
        let limiter = sharded(quota, TestClock::new());
        prepare(&limiter);
        let [granted, taken] = race(&limiter, [wanted, other], |limiter, act| act(limiter));
        if granted == 0 && taken == 0 {
            assert!(wanted(&limiter) > 0, "refused for what is there");
        }
    });
}

#[test]
fn a_denial_is_forgotten_when_tokens_come_back() {
    let full: Act = |_| 0;
    let half_full: Act = |limiter| ask(limiter, (1, &[4]));
    let all: Act = |limiter| ask(limiter, (0, &[8]));
    // A lease that is not used, by way of the other shard and of the same.
    is_forgotten(3, EIGHT, full, all, |limiter| {
        drop(limiter.shard(1).lease(8));
        0
    });
    is_forgotten(3, EIGHT, full, all, |limiter| {
        drop(limiter.shard(0).lease(3));
        0
    });
    // Where there is capacity for what is refused, so that it is remembered.
    let half: Act = |limiter| ask(limiter, (0, &[4]));
    is_forgotten(3, EIGHT, half_full, half, |limiter| {
        drop(limiter.shard(1).lease(4));
        0
    });
    is_forgotten(3, EIGHT, half_full, half, |limiter| {
        drop(limiter.shard(0).lease(3));
        0
    });
    // A refill takes four, and one of them is spent.
    is_forgotten(
        3,
        FEW,
        full,
        |limiter| ask(limiter, (0, &[31])),
        |limiter| ask(limiter, (1, &[1])),
    );
    // All that there is, in two places, and both want it.
    let apart: Act = |limiter| {
        drop(limiter.shard(1).lease(4));
        0
    };
    is_forgotten(3, EIGHT, apart, all, |limiter| ask(limiter, (1, &[8])));
}

/// Whatever `other` borrows and gives back: what is there when it is done is granted to
/// a caller that was refused meanwhile, and asks again.
#[test]
fn a_denial_is_forgotten_when_room_comes_back() {
    // It leases all there is, and some of that is gone when it refills.
    let use_up: Act = |limiter| {
        let Ok(mut lease) = limiter.shard(0).lease(8) else { return 0 };
        let held = lease.left();
        assert!(lease.spend(held));
        held
    };
    let unused: Act = |limiter| {
        drop(limiter.shard(0).lease(8));
        0
    };
    let others: [Act; 3] = [
        |limiter| ask(limiter, (1, &[1])),
        |limiter| ask(limiter, (1, &[1, 1])),
        |limiter| ask(limiter, (1, &[4, 2])),
    ];
    for lease in [use_up, unused] {
        for other in others {
            check(3, move || {
                let limiter = sharded(EIGHT, TestClock::new());
                race(&limiter, [lease, other], |limiter, act| act(limiter));
                rest(&limiter);
            });
        }
    }
    // There is spare capacity, so that a denial is remembered.
    let other: Act = |limiter| ask(limiter, (0, &[1])) + ask(limiter, (1, &[1]));
    check(2, move || {
        let limiter = sharded(EIGHT, TestClock::new());
        fill(&limiter, 1, 2);
        assert_eq!(ask(&limiter, (1, &[2])), 2);
        race(&limiter, [use_up, other], |limiter, act| act(limiter));
        rest(&limiter);
    });
}

#[test]
fn a_denial_is_forgotten_when_all_is_changed() {
    let empty: Act = |limiter| ask(limiter, (1, &[8]));
    let all: Act = |limiter| ask(limiter, (0, &[8]));
    is_forgotten(3, EIGHT, empty, all, |limiter| {
        limiter.reset();
        0
    });
    is_forgotten(3, EIGHT, empty, all, |limiter| {
        limiter.reconfigure(EIGHT, Carry::Reset);
        0
    });
}

#[test]
fn a_denial_is_forgotten_when_permits_are_credited() {
    let empty: Act = |limiter| ask(limiter, (1, &[8]));
    let credit: Act = |limiter| {
        limiter.credit(8);
        0
    };
    is_forgotten(3, EIGHT, empty, |limiter| ask(limiter, (0, &[8])), credit);
    is_forgotten(3, EIGHT, empty, |limiter| ask(limiter, (0, &[1])), credit);
    // There is empty capacity in a shard, which the credit gives back to the root.
    let spent: Act = |limiter| {
        fill(limiter, 1, 2);
        ask(limiter, (1, &[2])) + ask(limiter, (1, &[6]))
    };
    is_forgotten(2, EIGHT, spent, |limiter| ask(limiter, (0, &[8])), credit);
}

/// The permits asked for, and the seconds that the caller's clock is ahead.
type Request = (u64, u64);

/// Checks that `requests` to a shard of an empty limiter are refused until what they ask
/// for is earned: one permit each second, at which none has been spent.
fn are_refused(limiter: &Sharded, requests: &[Request]) {
    for &(permits, ahead) in requests {
        TestClock::run_ahead(ahead * SECOND);
        let denied = limiter.shard(0).try_acquire(permits).unwrap_err();
        let wait = Duration::from_secs(permits - ahead);
        assert_eq!(denied.retry_after(), Some(wait), "{permits} after {ahead} s");
    }
}

/// Checks the same of `requests` at the same time, and of those again.
fn refusals_are_not_mixed<const N: usize>(
    preemptions: usize,
    before: &'static [Request],
    requests: [&'static [Request]; N],
) {
    check(preemptions, move || {
        TestClock::run_ahead(0);
        let limiter = sharded(EIGHT, TestClock::new());
        assert_eq!(ask(&limiter, (1, &[8])), 8);
        are_refused(&limiter, before);
        race(&limiter, requests, are_refused);
        are_refused(&limiter, &requests.concat());
    });
}

const THREE: &[Request] = &[(3, 1)];
const FIVE: &[Request] = &[(5, 0)];

#[test]
fn a_remembered_denial_is_of_one_refusal() {
    // One is remembered in place of another while that is recalled, or is it.
    refusals_are_not_mixed(1, THREE, [FIVE, THREE]);
    refusals_are_not_mixed(1, THREE, [FIVE, FIVE]);
    // Both are to be remembered.
    refusals_are_not_mixed(1, &[], [FIVE, THREE]);
}
