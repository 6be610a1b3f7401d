use super::*;
use std::vec::Vec;

const HOUR: i64 = 60 * 60;
const DAY: i64 = SECONDS_PER_DAY;

/// Time zones, each with a time at which its clock changes, or a time to test it at.
const TRANSITIONS: [(&str, &str); 20] = [
    ("Europe/Berlin", "2026-03-29T01:00Z"),
    ("Europe/Berlin", "2026-10-25T01:00Z"),
    // The change is between the midnights of UTC and of summer time.
    ("Europe/London", "2026-03-29T01:00Z"),
    ("America/New_York", "2026-03-08T07:00Z"),
    ("America/New_York", "2026-11-01T06:00Z"),
    // A change by half an hour.
    ("Australia/Lord_Howe", "2026-04-04T15:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:30Z"),
    // From +05:30 to +05:45.
    ("Asia/Kathmandu", "1985-12-31T18:30Z"),
    // 2011-12-30 was skipped.
    ("Pacific/Apia", "2011-12-30T10:00Z"),
    // A day without a midnight, and a change at the end of summer that repeats an evening.
    ("America/Sao_Paulo", "2018-11-04T03:00Z"),
    ("America/Sao_Paulo", "2018-02-18T02:00Z"),
    // A change at 00:01, back to 23:01.
    ("America/St_Johns", "2010-11-07T02:31Z"),
    ("America/St_Johns", "2010-03-14T03:31Z"),
    // A change by 44 minutes and 30 seconds.
    ("Africa/Monrovia", "1972-01-07T00:44:30Z"),
    // A change of three hours.
    ("Antarctica/Casey", "2020-10-03T16:01Z"),
    ("Pacific/Kiritimati", "1994-12-31T10:40Z"),
    // Seven hours were skipped, with midnight at their beginning.
    ("Antarctica/Vostok", "1994-11-01T00:00Z"),
    // The name of the offset changed, and the offset did not.
    ("Europe/Lisbon", "1992-09-27T01:00Z"),
    ("Asia/Kathmandu", "2026-05-01T00:00Z"),
    ("UTC", "2026-12-31T23:00Z"),
];

const UNITS: [CalendarUnit; 5] = [
    CalendarUnit::Minute,
    CalendarUnit::Hour,
    CalendarUnit::Day,
    CalendarUnit::Week,
    CalendarUnit::Month,
];

fn second(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_second()
}

/// Returns the lengths of the windows from the one that contains `from` up to `to`.
fn lengths(calendar: &Calendar, from: i64, to: i64) -> Vec<i64> {
    let mut lengths = Vec::new();
    let mut at = from;
    while at < to {
        let span = calendar.span(at);
        lengths.push(span.end - span.start);
        at = span.end;
    }
    lengths
}

#[test]
fn the_windows_tile_the_time_around_every_transition() {
    for (zone, at) in TRANSITIONS {
        let at = second(at);
        for unit in UNITS {
            let calendar = Calendar::new(unit, zone).unwrap();
            let mut present = calendar.span(at - 40 * DAY);
            while present.start < at + 40 * DAY {
                // The short ones near the transition only.
                let next = calendar.span(present.end);
                assert_eq!(next.start, present.end, "{zone} {unit:?}");
                assert!(next.end > next.start && next.number > present.number);
                assert_eq!(calendar.numbered(next.number), next, "{zone} {unit:?}");
                for inner in
                    [next.start, next.start + 1, i64::midpoint(next.start, next.end), next.end - 1]
                {
                    if (next.start..next.end).contains(&inner) {
                        assert_eq!(calendar.span(inner), next, "{zone} {unit:?} {inner}");
                    }
                }
                let far = unit == CalendarUnit::Minute && (next.end - at).abs() > 4 * HOUR;
                present = if far { calendar.span(next.end + 4 * HOUR) } else { next };
            }
        }
    }
}

#[test]
fn every_second_near_a_transition_is_in_one_window() {
    for (zone, at) in TRANSITIONS {
        let at = second(at);
        for unit in UNITS {
            let calendar = Calendar::new(unit, zone).unwrap();
            let near = 2 * HOUR;
            let mut present = calendar.span(at - near);
            for second in at - near..at + near {
                let span = calendar.span(second);
                assert!((span.start..span.end).contains(&second), "{zone} {unit:?} {second}");
                if span != present {
                    assert_eq!((span.start, second), (present.end, present.end), "{zone} {unit:?}");
                    present = span;
                }
            }
        }
    }
}

/// Compares with the definition, second by second: slow, and with nothing but offsets.
#[test]
fn the_windows_are_those_of_the_definition() {
    for (zone, at) in TRANSITIONS {
        let at = second(at);
        let days = Calendar::days(zone).unwrap();
        let date = |second: i64| (second + days.offset(second)).div_euclid(DAY);
        for (unit, length) in [(CalendarUnit::Minute, 60), (CalendarUnit::Hour, HOUR)] {
            let calendar = Calendar::new(unit, zone).unwrap();
            for second in at - 2 * HOUR..at + 2 * HOUR {
                let offset = days.offset(second);
                let begins =
                    (second + offset).rem_euclid(length) == 0 || days.offset(second - 1) != offset;
                assert_eq!(calendar.span(second).start == second, begins, "{zone} {second}");
            }
        }
        // The latest date so far.
        let mut latest = date(at - 30 * HOUR);
        for second in at - 30 * HOUR..at + 30 * HOUR {
            if date(second) > latest {
                latest = date(second);
                let span = days.span(second);
                assert_eq!((span.start, span.number), (second, latest), "{zone}");
            }
        }
    }
}

