//! The ends of what can be asked for, and of what a window can hold.

use std::time::Duration;

use sluicegate::compose::All;
use sluicegate::window::{MultiWindow, WeightedLog};
use sluicegate::*;

use super::subject::{KINDS, drain};
use super::{CENTURY, DAY, MINUTE, SECOND};

/// A log would need gigabytes for some of the limits; those are errors.
#[test]
fn every_limit_fits_every_window_or_is_an_error_that_says_what_would() {
    let limits = [1, 2, 3, 100, 65_536, (1 << 24) - 1, (1 << 24) + 1, (1 << 32) - 1, 1 << 32];
    let windows = [1, 2, 3, 1_000, 1_000_000, SECOND, MINUTE, DAY, CENTURY / 2];
    let (mut made, mut refused) = (0, 0);
    for (limit, window_nanos) in limits.into_iter().flat_map(|a| windows.map(|b| (a, b))) {
        let Ok(rate) = Rate::new(limit, Duration::from_nanos(window_nanos)) else { continue };
        for kind in KINDS {
            let is_log = kind.name.ends_with("Log");
            if is_log && limit == (1 << 24) - 1 {
                continue;
            }
            let clock = ManualClock::at(7 * DAY);
            let at = format!("{}, {limit} in {window_nanos} ns", kind.name);
            match (kind.make)(rate, &clock) {
                Ok(window) => {
                    made += 1;
                    assert_eq!((drain(&*window), window.count()), (limit, limit), "{at}");
                    let wait = window.try_acquire(1).unwrap_err().retry_after().unwrap();
                    assert!(wait <= kind.longest(rate), "{at}: {wait:?}");
                    clock.advance(wait);
                    assert!(window.try_acquire(1).is_ok(), "{at}: not after {wait:?}");
                }
                Err(error @ ConfigError::Limit { max, .. }) => {
                    refused += 1;
                    assert!(kind.name != "WeightedLog" && max > 0 && max < limit, "{at}: {max}");
                    let range = format!("must be from 1 to {max} for this window");
                    assert_eq!(error.to_string(), format!("limit is {limit}: {range}"));
                }
                Err(error @ ConfigError::Capacity { .. }) => {
                    refused += 1;
                    assert!(kind.name == "WeightedLog" && limit > 1 << 24, "{at}");
                    assert!(error.to_string().starts_with(&format!("capacity is {limit}: must ")));
                }
                Err(other) => panic!("{at}: {other}"),
            }
        }
    }
    assert!(made > 400 && refused >= 30, "{made} made, {refused} refused");
}

/// Ticks of a nanosecond, of which a clock may be a billion behind or ahead, take 32 of 61 bits;
/// a count of twice the limit has the others.
#[test]
fn a_limit_leaves_the_bits_that_tell_how_far_a_clock_was_set_back() {
    let period = Duration::from_millis(250);
    let make = |limit| {
        let limits = [rate!(2 / ns), Rate::new(limit, period).unwrap()];
        MultiWindow::with_slots(limits, 1, ManualClock::at(SECOND)).map(drop)
    };
    let max = (1 << 28) - 1;
    assert_eq!(make(max), Ok(()));
    assert_eq!(make(max + 1), Err(ConfigError::Limit { limit: max + 1, max }));
}

#[test]
fn the_largest_limit_of_each_window_is_the_one_that_its_error_names() {
    for kind in KINDS.iter().filter(|kind| !kind.name.ends_with("Log")) {
        for window_nanos in [1_000, 1_000_000, SECOND, 2 * SECOND] {
            let period = Duration::from_nanos(window_nanos);
            let fastest = (window_nanos << 31) / SECOND;
            let clock = ManualClock::new();
            let make = |limit| (kind.make)(Rate::new(limit, period).unwrap(), &clock);
            if let Err(ConfigError::Limit { max, .. }) = make(fastest) {
                assert!(make(max).is_ok(), "{}: {max}", kind.name);
                assert!(make(max + 1).is_err(), "{}: {max}", kind.name);
            }
        }
    }
}

#[test]
fn set_ups_out_of_range_are_errors_that_name_the_field_the_value_and_the_range() {
    let clock = ManualClock::new();
    let limit = rate!(5 / minute);
    let text = |error: Option<ConfigError>| error.unwrap().to_string();
    for slots in [0, 65_537, u32::MAX] {
        let expected = format!("slots is {slots}: must be from 1 to 65536");
        assert_eq!(text(SlidingWindow::with_slots(limit, slots, &clock).err()), expected);
        let compact = SlidingWindow::compact(limit, slots, &clock);
        assert_eq!(text(compact.err()), expected);
        assert_eq!(text(MultiWindow::with_slots([limit], slots, &clock).err()), expected);
    }
    for slots in [1, 65_536] {
        assert!(SlidingWindow::with_slots(limit, slots, &clock).is_ok());
    }
    for count in [0, 65] {
        let expected = format!("count is {count}: must be from 1 to 64");
        assert_eq!(text(MultiWindow::with_slots(vec![limit; count], 2, &clock).err()), expected);
        let logs = (0..count).map(|_| SlidingLog::with_clock(limit, &clock).unwrap());
        assert_eq!(text(All::new(logs).err()), expected);
    }
    assert!(MultiWindow::with_slots([limit; 64], 2, &clock).is_ok());

    let most = (1 << 24) + 1;
    for max_limit in [4, most] {
        let log = SlidingLog::with_clock(limit, &clock).unwrap();
        let error = log.with_max_limit(max_limit).err();
        assert_eq!(text(error), format!("max_limit is {max_limit}: must be from 5 to 16777216"));
    }
    for capacity in [0, most] {
        let error = WeightedLog::with_capacity(limit, capacity, &clock).err();
        assert_eq!(text(error), format!("capacity is {capacity}: must be from 1 to 16777214"));
    }
}

#[test]
fn a_weighted_log_with_few_entries_refuses_more_requests_but_not_larger_ones() {
    let clock = ManualClock::at(DAY);
    let log = WeightedLog::with_capacity(rate!(100 / minute), 2, &clock).unwrap();
    log.try_acquire(1).unwrap();
    clock.advance(Duration::from_secs(10));
    log.try_acquire(98).unwrap();
    // One permit is left, but nowhere to note it.
    let mut requests = 2;
    while log.try_acquire(1).is_ok() {
        requests += 1;
    }
    assert!(requests < 6, "{requests} requests in memory of 2");
    let wait = super::subject::least_wait(&log, 1, &clock);
    assert!(wait <= Duration::from_secs(50) + Duration::from_micros(1), "{wait:?}");
}

/// Time goes on while it takes them one after the other.
#[test]
fn as_many_as_there_are_are_no_more_than_the_limit_of_a_log_on_a_clock_that_moves() {
    struct Ticking(ManualClock);

    impl Clock for Ticking {
        fn now_nanos(&self) -> u64 {
            self.0.advance_nanos(1_000);
            self.0.now_nanos()
        }
    }

    let log = SlidingLog::with_clock(rate!(2 / us), Ticking(ManualClock::new())).unwrap();
    assert_eq!(log.try_acquire_up_to(1_000_000).unwrap().permits(), 2);
}
