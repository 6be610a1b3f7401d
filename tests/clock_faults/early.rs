//! Clocks that read before the origin of a limiter, which is when it was made, or when its
//! rate last changed. It earns nothing until then, so every wait is longer by that time: and
//! it is the least that suffices all the same. Of limiters of one word, `properties.rs` says so.

use std::time::Duration;

use sluicegate::*;

const SECOND: u64 = 1_000_000_000;
const NANO: Duration = Duration::from_nanos(1);

fn quotas() -> [Quota; 4] {
    let quota = quota!(10 / second, burst 3);
    let steps = quota!(7 / 3 seconds, burst 11).with_refill(Refill::Interval);
    [quota, quota!(7_919 / second, burst 40), quota.with_refill(Refill::Interval), steps]
}

#[test]
fn a_wait_that_shards_name_before_they_were_made_is_the_least_that_suffices() {
    for quota in quotas() {
        for early_nanos in [1, 2, 999, SECOND / 2, SECOND - 1, SECOND] {
            let clock = ManualClock::at(100 * SECOND);
            let sharded = Sharded::builder(quota).shards(2).clock(&clock).build().unwrap();
            while sharded.try_acquire_up_to(u64::MAX).is_ok() {}
            clock.set_nanos(100 * SECOND - early_nanos);
            let wait = sharded.try_acquire(1).unwrap_err().retry_after().unwrap();
            clock.advance(wait.saturating_sub(NANO));
            let denied = sharded.try_acquire(1).unwrap_err();
            assert_eq!(denied.retry_after(), Some(NANO));
            clock.advance(NANO);
            assert!(sharded.try_acquire(1).is_ok());
        }
    }
}

#[test]
fn it_does_so_for_every_key() {
    for quota in quotas() {
        let clock = ManualClock::at(100 * SECOND);
        let keyed = Keyed::with_clock(quota, &clock);
        keyed.try_acquire(&7_u64, quota.burst()).unwrap();
        clock.rewind(Duration::from_millis(500));
        let wait = keyed.try_acquire(&7, 1).unwrap_err().retry_after().unwrap();
        assert_eq!(keyed.peek(&7, 1).unwrap_err().retry_after(), Some(wait));
        clock.advance(wait.saturating_sub(NANO));
        assert!(keyed.try_acquire(&7, 1).is_err());
        clock.advance(NANO);
        assert!(keyed.try_acquire(&7, 1).is_ok());
    }
}

/// A receipt puts back the level from before, of a time when it was full already; one that is only
/// as full as when the permits were taken would deny a clock that is behind.
#[test]
fn a_full_bucket_is_as_full_for_a_clock_that_is_behind_after_a_grant_was_given_back() {
    for quota in quotas() {
        let clock = ManualClock::at(100 * SECOND);
        let bucket = TokenBucket::with_clock(quota, &clock);
        clock.advance_nanos(60 * SECOND);
        assert!(bucket.try_acquire_revocable(2).unwrap().give_back());
        clock.rewind(Duration::from_millis(900));
        assert_eq!(bucket.peek(0).unwrap().remaining(), quota.burst());
        assert!(bucket.try_acquire(quota.burst()).is_ok());
        assert_eq!(bucket.healed(), 0);
    }
}

#[test]
fn a_clock_at_the_other_end_of_its_range_is_waited_for_and_nothing_overflows() {
    for quota in quotas() {
        let clock = ManualClock::at(u64::MAX);
        let bucket = TokenBucket::with_clock(quota, &clock);
        clock.set_nanos(0);
        // More than a second early: a grant heals nothing, so it still counts from the origin.
        let wait = bucket.try_acquire(1).unwrap().reset_after();
        assert!(wait > Duration::from_nanos(u64::MAX), "{wait:?}");
        let late = TokenBucket::with_clock(quota, &clock);
        late.try_acquire(1).unwrap();
        assert_eq!(wait, late.peek(0).unwrap().reset_after() + Duration::from_nanos(u64::MAX));
    }
}
