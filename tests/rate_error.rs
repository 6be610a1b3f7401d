//! The error of the admitted rate against the rate that was asked for. The rates are
//! those at which an integer number of nanoseconds per token, a float of seconds
//! since the start, or a remainder dropped at each refill go wrong: by 11 % at
//! 300 million a second, 67 % of the rate at 3 per 2 seconds. What is checked, for
//! each of them:
//!
//! * over a hundred years, a caller that takes all gets the rate, to 1 in 10^12;
//!   in fact what is admitted is the exact product, rounded down;
//! * polling at awkward periods loses nothing, at the start of a limiter's life
//!   and at its end;
//! * idle years neither lose nor add a token.

use std::time::Duration;

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;
use sluicegate::*;

use crate::support::reference::{Plan, whole};

const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY + DAY / 4;

/// Permits and periods, from 1 in 100 years to 2^31 a second.
const RATES: &[(u64, u64)] = &[
    (1, 100 * YEAR),
    (1, YEAR),
    (1, 30 * DAY),
    (7, 30 * DAY),
    (1, 7 * DAY),
    (3, 7 * DAY),
    (1, DAY),
    (11, DAY),
    (1_000, DAY),
    (1, HOUR),
    (5_000, HOUR),
    (100, MINUTE),
    (7, MINUTE),
    (500, 15 * MINUTE),
    (1, SECOND),
    (3, 2 * SECOND),
    (3, SECOND),
    (7, SECOND),
    (30, SECOND),
    (1_000, SECOND),
    (7_919, SECOND),
    (44_100, SECOND),
    (999_983, SECOND),
    (3_000_000, SECOND),
    (7, 1_000),
    (100_000_007, SECOND),
    (300_000_000, SECOND),
    (600_000_000, SECOND),
    (900_000_000, SECOND),
    (999_999_937, SECOND),
    (1_000_000_007, SECOND),
    (1_500_000_000, SECOND),
    (2_000_000_000, SECOND),
    (2_147_483_647, SECOND),
    (1 << 31, SECOND),
    (1 << 32, 3 * SECOND),
];

/// Full after two years or after 2^32, whichever is first.
fn quota(permits: u64, period_nanos: u64) -> Quota {
    let rate = Rate::new(permits, Duration::from_nanos(period_nanos)).unwrap();
    let two_years = u128::from(permits) * u128::from(2 * YEAR) / u128::from(period_nanos);
    let burst = two_years.clamp(2, 1 << 32) as u64;
    Quota::new(rate).with_burst(burst).unwrap().with_max_debt(0).unwrap()
}

/// Takes all there is `times` times, `step_nanos` apart, and sums it up.
fn greedy(bucket: &TokenBucket<&ManualClock>, times: u64, step_nanos: u64) -> u64 {
    let take = || {
        bucket.clock().advance_nanos(step_nanos);
        bucket.try_acquire_up_to(u64::MAX).map_or(0, |grant| grant.permits())
    };
    (0..times).map(|_| take()).sum()
}

/// Asserts that `admitted` is what there must be between two times, from empty: to the unit.
fn assert_exact(plan: &Plan, from_nanos: u64, to_nanos: u64, admitted: u64) {
    let accrued = |nanos: u64| plan.accrued(&BigInt::from(nanos));
    let tokens = (accrued(to_nanos) - accrued(from_nanos)) / &plan.token;
    assert_eq!(admitted, whole(&tokens), "from {from_nanos} to {to_nanos} ns: {plan:?}");
}

#[test]
fn over_a_hundred_years_the_rate_is_exact() {
    let rates = if cfg!(miri) { &RATES[..3] } else { RATES };
    for &(permits, period_nanos) in rates {
        let quota = quota(permits, period_nanos);
        let plan = Plan::of_quota(quota);
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(quota, &clock);
        let spare = u128::from(quota.burst() - 1);
        let fills_in = spare * u128::from(period_nanos) / u128::from(permits);

        // All is taken before the burst, less the part of a token that is left each
        // time, can overflow. Throughout the hundred years if
        // that takes few enough steps, and else at the start of each year.
        let step_nanos = (fills_in as u64).min(YEAR) - 7;
        let steps = 100 * YEAR / step_nanos;
        let (spells, steps) = if steps <= 100_000 { (1, steps) } else { (100, 1_000) };
        let (mut admitted, mut spent_nanos) = (0, BigInt::ZERO);
        for year in 0..spells {
            clock.set_nanos(year * YEAR);
            bucket.drain();
            let taken = greedy(&bucket, steps, step_nanos);
            assert_exact(&plan, year * YEAR, clock.now_nanos(), taken);
            admitted += taken;
            spent_nanos += clock.now_nanos() - year * YEAR;
        }
        let asked = BigRational::new(spent_nanos * permits, period_nanos.into());
        let error = (&asked - BigRational::from(BigInt::from(admitted))).abs();
        // What has not added up to a token by the end of a spell is no error.
        let error = (error - BigRational::from(BigInt::from(spells))) / asked;
        let allowed = BigRational::new(1.into(), 1_000_000_000_000_u64.into());
        assert!(error <= allowed, "{permits} per {period_nanos} ns: {error} off");
    }
}

#[test]
fn polling_at_awkward_periods_loses_nothing() {
    let polls = if cfg!(debug_assertions) { 30_000 } else { 300_000 };
    for &(permits, period_nanos) in RATES {
        for start_nanos in [0, 98 * YEAR + 1] {
            for step_nanos in [1, 7, 1_999, 119_999] {
                let quota = quota(permits, period_nanos);
                let plan = Plan::of_quota(quota);
                let clock = ManualClock::new();
                let bucket = TokenBucket::with_clock(quota, &clock);
                // Idle years, in four parts: the word reaches no further.
                bucket.drain();
                for quarter in 1..=4 {
                    clock.set_nanos(start_nanos / 4 * quarter);
                    let earned = plan.accrued(&BigInt::from(start_nanos / 4)) / &plan.token;
                    assert_eq!(bucket.drain().permits(), whole(&earned).min(quota.burst()));
                }
                let start_nanos = clock.now_nanos();
                let taken = greedy(&bucket, polls, step_nanos);
                assert_exact(&plan, start_nanos, clock.now_nanos(), taken);
            }
        }
    }
}

#[test]
fn one_at_a_time_is_admitted_at_the_very_nanosecond() {
    for &(permits, period_nanos) in RATES {
        let plan = Plan::of_quota(quota(permits, period_nanos));
        let clock = ManualClock::new();
        let bucket = TokenBucket::with_clock(quota(permits, period_nanos), &clock);
        bucket.drain();
        let most = (98 * YEAR / period_nanos).saturating_mul(permits).min(1_000);
        for token in 1..=most {
            let due = whole(&plan.time_of(&(&plan.token * token)));
            if let Some(before) = due.checked_sub(1).filter(|time| *time >= clock.now_nanos()) {
                clock.set_nanos(before);
                // More than one may come in a nanosecond.
                let early = bucket.try_acquire(1).is_ok();
                assert!(!early, "token {token} of {permits} per {period_nanos} ns");
            }
            clock.set_nanos(due);
            assert!(bucket.try_acquire(1).is_ok(), "token {token} of {permits} per {period_nanos}");
        }
    }
}
