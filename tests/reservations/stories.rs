//! Reservations beside changes, clocks that are set back, lines, receipts and snapshots.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

use sluicegate::wait::{AcquireError, Reservation, Reserve};
use sluicegate::window::WindowFromFirst;
use sluicegate::*;

const SECOND: Duration = Duration::from_secs(1);
const AT: u64 = 100 * 1_000_000_000;

fn window(limit: u64, ahead: Duration, clock: &ManualClock) -> FixedWindow<&ManualClock> {
    let rate = Rate::new(limit, SECOND).unwrap();
    FixedWindow::with_clock(rate, clock).unwrap().with_reservations(ahead)
}

fn wait(window: &FixedWindow<&ManualClock>, permits: u64) -> Duration {
    window.peek(permits).unwrap_err().retry_after().unwrap()
}

#[test]
fn without_reservations_only_what_there_is_can_be_reserved() {
    let clock = ManualClock::at(AT);
    let window = window(2, Duration::ZERO, &clock);
    let booked = window.reserve(2).unwrap();
    assert_eq!((booked.permits(), booked.at_nanos()), (2, AT));
    let full = AcquireError::LineFull { retry_after: SECOND };
    assert_eq!(window.reserve(1).map(drop), Err(full));
    assert_eq!(window.reserve(3).map(drop), Err(AcquireError::TooLarge { limit: 2 }));
    assert_eq!(window.reserve(0).unwrap().wait_left(), Duration::ZERO);
    assert!(booked.cancel());
    assert_eq!(window.peek(0).unwrap().remaining(), 2);
}

#[test]
fn a_reset_forgets_what_was_reserved_and_nothing_of_that_comes_back() {
    let clock = ManualClock::at(AT);
    let window = window(2, 5 * SECOND, &clock);
    let old: Vec<_> = (0..5).map(|_| window.reserve(1).unwrap()).collect();
    window.reset();
    assert_eq!(window.peek(0).unwrap().remaining(), 2);
    let new: Vec<_> = (0..5).map(|_| window.reserve(1).unwrap()).collect();
    // The word is what it was.
    assert!(old.into_iter().rev().all(|booked| !booked.cancel()));
    assert!(new.into_iter().rev().all(Reservation::cancel));
    assert_eq!(window.peek(0).unwrap().remaining(), 2);
}

#[test]
fn a_clock_that_is_set_back_by_less_than_can_be_reserved_waits_and_further_heals() {
    let clock = ManualClock::at(AT);
    let window = window(2, 5 * SECOND, &clock);
    assert_eq!(
        (window.reserve(2).unwrap().at_nanos(), window.reserve(1).unwrap().at_nanos() - AT),
        (AT, 1_000_000_000)
    );
    clock.set_nanos(AT - 5_000_000_000);
    assert_eq!(wait(&window, 1), 6 * SECOND);
    assert_eq!((window.healed(), window.count()), (0, 13));
    clock.set_nanos(AT - 6_000_000_000);
    assert_eq!(window.peek(1).unwrap().remaining(), 0);
    assert_eq!((window.healed(), window.count()), (1, 1));
}

#[test]
fn a_line_forms_behind_reservations_and_moves_up_when_one_is_cancelled() {
    let clock = ManualClock::at(AT);
    let window = window(1, 5 * SECOND, &clock);
    let now = window.reserve(1).unwrap();
    let later = window.reserve(1).unwrap();
    assert_eq!((now.wait_left(), later.wait_left()), (Duration::ZERO, SECOND));
    let mut context = Context::from_waker(Waker::noop());
    {
        let refused = window.acquire(1).timeout(SECOND);
        assert!(pin!(refused).as_mut().poll(&mut context).is_ready());
        let mut first = pin!(window.acquire(1));
        assert!(first.as_mut().poll(&mut context).is_pending());
        // Nobody overtakes.
        let behind = window.reserve(1).unwrap();
        assert_eq!(behind.wait_left(), 3 * SECOND);
        assert!(behind.cancel() && later.cancel());
        clock.advance(SECOND);
        assert!(first.as_mut().poll(&mut context).is_ready());
    }
    assert_eq!((window.count(), window.line().waiters()), (1, 0));
    assert_eq!(window.reserve(1).unwrap().wait_left(), SECOND);
    assert_eq!(window.healed(), 0);
}

