//! Windows of a calendar and budgets, on a clock that the tests move.
#![expect(clippy::unchecked_time_subtraction, reason = "a test that goes below 0 is to fail")]

mod budget;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Zoned;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use sluicegate::calendar::{
    Budget, Calendar, CalendarError, CalendarUnit, CalendarWindow, Weekday,
};
use sluicegate::{Clock, Limiter, ManualClock};

const SECOND: u64 = 1_000_000_000;
const HOUR: u64 = 60 * 60 * SECOND;
const DAY: u64 = 24 * HOUR;

/// A time such as `2026-03-29T02:00[Europe/Berlin]`, in nanoseconds.
fn time(text: &str) -> u64 {
    u64::try_from(text.parse::<Zoned>().unwrap().timestamp().as_nanosecond()).unwrap()
}

/// That the window which `from` is in ends at `to`: nothing before, all from then on.
fn ends(calendar: Calendar, from: &str, to: &str) {
    let (start, end) = (time(from), time(to));
    let clock = ManualClock::at(start);
    let window = CalendarWindow::with_clock(3, calendar, &clock).unwrap();
    assert_eq!(window.window().end, Duration::from_nanos(end), "{from}");
    window.try_acquire(3).unwrap();
    let denied = window.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(Duration::from_nanos(end - start)), "{from}");
    clock.set_nanos(end - 1);
    assert!(window.try_acquire(1).is_err(), "{from}");
    clock.set_nanos(end);
    assert_eq!(window.try_acquire(3).unwrap().remaining(), 0, "{from}");
    assert_eq!(window.window().start, Duration::from_nanos(end), "{from}");
    assert_eq!(window.healed(), 0);
}

#[test]
fn days_have_23_hours_and_25_when_the_clocks_are_changed() {
    let berlin = || Calendar::days("Europe/Berlin").unwrap();
    let (start, end) = ("2026-03-29T00:00[Europe/Berlin]", "2026-03-30T00:00[Europe/Berlin]");
    assert_eq!(time(end) - time(start), 23 * HOUR);
    ends(berlin(), start, end);
    let (start, end) = ("2026-10-25T00:00[Europe/Berlin]", "2026-10-26T00:00[Europe/Berlin]");
    assert_eq!(time(end) - time(start), 25 * HOUR);
    ends(berlin(), start, end);
    ends(
        Calendar::days("America/Sao_Paulo").unwrap(),
        "2018-11-03T12:00[America/Sao_Paulo]",
        // There was no midnight.
        "2018-11-04T01:00[America/Sao_Paulo]",
    );
}

#[test]
fn a_leap_day_is_a_day_and_lengthens_its_month() {
    let york = "[America/New_York]";
    let ends = |calendar, from: &str, to: &str| {
        ends(calendar, &format!("{from}{york}"), &format!("{to}{york}"));
    };
    let days = || Calendar::days("America/New_York").unwrap();
    let months = || Calendar::months("America/New_York").unwrap();
    ends(days(), "2028-02-28T13:00", "2028-02-29T00:00");
    ends(days(), "2028-02-29T00:00", "2028-03-01T00:00");
    ends(months(), "2028-02-01T00:00", "2028-03-01T00:00");
    ends(months(), "2027-02-28T23:59:59", "2027-03-01T00:00");
    ends(months(), "2028-01-31T23:00", "2028-02-01T00:00");
    ends(months(), "2028-12-31T23:59:59.999999999", "2029-01-01T00:00");
}

#[test]
fn weeks_begin_on_the_day_that_was_chosen() {
    let weeks = || Calendar::weeks("Europe/Berlin").unwrap();
    ends(weeks(), "2026-03-29T23:00[Europe/Berlin]", "2026-03-30T00:00[Europe/Berlin]");
    ends(weeks(), "2026-03-30T00:00[Europe/Berlin]", "2026-04-06T00:00[Europe/Berlin]");
    let sundays = weeks().weeks_begin_on(Weekday::Sunday);
    ends(sundays, "2026-03-29T23:00[Europe/Berlin]", "2026-04-05T00:00[Europe/Berlin]");
    // The 1st of June 2026 is a Monday, so a day of that month modulo 7 is its weekday.
    let days = [
        (Weekday::Monday, 1),
        (Weekday::Tuesday, 2),
        (Weekday::Wednesday, 3),
        (Weekday::Thursday, 4),
        (Weekday::Friday, 5),
        (Weekday::Saturday, 6),
        (Weekday::Sunday, 0),
    ];
    for (first, weekday) in days {
        for day in 1..14_u64 {
            let weeks = Calendar::weeks("UTC").unwrap().weeks_begin_on(first);
            let end = (day + 1..=day + 7).find(|day| day % 7 == weekday).unwrap();
            ends(
                weeks,
                &format!("2026-06-{day:02}T12:00[UTC]"),
                &format!("2026-06-{end:02}T00:00[UTC]"),
            );
        }
    }
}

