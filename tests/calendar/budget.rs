//! Budgets, by the day and by the day of the week.

use std::ops::Range;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluicegate::calendar::{Budget, Calendar, CalendarError, Weekday};
use sluicegate::{Clock, Denied, Limiter, ManualClock};

use super::{DAY, HOUR, SECOND, time};

/// A denial's wait, after its least was tried: no less will do.
fn wait(limiter: &impl Limiter, clock: &ManualClock, permits: u64) -> Duration {
    let wait = limiter.peek(permits).unwrap_err().retry_after().unwrap();
    let now_nanos = clock.now_nanos();
    clock.advance(wait - Duration::from_nanos(1));
    assert!(limiter.peek(permits).is_err());
    clock.advance_nanos(1);
    assert!(limiter.peek(permits).is_ok());
    clock.set_nanos(now_nanos);
    wait
}

#[test]
fn a_request_for_more_than_today_has_waits_for_a_day_that_has_it() {
    let clock = ManualClock::at(time("2026-10-22T18:00[Europe/Berlin]"));
    let budget = Budget::with_clock(10, "Europe/Berlin", &clock)
        .and_then(|budget| budget.on(Weekday::Friday, 4))
        .and_then(|budget| budget.on(Weekday::Saturday, 0))
        .and_then(|budget| budget.on(Weekday::Monday, 20))
        .unwrap();
    let hours = |hours: u64| Duration::from_nanos(hours * HOUR);
    assert_eq!(budget.amount(Weekday::Friday), 4);
    assert_eq!(budget.remaining(), 10);

    // Thursday: all of today is spent.
    budget.try_acquire(8).unwrap();
    assert_eq!(wait(&budget, &clock, 3), hours(6));
    assert_eq!(wait(&budget, &clock, 5), hours(6 + 48));
    // Over the Sunday of 25 hours.
    assert_eq!(wait(&budget, &clock, 11), hours(6 + 48 + 25));
    assert_eq!(budget.try_acquire(21), Err(Denied::TooLarge { limit: 20, which: 0 }));
    let Denied::Wait(shortfall) = budget.try_acquire(11).unwrap_err() else { panic!("waits") };
    assert_eq!((shortfall.missing(), shortfall.remaining(), shortfall.limit()), (9, 2, 10));
    assert_eq!(shortfall.reset_after(), hours(6));

    // Saturday: nothing at all, and that is not too much.
    clock.set_nanos(time("2026-10-24T00:00[Europe/Berlin]"));
    assert_eq!((budget.remaining(), budget.count()), (0, 0));
    assert_eq!(wait(&budget, &clock, 1), hours(24));
    assert_eq!(budget.try_acquire_up_to(18).unwrap_err().retry_after(), Some(hours(24)));
    assert!(budget.try_acquire_revocable(1).is_err());
    budget.try_acquire(0).unwrap();

    // Sunday: what was not spent is not carried over to Monday.
    clock.advance_nanos(24 * HOUR);
    assert_eq!(budget.day().end - budget.day().start, hours(25));
    budget.try_acquire(1).unwrap();
    clock.advance_nanos(25 * HOUR);
    assert_eq!(budget.try_acquire_up_to(100).unwrap().permits(), 20);
}

/// The weekday of a day that begins at `start`, by the date that it then is.
fn weekday(zone: &str, start: Duration) -> Weekday {
    let start = jiff::Timestamp::from_second(i64::try_from(start.as_secs()).unwrap()).unwrap();
    let date = start.in_tz(zone).unwrap().date();
    Weekday::ALL[usize::try_from(date.weekday().to_monday_zero_offset()).unwrap()]
}

