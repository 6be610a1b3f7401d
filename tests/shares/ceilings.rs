//! The memory of ceilings: bounded, whatever names are made up, and never in want for a tenant with a place.

use std::time::Duration;

use sluicegate::share::{Share, ShareGrant, Shares};
use sluicegate::*;

const NAMES: u64 = if cfg!(miri) { 1_200 } else { 20_000 };

/// Ten places; a ceiling that takes years to be full again.
fn shares(clock: &ManualClock) -> Shares<u64, &ManualClock> {
    let share = Share::new(quota!(1 / day, burst 1)).with_tenants(10);
    let share = share.with_ceiling(quota!(1 / day, burst 1_000));
    Shares::with_clock(quota!(100_000_000 / second, burst 1_000_000), [share], clock).unwrap()
}

/// Ten tenants take the places, and strangers borrow a permit each. Returns how many were refused.
fn fill(shares: &Shares<u64, &ManualClock>) -> u64 {
    for tenant in 0..10 {
        assert!(shares.try_acquire(0, &tenant, 1).unwrap().is_assured());
    }
    let mut refused = 0;
    for stranger in 0..NAMES {
        match shares.try_acquire(0, &(1_000 + stranger), 1) {
            Ok(granted) => assert!(granted.is_borrowed()),
            Err(denied) => {
                assert!(matches!(denied, Denied::Full { .. }), "{denied:?}");
                refused += 1;
            }
        }
    }
    refused
}

#[test]
fn the_memory_of_ceilings_is_bounded_whatever_names_are_made_up() {
    let clock = ManualClock::new();
    let shares = shares(&clock);
    // A thousand ceilings besides those of the places.
    assert_eq!(fill(&shares), NAMES - 1_000);
    assert!(shares.memory_bytes() < 200_000, "{}", shares.memory_bytes());
}

#[test]
fn a_tenant_with_a_place_borrows_up_to_its_ceiling_whatever_names_have_been_made_up() {
    let clock = ManualClock::new();
    let shares = shares(&clock);
    // One that is known by its ceiling, and goes to it.
    let mut taken = 0;
    while shares.try_acquire(0, &5, 1).is_ok() {
        taken += 1;
    }
    assert_eq!(taken, 999, "an assured permit is left");
    clock.advance(Duration::from_secs(86_400));
    fill(&shares);
    // Others have not borrowed yet, and their ceilings find memory.
    for tenant in (0..10).filter(|&tenant| tenant != 5) {
        let mut borrowed = 0;
        while let Ok(ShareGrant::Borrowed(_)) = shares.try_acquire(0, &tenant, 1) {
            borrowed += 1;
        }
        assert_eq!(borrowed, 998, "{tenant}");
    }
    // A tenant that takes a place by and by finds some too.
    clock.advance(Duration::from_secs(86_400));
    assert!(shares.try_acquire(0, &77, 1).unwrap().is_assured());
    assert!(shares.try_acquire(0, &77, 1).unwrap().is_borrowed());
    // And those that lack much are not the ones that are forgotten.
    let denied = shares.try_acquire(0, &5, 20).unwrap_err();
    assert!(matches!(denied, Denied::Wait(_)), "{denied:?}");
}
