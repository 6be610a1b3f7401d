//! Models of one bucket in many places. What is checked, over every interleaving: while
//! the clock stands, exactly the burst is admitted. No permit is in two places, and once
//! all is quiet none is lost. Requests that leave a reserve leave it.

use sluicegate::{Quota, quota};
use sluicegate_loom_tests::shards::{Caller, ask, fill, rest, sharded};
use sluicegate_loom_tests::{TestClock, check, race};

type Sharded = sluicegate::Sharded<TestClock>;

/// So few that shards hardly refill: a shard refills by four of 32, and then no more.
const FEW: Quota = quota!(1 / second, burst 32);

/// So many that three refill.
const MORE: Quota = quota!(1 / second, burst 64);

/// Checks that `callers` are granted all that there is, in the race or after it; but for
/// so many as may be `lost`.
fn all_is_granted<const N: usize>(
    preemptions: usize,
    (quota, lost): (Quota, u64),
    prepare: fn(&Sharded) -> u64,
    callers: [Caller; N],
) {
    check(preemptions, move || {
        let limiter = sharded(quota, TestClock::new());
        let taken = prepare(&limiter);
        let granted: u64 = race(&limiter, callers, ask).iter().sum();
        let all = taken + granted + rest(&limiter);
        assert!((quota.burst() - lost..=quota.burst()).contains(&all), "{all}");
    });
}

#[test]
fn shards_never_admit_more_than_the_bound() {
    // One refills its shard, the other wants those tokens.
    all_is_granted(2, (FEW, 0), |_| 0, [(0, &[1, 1]), (1, &[30])]);
    // Three are in a shard, and two in the root.
    let nearly_empty = |limiter: &Sharded| {
        fill(limiter, 0, 3);
        ask(limiter, (1, &[27]))
    };
    all_is_granted(2, (FEW, 0), nearly_empty, [(0, &[1, 1]), (1, &[4])]);
    all_is_granted(2, (FEW, 0), nearly_empty, [(0, &[2]), (0, &[4])]);
    all_is_granted(2, (FEW, 0), nearly_empty, [(0, &[1]), (0, &[1]), (1, &[3])]);
}

/// Into one shard, and into two.
#[test]
fn two_draw_at_once() {
    let not_full = |limiter: &Sharded| ask(limiter, (1, &[20]));
    all_is_granted(2, (MORE, 0), not_full, [(0, &[1]), (0, &[1])]);
    all_is_granted(2, (MORE, 0), not_full, [(0, &[1]), (1, &[1])]);
    all_is_granted(1, (MORE, 0), not_full, [(0, &[1]), (0, &[2]), (1, &[1])]);
    // Capacity that one reserves is no longer there to hold what the other leaves.
    all_is_granted(2, (FEW, 4), |_| 0, [(0, &[1]), (0, &[1])]);
    all_is_granted(2, (FEW, 4), |_| 0, [(0, &[1]), (1, &[1])]);
}

/// The last one is in a shard, and two want it; one of them wants more, or that one.
#[test]
fn what_is_granted_of_some_is_one_at_least() {
    check(3, || {
        let limiter = sharded(quota!(1 / second, burst 8), TestClock::new());
        fill(&limiter, 1, 1);
        assert_eq!(ask(&limiter, (0, &[7])), 7);
        let callers: [fn(&Sharded) -> u64; 2] = [
            |limiter| {
                let granted = limiter.shard(0).try_acquire_up_to(5);
                granted.map_or(0, |grant| {
                    assert!(grant.permits() > 0, "granted nothing");
                    grant.permits()
                })
            },
            |limiter| ask(limiter, (1, &[1])),
        ];
        let granted: u64 = race(&limiter, callers, |limiter, call| call(limiter)).iter().sum();
        assert_eq!(granted, 1);
    });
}

/// A caller of the shard at that index, who asks for some permits and leaves four.
fn ask_leaving(limiter: &Sharded, (index, permits): (usize, u64)) -> u64 {
    limiter.shard(index).try_acquire_leaving(permits, 4).map_or(0, |grant| grant.permits())
}

/// Six are there, in the root, or in two shards too: two for who leaves four.
#[test]
fn callers_of_shards_leave_the_reserve_between_them() {
    for in_shards in [&[][..], &[1], &[1, 1]] {
        check(2, move || {
            let limiter = sharded(quota!(1 / second, burst 8), TestClock::new());
            assert_eq!(ask(&limiter, (1, &[2])), 2);
            for (index, permits) in in_shards.iter().enumerate() {
                fill(&limiter, index, *permits);
            }
            let granted: u64 = race(&limiter, [(0, 2), (1, 2)], ask_leaving).iter().sum();
            assert!(granted <= 2, "{granted} of two");
            assert_eq!(granted + rest(&limiter), 6);
        });
    }
}

/// One in a shard, and three in the root, from where they move into the other shard: who leaves four is granted
/// nothing, wherever it looks first.
#[test]
fn what_moves_between_shards_is_left_once() {
    check(2, || {
        let limiter = sharded(quota!(1 / second, burst 8), TestClock::new());
        assert_eq!(ask(&limiter, (1, &[4])), 4);
        fill(&limiter, 0, 1);
        let callers: [fn(&Sharded) -> u64; 2] = [
            |limiter| ask_leaving(limiter, (0, 1)),
            |limiter| {
                drop(limiter.shard(1).lease(3));
                0
            },
        ];
        assert_eq!(race(&limiter, callers, |limiter, call| call(limiter)), [0, 0]);
        assert_eq!(rest(&limiter), 4);
    });
}
