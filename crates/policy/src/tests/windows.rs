//! Tests of policies that count by windows, or consist of several limiters: each is understood,
//! and every mistake is shown at its place.

use sluicegate::{Calendar, Rate};

use super::{error, rule};
use crate::Kind;

/// Returns a limiter with these fields.
fn limiter(fields: &str) -> String {
    format!("[[limiter]]\nname = \"a\"\nkey = \"client\"\n{fields}\n")
}

fn kind(fields: &str) -> Kind {
    rule(&limiter(fields)).kind
}

/// Returns the mistake, its place, and what is expected instead.
fn mistake(fields: &str) -> String {
    let shown = error(&limiter(fields));
    let lines: Vec<&str> = shown.lines().collect();
    let place = lines[1].trim_start().trim_start_matches("--> p.toml:");
    let label = lines[lines.len() - 1].split_once('^').unwrap().1.trim_start_matches('^').trim();
    format!("{} @{place}: {label}", lines[0].trim_start_matches("error: "))
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
            "fixed window: 1,000 per 1h, from the first on",
        ),
        (
            "fixed_window'\nlimit = 1\ninterval = '90s'\nstart = 'epoch'",
            "fixed window: 1 per 1m 30s, from 1970 on",
        ),
        ("sliding_window'\nlimit = 5\ninterval = '1h'", "sliding window: 5 in any 1h, 60 slots"),
        ("sliding_counter'\nlimit = 5\ninterval = '1h'", "sliding counter: 5 per 1h"),
        ("sliding_log'\nlimit = 5\ninterval = '1h'", "sliding log: 5 in any 1h"),
        ("weighted_log'\nlimit = 5\ninterval = '1h'", "weighted log: 5 in any 1h"),
        (
            &format!("multi_window'\nlimits = {limits}"),
            "multi window: 10 in any 1s, 5,000 in any 1day",
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
fn every_mistake_in_a_window_is_named_with_its_place_and_what_is_expected() {
    let fixed = "policy = 'fixed_window'\nlimit = 5\ninterval = '1 s'\n";
    let sliding = "policy = 'sliding_window'\nlimit = 5\ninterval = '1 s'\n";
    let log = "policy = 'weighted_log'\nlimit = 5\ninterval = '1 s'\n";
    let calendar = "policy = 'calendar_window'\nlimit = 5\nevery = 'day'\n";
    for (fields, expected) in [
        (
            fixed.replace("limit = 5", ""),
            "limiter \"a\" lacks `limit` @4:10: fixed_window needs `limit`",
        ),
        (fixed.replace('5', "0"), "`limit` is 0 @5:9: must be from 1 to 2^32"),
        (
            fixed.replace("'1 s'", "'0 s'"),
            "`interval` is '0 s' @6:12: must be from 1 ns to 100 years",
        ),
        (
            fixed.replace("'1 s'", "'1 ns'"),
            "`limit` is 5 @5:9: must be at most 2^31 permits per second",
        ),
        (
            format!("{fixed}start = 'now'"),
            "`start` is not valid @7:9: unknown variant `now`, expected `epoch` or `first`",
        ),
        (
            format!("{fixed}slots = 5"),
            "`slots` does not belong to fixed_window @7:9: expected only `limit`, `interval`, `start`",
        ),
        (format!("{sliding}slots = 0"), "`slots` is 0 @7:9: must be from 1 to 65536"),
        (format!("{sliding}slots = 65537"), "`slots` is 65537 @7:9: must be from 1 to 65536"),
        (
            format!("{sliding}slots = 5000000000"),
            "`slots` is 5000000000 @7:9: must be from 1 to 65536",
        ),
        (
            "policy = 'sliding_counter'\nlimit = 16777216\ninterval = '1 s'".to_owned(),
            "`limit` is 16777216 @5:9: must be from 1 to 16777215 for this window",
        ),
        (
            "policy = 'sliding_log'\nlimit = 16777217\ninterval = '1 s'".to_owned(),
            "`limit` is 16777217 @5:9: must be from 1 to 16777216",
        ),
        (format!("{log}capacity = 0"), "`capacity` is 0 @7:12: must be from 1 to 16777214"),
        (
            format!("{log}capacity = 16777215"),
            "`capacity` is 16777215 @7:12: must be from 1 to 16777214",
        ),
        (
            "policy = 'sliding_log'\nlimit = 5\ninterval = '1 s'\ncost = 2".to_owned(),
            "`cost` is 2 @7:8: sliding_log takes 1 at a time; weighted_log takes any number",
        ),
        (
            calendar.replace("'day'", "'year'"),
            "`every` is not valid @6:9: unknown variant `year`, expected one of `minute`, `hour`, \
             `day`, `week`, `month`",
        ),
        (
            calendar.replace('5', "0"),
            "`limit` is 0 @5:9: must be from 1 to 140737488355327 for this window",
        ),
        (
            format!("{calendar}zone = 'Europe/Berln'"),
            "`zone` is 'Europe/Berln' @7:8: expected a name of the IANA database, such as \
             Europe/Berlin or UTC",
        ),
        (
            "policy = 'budget'\non = { sunday = 0 }".to_owned(),
            "limiter \"a\" lacks `amount` @4:10: budget needs `amount`",
        ),
        (
            "policy = 'budget'\namount = 1\nzone = ''".to_owned(),
            "`zone` is '' @6:8: expected a name of the IANA database, such as Europe/Berlin or UTC",
        ),
        (
            "policy = 'budget'\namount = 140737488355328".to_owned(),
            "`amount` is 140737488355328 @5:10: must be from 0 to 140737488355327",
        ),
        (
            "policy = 'budget'\namount = 1\non = { sunday = 140737488355328 }".to_owned(),
            "`on.sunday` is 140737488355328 @6:17: must be from 0 to 140737488355327",
        ),
    ] {
        assert_eq!(mistake(&fields), expected);
    }
    let unknown = mistake("policy = 'budget'\namount = 1\non = { sonntag = 0 }");
    assert!(unknown.starts_with("`on.sonntag` is not valid @6:8: unknown field"), "{unknown}");
}

#[test]
fn every_mistake_in_one_of_several_is_shown_where_it_is() {
    let several = |limits: &str| mistake(&format!("policy = 'multi_window'\nlimits = {limits}"));
    assert_eq!(several("[]"), "`limits` is [] @5:10: must be from 1 to 64");
    assert_eq!(
        several("[{ limit = 1, interval = '1s' }, { limit = 0, interval = '1s' }]"),
        "`limits.limit` is 0 @5:53: must be from 1 to 2^32"
    );
    assert_eq!(
        several("[{ limit = 1, interval = '200 years' }]"),
        "`limits.interval` is '200 years' @5:35: must be from 1 ns to 100 years"
    );
    let wide =
        several("[{ limit = 1, interval = '1ms' }, { limit = 4294967296, interval = '1y' }]");
    assert!(wide.starts_with("`limits.limit` is 4294967296 @5:54: must be from 1 to "), "{wide}");
    assert_eq!(several("[{ limit = 1 }]"), "`limits` is not valid @5:11: missing field `interval`");
    assert!(several("5").contains("expected a sequence"), "{}", several("5"));

    let all = |of: &str| mistake(&format!("policy = 'all'\nof = {of}"));
    let window = "policy = 'fixed_window', limit = 1, interval = '1 s'";
    assert_eq!(all("[]"), "`of` is [] @5:6: must be from 1 to 64");
    assert_eq!(
        all(&format!("[{{ {window} }}, {{ policy = 'fixed_window', limit = 1 }}]")),
        "a part of all lacks `interval` @5:76: fixed_window needs `interval`"
    );
    assert_eq!(
        all(&format!("[{{ {window}, key = 'client' }}]")),
        "`key` does not belong to a part of all @5:69: expected it beside `of`"
    );
    assert_eq!(
        all(&format!("[{{ {window}, start = 'last' }}]")),
        "`of.start` is not valid @5:71: unknown variant `last`, expected `epoch` or `first`"
    );
    assert_eq!(
        all(&format!("[{{ {} }}]", window.replace("limit = 1", "limit = 0"))),
        "`limit` is 0 @5:42: must be from 1 to 2^32"
    );
    assert_eq!(
        mistake("policy = 'all'\nlimit = 5"),
        "`limit` does not belong to all @5:9: expected only `of`"
    );
    assert!(mistake("policy = 'all'").starts_with("limiter \"a\" lacks `of`"));
    assert_eq!(
        mistake(
            "policy = 'all'\nof = [{ policy = 'sliding_log', limit = 1, interval = '1s' }]\ncost = 'bytes'"
        ),
        "`cost` is 'bytes' @6:8: sliding_log takes 1 at a time; weighted_log takes any number"
    );
}
