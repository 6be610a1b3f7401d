//! Quotas and amounts at the ends of their ranges, and how exact the answers are there.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::*;

use super::exact::{Exact, Said};
use super::{SECOND, often, one_line, table};

/// Slow, fast, small, large, and such as no power of two or ten divides.
pub(crate) fn quotas() -> [Quota; 12] {
    [
        quota!(1 / 36_525 days, burst 1),
        quota!(1 / 36_525 days, burst 33_554_432),
        quota!(1 / second, burst 1),
        quota!(1 / second, burst 33_554_432),
        quota!(134_217_728 / second, burst 1),
        quota!(134_217_728 / second, burst 33_554_432),
        quota!(7 / second),
        quota!(1_000 / day),
        quota!(3 / ms),
        quota!(999_983 / 61 seconds, burst 77_777),
        quota!(1 / 7_919 us, burst 3),
        quota!(4_294_967_296 / 9_999 days, burst 1_000),
    ]
}

#[test]
fn a_denied_key_is_granted_after_the_wait_that_it_was_told_and_not_a_nanosecond_before() {
    let mut random = SmallRng::seed_from_u64(1);
    for quota in quotas() {
        let clock = ManualClock::at(random.random_range(0..1 << 40));
        let table = table(quota, &clock);
        // Not for longer than the clock of a table goes.
        for key in 0..often(60) {
            let burst = quota.burst();
            table.try_acquire(&key, random.random_range(1..=burst)).unwrap();
            table.try_acquire_up_to(&key, burst).ok();
            clock.advance_nanos(random.random_range(0..100));
            let permits = random.random_range(1..=burst.min(4));
            let Err(denied) = table.try_acquire(&key, permits) else { continue };
            let wait = u64::try_from(denied.retry_after().unwrap().as_nanos()).unwrap();
            if clock.now_nanos() + wait > 1 << 61 {
                break;
            }
            clock.advance_nanos(wait - 1);
            assert!(table.try_acquire(&key, permits).is_err(), "{quota:?}: {wait} ns is too long");
            clock.advance_nanos(1);
            assert!(table.try_acquire(&key, permits).is_ok(), "{quota:?}: {wait} ns is too short");
        }
    }
}

#[test]
fn a_key_that_waits_as_long_as_it_is_told_is_full_then_and_not_before() {
    for quota in &quotas()[2..] {
        let clock = ManualClock::at(5);
        let table = table(*quota, &clock);
        let full_after = table.try_acquire(&1, quota.burst()).unwrap().reset_after();
        let entry = table.iter().next().unwrap();
        // In whole ticks from now, of which some part may have passed.
        assert_eq!(entry.full_after(), full_after);
        let nanos = u64::try_from(full_after.as_nanos()).unwrap();
        if nanos < 1 << 61 {
            clock.advance_nanos(nanos - 1);
            assert_eq!(table.peek(&1, 0).unwrap().remaining(), quota.burst() - 1);
            clock.advance_nanos(1);
            assert_eq!(table.peek(&1, 0).unwrap().remaining(), quota.burst());
            assert_eq!((table.iter().count(), table.occupancy().expired), (0, 1));
        }
    }
}

#[test]
fn every_quota_in_range_is_kept_to_the_permit() {
    for quota in quotas() {
        let clock = ManualClock::at(u64::MAX / 2);
        let table = one_line(quota, &clock);
        assert_eq!((table.quota().rate(), table.quota().burst()), (quota.rate(), quota.burst()));
        assert_eq!(table.try_acquire(&1, quota.burst()).unwrap().remaining(), 0);
        assert!(table.try_acquire(&1, 1).is_err());
        let too_large = Denied::TooLarge { limit: quota.burst(), which: 0 };
        assert_eq!(table.try_acquire(&1, quota.burst() + 1), Err(too_large));
        assert_eq!(table.try_acquire(&2, u64::MAX), Err(too_large));
        assert_eq!(table.try_acquire_up_to(&2, u64::MAX).unwrap().permits(), quota.burst());
    }
}

