//! Shares that take the place of others.

use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use sluicegate::bucket::Carry;
use sluicegate::share::{Share, Shares};
use sluicegate::*;

use crate::support::cases::cases;

type Tested<'a> = Shares<u64, &'a ManualClock>;

/// Returns random shares, and the quota for all.
fn random<'a>(random: &mut SmallRng, clock: &'a ManualClock) -> (Tested<'a>, Quota) {
    let groups = random.random_range(1..4);
    let shares: Vec<Share> = (0..groups)
        .map(|_| {
            let (rate, burst) = (random.random_range(1..20), random.random_range(1..20));
            let share = Share::new(quota(rate, burst)).with_tenants(random.random_range(1..5));
            let (more, higher) = (random.random_range(0..20), random.random_range(0..20));
            let is_limited = random.random_ratio(1, 3);
            if is_limited { share.with_ceiling(quota(rate + more, burst + higher)) } else { share }
        })
        .collect();
    let sum = |of: fn(Quota) -> u64| -> u64 {
        shares.iter().map(|share| share.tenants() as u64 * of(share.assured())).sum()
    };
    let rate = sum(|quota| quota.rate().permits()) + random.random_range(0..20);
    let burst = sum(Quota::burst) + random.random_range(0..40);
    let all = quota(rate, burst);
    (Shares::with_clock(all, shares, clock).unwrap(), all)
}

fn quota(per_second: u64, burst: u64) -> Quota {
    let rate = Rate::new(per_second, Duration::from_secs(1)).unwrap();
    Quota::new(rate).with_burst(burst).unwrap()
}

/// Asks for a few permits of some tenant. Returns the tenant, the permits and whether they were granted.
fn ask(random: &mut SmallRng, shares: &Tested<'_>) -> (usize, u64, u64, bool) {
    let (group, tenant) = (random.random_range(0..3), random.random_range(0..4));
    let permits = random.random_range(1..12);
    let is_granted = shares.try_acquire(group, &(tenant + 10 * group as u64), permits).is_ok();
    (group, tenant, permits, is_granted)
}

#[test]
fn shares_that_take_the_place_of_others_grant_what_those_had_left_and_no_tenant_is_refused_its_part()
 {
    for seed in 0..u64::from(cases(200).cases) {
        let mut dice = SmallRng::seed_from_u64(seed);
        let clock = ManualClock::new();
        let (before, _) = random(&mut dice, &clock);
        for _ in 0..dice.random_range(0..60) {
            ask(&mut dice, &before);
            clock.advance(Duration::from_millis(dice.random_range(0..60)));
        }
        let (now, all) = random(&mut dice, &clock);
        let whole = TokenBucket::with_clock(all, &clock);
        whole.restore(&before.snapshot(), Duration::ZERO);
        now.restore(&before.snapshot(), Duration::ZERO);

        let left = whole.peek(0).unwrap().remaining();
        let bursts = (0..3).filter_map(|group| now.share(group));
        let of_all: u64 =
            bursts.map(|share| share.tenants() as u64 * share.assured().burst()).sum();
        let parts: Vec<Vec<TokenBucket<&ManualClock>>> = (0..3)
            .map_while(|group| now.share(group))
            .map(|share| {
                let part = (share.assured().burst() * left / of_all).min(share.assured().burst());
                let own = |_| {
                    let own = TokenBucket::with_clock(share.assured(), &clock);
                    own.reconfigure(share.assured().with_burst(part.max(1)).unwrap(), Carry::Reset);
                    if part == 0 {
                        own.reconfigure(share.assured(), Carry::Empty);
                    }
                    own.reconfigure(share.assured(), Carry::Keep);
                    own
                };
                (0..share.tenants()).map(own).collect()
            })
            .collect();
        let (start, mut granted) = (Clock::now_nanos(&&clock), 0);
        for _ in 0..200 {
            let (group, tenant, permits, is_granted) = ask(&mut dice, &now);
            let own = parts.get(group).and_then(|tenants| tenants.get(tenant as usize));
            // Those that come first have the places.
            let is_assured = own.is_some_and(|own| own.try_acquire(permits).is_ok());
            if now.share(group).is_some_and(|share| share.tenants() >= 4) {
                assert!(is_granted || !is_assured, "seed {seed}");
            }
            granted += if is_granted { permits } else { 0 };
            let earned = u128::from(Clock::now_nanos(&&clock) - start)
                * u128::from(all.rate().permits())
                / 1_000_000_000;
            assert!(u128::from(granted) <= u128::from(left) + earned + 1, "seed {seed}");
            clock.advance(Duration::from_millis(dice.random_range(0..30)));
        }
    }
}

#[test]
fn shares_are_whole_if_enough_is_left_for_all() {
    let clock = ManualClock::new();
    let of = |tenants| {
        let share = Share::new(quota(10, 10)).with_tenants(tenants);
        Shares::<u64, _>::with_clock(quota(100, 100), [share], &clock).unwrap()
    };
    let before = of(2);
    before.try_acquire(0, &1, 50).unwrap();
    let now = of(5);
    now.restore(&before.snapshot(), Duration::ZERO);
    let is_whole = |tenant| now.try_acquire(0, &tenant, 10).unwrap().is_assured();
    assert!((0..5).all(is_whole));
    assert!(now.try_acquire(0, &0, 1).is_err());
}
