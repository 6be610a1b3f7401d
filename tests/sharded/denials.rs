//! Denials that are remembered, as seen from outside: each answer costs one look at the
//! clock, and is the answer of a token bucket that was asked the same.

use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::*;

use super::sharded;
use crate::support::counted::Counted;

const SECOND: u64 = 1_000_000_000;

fn quotas() -> [Quota; 5] {
    [
        quota!(1 / second, burst 10),
        quota!(3 / 2 seconds, burst 7),
        quota!(1_000 / second, burst 2_000),
        quota!(7 / 3 seconds, burst 11).with_refill(Refill::Interval),
        quota!(2_147_483_648 / second, burst 100),
    ]
}

/// A sharded limiter and a bucket on a clock, both empty.
fn empty(quota: Quota, clock: &Counted) -> (Sharded<&Counted>, TokenBucket<&ManualClock>) {
    let limiter = sharded(quota, 4, clock);
    let bucket = TokenBucket::with_clock(quota, &clock.manual);
    limiter.try_acquire(quota.burst()).unwrap();
    bucket.try_acquire(quota.burst()).unwrap();
    (limiter, bucket)
}

#[test]
fn a_flood_reads_the_clock_once_per_call_and_is_told_what_a_token_bucket_says() {
    for quota in quotas() {
        for permits in [1, 2, quota.burst()] {
            let clock = Counted::at(5 * SECOND);
            let (limiter, bucket) = empty(quota, &clock);
            let mut wait = limiter.shard(2).try_acquire(permits).unwrap_err().retry_after();
            let step = wait.unwrap() / 100 + Duration::from_nanos(1);
            while let Err(denied) = bucket.try_acquire(permits) {
                let (answer, readings) =
                    clock.readings(|| limiter.shard(2).try_acquire(permits).unwrap_err());
                assert_eq!(answer.retry_after(), denied.retry_after(), "{quota:?}");
                assert!(answer.retry_after() <= wait && readings == 1);
                wait = answer.retry_after();
                clock.manual.advance(step.min(wait.unwrap()));
            }
            // Not a nanosecond late either.
            assert!(limiter.shard(2).try_acquire(permits).is_ok(), "{permits} of {quota:?}");
        }
    }
}

/// Has `change` done to a limiter that remembers a denial, after which a permit is there.
#[track_caller]
fn is_forgotten_after(change: impl FnOnce(&Sharded<&Counted>)) {
    let clock = Counted::at(5 * SECOND);
    let (limiter, _) = empty(quota!(1 / hour, burst 10), &clock);
    for index in 0..4 {
        assert!(limiter.shard(index).try_acquire(1).is_err());
    }
    change(&limiter);
    assert!(limiter.peek(1).is_ok());
    for index in 0..4 {
        assert!(limiter.shard(index).try_acquire(1).is_ok(), "by shard {index}");
    }
}

#[test]
fn a_denial_is_forgotten_when_the_limiter_changes() {
    is_forgotten_after(|limiter| {
        limiter.reset();
    });
    for carry in [Carry::Keep, Carry::Scale, Carry::Reset] {
        is_forgotten_after(|limiter| {
            // Four permits, or forty, or all.
            limiter.clock().manual.advance(Duration::from_secs(4 * 3_600));
            limiter.reconfigure(quota!(1 / hour, burst 100), carry);
        });
    }
    let full = TokenBucket::with_clock(quota!(1 / hour, burst 10), ManualClock::new()).snapshot();
    is_forgotten_after(|limiter| limiter.restore(&full, Duration::ZERO));
}

#[test]
fn a_denial_is_forgotten_when_a_lease_or_a_receipt_gives_permits_back() {
    let quota = quota!(1 / hour, burst 10);
    let limiter = sharded(quota, 4, ManualClock::new());
    for index in 0..4 {
        let lease = limiter.shard(index).lease(10).unwrap();
        assert!(limiter.shard(0).try_acquire(1).is_err() && limiter.shard(3).lease(1).is_err());
        drop(lease);
        assert!(limiter.shard(3).try_acquire(1).is_ok() && limiter.shard(0).try_acquire(9).is_ok());
        limiter.reset();

        let shard = limiter.shard(index);
        let receipt = shard.try_acquire_revocable(10).unwrap();
        assert!(limiter.shard(0).try_acquire(1).is_err() && limiter.shard(3).lease(1).is_err());
        assert!(receipt.give_back());
        assert!(limiter.shard(3).try_acquire(1).is_ok() && limiter.shard(0).try_acquire(9).is_ok());
        limiter.reset();
    }
}

#[test]
fn a_clock_that_goes_back_and_forth_neither_ends_a_denial_early_nor_late() {
    let clock = Counted::at(50 * SECOND);
    let (limiter, bucket) = empty(quota!(1 / second, burst 10), &clock);
    for millis in [0, 300, 100, 900, 0, 999, 1_000] {
        clock.manual.set_nanos(50 * SECOND + millis * 1_000_000);
        let (answer, wanted) = (limiter.try_acquire(1), bucket.try_acquire(1));
        assert_eq!(answer.is_ok(), wanted.is_ok());
        assert_eq!(
            answer.map_err(|denied| denied.retry_after()).err(),
            wanted.map_err(|denied| denied.retry_after()).err(),
        );
    }
}

/// Healing makes the limiter full, so what was refused before may be granted.
#[test]
fn a_denial_is_forgotten_when_the_limiter_heals() {
    let clock = Counted::at(100 * SECOND);
    let (limiter, _) = empty(quota!(1 / second, burst 10), &clock);
    assert!(limiter.shard(0).try_acquire(1).is_err());
    clock.manual.set_nanos(50 * SECOND);
    assert!(limiter.shard(1).try_acquire(2).is_ok());
    assert_eq!(limiter.healed(), 1);
    clock.manual.set_nanos(100 * SECOND + SECOND / 2);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 10);
    assert!(limiter.shard(0).try_acquire(1).is_ok());
}

/// Permits that remained when a denial was first given are not those that there are by now.
#[test]
fn as_many_as_there_are_is_as_many_as_there_are_now_whatever_was_refused_before() {
    let clock = Counted::at(0);
    let (limiter, _) = empty(quota!(1 / second, burst 10), &clock);
    assert!(limiter.try_acquire(10).is_err());
    clock.manual.advance(Duration::from_secs(5));
    assert_eq!(limiter.try_acquire_up_to(10).unwrap().permits(), 5);
}

/// The root cannot hold what it earns while a lease has all: the wait goes on.
#[test]
fn a_remembered_wait_is_never_shorter_than_that_of_a_new_request() {
    let limiter = sharded(quota!(1 / second, burst 100), 2, ManualClock::new());
    let lease = limiter.lease(50).unwrap();
    limiter.shard(0).try_acquire(51).unwrap_err();
    limiter.clock().advance(Duration::from_millis(600));
    let [remembered, new] = [0, 1].map(|index| limiter.shard(index).try_acquire(51).unwrap_err());
    assert_eq!(remembered.retry_after(), new.retry_after());
    drop(lease);
}