#[test]
fn levels_come_again_after_the_wrap_period_and_not_before() {
    for quota in quotas() {
        let clock = ManualClock::new();
        let table = one_line(quota, &clock);
        let wrap = table.wrap_period();
        let full_after = table.try_acquire(&1, quota.burst()).unwrap().reset_after();
        // So much longer than anything that counts.
        let longer = wrap.as_nanos() / full_after.as_nanos();
        assert!(longer >= 1_023 || wrap == Duration::MAX, "{longer} times");
        assert!(wrap >= Duration::from_secs(250));
        let Ok(nanos) = u64::try_from(wrap.as_nanos()) else { continue };
        for quarters in 1..=40 {
            clock.advance_nanos(nanos / 4 + 1);
            if clock.now_nanos() > 1 << 61 {
                break;
            }
            table.sweep();
            assert_eq!(table.occupancy().live, 0, "after {quarters} quarters");
            assert_eq!(table.try_acquire(&1, quota.burst()).unwrap().remaining(), 0);
            assert!(table.try_acquire(&1, 1).is_err());
        }
    }
}

#[test]
fn a_month_of_random_steps_admits_what_the_rate_times_the_month_is_to_the_permit() {
    const MONTH: u64 = 30 * 86_400 * SECOND;
    let small = [quota!(7 / second), quota!(1_000 / day), quota!(3 / ms)];
    // What it takes a month to spend in some hundred steps.
    let large = [
        quota!(7 / second, burst 100_000),
        quota!(1_000 / day, burst 400),
        quota!(3 / ms, burst 33_554_432),
    ];
    for quota in small.into_iter().chain(large) {
        let mut random = SmallRng::seed_from_u64(2);
        let clock = ManualClock::at(123_456_789);
        let table = table(quota, &clock);
        let mut exact = Exact::new(&[quota], clock.now_nanos());
        let period_nanos = quota.rate().period().as_nanos();
        // No step lets a key fill, with a part of a permit there: nothing is lost.
        let most = period_nanos * u128::from(quota.burst() - 1);
        let most = most / u128::from(quota.rate().permits());
        let most = u64::try_from(most).unwrap();
        let (mut elapsed, mut admitted) = (0_u64, [quota.burst(); 3]);
        for key in 0..3 {
            let said = Said::from(table.try_acquire(&key, quota.burst()));
            assert_eq!(said, exact.acquire(0, key, quota.burst()));
        }
        for step in 0..often(8_000) {
            let nanos = random.random_range(0..most).min(MONTH - elapsed);
            elapsed += nanos;
            clock.advance_nanos(nanos);
            exact.at(clock.now_nanos());
            for (key, admitted) in (0..).zip(&mut admitted) {
                let answer = table.try_acquire_up_to(&key, u64::MAX);
                *admitted += answer.map_or(0, |grant| grant.permits());
                assert_eq!(Said::from(answer), exact.up_to(0, key, u64::MAX), "step {step}");
            }
        }
        let earned = u128::from(elapsed) * u128::from(quota.rate().permits()) / period_nanos;
        for admitted in admitted {
            let most = u128::from(quota.burst()) + earned;
            assert!(large.contains(&quota) <= (elapsed == MONTH));
            assert!((most - 1..=most).contains(&u128::from(admitted)), "{admitted} of {most}");
        }
    }
}

#[test]
fn nothing_is_rounded_away_at_any_time_of_a_long_life() {
    // A century of it; a key starts anew here and there, and lasts for some thousand steps.
    for quota in [quota!(7 / second), quota!(1_000 / day), quota!(3 / ms)] {
        let mut random = SmallRng::seed_from_u64(3);
        let clock = ManualClock::new();
        let table = table(quota, &clock);
        let mut exact = Exact::new(&[quota], 0);
        for key in 0..often(40) {
            clock.set_nanos(random.random_range(0..40 * 365 * 86_400 * SECOND));
            // What another time has left is not of this one.
            (0..=key).for_each(|key| {
                table.remove(&key);
                exact.remove(key);
            });
            let key = 1_000 + key;
            for _ in 0..200 {
                clock.advance_nanos(random.random_range(0..2 * SECOND));
                exact.at(clock.now_nanos());
                let permits = random.random_range(1..=3);
                let said = Said::from(table.try_acquire(&key, permits));
                assert_eq!(said, exact.acquire(0, key, permits));
            }
        }
    }
}