#[test]
fn a_clock_set_back_over_midnight_grants_nothing_twice() {
    let midnight = time("2026-07-02T00:00[Europe/Berlin]");
    let clock = ManualClock::at(midnight - 60 * SECOND);
    let calendar = Calendar::days("Europe/Berlin").unwrap();
    let window = CalendarWindow::with_clock(5, calendar, &clock).unwrap();
    window.try_acquire(5).unwrap();
    clock.set_nanos(midnight + 30 * SECOND);
    window.try_acquire(3).unwrap();

    clock.rewind(Duration::from_secs(60));
    assert_eq!(window.try_acquire_up_to(9).unwrap().permits(), 2);
    let denied = window.try_acquire(1).unwrap_err();
    // To the end of the window that counts.
    assert_eq!(denied.retry_after(), Some(Duration::from_nanos(DAY + 30 * SECOND)));
    clock.set_nanos(midnight + DAY - 1);
    assert!(window.try_acquire(1).is_err());
    assert_eq!(window.healed(), 0);
    clock.set_nanos(midnight + DAY);
    window.try_acquire(5).unwrap();
}

#[test]
fn a_clock_set_back_by_days_keeps_the_counts_for_the_day_of_now() {
    let clock = ManualClock::at(time("2026-07-05T13:00[Europe/Berlin]"));
    let calendar = Calendar::days("Europe/Berlin").unwrap();
    let window = CalendarWindow::with_clock(5, calendar, &clock).unwrap();
    window.try_acquire(3).unwrap();
    clock.rewind(Duration::from_nanos(3 * DAY));
    assert_eq!(window.try_acquire_up_to(9).unwrap().permits(), 2);
    assert_eq!(window.healed(), 1);
    let denied = window.try_acquire(1).unwrap_err();
    assert_eq!(denied.retry_after(), Some(Duration::from_nanos(11 * HOUR)));
    clock.advance(denied.retry_after().unwrap());
    window.try_acquire(5).unwrap();
    assert_eq!(window.healed(), 1);
}

/// Windows by the calendar, each with its count: slow, and without a word.
#[test]
fn a_window_counts_as_a_list_of_windows_does_and_every_wait_is_the_least() {
    const ZONES: [&str; 5] =
        ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/St_Johns", "Pacific/Apia"];
    const UNITS: [(CalendarUnit, u64); 5] = [
        (CalendarUnit::Minute, 60),
        (CalendarUnit::Hour, 60 * 60),
        (CalendarUnit::Day, 86_400),
        (CalendarUnit::Week, 7 * 86_400),
        (CalendarUnit::Month, 30 * 86_400),
    ];
    let mut random = StdRng::seed_from_u64(1);
    for zone in ZONES {
        for (unit, seconds) in UNITS {
            let calendar = Calendar::new(unit, zone).unwrap();
            let clock = ManualClock::at(time("2010-10-20T07:12:34.567[UTC]"));
            let window = CalendarWindow::with_clock(7, calendar.clone(), &clock).unwrap();
            let (mut present, mut used) = (window.window(), 0);
            for _ in 0..400 {
                clock.advance_nanos(random.random_range(0..seconds * SECOND / 2));
                let now = Duration::from_nanos(clock.now_nanos());
                if !present.contains(&now) {
                    (present, used) = (calendar.window(now), 0);
                }
                let permits = random.random_range(1..=7);
                match window.try_acquire(permits) {
                    Ok(grant) => {
                        used += permits;
                        assert_eq!(grant.remaining(), 7 - used);
                        assert_eq!(grant.reset_after(), present.end - now);
                    }
                    Err(denied) => {
                        assert!(used + permits > 7);
                        let wait = denied.retry_after().unwrap();
                        assert_eq!(wait, present.end - now);
                        clock.advance(wait - Duration::from_nanos(1));
                        assert!(window.peek(permits).is_err(), "{zone} {unit:?}");
                        clock.advance_nanos(1);
                        assert!(window.peek(permits).is_ok(), "{zone} {unit:?}");
                    }
                }
                assert!(used <= 7);
            }
        }
    }
}

#[test]
fn what_was_granted_is_restored_within_its_window_and_given_back_if_nothing_happened() {
    let clock = ManualClock::at(time("2026-07-01T12:00[Europe/Berlin]"));
    let budget = || Budget::with_clock(10, "Europe/Berlin", &clock).unwrap();
    let old = budget();
    assert!(old.try_acquire_revocable(4).unwrap().give_back());
    old.try_acquire(7).unwrap();
    let mut new = budget();
    new.restore(&old.snapshot(), Duration::from_nanos(12 * HOUR));
    assert_eq!(new.count(), 7);
    new.restore(&old.snapshot(), Duration::from_nanos(12 * HOUR + 1));
    assert_eq!(new.count(), 0);
    old.reset();
    assert_eq!(old.remaining(), 10);

    // The window began before the epoch, and the clock with it.
    let epoch = ManualClock::new();
    let calendar = Calendar::months("Europe/Berlin").unwrap();
    let mut window = CalendarWindow::with_clock(10, calendar, &epoch).unwrap();
    window.restore(
        &sluicegate::window::History::new([(Duration::from_secs(3600), 4)]),
        Duration::ZERO,
    );
    assert_eq!(window.count(), 4);
    assert_eq!(window.window(), Duration::ZERO..Duration::from_secs(31 * 86_400 - 3600));
}

