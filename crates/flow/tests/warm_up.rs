//! The limiter that warms up. What is checked:
//!
//! * every request goes when the definition says, in exact fractions, for any rate, time to warm up,
//!   cold factor and calls, and no error accumulates;
//! * the two theorems of `src/warm_up.rs`: never more than the rate lets through and the last request,
//!   and less from the cold;
//! * Guava's property: however the permits are split, it takes as long to warm up (its other cases are
//!   in `tests/conformance.rs`);
//! * a refusal takes nothing, and permits that are given back were never taken;
//! * threads and tasks sleep until their turn, and a clock that goes wrong is survived: nobody is
//!   stranded by one that is set back.

mod random;
mod reference;
mod set_back;
mod turns;

use std::time::Duration;

use proptest::prelude::*;
use sluicegate::wait::AcquireError;
use sluicegate::{Clock, ManualClock, Rate, rate};
use sluicegate_flow::ConfigError;
use sluicegate_flow::warm_up::WarmUp;

use crate::support::cases::cases;

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);
const NANO: Duration = Duration::from_nanos(1);

/// The waits of `count` requests for one permit, each of which comes at the turn of the one before.
fn waits(limiter: &WarmUp<&ManualClock>, count: usize) -> Vec<u64> {
    let wait = || {
        let wait = limiter.reserve(1).unwrap().ready_after();
        limiter.clock().advance(wait);
        wait.as_millis() as u64
    };
    std::iter::repeat_with(wait).take(count).collect()
}

proptest! {
    #![proptest_config(cases(256))]

    /// The rows of Guava's `testTimeToWarmUpIsHonouredEvenWithWeights`: ten permits warm it up.
    #[test]
    fn it_takes_as_long_to_warm_up_however_the_permits_are_split(
        cold_factor in prop::sample::select(vec![2, 3, 10]),
        (permits, seconds) in prop::sample::select(vec![(4, 1), (2, 1), (1, 1), (1, 2), (1, 10)]),
        ends in prop::collection::btree_set(1..10_u64, 0..9),
    ) {
        let rate = Rate::new(permits.into(), seconds * SECOND).unwrap();
        // (1 + cold factor) * 10 / 2 intervals.
        let warm_up = seconds * SECOND * (1 + cold_factor) * 5 / permits;
        let clock = ManualClock::new();
        let limiter =
            WarmUp::with_clock(rate, warm_up, &clock).unwrap().with_cold_factor(cold_factor).unwrap();
        let mut earlier = 0;
        for end in ends.into_iter().chain([10]) {
            let turn = limiter.reserve(end - earlier).unwrap();
            clock.advance(turn.ready_after());
            earlier = end;
        }
        // One more, to pay for the last of them.
        clock.advance(limiter.reserve(1).unwrap().ready_after());
        prop_assert_eq!(u128::from(clock.now_nanos()), warm_up.as_nanos());
    }
}

#[test]
fn it_is_cold_after_as_long_without_load_as_it_takes_to_warm_up() {
    let clock = ManualClock::new();
    let limiter = WarmUp::with_clock(rate!(2 / second), 4 * SECOND, &clock).unwrap();
    assert_eq!((limiter.stored(), limiter.max_stored()), (8, 8));
    // Through the cold part, and twice as fast through the warm one.
    assert_eq!(waits(&limiter, 10), [0, 1_375, 1_125, 875, 625, 500, 500, 500, 500, 500]);
    assert_eq!(limiter.stored(), 0);
    clock.advance(500 * MILLI);
    for stored in 0..=8 {
        assert_eq!(limiter.stored(), stored);
        clock.advance(500 * MILLI);
    }
    assert_eq!(limiter.stored(), 8);
}

#[test]
fn the_next_one_pays_whatever_the_first_took() {
    let limiter = WarmUp::with_clock(rate!(10 / second), SECOND, ManualClock::new()).unwrap();
    // 5 above the threshold cost a second, 5 below it half as much, and 990 more have no discount.
    assert_eq!(limiter.try_acquire(1_000), Ok(()));
    let owed = 100 * SECOND + 500 * MILLI;
    assert_eq!((limiter.ready_after(), limiter.stored()), (owed, 0));
    let refused = AcquireError::TimedOut { retry_after: owed };
    let shorter = owed.checked_sub(NANO).unwrap();
    assert_eq!(limiter.try_acquire(1), Err(refused));
    assert_eq!(limiter.reserve_within(1, shorter).map(drop), Err(refused));
    assert_eq!(limiter.reserve_within(1, shorter).map(drop), Err(refused));
    limiter.clock().advance(shorter);
    assert!(limiter.try_acquire(1).is_err());
    limiter.clock().advance(NANO);
    assert_eq!(limiter.try_acquire(1), Ok(()));
}

