//! The worked examples of what the windows were asked to do, as tests.
//!
//! The same as `requirements.rs` for sliding and fixed windows, logs, counters and budgets:
//! one test for each example, with the rule in a comment. Waiting callers, keys, files
//! of policies, Redis and HTTP belong to other packages.
//!
//! One example contradicts its own rule: the rule wins, and the test says so. Where
//! an answer of ours has another form than the one that was described, the test says
//! that.

use std::time::Duration;

use sluicegate::window::History;
use sluicegate::window::MultiWindow;
use sluicegate::window::{WeightedLog, WindowFromFirst};
use sluicegate::{Denied, FixedWindow, Gcra, LeakyBucket, Limiter};
use sluicegate::{ManualClock, Quota, Rate, Refill, SlidingCounter, SlidingLog};
use sluicegate::{SlidingWindow, TokenBucket, rate};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Counts how many of `arrivals` single requests are admitted.
fn admitted(limiter: &impl Limiter, arrivals: u32) -> u32 {
    (0..arrivals).map(|_| u32::from(limiter.try_acquire(1).is_ok())).sum()
}

/// Hours, minutes and seconds of a day, for a clock.
fn at(hours: u64, minutes: u64, seconds: u64) -> u64 {
    (hours * 3_600 + minutes * 60 + seconds) * 1_000_000_000
}

// === Section 1: a sliding window of slots, with a try that never blocks ===

/// Rule: each slot counts its part of the window; slots that have expired are
/// cleared; a request is admitted if and only if the total and the request are
/// together at most the maximum.
///
/// A `SlidingWindow` counts one slot more than its length has, so that no window of that
/// length admits more than the limit. So the ten slots of a second are a window of 9 s here.
#[test]
fn a_request_is_admitted_iff_the_slots_and_it_are_within_the_maximum() {
    let clock = ManualClock::new();
    let window = SlidingWindow::with_slots(rate!(10 / 9 seconds), 9, &clock).unwrap();
    let mut slots = [0_u64; 10];
    let (mut allowed, mut denied) = (0, 0);
    for call in 0..5_000_u64 {
        let second = call * 2 / 3;
        clock.set_nanos(at(0, 0, second) + call % 3 * 333_333_333);
        let slot = (second % 10) as usize;
        if call % 3 == 0 || second != (call - 1) * 2 / 3 {
            slots[slot] = 0;
        }
        let wanted = 1 + call * call % 4;
        let fits = slots.iter().sum::<u64>() + wanted <= 10;
        assert_eq!(window.try_acquire(wanted).is_ok(), fits, "call {call}");
        slots[slot] += if fits { wanted } else { 0 };
        assert_eq!(window.count(), slots.iter().sum::<u64>(), "call {call}");
        *if fits { &mut allowed } else { &mut denied } += 1;
    }
    assert!(allowed > 1_000 && denied > 1_000, "{allowed} allowed, {denied} denied");
}

/// Rule: a caller that has to wait waits until the earliest slot expires that is not empty.
///
/// A slot counts until no window of the length overlaps it, which is one slot longer.
#[test]
fn a_wait_ends_when_the_earliest_slot_expires_that_is_not_empty() {
    for (limit, slots, expires) in
        [(rate!(10 / 9 seconds), 9, 12), (rate!(10 / 10 seconds), 10, 13)]
    {
        let clock = ManualClock::new();
        let window = SlidingWindow::with_slots(limit, slots, &clock).unwrap();
        clock.set_nanos(at(0, 0, 2) + 1);
        window.try_acquire(1).unwrap();
        clock.set_nanos(at(0, 0, 7));
        window.try_acquire(9).unwrap();
        let denied = window.try_acquire(1).unwrap_err();
        let ready_nanos = at(0, 0, 7) + denied.retry_after().unwrap().as_nanos() as u64;
        assert_eq!(ready_nanos, at(0, 0, expires), "{slots} slots");
        clock.set_nanos(ready_nanos - 1);
        assert!(window.try_acquire(1).is_err());
        clock.set_nanos(ready_nanos);
        assert!(window.try_acquire(1).is_ok());
    }
}

