//! Tests of a replay: the time at which a line is judged, the lines that count as
//! lines, and that limiters and keys do not affect each other.

use std::io::Cursor;

use super::*;

mod stores;

const EACH_MINUTE: &str = r#"
[[limiter]]
name = "one a minute"
key = "client"
policy = "leaky_bucket"
mode = "min_interval"
interval = "1 minute"
"#;

fn replay(policy: &str, log: &str) -> Replay {
    replay_with(Options::default(), policy, log)
}

fn replay_with(options: Options, policy: &str, log: &str) -> Replay {
    let mut replay = Replay::with_options(Policy::parse("test.toml", policy).unwrap(), options);
    replay.read(&mut logs("test.log", log)).unwrap();
    replay
}

/// Returns one log of that name.
fn logs(name: &str, log: impl Into<Vec<u8>>) -> Merged {
    Merged::of_log(name, Cursor::new(log.into()))
}

fn line(client: &str, time: &str) -> String {
    format!("{client} - - [{time} +0000] \"GET /{client}?x HTTP/1.1\" 200 10\n")
}

/// Returns the numbers of lines allowed and denied, by name of the limiter.
fn counts(replay: &Replay) -> Vec<(&str, u64, u64)> {
    let judges = replay.judges().iter();
    judges.map(|judge| (judge.rule().name.as_str(), judge.allowed(), judge.denied())).collect()
}

#[test]
fn a_line_is_judged_at_its_own_time() {
    let log = line("a", "17/May/2015:10:00:00") + &line("a", "17/May/2015:10:01:00");
    assert_eq!(counts(&replay(EACH_MINUTE, &log)), [("one a minute", 2, 0)]);
    let log = line("a", "17/May/2015:10:00:00") + &line("a", "17/May/2015:10:00:59");
    assert_eq!(counts(&replay(EACH_MINUTE, &log)), [("one a minute", 1, 1)]);
}

#[test]
fn a_late_line_is_judged_at_the_newest_time_and_counted() {
    let log = [
        line("a", "17/May/2015:10:00:30"),
        line("b", "17/May/2015:10:01:00"),
        // Before the first line, and still not from another minute.
        line("a", "17/May/2015:09:58:00"),
        // b's minute counts from 10:01:00, a's from 10:00:30.
        line("b", "17/May/2015:10:00:00"),
        line("a", "17/May/2015:10:01:30"),
        line("c", "17/May/2015:10:00:00"),
        // c was judged at 10:01:30.
        line("c", "17/May/2015:10:02:29"),
    ];
    let replay = replay(EACH_MINUTE, &log.concat());
    assert_eq!((replay.lines(), replay.late(), replay.skipped()), (7, 3, 0));
    assert_eq!(counts(&replay), [("one a minute", 4, 3)]);
    let (first, last) = replay.span().unwrap();
    assert_eq!(first, "2015-05-17T10:00:30Z".parse().unwrap());
    assert_eq!(last, "2015-05-17T10:02:29Z".parse().unwrap());
}

#[test]
fn time_begins_in_1970() {
    let log = line("a", "31/Dec/1969:23:59:59")
        + &line("a", "01/Jan/1970:00:00:00")
        + &line("a", "01/Jan/1970:00:00:59")
        + &line("a", "01/Jan/1970:00:01:00")
        // Late, and so judged like any other late line.
        + &line("a", "01/Jan/0001:00:00:00");
    let replay = replay(EACH_MINUTE, &log);
    assert_eq!(counts(&replay), [("one a minute", 2, 2)]);
    assert_eq!((replay.lines(), replay.late(), replay.skipped()), (4, 1, 1));
    assert_eq!(replay.first_skipped()[0].why.to_string(), "1969-12-31T23:59:59Z is before 1970");
}

#[test]
fn windows_and_days_begin_when_they_did() {
    let policy = r#"
[[limiter]]
name = "first"
key = "all"
policy = "fixed_window"
limit = 1
interval = "60 minutes"

[[limiter]]
name = "epoch"
key = "all"
policy = "fixed_window"
limit = 1
interval = "60 minutes"
start = "epoch"

[[limiter]]
name = "day"
key = "all"
policy = "calendar_window"
limit = 1
every = "day"
zone = "Europe/Berlin"

[[limiter]]
name = "sundays off"
key = "all"
policy = "budget"
amount = 9
on = { sunday = 0 }
zone = "Europe/Berlin"
"#;
    // In Berlin, Saturday ends at 22:00.
    let log = line("a", "16/May/2015:21:59:59")
        + &line("a", "16/May/2015:22:00:00")
        + &line("a", "16/May/2015:22:59:58")
        + &line("a", "16/May/2015:22:59:59");
    assert_eq!(
        counts(&replay(policy, &log)),
        [("first", 2, 2), ("epoch", 2, 2), ("day", 2, 2), ("sundays off", 1, 3)]
    );
}

