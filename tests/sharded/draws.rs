//! The size of refills (draws), as seen from outside: a permit that a shard has is granted
//! without the clock being read, and one that needs a refill is not.

use proptest::prelude::*;
use sluicegate::*;

use super::{cases, sharded, shards};
use crate::support::any;
use crate::support::counted::Counted;

/// A quota of `burst` that never earns while the clock stands.
fn burst_of(burst: u64) -> Quota {
    Quota::new(rate!(1 / second)).with_burst(burst).unwrap()
}

/// Returns the size of a refill by the table in the documentation of `Sharded`.
fn draw_of(in_root: u64, shards: usize, last: u64) -> u64 {
    let share = in_root / 4 / shards as u64;
    if share < 4 { 1 } else { share.min(1_024).min(2 * last.max(8)) }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn draws_are_large_far_from_the_limit_and_nothing_near_it(
        burst in any::sized(1 << 16),
        shards in shards(),
    ) {
        let burst = burst.max(1);
        let clock = Counted::at(0);
        let limiter = sharded(burst_of(burst), shards, &clock);
        let shard = limiter.shard(1);
        let (mut drawn, mut last) = (0, 0);
        for there in (1..=burst).rev() {
            let (grant, readings) = clock.readings(|| shard.try_acquire(1).unwrap());
            if drawn == 0 {
                prop_assert!((1..=3).contains(&readings), "{there} of {burst}: {readings}");
                last = draw_of(there, shards, last);
                drawn = last;
            } else {
                prop_assert_eq!(readings, 0, "{} of {}", there, burst);
            }
            drawn -= 1;
            prop_assert!(grant.remaining() < there && grant.limit() == burst);
        }
        prop_assert!(shard.try_acquire(1).is_err());
    }

    #[test]
    fn a_burst_of_less_than_16_permits_for_each_shard_is_never_split(
        parts in 1..16_u64,
        shards in shards(),
    ) {
        let clock = Counted::at(0);
        let burst = parts * shards as u64;
        let limiter = sharded(burst_of(burst), shards, &clock);
        for index in 0..burst {
            let (grant, readings) = clock.readings(|| limiter.shard(index as usize).try_acquire(1));
            prop_assert_eq!(grant.unwrap().remaining(), burst - index - 1, "all that is there");
            prop_assert_eq!(readings, 1);
        }
    }
}

#[test]
fn one_call_in_1_024_reads_the_clock_while_all_shards_are_far_from_the_limit() {
    let clock = Counted::at(0);
    let limiter = sharded(burst_of(1 << 20), 4, &clock);
    let permits = if cfg!(miri) { 1_500 } else { 1 << 19 };
    let ((), readings) = clock.readings(|| {
        for index in 0..permits {
            limiter.shard(index % 4).try_acquire(1).unwrap();
        }
    });
    // A later refill reads the clock before and after the capacity is in transit. The first
    // refills are of 16, 32, ... 512.
    let draws = (permits as u64).div_ceil(1_024) + 4 * 6;
    assert!(readings <= 2 * draws, "{readings} readings for {draws} draws");
}

#[test]
fn what_one_shard_has_drawn_is_there_for_a_request_by_any_other() {
    for shards in [2, 4, 8, 256] {
        let limiter = sharded(burst_of(1_000_000), shards, ManualClock::new());
        for index in 0..shards {
            limiter.shard(index).try_acquire(1).unwrap();
        }
        let left = 1_000_000 - shards as u64;
        assert_eq!(limiter.peek(0).unwrap().remaining(), left);
        // All shards have some of it.
        limiter.shard(1).try_acquire(left).unwrap();
        assert!(limiter.shard(0).try_acquire(1).is_err());
    }
}

#[test]
fn a_shard_draws_twice_as_much_each_time_and_tells_what_it_has_left() {
    let limiter = sharded(burst_of(1 << 20), 2, ManualClock::new());
    let shard = limiter.shard(0);
    for drawn in [16, 32, 64, 128, 256, 512, 1_024, 1_024] {
        shard.try_acquire(1).unwrap();
        assert_eq!(shard.try_acquire(1).unwrap().remaining(), drawn - 2);
        assert_eq!(shard.try_acquire(drawn - 2).unwrap().remaining(), 0);
    }
}

/// Returns the number of readings that 600 grants make of the clock beside a lease of 5,000, if
/// `refused` permits are asked for before each.
fn readings_beside(refused: Option<u64>) -> u64 {
    let clock = Counted::at(0);
    let limiter = sharded(quota!(1_000 / second, burst 15_000), 4, &clock);
    let held = limiter.shard(1).lease(5_000).unwrap();
    assert_eq!(held.left(), 5_000);
    let mut sum = 0;
    for _ in 0..600 {
        if let Some(permits) = refused {
            let denied = limiter.shard(0).try_acquire(permits).unwrap_err();
            assert_eq!(denied.retry_after(), None, "{denied}");
        }
        let (grant, readings) = clock.readings(|| limiter.shard(0).try_acquire(1));
        assert!(grant.is_ok());
        sum += readings;
    }
    sum
}

/// No capacity that is released would do for it.
#[test]
fn a_request_that_no_wait_will_do_for_takes_no_room_from_the_shards() {
    let alone = readings_beside(None);
    assert_eq!(readings_beside(Some(20_000)), alone, "more than the burst");
    assert_eq!(readings_beside(Some(14_000)), alone, "more than is left beside the lease");
}