#[test]
fn a_budget_spends_as_a_list_of_days_does_and_waits_for_the_first_that_will_do() {
    let mut random = StdRng::seed_from_u64(2);
    for (zone, from) in [
        ("Europe/Berlin", "2026-03-20T10:00[UTC]"),
        ("America/New_York", "2026-10-20T10:00[UTC]"),
        ("Pacific/Apia", "2011-12-20T10:00[UTC]"),
        ("America/St_Johns", "2010-10-25T10:00[UTC]"),
    ] {
        for _ in 0..20 {
            let days = Calendar::days(zone).unwrap();
            let clock = ManualClock::at(time(from));
            let amounts: [u64; 7] = std::array::from_fn(|_| random.random_range(0..5));
            let amount = |day: &Range<Duration>| amounts[weekday(zone, day.start) as usize];
            let budget = Budget::with_clock(0, zone, &clock).unwrap();
            for (weekday, amount) in Weekday::ALL.into_iter().zip(amounts) {
                budget.reconfigure(weekday, amount).unwrap();
            }
            let (mut today, mut used) = (budget.day(), 0);
            for _ in 0..60 {
                clock.advance_nanos(random.random_range(0..20 * HOUR));
                let now = Duration::from_nanos(clock.now_nanos());
                if !today.contains(&now) {
                    (today, used) = (days.window(now), 0);
                }
                let permits = random.random_range(1..=5);
                match budget.try_acquire(permits) {
                    Ok(grant) => {
                        used += permits;
                        assert_eq!(grant.remaining() + used, amount(&today));
                    }
                    Err(Denied::TooLarge { limit, .. }) => {
                        assert_eq!(Some(&limit), amounts.iter().max());
                        assert!(permits > limit);
                    }
                    Err(denied) => {
                        assert!(used + permits > amount(&today));
                        let mut day = days.window(today.end);
                        while amount(&day) < permits {
                            day = days.window(day.end);
                        }
                        assert_eq!(denied.retry_after(), Some(day.start - now), "{zone}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_budget_changes_while_it_is_in_use() {
    let clock = ManualClock::at(time("2026-07-01T12:00[UTC]"));
    let budget = Budget::with_clock(10, "UTC", &clock).unwrap();
    budget.try_acquire(6).unwrap();
    budget.reconfigure(Weekday::Wednesday, 4).unwrap();
    assert_eq!(budget.remaining(), 0);
    let Denied::Wait(shortfall) = budget.try_acquire(3).unwrap_err() else { panic!("waits") };
    assert_eq!((shortfall.missing(), shortfall.limit()), (5, 4));
    budget.reconfigure(Weekday::Wednesday, 7).unwrap();
    budget.try_acquire(1).unwrap();
    assert_eq!(
        budget.reconfigure(Weekday::Monday, Budget::MAX_AMOUNT + 1),
        Err(CalendarError::Amount { amount: 1 << 47, max: (1 << 47) - 1 })
    );
    for weekday in Weekday::ALL {
        budget.reconfigure(weekday, 0).unwrap();
    }
    assert_eq!(budget.try_acquire(1), Err(Denied::TooLarge { limit: 0, which: 0 }));
    assert_eq!(budget.try_acquire_up_to(1), Err(Denied::TooLarge { limit: 0, which: 0 }));
    budget.reconfigure(Weekday::Tuesday, Budget::MAX_AMOUNT).unwrap();
    assert_eq!(wait(&budget, &clock, Budget::MAX_AMOUNT), Duration::from_nanos(5 * DAY + DAY / 2));
}

#[test]
fn a_budget_whose_clock_is_set_back_spends_the_day_that_has_begun() {
    let midnight = time("2026-07-04T00:00[Europe/Berlin]");
    let clock = ManualClock::at(midnight);
    let budget = Budget::with_clock(10, "Europe/Berlin", &clock)
        .and_then(|budget| budget.on(Weekday::Saturday, 3))
        .and_then(|budget| budget.on(Weekday::Sunday, 1))
        .unwrap();
    budget.try_acquire(2).unwrap();
    clock.rewind(Duration::from_secs(60));
    // Saturday's 3, of which 1 is left, and then Sunday's 1.
    assert_eq!(budget.remaining(), 1);
    assert_eq!(wait(&budget, &clock, 2), Duration::from_nanos(60 * SECOND + 2 * DAY));
    budget.try_acquire(1).unwrap();
    assert_eq!(wait(&budget, &clock, 1), Duration::from_nanos(60 * SECOND + DAY));
    assert_eq!(budget.healed(), 0);

    clock.rewind(Duration::from_nanos(3 * DAY));
    assert_eq!(budget.remaining(), 7);
    assert_eq!(budget.healed(), 1);
}

#[test]
fn time_of_use_is_counted_to_the_nanosecond_and_limited_by_the_day() {
    let minutes = |minutes: u64| Duration::from_secs(60 * minutes);
    let time_of = |number: u64| Budget::time(minutes(number));
    let clock = ManualClock::at(time("2026-10-24T20:00[America/New_York]"));
    let screen = Budget::with_clock(time_of(60), "America/New_York", &clock)
        .and_then(|budget| budget.on(Weekday::Sunday, time_of(90)))
        .unwrap();
    screen.try_acquire(time_of(60) - 1).unwrap();
    assert_eq!(screen.remaining(), 1);
    assert_eq!(screen.count(), time_of(60) - 1);
    assert_eq!(screen.try_acquire_up_to(time_of(1)).unwrap().permits(), 1);
    let denied = screen.try_acquire_up_to(time_of(1)).unwrap_err();
    assert_eq!(denied.retry_after(), Some(minutes(240)));
    assert_eq!(screen.try_acquire(time_of(90)).unwrap_err().retry_after(), Some(minutes(240)));
    assert!(matches!(screen.try_acquire(time_of(91)), Err(Denied::TooLarge { .. })));
    let ever = Budget::time(Duration::MAX);
    assert_eq!(ever, u64::MAX);
    assert!(matches!(screen.try_acquire(ever), Err(Denied::TooLarge { .. })));

    clock.advance(minutes(240));
    assert_eq!(Duration::from_nanos(screen.remaining()), minutes(90));
    screen.reconfigure(Weekday::Sunday, Budget::MAX_AMOUNT).unwrap();
    assert_eq!(screen.amount(Weekday::Sunday), Budget::MAX_AMOUNT);
    screen.try_acquire(Budget::MAX_AMOUNT).unwrap();
    let error = screen.reconfigure(Weekday::Monday, time_of(60 * 48)).unwrap_err();
    assert_eq!(error.to_string(), "amount is 172800000000000: must be from 0 to 140737488355327");
}

/// Each reading is an hour after the one before.
struct Hasty(ManualClock);

impl Clock for Hasty {
    fn now_nanos(&self) -> u64 {
        self.0.advance_nanos(HOUR);
        self.0.now_nanos()
    }
}

#[test]
fn a_day_with_enough_that_begins_while_a_request_is_refused_grants_it() {
    let clock = Hasty(ManualClock::at(time("2026-10-23T21:00[UTC]")));
    let budget = Budget::with_clock(0, "UTC", clock).unwrap();
    let budget = budget.on(Weekday::Saturday, 5).unwrap();
    // Asked at 23:00 on Friday; looked for another day at midnight.
    assert_eq!(budget.try_acquire(5).unwrap().remaining(), 0);
    assert_eq!(budget.count(), 5);
}

#[test]
fn a_weekday_that_was_skipped_is_not_waited_for() {
    // The 30th would have been a Friday.
    let clock = ManualClock::at(time("2011-12-29T12:00[Pacific/Apia]"));
    let fridays = Budget::with_clock(0, "Pacific/Apia", &clock).unwrap();
    let fridays = fridays.on(Weekday::Friday, 5).unwrap();
    let denied = fridays.try_acquire(1).unwrap_err();
    clock.advance(denied.retry_after().unwrap());
    assert_eq!(clock.now_nanos(), time("2012-01-06T00:00[Pacific/Apia]"));
    fridays.try_acquire(5).unwrap();
}

#[test]
fn whoever_is_refused_waits_some_time_though_the_next_day_has_begun_by_then() {
    let clock = Hasty(ManualClock::at(time("2026-10-23T08:00[UTC]")));
    let budget = Budget::with_clock(0, "UTC", &clock).unwrap();
    let budget = budget.on(Weekday::Friday, 5).and_then(|b| b.on(Weekday::Saturday, 5)).unwrap();
    budget.try_acquire(5).unwrap();
    // Refused at 23:30 on Friday; the wait is told at half past midnight.
    clock.0.set_nanos(time("2026-10-23T22:30[UTC]"));
    let denied = budget.try_acquire(1).unwrap_err();
    assert_eq!(clock.0.now_nanos(), time("2026-10-24T00:30[UTC]"));
    assert_eq!(denied.retry_after(), Some(Duration::from_nanos(1)));
}
