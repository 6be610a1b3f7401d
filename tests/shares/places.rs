//! Places of large groups: as many tenants as there are places have their shares, whichever they are. And the memory of
//! ceilings: bounded, whatever names are made up, and never in want for a tenant with a place.

use std::time::Duration;

use sluicegate::share::{Share, ShareGrant, Shares};
use sluicegate::*;

const fn unless_miri(number: u64, few: u64) -> u64 {
    if cfg!(miri) { few } else { number }
}

/// Shares of a group with so many places, each for a permit a second, and nothing to borrow.
fn group(places: u64, clock: &ManualClock) -> Shares<u64, &ManualClock> {
    let all = Quota::new(Rate::new(places, Duration::from_secs(1)).unwrap()).with_burst(places);
    let share = Share::new(quota!(1 / second, burst 1)).with_tenants(places as usize);
    Shares::with_clock(all.unwrap(), [share], clock).unwrap()
}

#[test]
fn a_place_is_found_in_a_large_group_if_a_single_one_is_free() {
    let clock = ManualClock::new();
    let places = unless_miri(4_000, 40);
    let shares = group(places, &clock);
    // Each tenant asks once, and is full again a second later: just when there are as many others as places.
    let pace = Duration::from_secs(1) / places as u32;
    for tenant in 0..3 * places {
        let answer = shares.try_acquire(0, &tenant, 1);
        assert!(answer.is_ok_and(ShareGrant::is_assured), "{tenant}: {answer:?}");
        clock.advance(pace);
    }
    assert_eq!(shares.tenants(0) as u64, places);
}

#[test]
fn a_tenant_for_which_there_is_no_place_is_told_when_there_is_one() {
    let clock = ManualClock::new();
    let places = unless_miri(2_000, 40);
    let shares = group(places, &clock);
    let pace = Duration::from_micros(1);
    for tenant in 0..places {
        shares.try_acquire(0, &tenant, 1).unwrap();
        clock.advance(pace);
    }
    // The first of them, in whichever shard, is full a second after it asked.
    let left = Duration::from_secs(1).saturating_sub(pace * places as u32);
    for stranger in [1 << 40, 2 << 40, 3 << 40] {
        let denied = shares.try_acquire(0, &stranger, 1).unwrap_err();
        assert_eq!(denied, Denied::Full { retry_after: left });
    }
    clock.advance(left);
    assert!(shares.try_acquire(0, &(1 << 40), 1).unwrap().is_assured());
    let denied = shares.try_acquire(0, &(2 << 40), 1).unwrap_err();
    assert_eq!(denied, Denied::Full { retry_after: pace }, "the second one is next");
}

#[test]
fn tenants_that_ask_again_keep_their_places_and_others_find_the_rest() {
    let clock = ManualClock::new();
    let places = unless_miri(3_000, 40);
    let shares = group(places, &clock);
    // All but one place are of tenants that are never full for long; in the last one, others take turns.
    let faithful = places - 1;
    for second in 0..4 {
        for tenant in 0..faithful {
            assert!(shares.try_acquire(0, &tenant, 1).unwrap().is_assured(), "{tenant}");
        }
        for stranger in 0..50 {
            let name = (second * 50 + stranger + 1) << 40;
            let granted = shares.try_acquire(0, &name, 1);
            assert_eq!(granted.is_ok(), stranger == 0, "{granted:?} in second {second}");
        }
        clock.advance(Duration::from_secs(1));
    }
}

const NAMES: u64 = 20_000;

/// Ten places; a ceiling that takes years to be full again.
fn with_ceiling(clock: &ManualClock) -> Shares<u64, &ManualClock> {
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
    let shares = with_ceiling(&clock);
    // A thousand ceilings besides those of the places.
    assert_eq!(fill(&shares), NAMES - 1_000);
    assert!(shares.memory_bytes() < 200_000, "{}", shares.memory_bytes());
}

#[test]
fn a_tenant_with_a_place_borrows_up_to_its_ceiling_whatever_names_have_been_made_up() {
    let clock = ManualClock::new();
    let shares = with_ceiling(&clock);
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
