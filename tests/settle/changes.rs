//! Changes of a bucket beside estimates: what was given back before one, and what could be, ends with it.

use std::time::Duration;

use sluicegate::bucket::{Carry, SettleableBucket, Snapshot};
use sluicegate::*;

use super::{remaining, ten};

#[test]
fn a_change_of_the_terms_ends_what_was_given_back_and_what_could_be() {
    let clock = ManualClock::new();
    for carry in [Carry::Keep, Carry::Scale] {
        for quota in [
            quota!(10 / second, burst 9),
            quota!(20 / second),
            quota!(4 / second, burst 7),
            quota!(7 / 3 seconds),
        ] {
            let bucket = ten(&clock);
            let early = bucket.try_acquire_settleable(4).unwrap();
            let late = bucket.try_acquire_settleable(6).unwrap();
            early.settle(0).unwrap();
            bucket.reconfigure(quota, carry);
            assert_eq!(remaining(&bucket), 0, "{quota} {carry:?}");
            late.settle(0).unwrap();
            assert_eq!(remaining(&bucket), 0, "{quota} {carry:?}");
            assert!(bucket.try_acquire(1).is_err());
            // What comes after it is as before.
            clock.advance(Duration::from_secs(100));
            bucket.drain();
            clock.advance(quota.rate().period() / 2);
            let early = bucket.try_acquire_settleable(1).unwrap();
            bucket.drain();
            early.settle(0).unwrap();
            assert_eq!(remaining(&bucket), 1, "{quota} {carry:?}");
        }
    }
}

/// Whatever it changes, and if it is nothing.
#[test]
fn every_change_ends_what_was_given_back_and_what_can_be() {
    type Change = fn(&SettleableBucket<&ManualClock>);
    let changes: [(Change, u64); 4] = [
        (|bucket| bucket.credit(1), 4),
        (|bucket| bucket.reconfigure(quota!(10 / second), Carry::Keep), 3),
        (|bucket| bucket.restore(&half(), Duration::ZERO), 5),
        (|bucket| bucket.reset(), 10),
    ];
    for (change, left) in changes {
        let clock = ManualClock::new();
        let bucket = ten(&clock);
        let early = bucket.try_acquire_settleable(4).unwrap();
        let open = bucket.try_acquire_settleable(3).unwrap();
        let late = bucket.try_acquire_settleable(3).unwrap();
        early.settle(0).unwrap();
        // The word falls, from a level that no later one may repeat.
        late.settle(0).unwrap();
        assert_eq!(remaining(&bucket), 7);
        change(&bucket);
        assert_eq!(remaining(&bucket), left);
        open.settle(0).unwrap();
        assert_eq!(bucket.drain().permits(), left);
        assert!(bucket.try_acquire(1).is_err());
    }
}

/// Returns a snapshot of a bucket of ten with five left.
fn half() -> Snapshot {
    let clock = ManualClock::new();
    let bucket = ten(&clock);
    bucket.try_acquire(5).unwrap();
    bucket.snapshot()
}
