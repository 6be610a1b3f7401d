//! Windows of different lengths, and days with different amounts.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use sluicegate::calendar::{Budget, Calendar, CalendarWindow, Weekday};
use sluicegate::wait::{AcquireError, Reserve};
use sluicegate::*;

use crate::support::cases::cases;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[test]
fn permits_of_the_months_to_come_are_reserved_whatever_their_lengths() {
    let clock = ManualClock::new();
    let months = Calendar::months("UTC").unwrap();
    let window = CalendarWindow::with_clock(3, months, &clock).unwrap().with_reservations(70 * DAY);
    let reserved: Vec<u64> =
        (0..4).map(|_| window.reserve(2).map_or(0, |booked| booked.at_nanos())).collect();
    // January, February of 28 days, March; April is 90 days away.
    let days = |days: u32| (days * DAY).as_nanos() as u64;
    assert_eq!(reserved, [0, days(31), days(59), 0]);
    let refused = window.reserve(2).map(drop);
    assert_eq!(refused, Err(AcquireError::LineFull { retry_after: 20 * DAY }));
    clock.advance(59 * DAY);
    assert!(window.try_acquire(1).is_ok() && window.try_acquire(1).is_err());
    assert_eq!(window.healed(), 0);
}

#[test]
fn a_budget_reserves_on_the_first_day_with_enough() {
    // A Thursday.
    let clock = ManualClock::new();
    let budget = Budget::with_clock(10, "UTC", &clock).unwrap().with_reservations(10 * DAY);
    let budget = budget.on(Weekday::Friday, 0).unwrap().on(Weekday::Saturday, 4).unwrap();
    budget.try_acquire(8).unwrap();
    assert_eq!(budget.reserve(4).unwrap().wait_left(), 2 * DAY);
    // The present day is closed.
    let waits = |permits| budget.peek(permits).unwrap_err().retry_after();
    assert_eq!([1, 5, 10].map(waits), [Some(3 * DAY); 3]);
    assert_eq!(budget.peek(11).unwrap_err(), Denied::TooLarge { limit: 10, which: 0 });
    assert_eq!(budget.reserve(1).unwrap().wait_left(), 3 * DAY);
    let large = budget.reserve(11).map(drop);
    assert_eq!(large, Err(AcquireError::TooLarge { limit: 10 }));
    clock.advance(3 * DAY);
    assert_eq!(budget.peek(9).unwrap().remaining(), 0);
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn no_day_has_more_than_its_amount(
        amounts in vec(0..6_u64, 7),
        ops in vec((0..4_u8, 1..6_u64, 0..40_u64), 1..60),
    ) {
        let clock = ManualClock::new();
        let mut budget = Budget::with_clock(5, "Europe/Berlin", &clock).unwrap();
        let weekdays = [
            Weekday::Monday, Weekday::Tuesday, Weekday::Wednesday, Weekday::Thursday,
            Weekday::Friday, Weekday::Saturday, Weekday::Sunday,
        ];
        // So that each request has a day.
        for (weekday, &amount) in weekdays.into_iter().zip(&amounts).skip(1) {
            budget = budget.on(weekday, amount).unwrap();
        }
        let budget = budget.with_reservations(20 * DAY);
        let days = Calendar::days("Europe/Berlin").unwrap();
        // By the day's beginning.
        let mut kept: BTreeMap<Duration, u64> = BTreeMap::new();
        for (verb, permits, hours) in ops {
            let now = Duration::from_nanos(clock.now_nanos());
            match verb {
                0 => clock.advance(Duration::from_secs(60 * 60 * hours)),
                1 => match budget.try_acquire(permits) {
                    Ok(_) => *kept.entry(days.window(now).start).or_default() += permits,
                    Err(denied) => {
                        let wait = denied.retry_after().unwrap();
                        clock.advance_nanos(wait.as_nanos() as u64 - 1);
                        prop_assert!(budget.peek(permits).is_err());
                        clock.advance_nanos(1);
                        prop_assert!(budget.peek(permits).is_ok());
                        clock.set_nanos(now.as_nanos() as u64);
                    }
                },
                2 => if let Ok(booked) = budget.reserve(permits) {
                    let at = Duration::from_nanos(booked.at_nanos());
                    prop_assert!(at >= now && at <= now + 20 * DAY);
                    *kept.entry(days.window(at).start).or_default() += permits;
                },
                _ => if let Ok(booked) = budget.reserve(permits) {
                    prop_assert!(booked.cancel());
                },
            }
            for (&start, &kept) in &kept {
                let number = (start + DAY / 2).as_secs() / DAY.as_secs();
                // Day 0 was a Thursday.
                let weekday = weekdays[(number as usize + 3) % 7];
                prop_assert!(kept <= budget.amount(weekday), "{} on {:?}", kept, start);
            }
        }
        prop_assert_eq!(budget.healed(), 0);
    }
}
