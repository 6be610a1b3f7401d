//! Suggestions against limits that are known, and against a replay of every limit.

mod rates;

use std::fmt::Write;
use std::io::Cursor;

use super::*;
use crate::replay::Replay;

mod gap;

/// Every kind that has a limit.
const KINDS: [(&str, &str); 15] = [
    (
        "bucket",
        "policy = \"token_bucket\"\nlimit = 3\nrate = { amount = 7, interval = \"1 minute\" }",
    ),
    (
        "slow start",
        "policy = \"token_bucket\"\nlimit = 3\ninitial = 1\nrate = { amount = 7, interval = \"1 minute\" }",
    ),
    (
        "by interval",
        "policy = \"token_bucket\"\nlimit = 3\nrefill = \"interval\"\nrate = { amount = 3, interval = \"7 seconds\" }",
    ),
    (
        "meter",
        "policy = \"leaky_bucket\"\nmode = \"meter\"\nlimit = 3\nrate = { amount = 1, interval = \"3 seconds\" }",
    ),
    ("gcra", "policy = \"gcra\"\ninterval = \"3 seconds\"\ntolerance = \"1 second\""),
    ("fixed", "policy = \"fixed_window\"\nlimit = 3\ninterval = \"10 seconds\"\nstart = \"epoch\""),
    ("first", "policy = \"fixed_window\"\nlimit = 3\ninterval = \"10 seconds\""),
    ("slots", "policy = \"sliding_window\"\nlimit = 3\ninterval = \"10 seconds\"\nslots = 4"),
    ("counter", "policy = \"sliding_counter\"\nlimit = 3\ninterval = \"10 seconds\""),
    ("log", "policy = \"sliding_log\"\nlimit = 3\ninterval = \"10 seconds\""),
    ("weighted", "policy = \"weighted_log\"\nlimit = 3\ninterval = \"10 seconds\"\ncapacity = 100"),
    (
        "weighted, small",
        "policy = \"weighted_log\"\nlimit = 3\ninterval = \"10 seconds\"\ncapacity = 6",
    ),
    ("windows", "policy = \"multi_window\"\nlimits = [{ limit = 3, interval = \"10 seconds\" }]"),
    ("calendar", "policy = \"calendar_window\"\nlimit = 3\nevery = \"minute\""),
    ("log of a second", "policy = \"sliding_log\"\nlimit = 3\ninterval = \"1 second\""),
];

fn policy(fields: &str) -> Policy {
    let text = format!("[[limiter]]\nname = \"it\"\nkey = \"client\"\n{fields}\n");
    Policy::parse("test", &text).unwrap()
}

/// Returns a log of requests: the client, the second, and the bytes.
fn log(requests: &[(u32, u32, u64)]) -> String {
    let mut text = String::new();
    for (client, second, bytes) in requests {
        let (minute, second) = (second / 60, second % 60);
        let time = format!("17/May/2015:10:{minute:02}:{second:02} +0000");
        writeln!(text, "c{client} - - [{time}] \"GET / HTTP/1.1\" 200 {bytes}").unwrap();
    }
    text
}

fn findings(policy: &Policy, text: &str, options: &SuggestOptions) -> Findings {
    let mut open = || Ok(Merged::of_log("log", Cursor::new(text.to_owned())));
    suggest(policy, options, &mut open).unwrap().0
}

fn merged(text: &str) -> Merged {
    Merged::of_log("log", Cursor::new(text.to_owned()))
}

fn goal(of: Share, untouched: u64) -> SuggestOptions {
    SuggestOptions { goal: Goal { of, untouched }, top: 0, ..SuggestOptions::default() }
}

/// Replays a limit, as `replay` does. Returns keys hit, requests denied, and requests of keys hit.
fn brute(policy: &Policy, text: &str, limit: u64) -> Point {
    let mut policy = policy.clone();
    for rule in &mut policy.rules {
        rule.kind = dial::with_limit(&rule.kind, limit).unwrap();
    }
    let mut replay = Replay::new(policy);
    replay.read(&mut merged(text)).unwrap();
    let mut point = Point { limit, ..Point::default() };
    for (_, tally) in replay.judges()[0].tallies().filter(|(_, tally)| tally.denied > 0) {
        point.keys_hit += 1;
        point.denied += tally.denied;
        point.requests_of_hit += tally.denied + tally.allowed;
    }
    point
}

/// Numbers that look random, the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }
}

fn random_log(numbers: &mut Numbers) -> String {
    let mut second = 0;
    let requests: Vec<_> = (0..40 + numbers.below(60))
        .map(|_| {
            second += u32::try_from([0, 0, 0, 1, 1, 3, 15][numbers.below(7) as usize]).unwrap();
            // The first clients come most often.
            let client = numbers.below(12) * numbers.below(12) / 8;
            (u32::try_from(client).unwrap(), second, numbers.below(4))
        })
        .collect();
    log(&requests)
}