/// Rule: the current number of requests can be read.
#[test]
fn the_current_count_of_a_sliding_window_can_be_read() {
    let clock = ManualClock::new();
    let window = SlidingWindow::with_slots(rate!(5 / minute), 6, &clock).unwrap();
    assert_eq!(window.count(), 0);
    window.try_acquire(2).unwrap();
    clock.advance(30 * SECOND);
    window.try_acquire(3).unwrap();
    assert_eq!((window.count(), window.limit(), window.window()), (5, 5, MINUTE));
    clock.advance(40 * SECOND);
    assert_eq!(window.count(), 3);
    clock.advance(MINUTE);
    assert_eq!(window.count(), 0);
}

/// Rule: a request for none or fewer is a wrong argument, one for more than the
/// maximum is answered with no. Fewer than none cannot be written with our types;
/// none is granted, as by the buckets.
#[test]
fn a_window_says_no_to_more_than_the_maximum_and_yes_to_none() {
    let window = SlidingWindow::with_slots(rate!(5 / minute), 6, ManualClock::new()).unwrap();
    assert_eq!(window.try_acquire(6), Err(Denied::TooLarge { limit: 5, which: 0 }));
    assert!(window.try_acquire(5).is_ok(), "the no has cost nothing");
    assert_eq!(window.try_acquire(0).map(|grant| grant.permits()), Ok(0));
}

// === Section 2: the classic algorithms ===

/// Rule: each window counts from nothing and admits up to the limit. Example: 1 s,
/// limit 3; 4, 5, 3 and 4 requests arrive in one second after the other.
#[test]
fn a_fixed_window_of_a_second_admits_3_of_4_and_5_and_3_and_4() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(3 / second), &clock).unwrap();
    for arrivals in [4, 5, 3, 4] {
        clock.advance(SECOND / 2);
        assert_eq!(admitted(&window, arrivals), 3, "of {arrivals}");
        clock.advance(SECOND / 2);
    }
}

/// Returns what is admitted from 00:30 to 01:30 of 5 requests in each half of a minute, from 00:30
/// on, where the limit is 5 per minute: in all, and in the minute from 00:30.
fn in_the_minute_from_half_past(limiter: &impl Limiter, clock: &ManualClock) -> u32 {
    let mut sum = 0;
    for step in 0..10 {
        // 00:30, 00:36 .. 00:54, 01:00 .. 01:24.
        clock.set_nanos(at(0, 0, 30 + 6 * step));
        sum += admitted(limiter, 1);
    }
    sum
}

/// The known flaw of fixed windows. Example: limit 5 per minute; 5 arrive from 00:30
/// to 01:00 and 5 from 01:00 to 01:30, so 10 pass in the minute from 00:30.
#[test]
fn a_fixed_window_of_5_admits_10_in_the_minute_from_half_past() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(5 / minute), &clock).unwrap();
    assert_eq!(in_the_minute_from_half_past(&window, &clock), 10);
}

/// The same arrivals: there is no such minute.
#[test]
fn strict_windows_and_logs_of_5_admit_5_in_the_minute_from_half_past() {
    let clock = ManualClock::new();
    let windows = SlidingWindow::with_slots(rate!(5 / minute), 60, &clock).unwrap();
    assert_eq!(in_the_minute_from_half_past(&windows, &clock), 5);
    clock.set_nanos(0);
    let log = SlidingLog::with_clock(rate!(5 / minute), &clock).unwrap();
    assert_eq!(in_the_minute_from_half_past(&log, &clock), 5);
    clock.set_nanos(0);
    let weighted = WeightedLog::with_clock(rate!(5 / minute), &clock).unwrap();
    assert_eq!(in_the_minute_from_half_past(&weighted, &clock), 5);
    clock.set_nanos(0);
    let several = MultiWindow::with_slots([rate!(5 / minute)], 60, &clock).unwrap();
    assert_eq!(in_the_minute_from_half_past(&several, &clock), 5);
}

