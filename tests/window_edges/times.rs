//! Ends of windows, and clocks that jump.

use std::time::Duration;

use sluicegate::clock::UnixClock;
use sluicegate::window::{WeightedLog, WindowFromFirst};
use sluicegate::*;

use super::subject::{Bound, KINDS, Window, drain, least_wait};
use super::{CENTURY, DAY, MINUTE, SECOND};

const LIMIT: Rate = rate!(5 / minute);

/// Asks for single permits every `step_nanos` for `times` times; when each was
/// granted.
pub(crate) fn greedy(
    window: &dyn Window,
    clock: &ManualClock,
    step_nanos: u64,
    times: u32,
) -> Vec<u64> {
    let mut granted_nanos = Vec::new();
    for _ in 0..times {
        if window.try_acquire(1).is_ok() {
            granted_nanos.push(clock.now_nanos());
        }
        clock.advance_nanos(step_nanos);
    }
    granted_nanos
}

/// The most that a span `(t - length, t]` has of `at_nanos`.
pub(crate) fn most_in(at_nanos: &[u64], length_nanos: u64) -> u64 {
    let in_span = |end: &u64| {
        at_nanos.iter().filter(|&at| at <= end && end - at < length_nanos).count() as u64
    };
    at_nanos.iter().map(in_span).max().unwrap_or(0)
}

/// The limits go from one permit to the sizes that bytes are counted in.
#[test]
fn a_permit_counts_for_its_window_and_less_than_the_resolution_longer() {
    for (permits, log_nanos, first_nanos) in [
        (1, 4, 2),
        (3, 8, 4),
        (100, 256, 128),
        (127, 256, 128),
        (128, 512, 256),
        (20_000, 65_536, 32_768),
        (1_000_000, 2_097_152, 524_288),
        // A window of a minute is 2^35 ns and more: 2^-16 of it is the less.
        (10_000_000, 33_554_432, 524_288),
    ] {
        let limit = Rate::new(permits, Duration::from_secs(60)).unwrap();
        let (mut latest_log, mut latest_first) = (0, 0);
        for offset in [0, 1, 1_000_003, 12_345_678_901] {
            let clock = ManualClock::at(DAY + offset);
            let log = WeightedLog::with_clock(limit, &clock).unwrap();
            let first = WindowFromFirst::with_clock(limit, &clock).unwrap();
            let resolutions = [log.resolution(), first.resolution()];
            assert_eq!(resolutions, [log_nanos, first_nanos].map(Duration::from_nanos));
            let late = |limiter: &dyn Limiter| {
                limiter.try_acquire(permits).unwrap();
                let wait = limiter.try_acquire(1).unwrap_err().retry_after().unwrap();
                wait.checked_sub(Duration::from_secs(60)).unwrap().as_nanos() as u64
            };
            latest_log = latest_log.max(late(&log));
            latest_first = latest_first.max(late(&first));
        }
        assert!(latest_log < log_nanos && latest_first < first_nanos, "{permits}");
        assert!(latest_log >= log_nanos / 4 && latest_first >= first_nanos / 4, "{permits}");
    }
}

#[test]
fn a_window_tells_its_length_and_shows_its_word_and_what_was_healed() {
    let clock = ManualClock::at(DAY);
    let fixed = FixedWindow::with_clock(LIMIT, &clock).unwrap();
    let first = WindowFromFirst::with_clock(LIMIT, &clock).unwrap();
    let counter = SlidingCounter::with_clock(LIMIT, &clock).unwrap();
    for (length, shown) in [
        (fixed.window(), format!("{fixed:#?}")),
        (first.window(), format!("{first:#?}")),
        (counter.window(), format!("{counter:#?}")),
    ] {
        assert_eq!(length, LIMIT.period());
        assert!(shown.contains("word") && shown.contains("healed"), "{shown}");
    }
}

/// Strict windows and logs: the limit in any span. The others: in their own windows,
/// so at most twice in a span.
#[test]
fn no_span_has_more_than_the_bound_at_either_end_of_the_clock() {
    for kind in KINDS {
        for start_nanos in [0, 1, MINUTE - 1, CENTURY, u64::MAX - 20 * MINUTE] {
            let clock = ManualClock::at(start_nanos);
            let window = kind.of(LIMIT, &clock);
            let granted = greedy(&*window, &clock, 700_000_000, 1_000);
            let most = most_in(&granted, MINUTE);
            let bound = if kind.bound == Bound::Any { 5 } else { 10 };
            assert!(most <= bound, "{} at {start_nanos}: {most}", kind.name);
            assert!(granted.len() >= 25, "{} at {start_nanos}: {}", kind.name, granted.len());
        }
    }
}

#[test]
fn a_limiter_made_at_the_end_of_time_grants_its_limit_and_then_denies_for_ever() {
    for kind in KINDS {
        let clock = ManualClock::at(u64::MAX);
        let window = kind.of(LIMIT, &clock);
        assert_eq!(drain(&*window), 5, "{}", kind.name);
        for _ in 0..100 {
            clock.advance_nanos(SECOND);
            let denied = window.try_acquire(1).unwrap_err();
            assert!(denied.retry_after() <= Some(kind.longest(LIMIT)), "{}", kind.name);
        }
        window.reset();
        assert_eq!(drain(&*window), 5, "{}", kind.name);
    }
}

