//! Debts: what `force` does, and what the other verbs do meanwhile. What is
//! checked:
//!
//! * a debt is as deep as was asked for, up to its limit, and repaid when it said;
//! * while there is one, nothing is granted but 0 permits;
//! * the largest burst and debt are there to the last permit;
//! * a credit lowers a debt, and fills a bucket, but no further.

use std::time::Duration;

use sluicegate::*;

const NANO: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

/// A nanosecond less.
fn just_before(wait: Duration) -> Duration {
    wait.checked_sub(NANO).expect("a wait of some time")
}

fn bucket(quota: Quota, clock: &ManualClock) -> TokenBucket<&ManualClock> {
    TokenBucket::with_clock(quota, clock)
}

#[test]
fn a_forced_debt_is_repaid_before_anything_is_granted() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    let grant = bucket.force(14).unwrap();
    assert_eq!((grant.permits(), grant.remaining()), (14, 0));
    assert_eq!(grant.ready_after(), Duration::from_millis(400));
    assert_eq!(grant.reset_after(), Duration::from_millis(1_400));
    assert_eq!(bucket.try_acquire_up_to(1).unwrap_err().retry_after(), Some(SECOND / 2));
    assert_eq!(bucket.drain().permits(), 0);

    clock.advance(Duration::from_millis(400));
    assert_eq!(bucket.peek(0).unwrap().ready_after(), Duration::ZERO);
    clock.advance(Duration::from_millis(100));
    assert!(bucket.try_acquire(1).is_ok());
}

#[test]
fn a_debt_is_never_deeper_than_its_limit() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second).with_max_debt(5).unwrap(), &clock);
    for permits in [16, 1 << 32, u64::MAX] {
        assert_eq!(bucket.force(permits), Err(Denied::TooLarge { limit: 15, which: 0 }));
    }
    bucket.force(15).unwrap();

    let Err(Denied::Wait(shortfall)) = bucket.force(2) else { panic!("a debt of 7") };
    assert_eq!((shortfall.missing(), shortfall.remaining()), (2, 0));
    assert_eq!(shortfall.retry_after(), Duration::from_millis(200));
    clock.advance(just_before(Duration::from_millis(200)));
    assert!(bucket.force(2).is_err());
    clock.advance(NANO);
    assert!(bucket.force(2).is_ok());
}

#[test]
fn without_debt_force_is_try_acquire() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second).with_max_debt(0).unwrap(), &clock);
    assert!(bucket.force(10).is_ok());
    assert_eq!(bucket.force(1), bucket.try_acquire(1));
    assert_eq!(bucket.force(11), Err(Denied::TooLarge { limit: 10, which: 0 }));
}

#[test]
fn drain_leaves_a_debt_as_it_is() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    bucket.force(13).unwrap();
    assert_eq!(bucket.drain().ready_after(), Duration::from_millis(300));
    assert_eq!(bucket.peek(0).unwrap().ready_after(), Duration::from_millis(300));
}

#[test]
fn zero_permits_are_always_granted_and_change_nothing() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    for forced in [0, 10, 7] {
        bucket.force(forced).unwrap();
        let before = bucket.snapshot();
        let answers =
            [bucket.try_acquire(0), bucket.try_acquire_up_to(0), bucket.peek(0), bucket.force(0)];
        for answer in answers {
            assert_eq!(answer.unwrap().permits(), 0);
        }
        assert_eq!(bucket.snapshot(), before);
    }
    assert_eq!(bucket.peek(0).unwrap().ready_after(), Duration::from_millis(700));
}

