//! Slow traffic, over all the years that a limiter counts.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::window::{WeightedLog, WindowFromFirst};
use sluicegate::*;

use super::any;
use super::counts_for;
use super::ops::replay_for;
use crate::support::cases::cases;

/// 146 years: what a limiter counts.
const LIFE_NANOS: u64 = (1 << 62) - 1;

const YEAR: Duration = Duration::from_secs(31_557_600);

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn every_answer_is_that_of_the_definition_for_146_years(
        setup in any::long_setup(),
        start_nanos in any::start(),
        ops in vec(any::slow_op(), 1..60),
    ) {
        let clock = ManualClock::at(start_nanos);
        // Peeks look ahead by a window, its slots, and the fading of the counter.
        let longest = setup.limits.iter().map(|limit| limit.1).max().unwrap_or(0);
        let life_nanos = LIFE_NANOS.saturating_sub(longest * 2 + longest / 4);
        let stand = replay_for(life_nanos, LIFE_NANOS, &setup, &clock, &ops, |_, _, _, _| {});
        let has_windows_of_its_own =
            matches!(setup.kind, super::Kind::Fixed | super::Kind::FromFirst | super::Kind::Counter);
        for (&(limit, _), (least_nanos, _)) in setup.limits.iter().zip(counts_for(&setup)) {
            let bound = if has_windows_of_its_own { 2 * limit } else { limit };
            let most = stand.admissions.most_in(least_nanos);
            prop_assert!(most <= bound, "{} of {} in {} ns", most, bound, least_nanos);
        }
    }
}

/// Permits granted more than 73 years ago were taken for what is yet to come, and the newest of
/// those that had left the window was not found.
#[test]
fn a_log_of_slow_requests_counts_what_is_in_the_window_and_no_more() {
    let clock = ManualClock::new();
    let year = |year: u32| (YEAR * year).as_nanos() as u64;
    let limit = Rate::new(5, YEAR).unwrap();
    let log = WeightedLog::with_capacity(limit, 16, &clock).unwrap();
    for (at, permits) in [(0, 2), (0, 3), (10, 1), (20, 1), (30, 1), (40, 1), (50, 1), (60, 1)]
        .into_iter()
        .chain([(70, 1), (72, 1), (74, 1)])
    {
        clock.set_nanos(year(at));
        log.try_acquire(permits).unwrap();
    }
    clock.set_nanos(year(76));
    assert_eq!((log.count(), log.healed()), (0, 0));
    log.try_acquire(5).unwrap();
    assert_eq!((log.count(), log.healed()), (5, 0));
    let denied = log.try_acquire(1).unwrap_err();
    let late = denied.retry_after().unwrap().checked_sub(YEAR).expect("a year, and no less");
    assert!(late < Duration::from_micros(1), "{late:?}");
}

/// A window is a day, and nobody came for a long time.
#[test]
fn an_idle_time_of_a_century_is_no_fault_of_the_clock() {
    let limit = rate!(5 / day);
    for idle in [72, 74, 100, 136, 140, 145] {
        let clock = ManualClock::new();
        let fixed = FixedWindow::with_clock(limit, &clock).unwrap();
        let first = WindowFromFirst::with_clock(limit, &clock).unwrap();
        let counter = SlidingCounter::with_clock(limit, &clock).unwrap();
        let ring = SlidingWindow::with_slots(limit, 60, &clock).unwrap();
        let log = SlidingLog::with_clock(limit, &clock).unwrap();
        let weighted = WeightedLog::with_clock(limit, &clock).unwrap();
        let all: [&dyn Limiter; 6] = [&fixed, &first, &counter, &ring, &log, &weighted];
        for limiter in all {
            limiter.try_acquire(1).unwrap();
        }
        clock.advance(YEAR * idle);
        for (number, limiter) in all.iter().enumerate() {
            assert_eq!(limiter.peek(0).unwrap().remaining(), 5, "number {number}, {idle} years");
        }
        let healed = [fixed.healed(), first.healed(), counter.healed(), ring.healed()];
        assert_eq!((healed, log.healed(), weighted.healed()), ([0; 4], 0, 0), "{idle} years");
    }
}
