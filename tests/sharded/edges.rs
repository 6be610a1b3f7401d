//! The ends of every range.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::lease::Lease;
use sluicegate::settle::Receipt;
use sluicegate::sharded::Shard;
use sluicegate::*;

use super::sharded;

const ENDS: [u64; 14] = [
    0,
    1,
    2,
    1_023,
    1_024,
    Lease::MAX - 1,
    Lease::MAX,
    Lease::MAX + 1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    1 << 61,
    u64::MAX - 1,
    u64::MAX,
];

fn quotas() -> Vec<(Quota, u64)> {
    let rates = [
        rate!(1 / 36525 days),
        rate!(4_294_967_296 / 36525 days),
        rate!(1 / second),
        rate!(3 / 2 seconds),
        rate!(2_147_483_648 / second),
        rate!(2 / ns),
    ];
    let mut quotas = Vec::new();
    for rate in rates {
        for burst in [1, 2, 4_096, Quota::MAX_BURST] {
            for initial in [0, 1, burst] {
                for refill in [Refill::Smooth, Refill::Interval] {
                    let quota = Quota::new(rate).with_burst(burst).unwrap().with_refill(refill);
                    quotas.push((quota, initial));
                }
            }
        }
    }
    quotas
}

/// All that can be asked of an answer.
fn ask(answer: Result<Grant, Denied>) {
    match answer {
        Ok(grant) => {
            assert!(grant.remaining() <= grant.limit() && grant.ready_after().is_zero());
            let _ = (grant.reset_after(), format!("{grant:?}"));
        }
        Err(Denied::Wait(shortfall)) => {
            assert!(shortfall.missing() > 0 && !shortfall.retry_after().is_zero());
            assert!(shortfall.retry_after() <= shortfall.reset_after());
        }
        Err(denied) => assert!(denied.retry_after().is_none() && denied.which() == 0),
    }
}

#[test]
fn every_verb_answers_every_amount_under_every_quota() {
    for (quota, initial) in quotas() {
        for shards in [1, 2, 256] {
            if cfg!(miri) && (shards > 2 || quota.burst() > 2) {
                continue;
            }
            for start_nanos in [0, u64::MAX / 2, u64::MAX - 1_000] {
                let clock = ManualClock::at(start_nanos);
                let limiter = sharded(quota, shards, clock);
                let limiter = limiter.starting_with(initial).unwrap();
                assert_eq!(limiter.peek(0).unwrap().remaining(), initial);
                every_verb(&limiter);
            }
        }
    }
}

fn every_verb(limiter: &Sharded<ManualClock>) {
    let shard = limiter.shard(usize::MAX);
    for permits in ENDS {
        ask(limiter.try_acquire(permits));
        ask(shard.try_acquire(permits));
        ask(limiter.try_acquire_up_to(permits));
        ask(limiter.peek(permits));
        for leased in [limiter.lease(permits), shard.lease(permits)] {
            match leased {
                Ok(mut lease) => {
                    assert!(lease.left() <= permits.min(Lease::MAX) && lease.spend(0));
                    assert!(!lease.spend(lease.left() + 1) && !lease.spend(u64::MAX));
                    assert!(lease.spend(lease.left() / 2));
                    ask(Ok(lease.grant()));
                }
                Err(denied) => ask(Err(denied)),
            }
        }
        if let Ok(receipt) = limiter.try_acquire_revocable(permits) {
            let _ = (format!("{receipt:?}"), receipt.give_back());
        }
        limiter.clock().advance_nanos(permits);
    }
    let snapshot = limiter.snapshot();
    for away in [Duration::ZERO, Duration::MAX] {
        limiter.restore(&snapshot, away);
    }
    for carry in [Carry::Keep, Carry::Scale, Carry::Reset] {
        let lease = limiter.lease(u64::MAX);
        for quota in [quota!(1 / second, burst 1), quota!(2 / ns, burst 4_294_967_296)] {
            limiter.reconfigure(quota, carry);
            ask(limiter.peek(1));
        }
        drop(lease);
    }
    limiter.reset();
    let _ = (limiter.healed(), format!("{limiter:?}"));
}

