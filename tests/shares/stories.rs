//! Stories with a few tenants, and hostile uses.

use std::time::Duration;

use sluicegate::share::{Share, ShareGrant, Shares};
use sluicegate::*;

/// Takes one permit at a time until none is granted. Returns how many were assured, and how many lent.
fn drain(shares: &Shares<u64, &ManualClock>, group: usize, tenant: u64) -> (u64, u64) {
    let mut taken = (0, 0);
    loop {
        match shares.try_acquire(group, &tenant, 1) {
            Ok(ShareGrant::Assured(_)) => taken.0 += 1,
            Ok(ShareGrant::Borrowed(_)) => taken.1 += 1,
            Err(_) => return taken,
        }
    }
}

#[test]
fn what_is_idle_is_lent_and_a_steady_tenant_gets_its_share() {
    let clock = ManualClock::new();
    // 12 in each tick of a millisecond.
    let shares = Shares::with_clock(
        quota!(12_000 / second, burst 32),
        [
            Share::new(quota!(2_000 / second, burst 4)),
            Share::new(quota!(3_000 / second, burst 6)),
            Share::new(quota!(5_000 / second, burst 10)),
        ],
        &clock,
    )
    .unwrap();
    let (mut greedy, mut steady, ticks) = (0, 0, 4_000);
    for _ in 0..ticks {
        clock.advance(Duration::from_millis(1));
        for _ in 0..3 {
            let granted = shares.try_acquire(1, &1, 1).unwrap();
            assert!(granted.is_assured());
            steady += 1;
        }
        let (assured, lent) = drain(&shares, 0, 0);
        greedy += assured + lent;
    }
    // All of the rate, and the burst that may be lent at first.
    assert_eq!(steady, 3 * ticks);
    assert!((9 * ticks..=9 * ticks + 16).contains(&greedy), "{greedy}");
}

#[test]
fn a_tenant_that_comes_back_has_its_share_at_once_and_owes_nothing() {
    let clock = ManualClock::new();
    let share = Share::new(quota!(10 / second, burst 5)).with_tenants(2);
    let shares = Shares::with_clock(quota!(100 / second, burst 60), [share], &clock).unwrap();
    assert_eq!(drain(&shares, 0, 1), (5, 45), "leaves the bursts of both");
    assert_eq!(drain(&shares, 0, 2), (5, 0), "is assured, though all that is lent is taken");
    // A second later the borrower has its share again, whatever it has borrowed.
    clock.advance(Duration::from_secs(1));
    assert_eq!(drain(&shares, 0, 1).0, 5);
    assert_eq!(drain(&shares, 0, 2).0, 5);
}

#[test]
fn a_tenant_of_no_group_only_borrows() {
    let clock = ManualClock::new();
    let share = Share::new(quota!(10 / second, burst 5));
    let shares = Shares::with_clock(quota!(10 / second, burst 8), [share], &clock).unwrap();
    for group in [1, 2, usize::MAX] {
        assert!(shares.try_acquire(group, &1, 1).unwrap().is_borrowed());
    }
    let denied = shares.try_acquire(1, &1, 1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(Duration::from_millis(100)));
    assert_eq!(shares.peek(1, &1, 4).unwrap_err(), Denied::TooLarge { limit: 3, which: 0 });
    assert_eq!((shares.share(1), shares.tenants(1)), (None, 0));
}

#[test]
fn no_permits_are_always_granted_and_too_many_never() {
    let clock = ManualClock::new();
    let share = Share::new(quota!(10 / second, burst 5)).with_ceiling(quota!(10 / second, burst 6));
    let free = Share::new(quota!(10 / second, burst 3));
    let shares =
        Shares::<u64, _>::with_clock(quota!(20 / second, burst 10), [share, free], &clock).unwrap();
    for group in [0, 1, 9] {
        assert_eq!(shares.try_acquire(group, &1, 0).unwrap().permits(), 0);
        drain(&shares, group, 1);
        assert_eq!(shares.try_acquire(group, &1, 0).unwrap().permits(), 0);
        assert_eq!(shares.peek(group, &1, 0).unwrap().permits(), 0);
        for permits in [u64::MAX, u64::MAX - 1, 1 << 63, 1 << 32, 11] {
            let limit = [5, 3, 2][group.min(2)];
            let large = Denied::TooLarge { limit, which: 0 };
            assert_eq!(shares.try_acquire(group, &1, permits).unwrap_err(), large);
            assert_eq!(shares.peek(group, &1, permits).unwrap_err(), large);
        }
    }
    assert_eq!(shares.tenants(0) + shares.tenants(1), 2);
}

#[test]
fn one_tenant_may_have_everything() {
    let clock = ManualClock::new();
    let quota = quota!(10 / second, burst 20);
    let shares = Shares::with_clock(quota, [Share::new(quota)], &clock).unwrap();
    assert!(shares.try_acquire(1, &2, 1).is_err(), "nothing is ever lent");
    assert_eq!(drain(&shares, 0, 1), (20, 0));
    clock.advance(Duration::from_millis(500));
    assert_eq!(drain(&shares, 0, 1), (5, 0));
}