/// Wherever the clock goes, and however often.
#[test]
fn jumps_from_end_to_end_end_and_get_nobody_more_than_the_limit_in_a_window() {
    for kind in KINDS {
        let clock = ManualClock::new();
        let window = kind.of(LIMIT, &clock);
        for at_nanos in [
            u64::MAX,
            0,
            u64::MAX,
            1 << 63,
            0,
            (1 << 63) - 1,
            1 << 62,
            u64::MAX - 30 * MINUTE,
            CENTURY,
            0,
            (1 << 62) + 1,
            DAY,
        ] {
            let at = format!("{} at {at_nanos}", kind.name);
            clock.set_nanos(at_nanos);
            assert!(drain(&*window) <= 5, "{at}");
            let wait = window.try_acquire(1).unwrap_err().retry_after().unwrap();
            assert!(wait <= kind.longest_after_set_back(LIMIT), "{at}: {wait:?}");
            // From here on, as if nothing had happened.
            let granted = greedy(&*window, &clock, 700_000_000, 500);
            let bound = if kind.bound == Bound::Any { 5 } else { 10 };
            let most = most_in(&granted, MINUTE);
            assert!(most <= bound, "{at}: {most} of {granted:?}");
            if at_nanos < u64::MAX {
                assert!(granted.len() >= 10, "{at}: {granted:?}");
            }
        }
    }
}

/// Sets back the clock of a limiter from `at_nanos`, and returns the wait that the limiter then
/// names, and how often it has healed itself.
fn after_set_back(kind: &super::subject::Kind, at_nanos: u64, back: Duration) -> (Duration, u64) {
    let at = format!("{} at {at_nanos}, back by {back:?}", kind.name);
    let clock = ManualClock::at(at_nanos);
    let window = kind.of(LIMIT, &clock);
    kind.take(&*window, 5);
    clock.rewind(back);
    assert_eq!(window.count(), 5, "{at}");
    for _ in 0..3 {
        assert!(window.try_acquire(1).is_err(), "{at}: granted twice");
        assert!(window.peek(1).is_err() && window.try_acquire_up_to(9).is_err(), "{at}");
    }
    let healed = window.healed();
    let wait = least_wait(&*window, 1, &clock);
    clock.advance(wait);
    assert!(window.try_acquire(1).is_ok(), "{at}");
    assert_eq!(window.healed(), healed, "{at}: once is enough");
    (wait, healed)
}

/// In the middle of a window, at its beginning and at its end.
const PLACES: [u64; 4] = [5 * DAY + 30 * SECOND, 5 * DAY, 5 * DAY + 7, 5 * DAY - 1];

/// By half a second it is one that threads may read. By five seconds, a window that was set back over its beginning may be
/// ahead of the clock, and be taken for one of several clocks that differ.
#[test]
fn a_clock_that_was_set_back_is_healed_once_and_makes_nobody_wait_longer_than_a_window() {
    let second = Duration::from_secs(1);
    for (back, may_heal) in [(second / 2, 0..=0), (5 * second, 0..=1), (86_400 * second, 1..=1)] {
        for (kind, at_nanos) in KINDS.iter().flat_map(|kind| PLACES.map(|at| (kind, at))) {
            let (wait, healed) = after_set_back(kind, at_nanos, back);
            assert!(may_heal.contains(&healed), "{} at {at_nanos}, {back:?}", kind.name);
            let most = match healed {
                0 => kind.longest(LIMIT) + back,
                _ => kind.longest_after_set_back(LIMIT),
            };
            assert!(wait <= most, "{} at {at_nanos}, {back:?}: {wait:?}", kind.name);
        }
    }
}

#[test]
fn a_clock_that_is_set_back_again_and_again_gets_nobody_more_than_the_limit() {
    for kind in KINDS {
        let clock = ManualClock::at(40 * DAY);
        let window = kind.of(LIMIT, &clock);
        assert_eq!(drain(&*window), 5);
        for back_secs in [3, 50, 61, 3_600, 86_400, 3, 100_000] {
            clock.rewind(Duration::from_secs(back_secs));
            assert_eq!(drain(&*window), 0, "{} back by {back_secs} s", kind.name);
        }
    }
}

/// Shorter than any clock's tick, and longer than any process.
#[test]
fn the_shortest_and_the_longest_windows_end() {
    all_end(&[1, 2, 3, CENTURY / 2]);
}

#[test]
fn a_window_of_a_century_ends() {
    all_end(&[CENTURY]);
}

fn all_end(lengths_nanos: &[u64]) {
    for &nanos in lengths_nanos {
        for kind in KINDS {
            for permits in [1, 2] {
                let rate = Rate::new(permits, Duration::from_nanos(nanos)).unwrap();
                let clock = ManualClock::at(DAY + 1);
                let window = kind.of(rate, &clock);
                kind.take(&*window, permits);
                let wait = window.try_acquire(1).unwrap_err().retry_after().unwrap();
                assert!(wait <= kind.longest(rate), "{}, {nanos} ns: {wait:?}", kind.name);
                clock.advance(wait);
                assert!(window.try_acquire(1).is_ok(), "{}, {permits}/{nanos} ns", kind.name);
                assert_eq!(window.healed(), 0, "{}, {permits}/{nanos} ns", kind.name);
            }
        }
    }
}

#[test]
fn the_unix_clock_numbers_windows_from_the_epoch() {
    let window = FixedWindow::with_clock(rate!(5 / 36525 days), UnixClock::new()).unwrap();
    let since_epoch = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    window.try_acquire(5).unwrap();
    let wait = window.try_acquire(1).unwrap_err().retry_after().unwrap();
    // The first window ends a century after the epoch.
    let end = since_epoch + wait;
    assert!(end.abs_diff(Duration::from_nanos(CENTURY)) < Duration::from_secs(60), "{end:?}");
    assert_eq!((window.healed(), window.clock().now_nanos() > 50 * 365 * DAY), (0, true));
}