#[test]
fn without_a_warm_up_it_goes_at_its_rate_from_the_start() {
    for (warm_up, cold_factor) in [(0, 3), (0, 1_000), (60, 1)] {
        let warm_up = Duration::from_secs(warm_up);
        let limiter = WarmUp::with_clock(rate!(3 / second), warm_up, ManualClock::new());
        let limiter = limiter.unwrap().with_cold_factor(cold_factor).unwrap();
        let turns = [(); 4].map(|()| limiter.reserve(1).unwrap().at_nanos());
        assert_eq!(turns, [0, 333_333_334, 666_666_667, 1_000_000_000]);
        limiter.clock().advance(3_600 * SECOND);
        assert_eq!(limiter.try_acquire(1), Ok(()));
        assert_eq!(limiter.ready_after(), Duration::from_nanos(333_333_334));
    }
}

#[test]
fn requests_for_nothing_are_granted_and_those_for_too_much_are_not() {
    let limiter = WarmUp::with_clock(rate!(1 / second), SECOND, ManualClock::new()).unwrap();
    assert_eq!(limiter.try_acquire(1), Ok(()));
    let wait = limiter.ready_after();
    let nothing = limiter.reserve(0).unwrap();
    assert_eq!((nothing.permits(), nothing.ready_after()), (0, Duration::ZERO));
    assert!(nothing.cancel());
    let too_large = AcquireError::TooLarge { limit: 1 << 32 };
    for permits in [(1 << 32) + 1, u64::MAX] {
        assert_eq!(limiter.try_acquire(permits), Err(too_large));
        assert_eq!(limiter.reserve(permits).map(drop), Err(too_large));
    }
    assert_eq!(limiter.ready_after(), wait);
    assert!(limiter.reserve(1 << 32).is_ok());
}

#[test]
fn the_newest_permits_can_be_given_back_and_then_those_before_them() {
    let clock = ManualClock::new();
    let limiter = WarmUp::with_clock(rate!(2 / second), 4 * SECOND, &clock).unwrap();
    let before = limiter.ready_after();
    let [first, second, third] = [1, 2, 3].map(|permits| limiter.reserve(permits).unwrap());
    assert!(third.cancel() && second.cancel());
    assert_eq!(limiter.ready_after(), 1_375 * MILLI);
    let another = limiter.reserve(1).unwrap();
    assert!(!first.cancel(), "another came after it");
    // As if it had never come, though it is long over.
    clock.advance(20 * SECOND);
    assert!(another.cancel());
    assert_eq!((limiter.ready_after(), limiter.stored()), (before, 8));
    let over = limiter.reserve(1).unwrap();
    clock.advance(20 * SECOND);
    let last = limiter.reserve(1).unwrap();
    assert!(!over.cancel(), "it is paid for");
    limiter.set_rate(rate!(1 / second));
    assert!(!last.cancel(), "the rate was changed");
}

#[test]
fn a_change_of_the_rate_keeps_what_was_told_and_how_cold_it_is() {
    let clock = ManualClock::new();
    let limiter = WarmUp::with_clock(rate!(2 / second), 4 * SECOND, &clock).unwrap();
    let told = [(); 2].map(|()| limiter.reserve(1).unwrap());
    // 6 of 8.
    assert_eq!((limiter.stored(), limiter.ready_after()), (6, 2_500 * MILLI));
    for rate in [rate!(4 / second), rate!(200 / second), rate!(2 / second), rate!(4 / second)] {
        limiter.set_rate(rate);
        assert_eq!((limiter.rate(), limiter.ready_after()), (rate, 2_500 * MILLI));
        assert_eq!(4 * limiter.stored(), 3 * limiter.max_stored());
    }
    assert_eq!(told.map(|turn| turn.wait_left()), [Duration::ZERO, 1_375 * MILLI]);
    // 4 above the threshold, where permits cost 0.5 s, and 0.25 s in the end.
    assert_eq!(waits(&limiter, 6), [2_500, 468, 406, 343, 281, 250]);
    assert_eq!((limiter.warm_up(), limiter.cold_factor()), (4 * SECOND, 3));
}

#[test]
fn a_rate_that_changes_all_the_time_adds_no_time_of_its_own() {
    let clock = ManualClock::new();
    let limiter = WarmUp::with_clock(rate!(3 / second), SECOND, &clock).unwrap();
    let _first = limiter.reserve(1).unwrap();
    limiter.set_rate(rate!(7 / second));
    let (owed, stored) = (limiter.ready_after(), limiter.stored());
    for turn in 0..if cfg!(miri) { 50 } else { 1_000_u64 } {
        limiter.set_rate(Rate::new(1 + turn % 13, SECOND * 2).unwrap());
    }
    limiter.set_rate(rate!(7 / second));
    assert_eq!((limiter.ready_after(), limiter.stored()), (owed, stored));
}

