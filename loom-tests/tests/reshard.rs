//! Models of changes of a bucket in many places. What is checked, over every
//! interleaving: a change mints nothing, wherever tokens are on their way, and forgets
//! none that was in a shard.

use sluicegate::bucket::Carry;
use sluicegate::{Denied, Quota, quota};
use sluicegate_loom_tests::shards::{ask, fill, rest, sharded};
use sluicegate_loom_tests::{SECOND, TestClock, check, race};

type Sharded = sluicegate::Sharded<TestClock>;
type Act = fn(&Sharded) -> u64;

const QUOTA: Quota = quota!(1 / second, burst 48);
const LESS: Quota = quota!(1 / second, burst 45);

/// A time at which every limiter here is full again.
const LATE: u64 = 1_000 * SECOND;

fn keep(limiter: &Sharded) -> u64 {
    limiter.reconfigure(QUOTA, Carry::Keep);
    0
}

/// Eight are spent, and four in a shard. The clock stands.
fn used() -> sluicegate_loom_tests::Arc<Sharded> {
    let limiter = sharded(QUOTA, TestClock::new());
    assert_eq!(ask(&limiter, (1, &[8])), 8);
    fill(&limiter, 0, 4);
    limiter
}

/// Four are in a shard, and have been for so long that more has been earned than there
/// is capacity for.
fn full() -> sluicegate_loom_tests::Arc<Sharded> {
    let limiter = sharded(QUOTA, TestClock::new());
    fill(&limiter, 0, 4);
    limiter.clock().set(LATE);
    limiter
}

#[test]
fn a_change_empties_the_shards_and_keeps_the_bound() {
    let others: [Act; 4] = [
        |limiter| ask(limiter, (0, &[1, 1])),
        |limiter| ask(limiter, (1, &[1])),
        |limiter| ask(limiter, (0, &[5])),
        |limiter| ask(limiter, (1, &[38])),
    ];
    let less: Act = |limiter| {
        limiter.reconfigure(LESS, Carry::Keep);
        0
    };
    for change in [keep, less] {
        for other in others {
            check(2, move || {
                let limiter = used();
                let granted = race(&limiter, [change, other], |limiter, act| act(limiter));
                assert_eq!(granted[1] + rest(&limiter), 40);
            });
        }
    }
}

#[test]
fn a_denial_of_a_shard_is_never_from_mixed_terms() {
    let other: Act = |limiter| {
        limiter.reconfigure(quota!(7 / minute, burst 5), Carry::Reset);
        0
    };
    let too_many: Act = |limiter| match limiter.shard(1).try_acquire(100) {
        Err(Denied::TooLarge { limit, .. }) => limit,
        answer => unreachable!("{answer:?}"),
    };
    check(3, move || {
        let limiter = used();
        let [_, limit] = race(&limiter, [other, too_many], |limiter, act| act(limiter));
        assert!([48, 5].contains(&limit), "{limit}");
    });
}

#[test]
fn two_changes_keep_what_is_in_the_shards() {
    check(2, || {
        let limiter = used();
        race(&limiter, [keep as Act, keep], |limiter, act| act(limiter));
        assert_eq!(rest(&limiter), 40);
    });
}

/// Tokens that were cut off for want of capacity must not come back with the capacity.
#[test]
fn a_change_of_a_full_limiter_keeps_the_bound() {
    let others: [Act; 2] =
        [|limiter| ask(limiter, (1, &[48, 1])), |limiter| ask(limiter, (0, &[5]))];
    for other in others {
        check(2, move || {
            let limiter = full();
            let granted = race(&limiter, [keep as Act, other], |limiter, act| act(limiter));
            let all = granted[1] + rest(&limiter);
            // A spend before the capacity is back may take the tokens of that capacity
            // with it: less than a quarter.
            assert!((37..=48).contains(&all), "{all}");
        });
    }
}