/// Checks what was suggested against a replay of each limit up to one that denies nothing.
fn check(name: &str, policy: &Policy, text: &str, options: &SuggestOptions) {
    let findings = findings(policy, text, options);
    let found = &findings.limiters[0];
    let is_good = |point: &Point| match options.goal.of {
        Share::Keys => options.goal.is_met(found.keys, point.keys_hit),
        Share::Requests => options.goal.is_met(found.requests, point.denied),
    };
    let highest = found.curve.last().unwrap().limit;
    let all: Vec<Point> = (1..=highest.min(150)).map(|limit| brute(policy, text, limit)).collect();
    for point in &found.curve {
        if let Some(brute) = all.iter().find(|brute| brute.limit == point.limit) {
            assert_eq!(point, brute, "{name}, {options:?}");
        }
    }
    let least = all.iter().find(|point| is_good(point)).map(|point| point.limit);
    if found.is_least {
        assert_eq!(found.suggested, least, "{name}, {options:?}, {text}");
    } else if let Some(limit) = found.suggested {
        assert!(is_good(&brute(policy, text, limit)), "{name}");
        assert!(limit == 1 || !is_good(&brute(policy, text, limit - 1)), "{name}");
    } else {
        assert!(!is_good(all.last().unwrap()), "{name}");
    }
    if let Some(limit) = found.suggested {
        let point = brute(policy, text, limit);
        assert_eq!(found.hit.len() as u64, point.keys_hit, "{name}");
        assert_eq!(found.hit.iter().map(|key| key.denied).sum::<u64>(), point.denied, "{name}");
    }
}

#[test]
fn each_limit_is_that_of_a_replay_of_all_limits() {
    let mut numbers = Numbers(7);
    for (name, fields) in KINDS {
        for cost in ["", "\ncost = 2", "\ncost = \"bytes\""] {
            if !cost.is_empty() && name.starts_with("log") {
                continue;
            }
            let policy = policy(&format!("{fields}{cost}"));
            for untouched in [1_000_000, 900_000, 500_000] {
                let text = random_log(&mut numbers);
                for of in [Share::Keys, Share::Requests] {
                    check(&format!("{name}{cost}"), &policy, &text, &goal(of, untouched));
                }
            }
        }
    }
}

#[test]
fn what_is_computed_is_what_a_search_finds() {
    let mut numbers = Numbers(11);
    for (name, fields) in KINDS {
        let policy = policy(fields);
        for untouched in [1_000_000, 900_000, 700_000] {
            let text = random_log(&mut numbers);
            let options = goal(Share::Keys, untouched);
            let computed = findings(&policy, &text, &options);
            let searched =
                findings(&policy, &text, &SuggestOptions { is_searched: true, ..options });
            let limits = [&computed, &searched].map(|found| found.limiters[0].suggested);
            assert_eq!(limits[0], limits[1], "{name}, {untouched}");
        }
    }
}

#[test]
fn the_least_limit_of_a_key_is_the_least_that_never_denies_it() {
    let mut numbers = Numbers(13);
    for (name, fields) in KINDS {
        let policy = policy(fields);
        let text = random_log(&mut numbers);
        let found = findings(&policy, &text, &goal(Share::Keys, 0));
        for key in &found.limiters[0].hit {
            let Some(least) = key.least_limit else { continue };
            for (limit, is_hit) in [(least, false), (least - 1, true)] {
                let mut policy = policy.clone();
                policy.rules[0].kind = dial::with_limit(&policy.rules[0].kind, limit).unwrap();
                let mut replay = Replay::new(policy);
                replay.read(&mut merged(&text)).unwrap();
                let denied = replay.judges()[0]
                    .tallies()
                    .find(|(name, _)| *name == key.key)
                    .map_or(0, |(_, tally)| tally.denied);
                assert_eq!(denied > 0, is_hit, "{name}: {} at {limit}", key.key);
            }
        }
    }
}

#[test]
fn the_bundled_log_gives_the_limits_of_a_replay() {
    let open = || Merged::open(&[crate::log::Source::Sample], &indicatif::ProgressBar::hidden());
    let policy = policy(KINDS[9].1);
    for of in [Share::Keys, Share::Requests] {
        let (found, _) = suggest(&policy, &goal(of, 950_000), &mut || open()).unwrap();
        let found = &found.limiters[0];
        let suggested = found.suggested.unwrap();
        assert!(found.is_least && suggested > 1);
        for (limit, is_good) in [(suggested, true), (suggested - 1, false)] {
            let mut policy = policy.clone();
            policy.rules[0].kind = dial::with_limit(&policy.rules[0].kind, limit).unwrap();
            let mut replay = Replay::new(policy);
            replay.read(&mut open().unwrap()).unwrap();
            let judge = &replay.judges()[0];
            let hit = judge.tallies().filter(|(_, tally)| tally.denied > 0).count() as u64;
            let point = found.curve.iter().find(|point| point.limit == limit).unwrap();
            assert_eq!((point.keys_hit, point.denied), (hit, judge.denied()));
            let goal = Goal { of, untouched: 950_000 };
            let is_met = match of {
                Share::Keys => goal.is_met(found.keys, hit),
                Share::Requests => goal.is_met(found.requests, judge.denied()),
            };
            assert_eq!(is_met, is_good);
        }
    }
}

#[test]
fn too_many_keys_are_an_error() {
    let requests: Vec<_> = (0..200).map(|client| (client, 0, 1)).collect();
    let options = SuggestOptions { max_memory_bytes: 10_000, ..SuggestOptions::default() };
    let mut open = || Ok(merged(&log(&requests)));
    let error = suggest(&policy(KINDS[0].1), &options, &mut open).unwrap_err();
    assert!(error.to_string().contains("--max-memory"), "{error}");
}
