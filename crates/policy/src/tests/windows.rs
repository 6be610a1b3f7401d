//! Tests of policies that count by windows, or consist of several limiters: each is understood,
//! and every mistake is shown at its place.

use sluicegate::Rate;
use sluicegate::calendar::Calendar;

use super::rule;
use crate::Kind;

/// Returns a limiter with these fields.
fn limiter(fields: &str) -> String {
    format!("[[limiter]]\nname = \"a\"\nkey = \"client\"\n{fields}\n")
}

fn kind(fields: &str) -> Kind {
    rule(&limiter(fields)).kind
}

fn limit(permits: u64, seconds: u64) -> Rate {
    Rate::new(permits, std::time::Duration::from_secs(seconds)).unwrap()
}

#[test]
fn a_window_begins_with_the_first_request_unless_it_is_told_otherwise() {
    let window = "policy = 'fixed_window'\nlimit = 100\ninterval = '60 minutes'\n";
    let hour = limit(100, 3600);
    assert_eq!(kind(window), Kind::WindowFromFirst(hour));
    assert_eq!(kind(&format!("{window}start = 'first'")), Kind::WindowFromFirst(hour));
    assert_eq!(kind(&format!("{window}start = 'epoch'")), Kind::FixedWindow(hour));
}

#[test]
fn each_window_is_understood_and_what_is_left_out_has_a_default() {
    let hour = limit(100, 3600);
    let window = |policy: &str, more: &str| {
        kind(&format!("policy = '{policy}'\nlimit = 100\ninterval = '60 minutes'\n{more}"))
    };
    let sliding = |slots| Kind::SlidingWindow { limit: hour, slots };
    assert_eq!(window("sliding_window", ""), sliding(60));
    assert_eq!(window("sliding_window", "slots = 7"), sliding(7));
    assert_eq!(window("sliding_counter", ""), Kind::SlidingCounter(hour));
    assert_eq!(window("sliding_log", ""), Kind::SlidingLog(hour));
    let log = |capacity| Kind::WeightedLog { limit: hour, capacity };
    assert_eq!(window("weighted_log", ""), log(100));
    assert_eq!(window("weighted_log", "capacity = 9"), log(14));

    let limits = vec![limit(10, 1), limit(500, 60)];
    let several = "policy = 'multi_window'\n\
        limits = [{ limit = 10, interval = '1s' }, { limit = 500, interval = '1m' }]\n";
    let windows = |slots| Kind::MultiWindow { limits: limits.clone(), slots };
    assert_eq!(kind(several), windows(60));
    assert_eq!(kind(&format!("{several}slots = 5")), windows(5));
}

#[test]
fn each_window_of_a_calendar_is_understood() {
    for (every, calendar) in [
        ("minute", Calendar::minutes("Europe/Berlin")),
        ("hour", Calendar::hours("Europe/Berlin")),
        ("day", Calendar::days("Europe/Berlin")),
        ("week", Calendar::weeks("Europe/Berlin")),
        ("month", Calendar::months("Europe/Berlin")),
    ] {
        let fields = format!(
            "policy = 'calendar_window'\nlimit = 5\nevery = '{every}'\nzone = 'Europe/Berlin'"
        );
        let calendar = calendar.unwrap();
        assert_eq!(kind(&fields), Kind::CalendarWindow { limit: 5, calendar });
    }
    let days = Calendar::days("UTC").unwrap();
    assert_eq!(
        kind("policy = 'calendar_window'\nlimit = 5\nevery = 'day'"),
        Kind::CalendarWindow { limit: 5, calendar: days }
    );

    let budget = |amounts| Kind::Budget { amounts, zone: "UTC".to_owned() };
    assert_eq!(kind("policy = 'budget'\namount = 9"), budget([9; 7]));
    let some = "policy = 'budget'\namount = 9\non = { tuesday = 0, sunday = 8 }";
    assert_eq!(kind(some), budget([9, 0, 9, 9, 9, 9, 8]));
    let every = "policy = 'budget'\non = { monday = 1, tuesday = 2, wednesday = 3, \
        thursday = 4, friday = 5, saturday = 6, sunday = 7 }";
    assert_eq!(kind(every), budget([1, 2, 3, 4, 5, 6, 7]));
}

