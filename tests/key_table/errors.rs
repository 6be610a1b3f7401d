//! Set-ups that no table can be made from, and the errors that name them.

use std::time::Duration;

use sluicegate::*;

use super::{Open, builder};

const TEN: Quota = quota!(10 / second);

#[test]
fn a_table_of_no_keys_or_of_more_than_memory_is_an_error() {
    let clock = ManualClock::new();
    for keys in [0, usize::MAX, usize::MAX / 2, usize::MAX / 25, 1 << 58] {
        let error = builder(TEN, &clock).keys(keys).unwrap_err();
        assert_eq!((error, error.field()), (ConfigError::Keys { keys }, "keys"));
        let rule = "must be from 1 to what memory can be had for";
        assert_eq!(error.to_string(), format!("keys is {keys}: {rule}"));
        assert_eq!(KeyTable::<str>::with_keys(TEN, keys).unwrap_err(), error);
    }
    for bytes in [0, 63, usize::MAX, usize::MAX / 2, usize::MAX / 2 + 1] {
        let error = builder(TEN, &clock).memory(bytes).unwrap_err();
        assert_eq!((error, error.field()), (ConfigError::Memory { bytes }, "memory"));
        let rule = "must be from 64 bytes to what can be had";
        assert_eq!(error.to_string(), format!("memory is {bytes} bytes: {rule}"));
        assert_eq!(KeyTable::<str>::with_memory(TEN, bytes).unwrap_err(), error);
    }
    assert_eq!(builder(TEN, &clock).memory(64).unwrap().occupancy().places, 8);
    assert_eq!(builder(TEN, &clock).memory(127).unwrap().memory_bytes(), 64);
    assert!(builder(TEN, &clock).keys(1).unwrap().memory_bytes() <= 64);
}

#[test]
fn a_quota_that_is_none_for_a_key_is_named_with_what_it_must_be() {
    let clock = ManualClock::new();
    let rows = [
        (
            quota!(1 / second, burst 33_554_433),
            "burst",
            "burst is 33554433: must be from 1 to 2^25 in a table",
        ),
        (
            quota!(1 / second, burst 4_294_967_296),
            "burst",
            "burst is 4294967296: must be from 1 to 2^25 in a table",
        ),
        (
            quota!(134_217_729 / second, burst 1),
            "rate",
            "rate is 134217729 per 1s: must be at most 2^27 permits per second in a table",
        ),
        (
            quota!(1 / 7 ns, burst 1),
            "rate",
            "rate is 1 per 7ns: must be at most 2^27 permits per second in a table",
        ),
        (
            TEN.with_refill(Refill::Interval),
            "refill",
            "refill is Interval: must be smooth in a table",
        ),
    ];
    for (quota, field, text) in rows {
        let first = builder(quota, &clock).keys(10).unwrap_err();
        let second = builder(TEN, &clock).tier(quota).memory(640).unwrap_err();
        for error in [first, second] {
            assert_eq!((error.field(), error.to_string()), (field, text.to_owned()));
        }
    }
    // Even where the size is wrong as well, there is one answer and no panic.
    assert!(builder(rows[0].0, &clock).keys(0).is_err());
}

#[test]
fn tiers_without_a_common_tick_are_an_error_that_names_the_first_of_them() {
    let clock = ManualClock::new();
    let primes = quota!(1_000_003 / second, burst 1_000_000);
    let error = builder(TEN, &clock).tier(TEN).tier(primes).tier(quota!(7 / 36_524 days));
    let error = error.keys(10).unwrap_err();
    assert_eq!((error, error.field()), (ConfigError::Tier { which: 3 }, "tier"));
    assert!(error.to_string().starts_with("tier is number 3: must share a unit of time"));
    // As many as are asked for.
    let many = (1..64).fold(builder(TEN, &clock), |builder, _| builder.tier(TEN));
    assert!(many.keys(10).unwrap().tier(63).is_some());
}

#[test]
fn a_skew_that_no_level_can_tell_from_a_full_key_is_an_error_with_the_most_there_may_be() {
    let clock = ManualClock::new();
    let fast = quota!(134_217_728 / second, burst 1);
    for quota in [TEN, fast, quota!(1 / second, burst 33_554_432)] {
        let error = builder(quota, &clock).skew(Duration::MAX).keys(10).unwrap_err();
        let ConfigError::Skew { skew, most } = error else { panic!("{error:?}") };
        assert_eq!((skew, error.field()), (Duration::MAX, "skew"));
        assert!(most > Duration::from_millis(1) && error.to_string().contains("must be at most"));
        assert!(builder(quota, &clock).skew(most).keys(10).is_ok(), "{most:?} of {quota:?}");
        let more = most + Duration::from_secs(1);
        assert!(builder(quota, &clock).skew(more).keys(10).is_err());
        assert!(builder(quota, &clock).skew(Duration::ZERO).keys(10).is_ok());
    }
}

#[test]
fn a_table_takes_twelve_bytes_a_key_at_most_and_keeps_them() {
    for keys in [10, 1_000, 1_000_000] {
        let clock = ManualClock::new();
        let table = builder(TEN, &clock).keys(keys).unwrap();
        // A line is the least there is.
        assert!(table.memory_bytes() <= 12 * keys + 63, "{} for {keys}", table.memory_bytes());
        assert!(table.occupancy().places >= keys);
        assert_eq!(table.memory_bytes() % 64, 0);
    }
    assert!(size_of::<KeyTable<u64, Open, ManualClock>>() <= 1_024);
}
