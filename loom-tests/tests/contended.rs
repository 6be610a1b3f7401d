//! Models of one bucket that gets its shards while it is in use. What is checked, over every
//! interleaving: while the clock stands, exactly the burst is admitted, whoever has
//! seen the shards and whoever has not; what a reset gives is not more than the burst.

use sluicegate::{Quota, quota};
use sluicegate_loom_tests::shards::{ask, rest, when_contended};
use sluicegate_loom_tests::{Arc, TestClock, check, race};

type Sharded = sluicegate::Sharded<TestClock>;
type Act = fn(&Sharded) -> u64;

/// So many that two draw.
const QUOTA: Quota = quota!(1 / second, burst 64);

/// Twenty are spent, so that nothing is cut off where room is lent.
fn used() -> Arc<Sharded> {
    let limiter = when_contended(QUOTA, TestClock::new());
    assert_eq!(ask(&limiter, (1, &[20])), 20);
    assert_eq!(limiter.shards(), 0);
    limiter
}

/// Makes the shards, and draws into one of them.
const DRAW: Act = |limiter| {
    drop(limiter.shard(0).lease(0));
    ask(limiter, (0, &[1]))
};

/// Checks that `acts` are granted all that there is, in the race or after it.
fn all_is_granted<const N: usize>(preemptions: usize, acts: [Act; N]) {
    check(preemptions, move || {
        let limiter = used();
        let granted: u64 = race(&limiter, acts, |limiter, act| act(limiter)).iter().sum();
        assert_eq!(granted + rest(&limiter), 44);
    });
}

/// Who loses a race makes them, and the next call draws.
#[test]
fn shards_made_by_who_lost_a_race_admit_no_more_than_the_bound() {
    let few: Act = |limiter| ask(limiter, (0, &[1, 1]));
    let many: Act = |limiter| ask(limiter, (1, &[2, 40]));
    all_is_granted(2, [few, few]);
    all_is_granted(2, [few, many]);
    let single: Act = |limiter| ask(limiter, (0, &[1]));
    all_is_granted(1, [single, few, |limiter| ask(limiter, (1, &[40]))]);
}

#[test]
fn who_finds_the_root_empty_finds_the_shards() {
    let all: Act = |limiter| ask(limiter, (1, &[43, 43]));
    let single: Act = |limiter| ask(limiter, (1, &[1, 1]));
    let lease: Act = |limiter| {
        let mut lease = limiter.shard(1).lease(10).unwrap();
        assert!(lease.spend(1));
        1
    };
    for other in [all, single, lease, DRAW] {
        all_is_granted(2, [DRAW, other]);
    }
}

#[test]
fn a_reset_while_shards_are_made_gives_no_more_than_the_burst() {
    check(2, || {
        let limiter = used();
        let reset: Act = |limiter| {
            limiter.reset();
            0
        };
        race(&limiter, [DRAW, reset], |limiter, act| act(limiter));
        let left = rest(&limiter);
        assert!((48..=64).contains(&left), "{left}");
    });
}

/// Who makes the shards may be about to remember what it was refused before.
#[test]
fn a_denial_by_new_shards_is_forgotten_when_all_is_changed() {
    check(2, || {
        let limiter = used();
        let refuse: Act = |limiter| {
            drop(limiter.shard(0).lease(0));
            ask(limiter, (0, &[60]))
        };
        let reset: Act = |limiter| {
            limiter.reset();
            0
        };
        let [granted, _] = race(&limiter, [refuse, reset], |limiter, act| act(limiter));
        assert_eq!(granted + ask(&limiter, (0, &[60])), 60);
    });
}