#[test]
fn the_largest_burst_and_debt_are_there_to_the_last_permit() {
    let clock = ManualClock::new();
    for rate in [rate!(2_147_483_648 / second), rate!(1 / 36525 days), rate!(3 / second)] {
        let quota = Quota::new(rate).with_burst(Quota::MAX_BURST).unwrap();
        let bucket = bucket(quota.with_max_debt(Quota::MAX_DEBT).unwrap(), &clock);
        assert!(bucket.try_acquire(Quota::MAX_BURST + 1).is_err());
        assert_eq!(bucket.try_acquire(Quota::MAX_BURST - 1).unwrap().remaining(), 1);
        assert_eq!(bucket.try_acquire_up_to(u64::MAX).unwrap().permits(), 1);
        bucket.force(Quota::MAX_DEBT - 1).unwrap();
        bucket.force(1).unwrap();
        assert!(matches!(bucket.force(1), Err(Denied::Wait(_))));
        bucket.reset();
        bucket.force(Quota::MAX_BURST + Quota::MAX_DEBT).unwrap();
    }
}

#[test]
fn a_credit_lowers_a_debt_first_and_stops_at_full() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    bucket.force(14).unwrap();
    bucket.credit(3);
    assert_eq!(bucket.peek(0).unwrap().ready_after(), Duration::from_millis(100));
    bucket.credit(0);
    assert_eq!(bucket.peek(0).unwrap().ready_after(), Duration::from_millis(100));
    bucket.credit(4);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 3);
    bucket.credit(8);
    assert_eq!(bucket.peek(0).unwrap().remaining(), 10);
    assert_eq!(bucket.peek(0).unwrap().reset_after(), Duration::ZERO);
}

#[test]
fn a_credit_of_any_size_fills_the_deepest_debt_and_no_more() {
    let most = Quota::MAX_BURST;
    let quota = quota!(1 / day).with_burst(most).unwrap();
    let quota = quota.with_max_debt(Quota::MAX_DEBT).unwrap();
    for permits in [most + Quota::MAX_DEBT, 1 << 62, 1 << 63, u64::MAX - 1, u64::MAX] {
        let clock = ManualClock::new();
        let bucket = bucket(quota, &clock);
        bucket.force(most + Quota::MAX_DEBT).unwrap();
        bucket.credit(permits);
        assert_eq!(bucket.peek(0).unwrap().remaining(), most, "{permits}");
        assert_eq!(bucket.healed(), 0);
    }
}

#[test]
fn a_credit_keeps_a_part_of_a_permit_and_the_schedule() {
    let clock = ManualClock::new();
    let smooth = bucket(quota!(2 / second), &clock);
    let steps = bucket(quota!(2 / second).with_refill(Refill::Interval), &clock);
    smooth.drain();
    steps.drain();
    clock.advance(Duration::from_millis(300));
    smooth.credit(1);
    steps.credit(1);
    // Six tenths of the second permit are there.
    let wait = |limiter: &dyn Limiter| limiter.peek(2).unwrap_err().retry_after().unwrap();
    assert_eq!(wait(&smooth), Duration::from_millis(200));
    assert_eq!(wait(&steps), Duration::from_millis(700));
}

#[test]
fn a_receipt_of_before_a_credit_gives_nothing_back() {
    let clock = ManualClock::new();
    let bucket = bucket(quota!(10 / second), &clock);
    let receipt = bucket.try_acquire_revocable(4).unwrap();
    bucket.credit(1);
    assert!(!receipt.give_back());
    assert_eq!(bucket.peek(0).unwrap().remaining(), 7);
}

#[test]
fn all_buckets_take_credits() {
    let clock = ManualClock::new();
    let cells = Gcra::with_clock(SECOND, 2 * SECOND, &clock).unwrap();
    assert_eq!(cells.drain().permits(), 3);
    cells.credit(2);
    assert_eq!(cells.peek(0).unwrap().remaining(), 2);
    let meter = LeakyBucket::meter_with_clock(quota!(1 / second, burst 3), &clock);
    meter.try_acquire(3).unwrap();
    meter.credit(2);
    assert_eq!(meter.level(), 1);
    meter.credit(9);
    assert_eq!(meter.level(), 0);
}