#[test]
fn none_are_always_granted_and_change_nothing() {
    let limiter = sharded(quota!(1 / hour), 2, ManualClock::new());
    limiter.try_acquire(1).unwrap();
    for _ in 0..3 {
        assert!(limiter.try_acquire(1).is_err());
        assert_eq!(limiter.try_acquire(0).unwrap().permits(), 0);
        assert_eq!(limiter.try_acquire_up_to(0).unwrap().permits(), 0);
        assert_eq!(limiter.lease(0).unwrap().left(), 0);
        assert!(limiter.try_acquire_revocable(0).unwrap().give_back());
        assert_eq!(limiter.peek(0).unwrap().remaining(), 0);
    }
    limiter.reset();
    assert_eq!(limiter.try_acquire(0).unwrap().remaining(), 1);
}

#[test]
fn more_than_the_burst_is_too_large_for_try_acquire_and_as_many_as_there_are_for_the_others() {
    for burst in [1, 5, 4_096, Quota::MAX_BURST] {
        let quota = quota!(1 / hour).with_burst(burst).unwrap();
        let limiter = sharded(quota, 4, ManualClock::new());
        for permits in ENDS.into_iter().filter(|permits| *permits > burst) {
            let denied = Denied::TooLarge { limit: burst, which: 0 };
            assert_eq!(limiter.try_acquire(permits).unwrap_err(), denied);
            assert_eq!(limiter.peek(permits).unwrap_err(), denied);
            assert_eq!(limiter.lease(permits).unwrap().left(), burst.min(Lease::MAX));
        }
        assert_eq!(limiter.try_acquire_up_to(u64::MAX).unwrap().permits(), burst);
    }
}

#[test]
fn the_largest_burst_goes_into_leases_and_back() {
    let quota = quota!(1 / hour, burst 4_294_967_296);
    let limiter = sharded(quota, 2, ManualClock::new());
    let leases: Vec<_> =
        (0..3).map(|index| limiter.shard(index).lease(u64::MAX).unwrap()).collect();
    let left: Vec<_> = leases.iter().map(Lease::left).collect();
    assert_eq!(left, [Lease::MAX, Lease::MAX, 2]);
    assert!(limiter.lease(1).is_err());
    drop(leases);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 1 << 32);
    assert!(limiter.try_acquire(1 << 32).is_ok());
}

#[test]
fn a_builder_makes_what_the_constructors_make_and_takes_any_clock() {
    let clock = ManualClock::at(7);
    let made = Sharded::with_clock(quota!(5 / second), &clock);
    let built = Sharded::builder(quota!(5 / second)).clock(&clock).build().unwrap();
    assert_eq!((built.quota(), built.shards()), (made.quota(), made.shards()));
    assert_eq!(built.clock().now_nanos(), 7);
    let built = Sharded::builder(rate!(5 / second)).shards(3).clock(&clock).build().unwrap();
    assert_eq!((built.quota(), built.shards()), (quota!(5 / second), 4));
    assert_eq!(built.memory_bytes(), 640 + 4 * 256);
    // The last number and the last clock are those that count.
    let built = Sharded::builder(quota!(5 / second)).shards(0).clock(&clock).shards(1);
    assert_eq!(built.clock(ManualClock::at(9)).build().unwrap().clock().now_nanos(), 9);
}

#[test]
fn a_builder_without_a_clock_makes_a_limiter_on_a_clock_of_its_own() {
    let built = Sharded::builder(quota!(5 / hour)).shards(2).build().unwrap();
    assert_eq!(built.shards(), 2);
    assert_eq!(built.try_acquire_up_to(9).unwrap().permits(), 5);
    let error = Sharded::builder(quota!(5 / hour)).shards(300).build().unwrap_err();
    assert_eq!(error, ConfigError::Shards { shards: 300 });
}

#[test]
fn the_number_of_shards_is_from_1_to_256_and_a_power_of_two() {
    let make = |shards| {
        Sharded::builder(quota!(1 / second)).shards(shards).clock(ManualClock::new()).build()
    };
    for (asked, made) in [(1, 1), (2, 2), (3, 4), (129, 256), (256, 256)] {
        assert_eq!(make(asked).unwrap().shards(), made);
    }
    for (shards, text) in [
        (0, "shards is 0: must be from 1 to 256"),
        (257, "shards is 257: must be from 1 to 256"),
        (usize::MAX, "shards is 18446744073709551615: must be from 1 to 256"),
    ] {
        assert_eq!(make(shards).unwrap_err().to_string(), text);
    }
}