#[test]
fn a_grant_is_given_back_only_as_long_as_no_later_window_is_reserved() {
    let clock = ManualClock::at(AT);
    let window = window(2, 5 * SECOND, &clock);
    let receipt = window.try_acquire_revocable(2).unwrap();
    let estimate = window.try_acquire_settleable(0).unwrap();
    let later = window.reserve(1).unwrap();
    assert!(later.cancel());
    assert!(receipt.give_back());
    let receipt = window.try_acquire_revocable(2).unwrap();
    let later = window.reserve(1).unwrap();
    assert!(!receipt.give_back());
    assert!(later.cancel());
    assert_eq!(window.count(), 2);
    assert_eq!(estimate.settle(0).unwrap().lost(), 0);
}

#[test]
fn a_snapshot_counts_what_is_reserved_in_the_present_window() {
    let clock = ManualClock::at(AT);
    let from = window(2, 5 * SECOND, &clock);
    for _ in 0..3 {
        drop(from.reserve(1).unwrap());
    }
    let mut to = window(2, 5 * SECOND, &clock);
    to.restore(&from.snapshot(), Duration::ZERO);
    assert_eq!(to.count(), 3);
    assert_eq!(wait(&to, 1), SECOND);
}

#[test]
fn room_for_a_higher_limit_keeps_the_reservations() {
    let clock = ManualClock::at(AT);
    let fixed = window(2, 5 * SECOND, &clock).with_max_limit(1 << 31).unwrap();
    fixed.try_acquire(2).unwrap();
    assert_eq!(fixed.reserve(2).unwrap().wait_left(), SECOND);
    let first = WindowFromFirst::with_clock(rate!(2 / second), &clock).unwrap();
    let first = first.with_reservations(5 * SECOND).with_max_limit(1 << 31).unwrap();
    first.try_acquire(2).unwrap();
    assert!(first.reserve(2).unwrap().wait_left() < SECOND + 2 * first.resolution());
}

#[test]
fn the_largest_counts_and_the_last_windows_are_reserved_or_refused_without_a_panic() {
    for now in [0, u64::MAX - 1, u64::MAX, u64::MAX - 3_000_000_000] {
        let clock = ManualClock::at(now);
        let fixed = FixedWindow::with_clock(rate!(4_294_967_296 / 2 seconds), &clock).unwrap();
        let fixed = fixed.with_reservations(Duration::MAX);
        let first = WindowFromFirst::with_clock(rate!(4_294_967_296 / 2 seconds), &clock).unwrap();
        let first = first.with_reservations(Duration::MAX);
        let limiters: [&dyn Reserve; 2] = [&fixed, &first];
        for limiter in limiters {
            let mut latest = 0;
            for permits in [1 << 32, 1, 1 << 32, (1 << 32) - 1, 1 << 32] {
                if let Ok(booked) = limiter.reserve(permits) {
                    assert!(booked.at_nanos() >= latest);
                    latest = booked.at_nanos();
                }
                assert!(limiter.peek(1).is_err() || latest <= now);
            }
            assert_eq!(
                limiter.reserve(u64::MAX).map(drop),
                Err(AcquireError::TooLarge { limit: 1 << 32 })
            );
            limiter.reset();
            assert!(limiter.try_acquire(1 << 32).is_ok());
        }
    }
}

#[test]
fn a_window_that_would_begin_after_the_last_instant_cannot_be_reserved() {
    let clock = ManualClock::new();
    let ahead = Duration::from_millis(60);
    let window =
        WindowFromFirst::with_clock(rate!(10 / 8 ms), &clock).unwrap().with_reservations(ahead);
    let estimate = window.try_acquire_settleable(10).unwrap();
    let _later = window.reserve(3).unwrap();
    clock.set_nanos(u64::MAX);
    assert!(window.reserve(3).is_err());
    assert!(estimate.settle(20).is_err());
}