/// The rest of a lease goes back as far as the new burst has capacity for it.
#[test]
fn a_lease_of_a_burst_that_was_lowered_keeps_the_bound() {
    let lower: Act = |limiter| {
        let lease = limiter.shard(0).lease(8).unwrap();
        limiter.reconfigure(quota!(1 / second, burst 4), Carry::Keep);
        drop(lease);
        0
    };
    let others: [Act; 3] = [
        |limiter| ask(limiter, (0, &[1])),
        |limiter| ask(limiter, (1, &[4])),
        |limiter| {
            drop(limiter.shard(1).lease(4));
            0
        },
    ];
    for other in others {
        check(2, move || {
            let limiter = used();
            race(&limiter, [lower, other], |limiter, act| act(limiter));
            let left = rest(&limiter);
            assert!(left <= 4, "{left}");
        });
    }
}

/// A lease taken beside a change may be under the limit before or the one after, which is not
/// known; neither must let too much come back.
#[test]
fn a_lease_taken_beside_a_change_of_the_burst_keeps_the_bound_of_a_lower_one() {
    const MORE: Quota = quota!(1 / second, burst 48);
    const BETWEEN: Quota = quota!(1 / second, burst 12);
    const FEW: Quota = quota!(1 / second, burst 8);
    // Raised as it is taken, and lowered again before it ends.
    let lease: Act = |limiter| {
        let lease = limiter.shard(0).lease(16);
        limiter.reconfigure(BETWEEN, Carry::Keep);
        drop(lease);
        0
    };
    let raise: Act = |limiter| {
        limiter.reconfigure(MORE, Carry::Reset);
        0
    };
    check(2, move || {
        let limiter = sharded(FEW, TestClock::new());
        race(&limiter, [lease, raise], |limiter, act| act(limiter));
        let limit = limiter.quota().burst();
        let left = rest(&limiter);
        assert!(left <= limit, "{left} of {limit}");
    });
    // Lowered as it is taken. (What comes back before that is not the lease's any more.)
    let lease: Act = |limiter| {
        let lease = limiter.shard(0).lease(16);
        if limiter.quota().burst() == 12 {
            drop(lease);
        } else {
            core::mem::forget(lease);
        }
        0
    };
    let lower: Act = |limiter| {
        limiter.reconfigure(BETWEEN, Carry::Keep);
        0
    };
    check(2, move || {
        let limiter = sharded(MORE, TestClock::new());
        race(&limiter, [lease, lower], |limiter, act| act(limiter));
        let left = rest(&limiter);
        assert!(left <= 12, "{left}");
    });
}

/// A change may be held up after its reading of the clock, and its terms earn from then on. What
/// they had no capacity for by the time at which some is released does not come with it, though the
/// terms before had nothing to cut off.
#[test]
fn room_given_back_beside_a_change_brings_nothing_back_that_the_new_terms_cut_off() {
    // Earns next to nothing.
    const SLOW: Quota = quota!(1 / day, burst 8);
    let change: Act = |limiter| {
        limiter.reconfigure(quota!(1 / second, burst 8), Carry::Keep);
        0
    };
    let spend_late: Act = |limiter| {
        let mut lease = limiter.shard(0).lease(4).unwrap();
        limiter.clock().set(LATE);
        let held = lease.left();
        assert!(lease.spend(held));
        held
    };
    check(3, move || {
        let limiter = sharded(SLOW, TestClock::new());
        assert_eq!(ask(&limiter, (1, &[1])), 1);
        let late = race(&limiter, [change, spend_late], |limiter, act| act(limiter));
        let left = rest(&limiter);
        assert!(late[1] + left <= 8, "{late:?} and {left}");
    });
}

#[test]
fn after_a_reset_there_is_no_more_than_the_burst() {
    let others: [Act; 3] = [
        |limiter| ask(limiter, (0, &[1, 1])),
        |limiter| ask(limiter, (0, &[5])),
        |limiter| ask(limiter, (1, &[1])),
    ];
    for other in others {
        check(2, move || {
            let limiter = used();
            let reset: Act = |limiter| {
                limiter.reset();
                ask(limiter, (1, &[40]))
            };
            let [after, granted] = race(&limiter, [reset, other], |limiter, act| act(limiter));
            let left = rest(&limiter);
            assert!(after + left <= 48, "{after} + {left}");
            // Of a limiter that is full less than a quarter may be missing.
            assert!(after + left + granted > 36, "{after} + {left} + {granted}");
        });
    }
}
