//! Callers in line for windows of a calendar.

use std::time::Duration;

use sluicegate::calendar::{Budget, Calendar, CalendarWindow, Weekday};
use sluicegate::wait::AcquireError;
use sluicegate::{Denied, ManualClock};

use super::support::Caller;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn callers_wait_for_the_months_of_a_calendar() {
    // 1970-01-02.
    let clock = ManualClock::at(DAY.as_nanos() as u64);
    let months = Calendar::months("UTC").unwrap();
    let window = CalendarWindow::with_clock(5, months, &clock).unwrap();
    window.try_acquire(5).unwrap();
    let mut callers = [4, 4, 4].map(|permits| Caller::new(&window, permits));
    let sleeps = callers.each_ref().map(Caller::sleeps_for);
    assert_eq!(sleeps, [30, 58, 89].map(|days| DAY * days));
    clock.advance(DAY * 30);
    assert!(callers[0].is_granted() && window.try_acquire(1).is_err());
    window.reconfigure(8).unwrap();
    assert!(callers[1].is_granted());
}

#[test]
fn callers_wait_for_a_day_that_has_enough() {
    // A Friday.
    let clock = ManualClock::at(DAY.as_nanos() as u64);
    let budget = Budget::with_clock(10, "UTC", &clock).unwrap();
    let budget = budget.on(Weekday::Saturday, 4).and_then(|b| b.on(Weekday::Sunday, 0));
    let budget = budget.and_then(|budget| budget.on(Weekday::Tuesday, 20)).unwrap();
    budget.try_acquire(8).unwrap();
    assert_eq!(Caller::new(&budget, 21).error(), Some(AcquireError::TooLarge { limit: 20 }));
    let mut callers = [3, 2, 9, 1, 15, 5].map(|permits| Caller::new(&budget, permits));
    let sleeps = callers.each_ref().map(Caller::sleeps_for);
    assert_eq!(sleeps, [1, 3, 4, 4, 11, 11].map(|days| DAY * days));
    assert!(budget.try_acquire(1).is_err());
    clock.advance(DAY);
    assert!(callers[0].is_granted() && callers[1].is_waiting());
    budget.reconfigure(Weekday::Saturday, 5).unwrap();
    assert!(callers[1].is_granted() && callers[2].is_waiting());
    assert_eq!(callers[2].sleeps_for(), DAY * 2);
}

/// Nothing is left today, a Friday; tomorrow has 1, and the other days a thousand.
fn uneven(clock: &ManualClock) -> Budget<&ManualClock> {
    clock.set_nanos(DAY.as_nanos() as u64);
    let budget = Budget::with_clock(1000, "UTC", clock).unwrap();
    let budget = budget.on(Weekday::Saturday, 1).unwrap();
    budget.try_acquire(1000).unwrap();
    budget
}

#[test]
fn a_denial_by_a_budget_tells_the_day_on_which_the_line_has_passed() {
    let clock = ManualClock::new();
    let budget = uneven(&clock);
    let caller = Caller::new(&budget, 500);
    assert_eq!(caller.sleeps_for(), DAY * 2);
    for permits in [1, 1000] {
        let denied = budget.try_acquire(permits).unwrap_err();
        assert_eq!(denied.retry_after(), Some(DAY * 2), "{permits}");
    }
    clock.advance(DAY);
    // There is 1 on Saturday, and it is not enough for the one in line.
    for permits in [1, 2, 1000] {
        let denied = budget.try_acquire(permits).unwrap_err();
        assert_eq!(denied.retry_after(), Some(DAY), "{permits}");
    }
    let too_large = Denied::TooLarge { limit: 1000, which: 0 };
    assert_eq!(budget.try_acquire(1001), Err(too_large));
}

#[test]
fn a_denial_by_a_window_of_months_tells_the_month_in_which_the_line_has_passed() {
    // 1970-01-02.
    let clock = ManualClock::at(DAY.as_nanos() as u64);
    let months = Calendar::months("UTC").unwrap();
    let window = CalendarWindow::with_clock(5, months, &clock).unwrap();
    window.try_acquire(5).unwrap();
    let _callers = [5, 5].map(|permits| Caller::new(&window, permits));
    // February has 28 days.
    assert_eq!(window.try_acquire(1).unwrap_err().retry_after(), Some(DAY * 58));
}