#[test]
fn the_largest_of_everything_overflows_nothing() {
    let slowest = Rate::new(1, Rate::MAX_PERIOD).unwrap();
    let fastest = Rate::per_second(Rate::MAX_PER_SECOND).unwrap();
    let odd =
        Rate::new(Rate::MAX_PERMITS - 5, Rate::MAX_PERIOD.checked_sub(NANO).unwrap()).unwrap();
    let coprime = Rate::new(Rate::MAX_PERMITS - 5, Duration::from_nanos(2_000_000_011)).unwrap();
    for now_nanos in [0, 1, u64::MAX - 1, u64::MAX] {
        for rates in [[slowest, fastest], [odd, coprime], [coprime, odd], [coprime, slowest]] {
            let clock = ManualClock::at(now_nanos);
            let limiter = WarmUp::with_clock(rates[0], WarmUp::MAX_WARM_UP, &clock).unwrap();
            let limiter = limiter.with_cold_factor(WarmUp::MAX_COLD_FACTOR).unwrap();
            for rate in rates.into_iter().cycle().take(6) {
                assert!(limiter.stored() <= limiter.max_stored());
                limiter.set_rate(rate);
                let before = limiter.ready_after();
                if let Ok(turn) = limiter.reserve(WarmUp::MAX_PERMITS) {
                    assert!(turn.at_nanos() >= now_nanos);
                    assert!(limiter.ready_after() > before);
                }
            }
            clock.set_nanos(u64::MAX);
            let _ = (limiter.ready_after(), limiter.stored(), limiter.reserve(1).is_ok());
            clock.set_nanos(0);
            let healed = limiter.healed();
            assert!(limiter.try_acquire(1).is_ok());
            assert_eq!(limiter.healed(), healed + 1);
        }
    }
}

#[test]
fn every_limit_of_the_terms_is_allowed_and_one_beyond_it_is_named() {
    let made = |warm_up, cold_factor| {
        let limiter = WarmUp::with_clock(rate!(1 / second), warm_up, ManualClock::new())?;
        limiter.with_cold_factor(cold_factor).map(drop)
    };
    assert_eq!(made(WarmUp::MAX_WARM_UP, WarmUp::MAX_COLD_FACTOR), Ok(()));
    assert_eq!(made(Duration::ZERO, 1), Ok(()));
    let texts = [
        (
            made(WarmUp::MAX_WARM_UP + NANO, 3),
            "warm_up is 86400.000000001s: must be from 0 to 24 hours",
        ),
        (
            made(Duration::MAX, 3),
            "warm_up is 18446744073709551615.999999999s: must be from 0 to 24 hours",
        ),
        (made(SECOND, 0), "cold_factor is 0: must be from 1 to 1000"),
        (made(SECOND, 1_001), "cold_factor is 1001: must be from 1 to 1000"),
    ];
    for (made, text) in texts {
        let error = made.unwrap_err();
        assert_eq!(error.to_string(), text);
        assert!(["warm_up", "cold_factor"].contains(&error.field()));
    }
    let error = ConfigError::ColdFactor { cold_factor: 0 };
    assert_eq!(made(SECOND, 0), Err(error));
}

#[test]
fn a_limiter_is_shown_for_people() {
    let limiter = WarmUp::with_clock(rate!(2 / second), 4 * SECOND, ManualClock::new()).unwrap();
    let shown = |stored, ready_after| {
        let terms = r#"rate: "2 / second", warm_up: 4s, cold_factor: 3"#;
        format!("WarmUp {{ {terms}, stored: {stored}, ready_after: {ready_after} }}")
    };
    limiter.clock().advance(7 * SECOND);
    assert_eq!(format!("{limiter:?}"), shown(8, "0ns"));
    let _first = limiter.reserve(1).unwrap();
    assert_eq!(format!("{limiter:?}"), shown(7, "1.375s"));
    limiter.clock().rewind(4 * SECOND);
    assert_eq!((format!("{limiter:?}"), limiter.healed()), (shown(7, "1.375s"), 0));
    limiter.clock().advance(4 * SECOND);
    let turn = limiter.reserve(2).unwrap();
    let shown = "Scheduled { permits: 2, at_nanos: 8375000000, .. }";
    assert_eq!(format!("{turn:?}"), shown);
}

#[test]
fn requests_that_keep_to_what_they_are_told_miss_nothing_of_the_rate() {
    let requests = if cfg!(miri) { 100 } else { 10_000 };
    // Two in a nanosecond, and three a second.
    let thirds = u64::div_ceil(requests * 1_000_000_000, 3);
    for (rate, nanos) in [(rate!(2 / ns), requests / 2), (rate!(3 / second), thirds)] {
        let clock = ManualClock::new();
        let limiter = WarmUp::with_clock(rate, Duration::ZERO, &clock).unwrap();
        for _ in 0..requests {
            clock.advance(limiter.ready_after());
            assert_eq!(limiter.try_acquire(1), Ok(()));
        }
        clock.advance(limiter.ready_after());
        assert_eq!(clock.now_nanos(), nanos);
    }
}
