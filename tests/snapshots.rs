//! Snapshots that anybody may have written: none of them breaks a limiter, fills it above its burst or leaves it deeper in
//! debt than it allows. What a snapshot restores is in `properties.rs`.

use std::time::Duration;

use sluicegate::bucket::Snapshot;
use sluicegate::*;

const NANO: Duration = Duration::from_nanos(1);
const SECOND: Duration = Duration::from_secs(1);

type Bucket<'a> = TokenBucket<&'a ManualClock>;

fn interval(quota: Quota) -> Quota {
    quota.with_refill(Refill::Interval)
}

/// A snapshot as anybody may write it.
fn written(balance: i64, token: u64, phase_nanos: u64, part: u64) -> Snapshot {
    let mut bytes = [1; Snapshot::LEN];
    bytes[1..9].copy_from_slice(&balance.to_le_bytes());
    bytes[9..17].copy_from_slice(&token.to_le_bytes());
    bytes[17..25].copy_from_slice(&phase_nanos.to_le_bytes());
    bytes[25..33].copy_from_slice(&part.to_le_bytes());
    Snapshot::from_bytes(bytes).unwrap()
}

#[test]
fn a_restored_limiter_is_at_most_full_and_at_most_at_its_deepest() {
    let clock = ManualClock::new();
    for quota in [
        quota!(10 / second).with_max_debt(4).unwrap(),
        interval(quota!(10 / second).with_max_debt(4).unwrap()),
        quota!(3 / second, burst 10).with_max_debt(4).unwrap(),
    ] {
        let bucket = Bucket::with_clock(quota, &clock);
        let tokens = [1, u64::MAX, 2, 1 << 29, u64::MAX / 2];
        for token in &tokens[..if cfg!(miri) { 1 } else { tokens.len() }] {
            for balance in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX] {
                for phase_nanos in [0, 1, u64::MAX] {
                    for away in [Duration::ZERO, NANO, Duration::MAX] {
                        bucket.restore(&written(balance, *token, phase_nanos, phase_nanos), away);
                        let held = bucket.peek(0).unwrap();
                        assert!(held.remaining() <= 10);
                        // To the deepest: at most 4 tokens, which are two steps.
                        assert!(held.ready_after() <= 2 * SECOND, "{held:?}");
                        assert!(bucket.force(1).is_ok() || held.ready_after() > Duration::ZERO);
                        assert_eq!(bucket.healed(), 0);
                    }
                }
            }
        }
        bucket.restore(&written(i64::MIN, u64::MAX, 0, 0), Duration::ZERO);
        assert!(bucket.try_acquire(1).is_err());
        bucket.restore(&written(i64::MAX, 1, u64::MAX, u64::MAX), Duration::MAX);
        assert_eq!(bucket.drain().permits(), 10);
    }
}

/// A restored debt was a second's worth deeper than the quota allows.
#[test]
fn a_restored_debt_is_within_a_limit_of_none() {
    let clock = ManualClock::new();
    let quota = quota!(100 / second).with_max_debt(0).unwrap();
    let bucket = Bucket::with_clock(quota, &clock);
    bucket.restore(&written(i64::MIN, 1, 0, 0), Duration::ZERO);
    assert_eq!(bucket.peek(0).unwrap().ready_after(), Duration::ZERO);
}

/// A debt and what was earned were each cut to the range of an `i64`, and then
/// made up for each other.
#[test]
fn a_debt_that_no_time_away_can_repay_is_still_there() {
    let clock = ManualClock::new();
    let decade = Rate::new(1, 3_652 * 86_400 * SECOND).unwrap();
    let bucket = Bucket::with_clock(Quota::new(decade).with_max_debt(1).unwrap(), &clock);
    bucket.restore(&written(-(1 << 32), 1, 0, 0), Duration::MAX);
    assert_eq!(bucket.peek(0).unwrap().ready_after(), decade.period());
}

#[test]
fn a_snapshot_of_a_debt_has_nothing_remaining() {
    let clock = ManualClock::new();
    let bucket = Bucket::with_clock(quota!(10 / second), &clock);
    assert_eq!(bucket.snapshot().remaining(), 10);
    bucket.force(13).unwrap();
    assert_eq!(bucket.snapshot().remaining(), 0);
    assert_eq!(written(-1, 1, 0, 0).remaining(), 0);
    assert_eq!(written(i64::MIN, 7, 0, 0).remaining(), 0);
}
