//! Clocks that go back and jump ahead, and readings that are old.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::share::{Share, ShareGrant, Shares};
use sluicegate::*;

use crate::support::cases::cases;

const START: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;

fn shares(clock: &ManualClock) -> Shares<u64, &ManualClock> {
    let share = Share::new(quota!(10 / second, burst 5)).with_tenants(2);
    let limited =
        Share::new(quota!(10 / second, burst 5)).with_ceiling(quota!(20 / second, burst 10));
    Shares::with_clock(quota!(100 / second, burst 40), [share, limited], clock).unwrap()
}

fn take_all(shares: &Shares<u64, &ManualClock>) -> u64 {
    [(0, 1), (0, 2), (1, 3)]
        .into_iter()
        .map(|(group, tenant)| {
            (0..1_000).take_while(|_| shares.try_acquire(group, &tenant, 1).is_ok()).count() as u64
        })
        .sum()
}

#[test]
fn a_clock_that_goes_back_by_less_than_a_second_gives_nothing_anew() {
    let clock = ManualClock::at(START);
    let shares = shares(&clock);
    assert_eq!(take_all(&shares), 35);
    clock.set_nanos(START - SECOND / 2);
    assert_eq!(take_all(&shares), 0);
    clock.set_nanos(START + SECOND / 10);
    assert_eq!(take_all(&shares), 3, "one of each share");
    assert_eq!(shares.healed(), 0);
}

#[test]
fn a_clock_that_goes_back_by_hours_starts_all_from_full() {
    let clock = ManualClock::at(START);
    let shares = shares(&clock);
    assert_eq!(take_all(&shares), 35);
    clock.set_nanos(START - 7_200 * SECOND);
    for tenant in [1, 2] {
        assert!(shares.try_acquire(0, &tenant, 5).unwrap().is_assured());
    }
    // The first that would borrow finds the common bucket so, which is full from then on: all but what is kept,
    // and the third share.
    assert_eq!(take_all(&shares), 25 + 5);
    assert!(shares.healed() > 0);
}

#[test]
fn a_clock_that_goes_back_by_seconds_assures_shares_and_lends_when_it_has_caught_up() {
    let clock = ManualClock::at(START);
    let shares = shares(&clock);
    // Later than where it goes back to: a bucket that is older than the clock starts anew.
    clock.advance(Duration::from_secs(3_600));
    let now_nanos = clock.now_nanos();
    assert_eq!(take_all(&shares), 35);
    clock.set_nanos(now_nanos - 10 * SECOND);
    assert!(shares.try_acquire(0, &1, 5).unwrap().is_assured());
    let denied = shares.try_acquire(0, &1, 1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(100)), "of the share");
    assert!(shares.try_acquire(9, &1, 1).is_err());
    clock.set_nanos(now_nanos + SECOND);
    assert!(shares.try_acquire(9, &1, 1).unwrap().is_borrowed());
}

#[test]
fn a_clock_that_jumps_ahead_fills_every_bucket_once() {
    let clock = ManualClock::at(START);
    let shares = shares(&clock);
    for ahead in [1, 60, 86_400, 50 * 31_557_600_u64] {
        take_all(&shares);
        clock.advance(Duration::from_secs(ahead));
        assert_eq!(take_all(&shares), 35, "after {ahead} s");
    }
}

#[test]
fn a_clock_that_goes_back_and_on_for_ever_neither_panics_nor_refuses_a_share_for_long() {
    let clock = ManualClock::at(START);
    // The largest numbers.
    let quota = quota!(4_294_967_296 / 2 seconds);
    let shares = Shares::<u64, _>::with_clock(quota, [Share::new(quota)], &clock).unwrap();
    for round in 0..2_000 {
        assert!(shares.try_acquire(0, &1, 1 << 32).unwrap().is_assured(), "round {round}");
        clock.set_nanos(if round % 2 == 0 { START - 20 * SECOND } else { START });
        shares.try_acquire(7, &1, 1).ok();
    }
}

/// An ask by a reading of so long ago.
type Ask = (u64, u64, usize, u64, u64);