#[test]
fn a_tenant_that_calls_itself_by_many_names_gets_no_more_than_the_places() {
    let clock = ManualClock::new();
    let shares = Shares::with_clock(
        quota!(100 / second, burst 20),
        [Share::new(quota!(10 / second, burst 3)).with_tenants(3), Share::new(quota!(1 / second))],
        &clock,
    )
    .unwrap();
    let mut taken = (0, 0);
    for name in 0..10_000 {
        let (assured, lent) = drain(&shares, 0, name);
        taken = (taken.0 + assured, taken.1 + lent);
        assert!(shares.tenants(0) <= 3);
    }
    assert_eq!(taken, (9, 7), "three bursts, and what the first one leaves above all bursts");
    let denied = shares.try_acquire(0, &99_999, 1).unwrap_err();
    assert!(matches!(denied, Denied::Wait(_)), "{denied:?}");
    // The other group's tenant has its share all the same.
    assert_eq!(drain(&shares, 1, 0), (1, 0));
    // A place is free when a tenant is full again.
    clock.advance(Duration::from_millis(300));
    assert!(shares.try_acquire(0, &99_999, 3).unwrap().is_assured());
}

#[test]
fn a_million_tenants_have_a_share_each_and_those_that_are_idle_take_no_place() {
    let asked = if cfg!(miri) { 100 } else { 1 << 16 };
    let clock = ManualClock::new();
    let share = Share::new(quota!(1 / second, burst 1)).with_tenants(1 << 20);
    let shares = Shares::<u64, _>::with_clock(quota!(1_048_576 / second), [share], &clock).unwrap();
    for tenant in 0..asked {
        assert!(shares.try_acquire(0, &tenant, 1).unwrap().is_assured());
        assert!(shares.try_acquire(0, &tenant, 1).is_err(), "all of the burst is for shares");
    }
    assert_eq!(shares.tenants(0) as u64, asked);
    clock.advance(Duration::from_secs(1));
    assert_eq!(shares.sweep() as u64, asked);
    assert_eq!(shares.tenants(0), 0);
}

#[test]
fn a_change_that_does_not_fit_changes_nothing() {
    let clock = ManualClock::new();
    let share = Share::new(quota!(10 / second, burst 5));
    let limited = share.with_ceiling(quota!(20 / second, burst 10));
    let quota = quota!(30 / second, burst 12);
    let shares = Shares::<u64, _>::with_clock(quota, [share, limited], &clock).unwrap();
    let refused = |quota: Quota, new: &[Share]| {
        shares.reconfigure(quota, new.iter().copied()).unwrap_err().to_string()
    };
    let cases: [(Quota, &[Share], &str); 6] = [
        (quota, &[share], "number of quotas is 1 for 2 tiers: must be the number of tiers"),
        (quota, &[], "count is 0: must be from 1 to 64"),
        (
            quota,
            &[share, share],
            "group is number 1: must keep its number of tenants, and have a ceiling if and only if it had one",
        ),
        (
            quota,
            &[share.with_tenants(1), limited.with_tenants(2)],
            "assured burst is 15 for all tenants together: must be at most 12, the burst for all",
        ),
        (
            quota!(19 / second, burst 12),
            &[share, limited],
            "assured rate is 20 per 1s for all tenants together: must be at most 19, the rate for all",
        ),
        (
            quota.with_refill(Refill::Interval),
            &[share, limited],
            "refill is Interval: must be smooth in shares",
        ),
    ];
    for (quota, new, text) in cases {
        assert_eq!(refused(quota, new), text);
    }
    assert_eq!(
        (shares.quota(), shares.share(0), shares.share(1)),
        (quota, Some(share), Some(limited))
    );
    assert_eq!(drain(&shares, 1, 1), (5, 0));
    assert_eq!(drain(&shares, 0, 1), (5, 0));
}

#[test]
fn shares_show_their_numbers() {
    let clock = ManualClock::new();
    let share = Share::new(quota!(10 / second, burst 5));
    let shares = Shares::<u64, _>::with_clock(quota!(30 / second), [share], &clock).unwrap();
    let shown = format!("{shares:?}");
    assert!(shown.starts_with("Shares { quota: \"30 / second\", shares: [Share {"), "{shown}");
}

#[test]
fn a_name_can_be_given_in_any_borrowed_form() {
    let share = Share::new(quota!(1 / hour)).with_tenants(2);
    let shares = Shares::<String>::new(quota!(10 / hour, burst 2), [share]).unwrap();
    assert!(shares.try_acquire(0, "ada", 1).unwrap().is_assured());
    assert!(shares.try_acquire(0, &"ada".to_owned(), 1).is_err());
}
