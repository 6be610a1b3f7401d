//! Reserved capacity that leases, receipts and refills leave behind: it must come back, or the
//! limiter ends up with nothing of its own.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::bucket::Carry;
use sluicegate::*;

use super::sharded;
use crate::support::held_up::HeldUp;

const SECOND: Duration = Duration::from_secs(1);

fn limiter(shards: usize) -> Sharded<ManualClock> {
    sharded(quota!(1_000 / second), shards, ManualClock::new())
}

/// After a denial and a second without a call, a thousand are there.
#[track_caller]
fn assert_whole_again(limiter: &Sharded<ManualClock>) {
    while limiter.try_acquire_up_to(u64::MAX).is_ok() {}
    limiter.clock().advance(SECOND);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 1_000);
    assert!(limiter.try_acquire(1_000).is_ok());
}

#[test]
fn a_lease_of_the_whole_burst_that_comes_back_and_is_spent_elsewhere_denies_nobody_for_ever() {
    for shards in [1, 2, 8] {
        let limiter = limiter(shards);
        drop(limiter.lease(1_000).unwrap());
        assert!((0..1_000).all(|_| limiter.try_acquire(1).is_ok()));
        assert_whole_again(&limiter);
    }
}

#[test]
fn leases_that_are_spent_one_after_the_other_leave_the_limiter_whole() {
    for shards in [1, 2, 8] {
        let limiter = limiter(shards);
        for turn in 0..100 {
            let mut lease = limiter.shard(turn).lease(100).unwrap();
            assert!(lease.left() > 0 && lease.spend(lease.left()));
            drop(lease);
            limiter.clock().advance(SECOND);
        }
        assert_whole_again(&limiter);
    }
}

#[test]
fn receipts_that_are_kept_leave_the_limiter_whole() {
    for shards in [1, 2, 8] {
        let limiter = limiter(shards);
        for turn in 0..5_000 {
            let shard = limiter.shard(turn);
            let receipt = shard.try_acquire_revocable(1);
            drop(receipt.expect("one in ten of what is earned"));
            limiter.clock().advance(Duration::from_millis(10));
        }
        assert_whole_again(&limiter);
    }
}

#[test]
fn a_limiter_that_is_never_near_its_limit_keeps_most_of_its_burst_beside_leases() {
    let limiter = limiter(2);
    for _ in 0..100 {
        let mut lease = limiter.shard(0).lease(100).unwrap();
        assert!(lease.spend(100));
        drop(lease);
        limiter.clock().advance(SECOND);
        let there = limiter.peek(0).unwrap().remaining();
        assert!(there >= 650, "a quarter for draws, a lease for leases: {there} of 1,000");
    }
}

#[test]
fn a_lease_that_is_forgotten_costs_the_limiter_what_it_held_and_no_more() {
    let limiter = limiter(4);
    std::mem::forget(limiter.lease(300).unwrap());
    for _ in 0..5 {
        while limiter.try_acquire_up_to(u64::MAX).is_ok() {}
        limiter.clock().advance(SECOND);
        assert_eq!(limiter.peek(0).unwrap().remaining(), 700);
    }
    // Not even a reset knows of it.
    limiter.reset();
    assert_eq!(limiter.peek(0).unwrap().remaining(), 700);
}

#[test]
fn no_more_than_a_smaller_burst_comes_back_from_a_lease_of_the_larger_one() {
    for carry in [Carry::Keep, Carry::Scale, Carry::Reset] {
        let limiter = limiter(2);
        let lease = limiter.shard(0).lease(1_000).unwrap();
        limiter.reconfigure(quota!(1 / second, burst 10), carry);
        drop(lease);
        let there = limiter.peek(0).unwrap().remaining();
        assert!(there <= 10);
        assert_eq!(
            limiter.shard(0).try_acquire(500).unwrap_err(),
            Denied::TooLarge { limit: 10, which: 0 },
        );
        let mut admitted = 0;
        while let Ok(grant) = limiter.try_acquire_up_to(u64::MAX) {
            admitted += grant.permits();
        }
        assert_eq!(admitted, there, "after {carry:?}");
    }
}

#[test]
fn a_change_of_terms_counts_what_leases_hold() {
    for carry in [Carry::Keep, Carry::Scale, Carry::Reset, Carry::Empty] {
        let limiter = limiter(4);
        let mut lease = limiter.lease(400).unwrap();
        limiter.reconfigure(quota!(1_000 / second, burst 2_000), carry);
        assert!(lease.spend(100));
        let there = limiter.peek(0).unwrap().remaining();
        let wanted = match carry {
            Carry::Keep => 600,
            Carry::Scale => 1_200,
            Carry::Reset => 1_600,
            Carry::Empty => 0,
            _ => unreachable!("{carry:?} is not among these"),
        };
        assert_eq!(there, wanted);
        drop(lease);
        assert_eq!(limiter.peek(0).unwrap().remaining(), wanted + 300);
    }
}