#[test]
fn every_window_is_put_in_words() {
    let of = "[{ policy = 'sliding_log', limit = 5, interval = '1 s' }, \
        { policy = 'gcra', interval = '1 s', tolerance = '0 s' }]";
    let limits = "[{ limit = 10, interval = '1s' }, { limit = 5000, interval = '1 day' }]";
    for (fields, words) in [
        (
            "fixed_window'\nlimit = 1000\ninterval = '1h'",
            "fixed window: 1,000 per 1h, starting at the first request",
        ),
        (
            "fixed_window'\nlimit = 1\ninterval = '90s'\nstart = 'epoch'",
            "fixed window: 1 per 1m 30s, aligned to the clock",
        ),
        ("sliding_window'\nlimit = 5\ninterval = '1h'", "sliding window: 5 in any 1h, 60 slots"),
        ("sliding_counter'\nlimit = 5\ninterval = '1h'", "sliding counter: 5 per 1h"),
        ("sliding_log'\nlimit = 5\ninterval = '1h'", "sliding log: 5 in any 1h"),
        ("weighted_log'\nlimit = 5\ninterval = '1h'", "weighted log: 5 in any 1h"),
        (
            &format!("multi_window'\nlimits = {limits}"),
            "multi window: 10 in any 1s, 5,000 in any 1 day",
        ),
        ("calendar_window'\nlimit = 5\nevery = 'week'", "calendar window: 5 per week, UTC"),
        ("budget'\namount = 1000", "budget: 1,000 a day, UTC"),
        (
            "budget'\namount = 5\non = { saturday = 3, sunday = 0 }\nzone = 'Asia/Tokyo'",
            "budget: 5 a day, Sat 3, Sun 0, Asia/Tokyo",
        ),
        (
            &format!("all'\nof = {of}"),
            "all of: sliding log: 5 in any 1s; gcra: every 1s, up to 0s early",
        ),
    ] {
        assert_eq!(kind(&format!("policy = '{fields}")).to_string(), words);
    }
}

#[test]
fn numbers_are_valid_if_and_only_if_a_limiter_can_be_built() {
    use std::time::Duration;
    let clock = std::sync::Arc::new(sluicegate::ManualClock::new());
    let agree = |kind: &Kind| {
        let (checked, built) = (kind.check(), kind.limiter(clock.clone()));
        assert_eq!(checked.err(), built.err(), "{kind:?}");
    };
    let permits = [1, 2, 1 << 17, 1 << 24, (1 << 24) + 1, 1 << 29, 1 << 32];
    let periods =
        [1, 1_000, 1_000_000, 1_000_000_000, 3_600_000_000_000, 3_155_760_000_000_000_000];
    let rates: Vec<Rate> = periods
        .into_iter()
        .flat_map(|nanos| permits.map(|permits| Rate::new(permits, Duration::from_nanos(nanos))))
        .flatten()
        .collect();
    for limit in rates.iter().copied() {
        for slots in [0, 1, 2, 60, 65_535, 65_536, 65_537] {
            agree(&Kind::SlidingWindow { limit, slots });
        }
        for capacity in [0, 1, 1 << 10, (1 << 24) - 1, u64::MAX] {
            agree(&Kind::WeightedLog { limit, capacity });
        }
        if limit.permits() != 1 << 24 {
            agree(&Kind::SlidingLog(limit));
        }
    }
    for first in 0..rates.len() {
        for count in [1, 3, 4, 5, rates.len()] {
            let limits: Vec<Rate> = rates.iter().cycle().skip(first).take(count).copied().collect();
            for slots in [1, 60, 1000] {
                agree(&Kind::MultiWindow { limits: limits.clone(), slots });
            }
        }
    }
    agree(&Kind::MultiWindow { limits: vec![rates[0]; 65], slots: 1 });
}
