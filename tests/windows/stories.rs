//! Faults that properties have found, each as it was.

use std::time::Duration;

use sluicegate::compose::All;
use sluicegate::window::{History, MultiWindow, WeightedLog};
use sluicegate::*;

/// The place that is written next was taken for one that was free, and what was in it
/// did not count.
#[test]
fn a_log_that_has_no_place_left_counts_all_that_it_remembers() {
    let clock = ManualClock::new();
    let log = WeightedLog::with_capacity(rate!(7 / second), 1, &clock).unwrap();
    let granted = std::iter::from_fn(|| log.try_acquire(1).ok()).count() as u64;
    assert!((1..7).contains(&granted), "{granted}");
    assert_eq!(log.count(), granted);
    // There is no place for another one.
    assert_eq!(log.peek(0).unwrap().remaining(), 0);
    assert_eq!(log.snapshot().permits(), granted);
}

/// The search for the entry that has to go first went back to entries so old that the
/// count had wrapped since.
#[test]
fn a_wait_is_not_found_among_what_has_left_the_window() {
    let clock = ManualClock::new();
    let log = WeightedLog::with_capacity(rate!(3 / 2 ns), 3, &clock).unwrap();
    for permits in [1, 1, 3, 3, 2] {
        if let Err(denied) = log.try_acquire(permits) {
            clock.advance(denied.retry_after().unwrap());
            log.try_acquire(permits).unwrap();
        }
    }
    let denied = log.try_acquire(2).unwrap_err();
    clock.advance(denied.retry_after().unwrap());
    log.try_acquire(2).unwrap();
}

/// It kept the oldest, which are the first to count no more.
#[test]
fn of_a_history_of_more_than_a_log_can_count_the_latest_permits_count() {
    let clock = ManualClock::at(3_600_000_000_000);
    let history = [(50, 5), (10, 5)].map(|(age, permits)| (Duration::from_secs(age), permits));
    let mut log = WeightedLog::with_clock(rate!(3 / minute), &clock).unwrap();
    log.restore(&History::new(history), Duration::ZERO);
    clock.advance(Duration::from_secs(20));
    assert_eq!(log.count(), 3);
    assert!(log.try_acquire(1).is_err());
}

/// Time went on from a moment after that at which it had stood: by as much as the
/// clock was further into its slot than before.
#[test]
fn a_clock_that_is_set_back_to_the_end_of_a_slot_gains_no_time() {
    let clock = ManualClock::at(100_001_000_000);
    let window = SlidingWindow::with_slots(rate!(3 / 2 seconds), 2, &clock).unwrap();
    let mut granted = 0;
    for _ in 0..9 {
        granted += u64::from(window.try_acquire(1).is_ok());
        // From the beginning of a slot to the end of another, and on into the next.
        clock.rewind(Duration::from_millis(3_002));
        let _ = window.peek(0);
        clock.advance(Duration::from_millis(2));
    }
    assert!(window.healed() > 0);
    assert_eq!(granted, 3, "in {} ms", 9 * 2);
}

/// The first of several limiters kept the number of its own window.
#[test]
fn a_refusal_by_several_limiters_names_the_limiter_and_not_its_window() {
    let clock = ManualClock::new();
    let limits = [rate!(5 / second), rate!(3 / minute)];
    let windows = MultiWindow::with_slots(limits, 60, &clock).unwrap();
    windows.try_acquire(3).unwrap();
    assert_eq!(windows.try_acquire(1).unwrap_err().which(), 1);
    let all = All::new([&windows]).unwrap();
    assert_eq!(all.try_acquire(1).unwrap_err().which(), 0);
    assert_eq!(all.try_acquire(9).unwrap_err().which(), 0);
}
