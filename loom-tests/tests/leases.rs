//! Models of leases. What is checked, over every interleaving: what a lease leaves goes
//! back or is lost with a bucket of one word, all of it; and goes back, always, to a
//! bucket in many places. Others neither lose nor win by it.

use sluicegate::bucket::Carry;
use sluicegate::{Limiter, Quota, quota};
use sluicegate_loom_tests::shards::{Caller, ask, rest, sharded};
use sluicegate_loom_tests::{Bucket, TestClock, bucket, check, race};

type Sharded = sluicegate::Sharded<TestClock>;

const EIGHT: Quota = quota!(1 / second, burst 8);
const QUOTA: Quota = quota!(1 / second, burst 32);

/// Spends one of the lease that it takes; how many it had.
fn spend_one(bucket: &Bucket) -> u64 {
    let mut lease = bucket.lease(4).unwrap();
    let had = lease.left();
    assert!(lease.spend(1));
    had
}

#[test]
fn a_lease_given_back_was_for_what_was_used() {
    let acts: [fn(&Bucket) -> u64; 4] = [
        |bucket| bucket.try_acquire(2).map_or(0, |grant| grant.permits()),
        |bucket| bucket.try_acquire_up_to(4).map_or(0, |grant| grant.permits()),
        |bucket| {
            let receipt = bucket.try_acquire_revocable(2).unwrap();
            if receipt.give_back() { 0 } else { 2 }
        },
        |bucket| {
            spend_one(bucket);
            1
        },
    ];
    for other in acts {
        check(3, move || {
            let bucket = bucket(EIGHT);
            let [had, spent] =
                race(&bucket, [spend_one as fn(&Bucket) -> u64, other], |bucket, act| act(bucket));
            let left = bucket.peek(0).unwrap().remaining();
            let lost = 8 - left - spent - 1;
            // Of either lease, or of both.
            assert!([0, had - 1, 3, 6].contains(&lost), "{lost} are lost");
            assert_eq!(bucket.try_acquire_up_to(9).map_or(0, |grant| grant.permits()), left);
        });
    }
}

/// A token costs more units under the one, and fewer under the other.
const DEAR: Quota = quota!(1 / second, burst 8);
const CHEAP: Quota = quota!(5 / 3 seconds, burst 8);

/// The rest of a lease goes back at the price of the terms that the lease was taken under, also if
/// its first attempt was under others.
#[test]
fn a_lease_beside_a_change_gives_back_what_it_took_and_no_more() {
    for (old, new) in [(DEAR, CHEAP), (CHEAP, DEAR)] {
        check(3, move || {
            let bucket = bucket(old);
            let had = race(&bucket, [None, Some(new)], |bucket, change| match change {
                None => spend_one(bucket),
                Some(new) => {
                    bucket.reconfigure(new, Carry::Keep);
                    0
                }
            });
            let left = bucket.peek(0).unwrap().remaining();
            // The change came before the lease or after it; or between the two ends of it.
            assert!(had == [4, 0] && [7, 4].contains(&left), "{left}");
        });
    }
}

enum Act {
    /// Spends one of those that it leases.
    Lease(usize, u64),
    /// Spends none of those that it leases.
    Unused(usize, u64),
    /// Gives back what it takes.
    Revoke(usize, u64),
    Ask(Caller),
}

fn act(limiter: &Sharded, act: &Act) -> u64 {
    match *act {
        Act::Lease(index, permits) => {
            let Ok(mut lease) = limiter.shard(index).lease(permits) else { return 0 };
            assert!(lease.spend(1));
            1
        }
        Act::Unused(index, permits) => {
            drop(limiter.shard(index).lease(permits));
            0
        }
        Act::Revoke(index, permits) => {
            let shard = limiter.shard(index);
            let Ok(receipt) = shard.try_acquire_revocable(permits) else { return 0 };
            if receipt.give_back() { 0 } else { permits }
        }
        Act::Ask(caller) => ask(limiter, caller),
    }
}

/// Checks that nothing is lost, and nothing minted, by `acts` at the same time.
fn all_is_there<const N: usize>(preemptions: usize, acts: &'static [Act; N]) {
    check(preemptions, move || {
        let limiter = sharded(QUOTA, TestClock::new());
        // So that the root can hold its tokens, though another caller reserves some for a while.
        assert_eq!(ask(&limiter, (0, &[24])), 24);
        let spent = race(&limiter, acts.each_ref(), act);
        let left = rest(&limiter);
        assert_eq!(spent.iter().sum::<u64>() + left, 8, "{spent:?} and {left}");
        // Nor is any capacity.
        limiter.reset();
        assert_eq!(rest(&limiter), 32);
    });
}

#[test]
fn a_lease_of_a_shard_gives_back_all_that_was_not_used() {
    all_is_there(3, &[Act::Lease(0, 4), Act::Ask((0, &[2, 1]))]);
    all_is_there(3, &[Act::Lease(0, 4), Act::Ask((1, &[8]))]);
    all_is_there(3, &[Act::Lease(0, 8), Act::Lease(1, 8)]);
    all_is_there(3, &[Act::Lease(0, 8), Act::Lease(0, 3)]);
    // Nobody is left with a permit that cannot be given back, for having lost every race.
    all_is_there(3, &[Act::Lease(0, 8), Act::Unused(1, 8)]);
    all_is_there(3, &[Act::Unused(0, 8), Act::Unused(0, 8)]);
    all_is_there(3, &[Act::Unused(0, 1), Act::Unused(1, 8)]);
    all_is_there(3, &[Act::Unused(0, 4), Act::Revoke(1, 8)]);
    all_is_there(3, &[Act::Lease(0, 4), Act::Revoke(0, 2)]);
    all_is_there(3, &[Act::Lease(0, 4), Act::Revoke(1, 4)]);
    all_is_there(1, &[Act::Lease(0, 4), Act::Ask((0, &[2])), Act::Ask((1, &[3]))]);
}

/// One quota decides how much a lease may give back. If a part of each of two did, the limit would
/// seem to be lowered where it is not.
#[test]
fn a_lease_of_a_shard_beside_a_change_gives_back_all_of_it() {
    // A token costs sixty times as much.
    const SLOW: Quota = quota!(1 / minute, burst 32);
    check(2, || {
        let limiter = sharded(QUOTA, TestClock::new());
        assert_eq!(ask(&limiter, (0, &[24])), 24);
        race(&limiter, [None, Some(SLOW)], |limiter, change| match change {
            None => drop(limiter.shard(0).lease(4)),
            Some(quota) => limiter.reconfigure(quota, Carry::Keep),
        });
        assert_eq!(rest(&limiter), 8);
    });
}
