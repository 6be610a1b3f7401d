//! Windows whose grants are settled: all, those of one word, and what they have in common with a bucket.

use std::time::Duration;

use sluicegate::bucket::SettleableBucket;
#[cfg(feature = "calendar")]
use sluicegate::calendar::{Budget, Calendar, CalendarWindow, Weekday};
use sluicegate::settle::{Settle, Settled};
use sluicegate::window::{MultiWindow, WindowFromFirst};
use sluicegate::*;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn settled(given_back: u64, lost: u64, taken_beyond: u64) -> impl Fn(Settled) -> bool {
    move |settled| {
        (settled.given_back(), settled.lost(), settled.taken_beyond())
            == (given_back, lost, taken_beyond)
    }
}

/// Every window of one word, of ten in a minute or a day, with the length of its window.
fn tens(clock: &ManualClock) -> Vec<(Box<dyn Settle + '_>, Duration)> {
    #[cfg(feature = "calendar")]
    let minutes = Calendar::minutes("UTC").unwrap();
    vec![
        (Box::new(FixedWindow::with_clock(rate!(10 / minute), clock).unwrap()), MINUTE),
        (Box::new(WindowFromFirst::with_clock(rate!(10 / minute), clock).unwrap()), MINUTE),
        (Box::new(SlidingCounter::with_clock(rate!(10 / minute), clock).unwrap()), MINUTE),
        #[cfg(feature = "calendar")]
        (Box::new(CalendarWindow::with_clock(10, minutes, clock).unwrap()), MINUTE),
        #[cfg(feature = "calendar")]
        (Box::new(Budget::with_clock(10, "UTC", clock).unwrap()), DAY),
    ]
}

/// The same, and windows of slots, whose permits have all left after two of these lengths.
fn all(clock: &ManualClock) -> Vec<(Box<dyn Settle + '_>, Duration)> {
    let ten = rate!(10 / minute);
    let several = MultiWindow::with_slots([ten, rate!(20 / 2 minutes)], 4, clock).unwrap();
    let mut all = tens(clock);
    all.extend([
        (Box::new(SlidingWindow::with_slots(ten, 4, clock).unwrap()) as Box<dyn Settle>, MINUTE),
        (Box::new(SlidingWindow::compact(ten, 4, clock).unwrap()), MINUTE),
        (Box::new(several), 2 * MINUTE),
    ]);
    all
}

/// The same, and a bucket.
fn every(clock: &ManualClock) -> Vec<(Box<dyn Settle + '_>, Duration)> {
    let mut every = all(clock);
    every.push((Box::new(SettleableBucket::with_clock(quota!(10 / minute), clock)), MINUTE));
    every
}

fn remaining(limiter: &dyn Settle) -> u64 {
    limiter.peek(0).unwrap().remaining()
}

#[test]
fn what_was_not_used_is_there_for_others_whatever_was_taken_since() {
    let clock = ManualClock::new();
    for (window, _) in every(&clock) {
        let first = window.try_acquire_settleable(4).unwrap();
        let second = window.try_acquire_settleable(6).unwrap();
        assert!(window.try_acquire(1).is_err());
        assert!(settled(3, 0, 0)(first.settle(1).unwrap()));
        assert_eq!(remaining(&window), 3);
        assert!(settled(0, 0, 0)(second.settle(6).unwrap()));
        assert_eq!(window.try_acquire(3).unwrap().remaining(), 0);
        assert!(window.try_acquire(1).is_err());
    }
}

#[test]
fn what_was_used_beyond_the_estimate_exceeds_the_limit_until_the_window_ends() {
    let clock = ManualClock::new();
    for (window, length) in every(&clock) {
        let estimate = window.try_acquire_settleable(6).unwrap();
        window.try_acquire(4).unwrap();
        assert!(settled(0, 0, 3)(estimate.settle(9).unwrap()));
        let denied = window.try_acquire(1).unwrap_err();
        assert_eq!(denied.remaining(), Some(0));
        let wait = denied.retry_after().unwrap();
        clock.advance_nanos(wait.as_nanos() as u64 - 1);
        assert!(window.try_acquire(1).is_err());
        clock.advance_nanos(1);
        assert!(window.try_acquire(1).is_ok());
        clock.advance(2 * length);
    }
}

#[test]
fn an_estimate_is_settled_too_late_for_the_window_that_was_charged() {
    let clock = ManualClock::new();
    for (window, length) in all(&clock) {
        let [one, two] = [4, 3].map(|permits| window.try_acquire_settleable(permits).unwrap());
        // A sliding counter counts the window before, too.
        clock.advance(2 * length);
        window.try_acquire(2).unwrap();
        assert!(settled(0, 4, 0)(one.settle(0).unwrap()));
        assert_eq!(remaining(&window), 8);
        // What was used is not lost: it counts now.
        assert!(settled(0, 0, 5)(two.settle(8).unwrap()));
        assert_eq!(remaining(&window), 3);
    }
}