#[test]
fn days_are_as_long_as_their_zone_makes_them() {
    let days = |zone, from: &str, to: &str| {
        lengths(&Calendar::days(zone).unwrap(), second(from), second(to))
    };
    let noon = |day: &str| std::format!("{day}T12:00Z");
    for (zone, before, hours) in [
        ("Europe/Berlin", "2026-03-28", [24, 23, 24]),
        ("Europe/Berlin", "2026-10-24", [24, 25, 24]),
        ("America/New_York", "2026-03-07", [24, 23, 24]),
        ("America/New_York", "2026-10-31", [24, 25, 24]),
        ("America/Sao_Paulo", "2018-11-03", [24, 23, 24]),
        ("America/Sao_Paulo", "2018-02-17", [25, 24, 24]),
    ] {
        let from = second(&noon(before));
        let found = lengths(&Calendar::days(zone).unwrap(), from, from + 2 * DAY + HOUR);
        assert_eq!(found, hours.map(|hours| hours * HOUR), "{zone} {before}");
    }
    // Thursday the 29th and Saturday the 31st, with no window for the 30th.
    let apia = days("Pacific/Apia", "2011-12-30T09:59Z", "2011-12-30T10:01Z");
    assert_eq!(apia, [DAY, DAY]);
    let halves = days("Australia/Lord_Howe", "2026-04-04T14:00Z", "2026-04-04T14:01Z");
    assert_eq!(halves, [DAY + HOUR / 2]);
    // The clock went back to the 6th for 59 minutes, after one minute of the 7th.
    let johns = days("America/St_Johns", "2010-11-07T02:29Z", "2010-11-07T02:31Z");
    assert_eq!(johns, [DAY, DAY + HOUR]);
}

#[test]
fn an_hour_that_occurs_twice_is_two_windows_and_a_part_of_one_is_short() {
    let hours = |zone, from: &str, to: &str| {
        lengths(&Calendar::hours(zone).unwrap(), second(from), second(to))
    };
    assert_eq!(hours("Europe/Berlin", "2026-10-25T00:00Z", "2026-10-25T02:00Z"), [HOUR, HOUR]);
    let back = hours("Australia/Lord_Howe", "2026-04-04T14:00Z", "2026-04-04T16:30Z");
    assert_eq!(back, [HOUR, HOUR / 2, HOUR]);
    let forth = hours("Australia/Lord_Howe", "2026-10-03T14:30Z", "2026-10-03T16:30Z");
    assert_eq!(forth, [HOUR, HOUR / 2, HOUR]);
    // Full hours are at a quarter past those of UTC.
    let hour = Calendar::hours("Asia/Kathmandu").unwrap().span(second("2026-05-01T00:00Z"));
    assert_eq!(hour.start, second("2026-04-30T23:15Z"));
}

#[test]
fn weeks_begin_when_they_are_told_to_and_months_are_as_long_as_they_are() {
    let weeks = Calendar::weeks("Europe/Berlin").unwrap();
    // A Sunday, the day on which summer time begins.
    let noon = second("2026-03-29T12:00+02:00");
    assert_eq!(weeks.span(noon).end, second("2026-03-30T00:00+02:00"));
    assert_eq!(weeks.span(noon).start, second("2026-03-23T00:00+01:00"));
    let sundays = weeks.weeks_begin_on(Weekday::Sunday);
    assert_eq!(sundays.span(noon).start, second("2026-03-29T00:00+01:00"));
    assert_eq!(sundays.span(noon).end, second("2026-04-05T00:00+02:00"));

    let months = Calendar::months("UTC").unwrap();
    let year = lengths(&months, second("2028-01-01T00:00Z"), second("2029-01-01T00:00Z"));
    assert_eq!(year, [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].map(|days| days * DAY));
}

#[test]
fn a_midnight_that_a_change_left_out_is_the_instant_of_the_change() {
    // From 23:30 to 00:30: the day begins at the half hour.
    for (zone, change) in [
        ("AAA0BBB,J100/23:30,J200/12", "2026-04-10T23:30Z"),
        ("AAA5BBB,J100/23:30,J200/12", "2026-04-11T04:30Z"),
        ("AAA-5BBB,J100/23:30,J200/12", "2026-04-10T18:30Z"),
    ] {
        let days = Calendar::with_posix_zone(CalendarUnit::Day, zone).unwrap();
        let change = second(change);
        assert_eq!(days.span(change).start, change);
        assert_eq!(days.span(change - 1).end, change);
        assert_eq!(days.span(change).end - change, 23 * HOUR + HOUR / 2);
    }
}

#[test]
fn a_change_of_the_offsets_name_alone_begins_no_hour() {
    let rule = "AAA0BBB0,J100/1:30,J200/1:30";
    let hours = Calendar::with_posix_zone(CalendarUnit::Hour, rule).unwrap();
    let change = second("2026-04-10T01:30Z");
    for inner in [change - 1, change, change + 1] {
        let span = hours.span(inner);
        assert_eq!((span.start, span.end), (change - HOUR / 2, change + HOUR / 2));
    }
}

#[test]
fn the_whole_range_of_the_clock_has_windows() {
    let last = (u64::MAX / 1_000_000_000) as i64;
    for unit in UNITS {
        for zone in ["UTC", "Pacific/Kiritimati", "America/New_York"] {
            let calendar = Calendar::new(unit, zone).unwrap();
            for second in [0, 1, last] {
                let span = calendar.span(second);
                assert!((span.start..span.end).contains(&second));
            }
        }
    }
}