proptest! {
    #![proptest_config(cases(20_000))]

    /// The rates have no exact units, and readings are up to half a second old.
    #[test]
    fn all_together_stay_within_the_bound_and_no_share_is_refused_whatever_is_rounded(
        rates in [(3..90_u64, 7..5_000_000_u64, 1..9_u64), (3..90_u64, 7..5_000_000_u64, 1..9_u64)],
        more in (0..9_u64, 0..30_u64),
        is_late in any::<bool>(),
        asks in vec((0..3_000_000_u64, 0..500_000_000_u64, 0..3_usize, 0..2_u64, 0..7_u64), 1..80),
    ) {
        assert_bounded(&rates, more, is_late, &asks)?;
    }
}

fn assert_bounded(
    rates: &[(u64, u64, u64); 2],
    (more_rate, more_burst): (u64, u64),
    is_late: bool,
    asks: &[Ask],
) -> Result<(), TestCaseError> {
    let clock = ManualClock::at(START);
    let one = Rate::new(rates[0].0, Duration::from_nanos(rates[0].1 * 1_000)).unwrap();
    let two = Rate::new(rates[1].0, Duration::from_nanos(rates[1].1 * 1_000)).unwrap();
    let assured = [(one, rates[0].2), (two, rates[1].2)]
        .map(|(rate, burst)| Quota::new(rate).with_burst(burst).unwrap());
    // Two tenants in each group. A rate in 7 ms that covers them, and more.
    let sum = [one, two].map(|rate| {
        (2 * u128::from(rate.permits()) * 7_000_000).div_ceil(rate.period().as_nanos()) as u64
    });
    let all = Rate::new(sum[0] + sum[1] + more_rate, Duration::from_millis(7));
    let kept = 2 * (rates[0].2 + rates[1].2);
    let quota = Quota::new(all.unwrap()).with_burst(kept + more_burst).unwrap();
    let shares = assured.map(|assured| Share::new(assured).with_tenants(2));
    let engine = Shares::<u64, _>::with_clock(quota, shares, &clock).unwrap();

    // In parts of a permit: of the common period, and of each tenant's. Exact.
    let (rate, period) = (i128::from(quota.rate().permits()), 7_000_000_i128);
    let mut level = -i128::from(quota.burst()) * period;
    let mut own = [[None::<i128>; 2]; 2];
    let mut oldest = 0;
    for &(nanos, age, group, tenant, permits) in asks {
        clock.advance_nanos(nanos);
        let now_nanos = clock.now_nanos();
        let age = if is_late { age.min(now_nanos - START) } else { 0 };
        oldest = oldest.max(age);
        clock.set_nanos(now_nanos - age);
        let answer = engine.try_acquire(group, &tenant, permits);
        clock.set_nanos(now_nanos);
        let (now, age) = (i128::from(now_nanos - START), i128::from(age));
        if let Some(share) = shares.get(group) {
            let share = share.assured();
            let burst = i128::from(share.burst());
            let (gain, length) =
                (i128::from(share.rate().permits()), share.rate().period().as_nanos() as i128);
            let level = &mut own[group][tenant as usize];
            let spent = level.unwrap_or(-burst * length).max(gain * (now - age) - burst * length);
            // More than a unit above what is asked for: it has to be assured.
            let has_to = gain * (now - age - 2) - spent >= i128::from(permits) * length;
            let is_assured = answer.is_ok_and(ShareGrant::is_assured);
            prop_assert!(is_assured || !has_to, "{answer:?} for {permits} of {group}, {tenant}");
            if is_assured {
                *level = Some(spent + i128::from(permits) * length);
            }
        }
        if answer.is_ok() {
            // As of the instant at which it is granted; the reading may be older.
            level = level
                .max(rate * (now - i128::from(oldest)) - i128::from(quota.burst()) * period)
                + i128::from(permits) * period;
        }
        let late = now + i128::from(oldest) + 2;
        prop_assert!(level <= rate * late, "{} too many", (level - rate * late) / period);
    }
    prop_assert_eq!(engine.healed(), 0);
    Ok(())
}