#[test]
fn what_the_shards_held_is_no_part_of_a_new_start() {
    let quota = quota!(1 / second, burst 10_000);
    let limiter = sharded(quota, 4, ManualClock::new());
    for index in 0..4 {
        limiter.shard(index).try_acquire(1).unwrap();
    }
    std::mem::forget(limiter.lease(2_000).unwrap());
    let limiter = limiter.starting_with(7).unwrap();
    assert_eq!(limiter.peek(0).unwrap().remaining(), 7);
    assert!(limiter.shard(1).try_acquire(8).is_err());
    assert!(limiter.shard(2).try_acquire(7).is_ok());
    // All of the burst can be had again: none of its capacity is reserved any more.
    limiter.clock().advance(Duration::from_secs(10_000));
    assert!(limiter.try_acquire(10_000).is_ok());
}

#[test]
fn an_empty_start_is_empty_for_every_shard() {
    let quota = quota!(1 / second, burst 1_000);
    let limiter = sharded(quota, 4, ManualClock::new());
    let limiter = limiter.starting_with(0).unwrap();
    for index in 0..4 {
        let denied = limiter.shard(index).try_acquire(1).unwrap_err();
        assert_eq!(denied.retry_after(), Some(Duration::from_secs(1)));
    }
    limiter.clock().advance(Duration::from_secs(1));
    assert!(limiter.shard(3).try_acquire(1).is_ok());
}

/// The time in which the whole burst is earned, in whole steps if it is earned in steps.
#[test]
fn no_grant_promises_to_be_full_before_it_is() {
    for refill in [Refill::Smooth, Refill::Interval] {
        let quota = quota!(10 / second, burst 45).with_refill(refill);
        let clock = ManualClock::new();
        let limiter = sharded(quota, 1, &clock);
        let bucket = TokenBucket::with_clock(quota, &clock);
        for _ in 0..45 {
            let [said, exact] = [limiter.try_acquire(1), bucket.try_acquire(1)].map(Result::unwrap);
            assert!(said.reset_after() >= exact.reset_after());
            assert!(said.remaining() <= exact.remaining());
        }
    }
}

#[test]
fn limiters_shards_leases_and_receipts_go_to_other_threads() {
    fn goes<T: Send + Sync>() {}
    goes::<Sharded<ManualClock>>();
    goes::<Shard<'_, ManualClock>>();
    goes::<Lease<'_>>();
    goes::<Receipt<'_>>();
}

/// Others have taken nearly all of it since the shard drew.
#[test]
fn a_shard_promises_the_whole_burst_after_as_many_steps_as_that_takes() {
    let quota = quota!(10 / second, burst 45).with_refill(Refill::Interval);
    let clock = ManualClock::new();
    let limiter = sharded(quota, 2, &clock);
    assert!(limiter.shard(0).try_acquire(1).is_ok());
    assert!(limiter.shard(1).try_acquire(40).is_ok());
    let grant = limiter.shard(0).try_acquire(1).unwrap();
    assert_eq!(grant.reset_after(), Duration::from_secs(5));
}

#[test]
fn a_credit_fills_up_to_the_burst_wherever_the_tokens_are_and_ends_cached_denials() {
    let clock = ManualClock::new();
    let limiter = sharded(quota!(1_000 / hour), 4, &clock);
    // Every shard has some, and most of what it drew is spent.
    for shard in 0..4 {
        for _ in 0..20 {
            assert!(limiter.shard(shard).try_acquire(1).is_ok());
        }
    }
    let outside = limiter.peek(0).unwrap().remaining();
    assert_eq!(outside, 920);
    limiter.credit(30);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 950);
    limiter.credit(u64::MAX);
    assert!(limiter.try_acquire(1_001).is_err());
    assert!(limiter.shard(0).try_acquire(1_000).is_ok());
    for shard in 0..4 {
        assert!(limiter.shard(shard).try_acquire(1).is_err());
    }
    limiter.credit(0);
    assert!(limiter.shard(1).try_acquire(1).is_err());
    limiter.credit(4);
    assert!((0..4).all(|shard| limiter.shard(shard).try_acquire(1).is_ok()));
    assert!(limiter.shard(3).try_acquire(1).is_err());
}

#[test]
fn a_credit_leaves_to_leases_the_capacity_that_they_hold() {
    let clock = ManualClock::new();
    let limiter = sharded(quota!(1_000 / hour), 4, &clock);
    let mut lease = limiter.lease(400).unwrap();
    assert!(lease.spend(100));
    limiter.credit(1_000);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 600);
    drop(lease);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 900);
    limiter.credit(1_000);
    assert!(limiter.try_acquire(1_000).is_ok());
}