/// The months are UTC's: the last minute of January 1971, February, and the first minute
/// of March are less than 31 days.
#[test]
fn a_span_that_holds_a_whole_shorter_window_admits_three_times_the_limit() {
    let february = 31 + 365;
    let day = 24 * 60 * 60 * 1_000_000_000_u64;
    let clock = ManualClock::at(february * day - 1);
    let month = CalendarWindow::with_clock(1, Calendar::months("UTC").unwrap(), &clock).unwrap();
    for nanos in [february * day - 1, (february + 10) * day, (february + 28) * day] {
        clock.set_nanos(nanos);
        assert!(month.try_acquire(1).is_ok());
        assert!(month.try_acquire(1).is_err());
    }
}

#[test]
fn an_unknown_zone_and_a_limit_that_cannot_be_counted_are_named() {
    let unknown = CalendarError::TimeZone { name: "Europe/Nowhere".into() };
    assert_eq!(Calendar::hours("Europe/Nowhere"), Err(unknown.clone()));
    assert_eq!(Budget::daily(5, "Europe/Nowhere").unwrap_err(), unknown);
    assert!(unknown.to_string().starts_with("time zone is \"Europe/Nowhere\": must be"));
    // A database has a name for a zone that is not known.
    let ruleless = Calendar::with_posix_zone(CalendarUnit::Day, "UTC+3 or so");
    assert_eq!(ruleless, Err(CalendarError::PosixZone { rule: "UTC+3 or so".into() }));
    let nameless = CalendarError::TimeZone { name: "Etc/Unknown".into() };
    assert_eq!(Calendar::days("Etc/Unknown"), Err(nameless));
    for name in ["", "UTC\0", "../../etc/passwd"] {
        assert!(Calendar::days(name).is_err(), "{name:?}");
    }
    assert_eq!(Calendar::days("utc").unwrap().zone(), Some("UTC"));

    let window = CalendarWindow::new(1, Calendar::hours("UTC").unwrap()).unwrap();
    let error = window.reconfigure(1 << 32).unwrap_err();
    assert_eq!(
        error.to_string(),
        "limit is 4294967296: must be from 1 to 4294967295 for this window"
    );
    assert!(window.reconfigure(0).is_err());
    window.reconfigure((1 << 32) - 1).unwrap();
    assert_eq!(window.limit(), (1 << 32) - 1);
    assert!(Budget::daily(Budget::MAX_AMOUNT + 1, "UTC").is_err());
}

#[test]
fn on_the_systems_clock_the_present_window_is_that_of_now() {
    let window = CalendarWindow::new(2, Calendar::days("Europe/Berlin").unwrap()).unwrap();
    assert!(window.window().contains(&Duration::from_nanos(window.clock().now_nanos())));
    window.try_acquire(1).unwrap();
    assert!(Budget::daily(1, "Asia/Kathmandu").unwrap().try_acquire(1).is_ok());
}

/// Returns the number of permits that four threads get, each of which asks until it is refused.
fn race(limiter: &impl Limiter, meanwhile: impl FnOnce()) -> u64 {
    let granted = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for ask in 0..500 {
                    if let Ok(grant) = limiter.try_acquire(1 + ask % 2) {
                        granted.fetch_add(grant.permits(), Ordering::Relaxed);
                    }
                }
            });
        }
        meanwhile();
    });
    granted.into_inner()
}

#[test]
fn threads_that_race_never_get_more_than_the_limit() {
    let start = time("2026-10-24T23:59:59[Europe/Berlin]");
    let clock = ManualClock::at(start);
    let calendar = Calendar::days("Europe/Berlin").unwrap();
    let window = CalendarWindow::with_clock(301, calendar, &clock).unwrap();
    let budget = Budget::with_clock(301, "Europe/Berlin", &clock).unwrap();
    let budget = budget.on(Weekday::Saturday, 150).unwrap();
    for day in 0..6 {
        clock.set_nanos(start + day * (DAY + HOUR));
        assert_eq!(race(&window, || ()), 301);
        assert_eq!(race(&budget, || ()), if day == 0 { 150 } else { 301 });
    }
}

#[test]
fn threads_that_race_while_the_clock_goes_back_and_forth_get_two_windows() {
    let midnight = time("2026-10-25T00:00[Europe/Berlin]");
    for _ in 0..20 {
        let clock = ManualClock::at(midnight - SECOND);
        let calendar = Calendar::days("Europe/Berlin").unwrap();
        let window = CalendarWindow::with_clock(301, calendar, &clock).unwrap();
        let granted = race(&window, || {
            for ahead in 0..100 {
                clock.set_nanos(midnight - SECOND + (ahead % 2) * 2 * SECOND);
            }
        });
        assert!((301..=602).contains(&granted), "{granted}");
        assert_eq!(window.healed(), 0);
    }
}