/// Rule: the log holds the times of the last window, and a request is admitted if
/// there are fewer than the limit. Example: 60 s, 5; two arrive at 01:00:10, three at
/// 01:00:20, one at 01:00:30; the next at 01:01:20, when those up to 01:00:20 are
/// gone.
#[test]
fn a_log_of_5_per_minute_drops_at_01_00_30_and_admits_at_01_01_20() {
    let clock = ManualClock::new();
    let log = SlidingLog::with_clock(rate!(5 / minute), &clock).unwrap();
    clock.set_nanos(at(1, 0, 10));
    assert_eq!(admitted(&log, 2), 2);
    clock.set_nanos(at(1, 0, 20));
    assert_eq!(admitted(&log, 3), 3);
    clock.set_nanos(at(1, 0, 30));
    assert_eq!(admitted(&log, 1), 0);
    assert_eq!(log.count(), 5, "what was dropped is not in the log");

    // Those of 01:00:20 are a minute old to the nanosecond, and gone.
    clock.set_nanos(at(1, 1, 20) - 1);
    assert_eq!(log.count(), 3);
    clock.set_nanos(at(1, 1, 20));
    assert_eq!(log.count(), 0);
    assert_eq!(admitted(&log, 1), 1);
}

/// Rule: the window is a sum of slots, of which the oldest is dropped as a new one
/// begins. Example: 60 s in 6 slots of 10 s, 10 requests.
///
/// Six slots of 10 s are a window of 50 s here: one slot more is counted than its length has.
#[test]
fn a_window_of_6_slots_of_10_seconds_admits_10_and_frees_a_slot_every_10_seconds() {
    let clock = ManualClock::new();
    let window = SlidingWindow::with_slots(rate!(10 / 50 seconds), 5, &clock).unwrap();
    for (slot, arrivals) in [1, 2, 3, 0, 4, 5].into_iter().enumerate() {
        clock.set_nanos(at(0, 0, 10 * slot as u64 + 5));
        // The tenth is in the fifth slot.
        assert_eq!(admitted(&window, arrivals), if slot < 5 { arrivals } else { 0 });
    }
    for (begins, freed) in [(60, 1), (70, 2), (80, 3), (90, 0), (100, 4)] {
        clock.set_nanos(at(0, 0, begins) - 1);
        assert_eq!(admitted(&window, 9), 0, "before {begins} s");
        clock.set_nanos(at(0, 0, begins));
        assert_eq!(admitted(&window, 9), freed, "at {begins} s");
    }
}

/// Rule: weighted = current + previous x (1 - elapsed / window), and a request is
/// admitted if it is within the limit with it. Example: 60 s, 7; 5 in the window
/// before, 2 in this one, at 25 % of it: 2 + 5 x 0.75 = 5.75, allowed.
#[test]
fn a_counter_at_5_75_of_7_allows_one_more_and_not_two() {
    let clock = ManualClock::new();
    let counter = SlidingCounter::with_clock(rate!(7 / minute), &clock).unwrap();
    counter.try_acquire(5).unwrap();
    clock.advance(75 * SECOND);
    counter.try_acquire(2).unwrap();
    assert_eq!(counter.count(), 6, "5.75, a part counted whole");
    assert!(counter.peek(2).is_err(), "7.75");
    assert!(counter.try_acquire(1).is_ok(), "6.75");
    // 3 + 5 x 0.6 = 6 leaves room for the next, after 9 s more.
    let denied = counter.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(9 * SECOND));
}