#[test]
fn no_more_is_given_back_than_was_taken() {
    let clock = ManualClock::new();
    for (window, _) in every(&clock) {
        let mut estimate = window.try_acquire_settleable(4).unwrap();
        window.try_acquire(6).unwrap();
        assert_eq!(estimate.give_back(3), 3);
        assert_eq!(estimate.give_back(u64::MAX), 1);
        assert_eq!(estimate.give_back(1), 0);
        assert_eq!((estimate.permits(), estimate.grant().permits()), (0, 4));
        assert!(settled(0, 0, 0)(estimate.settle(0).unwrap()));
        assert_eq!(remaining(&window), 4);
    }
}

#[test]
fn a_dropped_estimate_keeps_its_charge() {
    let clock = ManualClock::new();
    for (window, _) in every(&clock) {
        drop(window.try_acquire_settleable(4));
        assert_eq!(remaining(&window), 6);
    }
}

/// The grants since the reset equal the grants before, so the word repeats.
#[test]
fn what_was_taken_before_a_reset_is_not_given_back_after_it() {
    let clock = ManualClock::new();
    for (window, _) in all(&clock) {
        let [one, two] = [4, 3].map(|permits| window.try_acquire_settleable(permits).unwrap());
        window.reset();
        window.try_acquire(7).unwrap();
        assert!(settled(0, 4, 0)(one.settle(0).unwrap()));
        assert_eq!(remaining(&window), 3);
        assert!(settled(0, 0, 2)(two.settle(5).unwrap()));
        assert_eq!(remaining(&window), 1);
        assert!(settled(1, 0, 0)(window.try_acquire_settleable(1).unwrap().settle(0).unwrap()));
    }
}

#[test]
fn what_was_taken_before_the_clock_was_set_back_is_not_given_back_after_it() {
    let clock = ManualClock::at(10 * DAY.as_nanos() as u64);
    for (window, _) in tens(&clock) {
        let estimate = window.try_acquire_settleable(4).unwrap();
        clock.rewind(DAY * 5);
        window.try_acquire(1).unwrap();
        assert_eq!(window.healed(), 1);
        assert!(settled(0, 4, 0)(estimate.settle(0).unwrap()));
        assert_eq!(remaining(&window), 5, "earlier grants still count");
        clock.advance(DAY * 5);
    }
}

#[test]
fn what_is_used_beyond_heals_a_window_whose_clock_was_set_back() {
    let clock = ManualClock::at(10 * DAY.as_nanos() as u64);
    for (window, _) in all(&clock) {
        let mut estimate = window.try_acquire_settleable(4).unwrap();
        clock.rewind(DAY * 5);
        // Nobody has found the word yet.
        assert_eq!(estimate.give_back(1), 1);
        assert!(settled(0, 0, 2)(estimate.settle(5).unwrap()));
        assert_eq!((window.healed(), remaining(&window)), (1, 5));
        clock.advance(DAY * 5);
    }
}

#[test]
fn a_change_of_the_limit_keeps_estimates() {
    let clock = ManualClock::new();
    let window = FixedWindow::with_clock(rate!(10 / minute), &clock).unwrap();
    let estimate = window.try_acquire_settleable(9).unwrap();
    window.reconfigure(5).unwrap();
    assert!(window.try_acquire(1).is_err());
    assert!(settled(7, 0, 0)(estimate.settle(2).unwrap()));
    assert_eq!(remaining(&window), 3);
}

#[cfg(feature = "calendar")]
#[test]
fn a_change_of_the_amounts_keeps_estimates() {
    let clock = ManualClock::new();
    let day = Budget::with_clock(10, "UTC", &clock).unwrap();
    let estimate = day.try_acquire_settleable(9).unwrap();
    for weekday in [Weekday::Thursday, Weekday::Friday] {
        day.reconfigure(weekday, 0).unwrap();
    }
    assert!(settled(7, 0, 0)(estimate.settle(2).unwrap()));
    assert_eq!(day.count(), 2);
}