#[test]
fn of_several_parts_the_one_that_refuses_is_counted() {
    let policy = r#"
[[limiter]]
name = "windows"
key = "all"
policy = "multi_window"
limits = [{ limit = 2, interval = "1 s" }, { limit = 3, interval = "1 minute" }]

[[limiter]]
name = "all"
key = "all"
policy = "all"
of = [
    { policy = "token_bucket", limit = 2, rate = { amount = 1, interval = "1 s" } },
    { policy = "fixed_window", limit = 3, interval = "1 minute" },
]
"#;
    let times = ["00", "00", "00", "02", "02", "02"];
    let log: String =
        times.iter().map(|second| line("a", &format!("17/May/2015:10:00:{second}"))).collect();
    let replay = replay(policy, &log);
    let denied_by: Vec<&[u64]> = replay.judges().iter().map(Judge::denied_by).collect();
    assert_eq!(denied_by, [[1, 2], [1, 2]]);
}

#[test]
fn a_line_from_a_far_future_does_not_move_the_clock() {
    let log = line("a", "17/May/2015:10:00:00")
        + &line("a", "17/May/9015:10:00:00")
        + &line("a", "17/May/2015:10:00:01");
    let replay = replay(EACH_MINUTE, &log);
    assert_eq!((replay.lines(), replay.late(), replay.skipped()), (2, 0, 1));
    assert_eq!(
        replay.first_skipped()[0].why.to_string(),
        "9015-05-17T10:00:00Z is more than an hour ahead of the lines around it"
    );
}

#[test]
fn bad_lines_are_counted_and_empty_lines_are_no_lines() {
    let good = line("a", "17/May/2015:10:00:00");
    let log =
        format!("{good}\n  \r\nbad\n{good}bad\nbad\nbad\nbad\nbad\nbad\r\n{}", good.trim_end());
    let replay = replay(EACH_MINUTE, &log);
    assert_eq!((replay.lines(), replay.skipped()), (3, 7));
    let numbers: Vec<u64> = replay.first_skipped().iter().map(|skipped| skipped.number).collect();
    assert_eq!(numbers, [4, 6, 7, 8, 9]);
}

#[test]
fn several_logs_are_one_stream() {
    let mut replay = replay(EACH_MINUTE, &line("a", "17/May/2015:10:00:00"));
    replay
        .read(&mut logs("next.log", format!("{}bad", line("a", "17/May/2015:10:00:59"))))
        .unwrap();
    assert_eq!(counts(&replay), [("one a minute", 1, 1)]);
    assert_eq!(
        (&*replay.first_skipped()[0].log, replay.first_skipped()[0].number),
        ("next.log", 2)
    );
}

#[test]
fn keys_filters_and_costs_are_each_limiters_own() {
    let policy = r#"
[[limiter]]
name = "bytes"
key = "all"
policy = "token_bucket"
limit = 25
rate = { amount = 1, interval = "1 hour" }
cost = "bytes"

[[limiter]]
name = "pairs"
key = ["client", "path"]
policy = "gcra"
interval = "1 hour"
tolerance = "0 s"

[[limiter]]
name = "posts"
key = "client"
policy = "token_bucket"
limit = 1
rate = { amount = 1, interval = "1 hour" }
match = { method = "POST" }

[[limiter]]
name = "path of a"
key = "client"
policy = "token_bucket"
limit = 2
rate = { amount = 1, interval = "1 hour" }
match = { path_prefix = ["/x", "/a"], status_class = "2xx" }
cost = 2
"#;
    let at = "17/May/2015:10:00:00";
    let log = [line("a", at), line("b", at), line("a", at), line("aa", at)].concat();
    let replay = replay(policy, &log);
    assert_eq!(
        counts(&replay),
        [("bytes", 2, 2), ("pairs", 3, 1), ("posts", 0, 0), ("path of a", 2, 1),]
    );
    let mut pairs: Vec<(String, u64)> =
        replay.judges()[1].tallies().map(|(key, tally)| (key, tally.denied)).collect();
    pairs.sort();
    assert_eq!(pairs, [("a /a".to_owned(), 1), ("aa /aa".to_owned(), 0), ("b /b".to_owned(), 0)]);
}

#[test]
fn a_policy_judges_nothing_in_an_empty_log() {
    let replay = replay(EACH_MINUTE, "\n");
    assert_eq!((replay.lines(), replay.skipped(), replay.span()), (0, 0, None));
    assert_eq!(counts(&replay), [("one a minute", 0, 0)]);
}