#[test]
fn a_reset_and_a_restore_count_what_leases_hold() {
    let limiter = limiter(4);
    let full = limiter.snapshot();
    let mut lease = limiter.lease(400).unwrap();
    assert!(lease.spend(100));
    for reset in [true, false] {
        if reset {
            limiter.reset();
        } else {
            limiter.restore(&full, Duration::ZERO);
        }
        assert_eq!(limiter.peek(0).unwrap().remaining(), 600);
    }
    drop(lease);
    assert_eq!(limiter.peek(0).unwrap().remaining(), 900);
    assert_whole_again(&limiter);
}

/// A peek reads the clock and a shard does not; what the clock is behind by is no debt.
#[test]
fn what_peek_says_is_granted_beside_a_clock_that_is_a_little_behind() {
    let limiter = sharded(quota!(1_000 / second), 2, ManualClock::at(10_000_000_000));
    limiter.clock().advance(SECOND / 2);
    limiter.shard(0).try_acquire(1).unwrap();
    // The shard has 15, and the root nothing; and then less.
    limiter.shard(1).try_acquire(984).unwrap();
    limiter.clock().rewind(SECOND / 10);
    for permits in 1..=16 {
        let is_there = limiter.peek(permits).is_ok();
        let shard = limiter.shard(0);
        let receipt = shard.try_acquire_revocable(permits);
        assert_eq!(receipt.is_ok(), is_there, "{permits} of 15");
        assert!(receipt.is_err() || receipt.unwrap().give_back());
    }
}

/// Permits that a first try had taken are there for the second.
#[test]
fn permits_to_be_given_back_may_come_from_the_root_and_another_shard() {
    let clock = ManualClock::new();
    let limiter = sharded(quota!(1 / hour, burst 8), 2, &clock);
    drop(limiter.shard(1).lease(3).unwrap());
    limiter.shard(0).try_acquire(3).unwrap();
    let receipt = limiter.shard(0).try_acquire_revocable(5).unwrap();
    assert_eq!((receipt.grant().permits(), receipt.grant().remaining()), (5, 0));
    assert!(limiter.try_acquire(1).is_err());
}

/// Tokens refilled by an early reading into capacity that had tokens until later would be there
/// once more.
#[test]
fn a_caller_that_leases_and_is_held_up_gets_no_more_than_there_was() {
    let limiter = Arc::new(sharded(quota!(1_000 / second), 2, HeldUp::at(0)));
    // Fifteen more are in its shard then.
    assert!(limiter.shard(0).try_acquire(1).is_ok());
    limiter.clock().manual.advance(SECOND);
    let beside = Arc::clone(&limiter);
    limiter.clock().meanwhile(move || {
        beside.clock().manual.advance(SECOND / 10);
        assert!(beside.shard(0).try_acquire(15).is_ok());
    });
    let mut lease = limiter.shard(0).lease(1_000).unwrap();
    let mut granted = 15 + lease.left();
    assert!(lease.spend(lease.left()));
    drop(lease);
    while let Ok(grant) = limiter.try_acquire_up_to(1_000) {
        granted += grant.permits();
    }
    assert!(granted <= 1_000, "{granted}");
}

#[test]
fn up_to_takes_what_is_left_beside_a_lease_that_was_taken_meanwhile() {
    fn lease_after(readings: usize, limiter: &Arc<Sharded<HeldUp>>) {
        let beside = Arc::downgrade(limiter);
        limiter.clock().meanwhile(move || {
            let limiter = beside.upgrade().expect("it is being asked");
            match readings {
                0 => std::mem::forget(limiter.shard(1).lease(60).unwrap()),
                more => lease_after(more - 1, &limiter),
            }
        });
    }
    for reading in 0..4 {
        let quota = quota!(100 / hour);
        let limiter = Arc::new(sharded(quota, 2, HeldUp::at(0)));
        lease_after(reading, &limiter);
        let granted = limiter.shard(0).try_acquire_up_to(100).unwrap().permits();
        let leased = if limiter.clock().has_happened() { 60 } else { 0 };
        assert_eq!(granted, 100 - leased, "after reading {reading}");
    }
}