#[test]
fn a_window_counts_as_far_as_its_word_goes_and_says_what_it_does_not() {
    let clock = ManualClock::new();
    let window = WindowFromFirst::with_clock(rate!(10 / minute), &clock).unwrap();
    assert_eq!(window.max_limit(), 15);
    let unpaid = window.try_acquire_settleable(6).unwrap().settle(u64::MAX).unwrap_err();
    assert_eq!(unpaid.permits(), u64::MAX - 15);
    assert!(settled(0, 0, 9)(unpaid.settled()));
    assert_eq!(window.count(), 15);
    let unpaid = window.try_acquire_settleable(0).unwrap().settle(1).unwrap_err();
    assert_eq!((unpaid.permits(), unpaid.settled()), (1, Settled::default()));
}

#[cfg(feature = "calendar")]
#[test]
fn a_budget_counts_as_far_as_its_word_goes_and_says_what_it_does_not() {
    let clock = ManualClock::new();
    let day = Budget::with_clock(10, "UTC", &clock).unwrap();
    let unpaid = day.try_acquire_settleable(6).unwrap().settle(u64::MAX).unwrap_err();
    assert_eq!(unpaid.permits(), u64::MAX - Budget::MAX_AMOUNT);
    clock.advance(DAY);
    assert_eq!(remaining(&day), 10);
}

/// The numbers of the windows repeat after 2^15 of them.
#[test]
fn what_is_given_back_after_the_numbers_went_round_is_lost() {
    let clock = ManualClock::new();
    let limit = rate!(16_777_215 / 100 ms);
    let counter = SlidingCounter::with_clock(limit, &clock).unwrap();
    let estimate = counter.try_acquire_settleable(16_777_215).unwrap();
    for _ in 0..4 {
        clock.advance(Duration::from_millis(100 << 13));
        counter.try_acquire(5).unwrap();
    }
    assert!(settled(0, 16_777_215, 0)(estimate.settle(0).unwrap()));
    assert_eq!(counter.count(), 5);
}

#[test]
fn an_estimate_of_more_than_can_be_granted_is_refused_for_good() {
    let clock = ManualClock::new();
    for (window, _) in every(&clock) {
        for permits in [11, 1 << 40, u64::MAX] {
            let denied = window.try_acquire_settleable(permits).unwrap_err();
            assert_eq!(denied, Denied::TooLarge { limit: 10, which: 0 });
        }
        assert_eq!(remaining(&window), 10);
    }
}

#[test]
fn a_receipt_and_an_estimate_are_given_back_in_any_order() {
    let clock = ManualClock::new();
    for (window, _) in tens(&clock) {
        let estimate = window.try_acquire_settleable(3).unwrap();
        let receipt = window.try_acquire_revocable(2).unwrap();
        let later = window.try_acquire_settleable(4).unwrap();
        later.settle(0).unwrap();
        // The word is as after its grant.
        assert!(receipt.give_back());
        assert_eq!(remaining(&window), 7);
        estimate.settle(1).unwrap();
        let receipt = window.try_acquire_revocable(2).unwrap();
        window.try_acquire_settleable(1).unwrap().settle(2).unwrap();
        assert!(!receipt.give_back());
        assert_eq!(remaining(&window), 5);
    }
}

#[test]
fn a_caller_in_line_is_granted_what_comes_back() {
    use std::sync::Arc;
    use std::thread;

    let window = Arc::new(FixedWindow::new(rate!(10 / day)).unwrap());
    let mut estimate = window.try_acquire_settleable(10).unwrap();
    let waiting = {
        let window = Arc::clone(&window);
        thread::spawn(move || window.acquire_blocking(4))
    };
    while window.line().waiters() == 0 {
        thread::yield_now();
    }
    assert_eq!(estimate.give_back(3), 3);
    assert!(window.try_acquire(1).is_err(), "they belong to the one in line");
    // What is taken beyond makes it wait for longer.
    window.try_acquire_settleable(0).unwrap().settle(2).unwrap();
    assert_eq!(estimate.give_back(3), 3);
    waiting.join().unwrap().unwrap();
    estimate.settle(1).unwrap();
    assert_eq!(window.count(), 7);
}

#[test]
fn a_window_from_the_first_grant_does_not_begin_again_where_one_was_charged() {
    let clock = ManualClock::at(1_000_000_000_000);
    let window = WindowFromFirst::with_clock(rate!(10 / minute), &clock).unwrap();
    let early = window.try_acquire_settleable(4).unwrap();
    clock.advance(2 * MINUTE);
    window.try_acquire_settleable(3).unwrap().settle(0).unwrap();
    // Nothing is counted. The clock goes back to where the first one was charged.
    clock.rewind(2 * MINUTE);
    window.try_acquire(5).unwrap();
    assert!(early.settle(0).is_ok_and(settled(0, 4, 0)));
    assert_eq!((remaining(&window), window.healed()), (5, 1));
}