/// Rule: every algorithm has an instance with defaults, and constructors of a limit
/// and a duration; a caller need not know which it is.
#[test]
fn every_algorithm_is_made_of_a_limit_and_a_duration_and_used_as_one() {
    let clock = ManualClock::new();
    let limit = Rate::new(5, Duration::from_secs(60)).unwrap();
    let steps = Quota::new(limit).with_refill(Refill::Interval);
    let spaced = Gcra::with_clock(12 * SECOND, 48 * SECOND, &clock).unwrap();
    let limiters: [(&str, Box<dyn Limiter + '_>); 9] = [
        ("token bucket", Box::new(TokenBucket::with_clock(Quota::new(limit), &clock))),
        ("token bucket in steps", Box::new(TokenBucket::with_clock(steps, &clock))),
        ("GCRA", Box::new(spaced)),
        ("meter", Box::new(LeakyBucket::meter_with_clock(Quota::new(limit), &clock))),
        ("fixed window", Box::new(FixedWindow::with_clock(limit, &clock).unwrap())),
        ("window from first", Box::new(WindowFromFirst::with_clock(limit, &clock).unwrap())),
        ("sliding counter", Box::new(SlidingCounter::with_clock(limit, &clock).unwrap())),
        ("sliding window", Box::new(SlidingWindow::with_slots(limit, 6, &clock).unwrap())),
        ("sliding log", Box::new(SlidingLog::with_clock(limit, &clock).unwrap())),
    ];
    for (name, limiter) in &limiters {
        assert_eq!(admitted(limiter, 7), 5, "{name}");
        let denied = limiter.try_acquire(1).unwrap_err();
        assert!(denied.retry_after() <= Some(2 * MINUTE), "{name}");
    }
}

/// The same with the clock that is the default.
#[test]
fn every_window_has_an_instance_on_a_clock_of_its_own() {
    let limit = rate!(5 / 100 hours);
    let limiters: [Box<dyn Limiter>; 7] = [
        Box::new(FixedWindow::new(limit).unwrap()),
        Box::new(WindowFromFirst::new(limit).unwrap()),
        Box::new(SlidingCounter::new(limit).unwrap()),
        Box::new(SlidingWindow::new(limit).unwrap()),
        Box::new(MultiWindow::new([limit]).unwrap()),
        Box::new(SlidingLog::new(limit).unwrap()),
        Box::new(WeightedLog::new(limit).unwrap()),
    ];
    for limiter in &limiters {
        assert_eq!(admitted(limiter, 7), 5);
    }
}

// === Section 5: policies, the sliding counter, budgets ===

/// Rule: the window starts with the first request. Example: 100 in the 60 minutes
/// after it, then the counter starts again.
#[test]
fn a_window_that_starts_with_the_first_request_admits_100_in_the_60_minutes_after_it() {
    let clock = ManualClock::new();
    let window = WindowFromFirst::with_clock(rate!(100 / 60 minutes), &clock).unwrap();
    clock.set_nanos(at(9, 17, 23));
    assert_eq!(admitted(&window, 1), 1);
    clock.set_nanos(at(10, 0, 0));
    assert_eq!(admitted(&window, 100), 99, "no hour of the clock");
    clock.set_nanos(at(10, 17, 23) - 1);
    assert_eq!(admitted(&window, 1), 0);

    // The next one does not begin before there is a request.
    clock.set_nanos(at(10, 55, 0));
    assert_eq!(window.count(), 0);
    assert_eq!(admitted(&window, 200), 100);
    clock.set_nanos(at(11, 17, 23));
    assert_eq!(admitted(&window, 1), 0);
    clock.set_nanos(at(11, 55, 0));
    assert_eq!(admitted(&window, 200), 100);
}

/// Rule: what was not used is not kept for later windows.
#[test]
fn what_was_not_used_of_a_window_does_not_accumulate() {
    let clock = ManualClock::new();
    let fixed = FixedWindow::with_clock(rate!(100 / 60 minutes), &clock).unwrap();
    let first = WindowFromFirst::with_clock(rate!(100 / 60 minutes), &clock).unwrap();
    let sliding = SlidingWindow::with_slots(rate!(100 / 60 minutes), 60, &clock).unwrap();
    clock.set_nanos(at(72, 0, 0));
    let counts = (admitted(&fixed, 300), admitted(&first, 300), admitted(&sliding, 300));
    assert_eq!(counts, (100, 100, 100));
}

/// Rule: previous x (1 - elapsed / window) + current, and rejected above the limit.
/// Example: limit 10 per minute, 9 in the minute before, 5 in this one, at 25 % of it:
/// 9 x 0.75 + 5 = 11.75 > 10, rejected.
///
/// Under the rule the example cannot come about: at 25 % it would have admitted 3 of
/// the 5, since 9 x 0.75 + 3 = 9.75. So the 5 are restored, as if they had been
/// counted under a higher limit.
#[test]
fn a_counter_at_11_75_of_10_rejects_and_would_not_have_come_so_far() {
    let clock = ManualClock::at(at(0, 0, 59));
    let mut counter = SlidingCounter::with_clock(rate!(10 / minute), &clock).unwrap();
    counter.try_acquire(9).unwrap();
    clock.set_nanos(at(0, 1, 15));
    assert_eq!(admitted(&counter, 5), 3);

    let history = History::new([(16 * SECOND, 9), (SECOND, 5)]);
    counter.restore(&history, Duration::ZERO);
    assert_eq!(counter.count(), 12, "11.75, a part counted whole");
    let denied = counter.try_acquire(1).unwrap_err();
    // 5 + 1 leave room for 4 of the 9, when 4 / 9 of the minute are left: 45 s are.
    let wait_nanos = (45_u64 * 1_000_000_000) - 60 * 1_000_000_000 * 4 / 9;
    assert_eq!(denied.retry_after(), Some(Duration::from_nanos(wait_nanos)));
}

/// Rule: an amount of use per day, the same for all days or by the day of the week,
/// that begins again by the calendar.
#[cfg(feature = "calendar")]
mod budgets {
    use sluicegate::calendar::{Budget, Weekday};

    use super::*;

    /// Midnight at the beginning of a day; the first is a Thursday.
    fn day(number: u64) -> u64 {
        at(24 * number, 0, 0)
    }

    #[test]
    fn a_budget_of_units_is_the_same_every_day_and_begins_again_at_midnight() {
        let clock = ManualClock::at(day(7) + at(15, 0, 0));
        let budget = Budget::with_clock(20, "UTC", &clock).unwrap();
        assert_eq!((admitted(&budget, 30), budget.remaining()), (20, 0));
        let denied = budget.try_acquire(1).unwrap_err();
        assert_eq!(denied.retry_after(), Some(9 * 60 * MINUTE));
        clock.set_nanos(day(8) - 1);
        assert_eq!(admitted(&budget, 1), 0);
        clock.set_nanos(day(8));
        assert_eq!(admitted(&budget, 5), 5);
        clock.set_nanos(day(9));
        assert_eq!(admitted(&budget, 30), 20, "what was left is not kept");
    }

    #[test]
    fn a_budget_of_time_is_by_the_day_of_the_week() {
        let clock = ManualClock::at(day(0) + at(12, 0, 0));
        let budget = Budget::with_clock(Budget::time(60 * MINUTE), "UTC", &clock)
            .and_then(|budget| budget.on(Weekday::Saturday, Budget::time(180 * MINUTE)))
            .and_then(|budget| budget.on(Weekday::Sunday, 0))
            .unwrap();
        // Thursday, Friday, Saturday, Sunday, Monday.
        for (number, minutes) in [60, 60, 180, 0, 60].into_iter().enumerate() {
            clock.set_nanos(day(number as u64) + at(12, 0, 0));
            assert_eq!(Duration::from_nanos(budget.remaining()), minutes * MINUTE, "day {number}");
            assert!(budget.try_acquire(Budget::time(minutes * MINUTE + SECOND)).is_err());
            assert!(budget.try_acquire(Budget::time(minutes * MINUTE)).is_ok());
            let spent = Duration::from_nanos(budget.count());
            assert_eq!((budget.remaining(), spent), (0, minutes * MINUTE));
        }
    }
}
