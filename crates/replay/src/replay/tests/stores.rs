//! Tests of a replay through the engine's stores: which keys find space, which are
//! refused for want of it, and that nothing else depends on the store.

use std::fmt::Write;

use indicatif::ProgressBar;

use super::*;
use crate::log::Source;

/// The stores that have space for eight keys.
const EIGHT: [&str; 2] = ["max_keys = 8", "store = \"table\"\nmemory = \"64 B\""];

/// Returns one line for each client of a range, at that time.
fn lines(clients: std::ops::Range<u32>, time: &str) -> String {
    clients.map(|client| line(&format!("c{client:03}"), time)).collect()
}

/// Returns the only limiter, after the log: one line an hour for each client.
fn judged(store: &str, log: &str) -> Judge {
    let policy = format!(
        "[[limiter]]\nname = \"a\"\nkey = \"client\"\npolicy = \"token_bucket\"\nlimit = 1\n\
         rate = {{ amount = 1, interval = \"1 hour\" }}\n{store}"
    );
    replay(&policy, log).judges.remove(0)
}

#[test]
fn a_key_without_room_is_answered_as_the_policy_says() {
    let log = lines(0..10, "17/May/2015:10:00:00") + &lines(0..10, "17/May/2015:10:00:01");
    let share = "when_full = { limit = 3, rate = { amount = 1, interval = \"1 hour\" } }";
    for room in EIGHT {
        // Eight are admitted once. Clients 8 and 9 are asked for twice each.
        for (when_full, allowed) in
            [("", 8), ("when_full = \"deny\"", 8), ("when_full = \"admit\"", 12), (share, 11)]
        {
            let judge = judged(&format!("{room}\n{when_full}"), &log);
            let found = (judge.allowed(), judge.denied(), judge.full(), judge.keys());
            assert_eq!(found, (allowed, 20 - allowed, 4, 10), "{room}, {when_full}");
        }
    }
}

#[test]
fn the_keys_that_are_refused_for_want_of_room_are_counted_like_others() {
    for room in EIGHT {
        let log = lines(0..9, "17/May/2015:10:00:00") + &line("c008", "17/May/2015:10:00:00");
        let judge = judged(room, &log);
        let denied: Vec<(String, u64)> = judge
            .tallies()
            .filter(|(_, tally)| tally.denied > 0)
            .map(|(key, tally)| (key, tally.denied))
            .collect();
        assert_eq!(denied, [("c008".to_owned(), 2)], "{room}");
    }
}

#[test]
fn room_is_made_by_keys_that_are_full_again() {
    for room in EIGHT {
        let log = lines(0..9, "17/May/2015:10:00:00")
            + &lines(8..9, "17/May/2015:10:59:59")
            + &lines(8..16, "17/May/2015:11:00:01");
        let judge = judged(room, &log);
        assert_eq!((judge.allowed(), judge.denied(), judge.full()), (16, 2, 2), "{room}");
    }
}

#[test]
fn what_a_full_store_refuses_was_none_of_the_parts() {
    let policy = r#"
[[limiter]]
name = "windows"
key = "client"
policy = "multi_window"
limits = [{ limit = 1, interval = "1 s" }, { limit = 1, interval = "1 minute" }]
max_keys = 1
when_full = { limit = 1, rate = { amount = 1, interval = "1 hour" } }
"#;
    let replay = replay(policy, &lines(0..4, "17/May/2015:10:00:00").repeat(2));
    let judge = &replay.judges()[0];
    assert_eq!((judge.allowed(), judge.denied(), judge.full()), (2, 6, 6));
    assert_eq!(judge.denied_by(), [0, 1]);
}

#[test]
fn several_limiters_are_not_forgotten_before_all_of_them_are_full() {
    let policy = r#"
[[limiter]]
name = "both"
key = "client"
policy = "all"
of = [
    { policy = "token_bucket", limit = 1, rate = { amount = 1, interval = "1 s" } },
    { policy = "fixed_window", limit = 3, interval = "1 hour" },
]
"#;
    // Each new key makes the store look at others, and forget those that are idle.
    let mut log = String::new();
    for turn in 0..4 {
        log += &line("a", &format!("17/May/2015:10:00:{:02}", 4 * turn));
        let others = 1000 * turn..1000 * (turn + 1);
        log += &lines(others, &format!("17/May/2015:10:00:{:02}", 4 * turn + 2));
    }
    let replay = replay(policy, &log);
    assert_eq!(replay.judges()[0].denied_by(), [0, 1]);
}

#[test]
fn buckets_that_start_empty_or_refill_in_steps_forget_nothing() {
    let policy = |fields: &str| {
        format!(
            "[[limiter]]\nname = \"a\"\nkey = \"client\"\npolicy = \"token_bucket\"\nlimit = 2\n\
             rate = {{ amount = 1, interval = \"10 s\" }}\n{fields}"
        )
    };
    let log = line("a", "17/May/2015:10:00:00")
        + &lines(0..1000, "17/May/2015:10:00:05")
        + &line("a", "17/May/2015:10:00:10");
    let empty = replay(&policy("initial = 0"), &log);
    assert_eq!(counts(&empty), [("a", 1, 1001)]);

    // In steps since 10:00:00, so the next one is at 10:00:20.
    let log = line("a", "17/May/2015:10:00:00")
        + &lines(0..1000, "17/May/2015:10:00:15")
        + &line("a", "17/May/2015:10:00:19").repeat(2)
        + &line("a", "17/May/2015:10:00:20");
    let steps = replay(&policy("refill = \"interval\""), &log);
    assert_eq!(counts(&steps), [("a", 1004, 0)]);
}

#[test]
fn a_table_decides_the_bundled_log_as_exact_buckets_do() {
    let quotas = [
        ("\"client\"", 60, "300, interval = \"1 minute\"", "1"),
        ("\"client\"", 20, "20, interval = \"1 minute\"", "1"),
        ("\"path\"", 5, "1, interval = \"2 s\"", "1"),
        ("[\"client\", \"path\"]", 7, "3, interval = \"7 s\"", "2"),
        ("\"client\"", 30_000_000, "500_000, interval = \"1 s\"", "\"bytes\""),
    ];
    let mut policy = String::new();
    for (number, (key, limit, amount, cost)) in quotas.iter().enumerate() {
        let stores = ["max_keys = 5_000", "store = \"table\"\nkeys = 5_000"];
        for (place, store) in stores.iter().enumerate() {
            let rule = format!(
                "[[limiter]]\nname = \"{number} {place}\"\nkey = {key}\npolicy = \"token_bucket\"\n\
                 limit = {limit}\nrate = {{ amount = {amount} }}\ncost = {cost}\n{store}\n"
            );
            policy.write_str(&rule).unwrap();
        }
    }
    let mut replay = Replay::new(Policy::parse("test.toml", &policy).unwrap());
    replay.read(&mut Merged::open(&[Source::Sample], &ProgressBar::hidden()).unwrap()).unwrap();
    for pair in replay.judges().chunks(2) {
        let [exact, table] = [&pair[0], &pair[1]].map(|judge| {
            let mut tallies: Vec<(String, Tally)> =
                judge.tallies().map(|(key, tally)| (key, *tally)).collect();
            tallies.sort_by(|one, other| one.0.cmp(&other.0));
            assert_eq!(judge.full(), 0);
            assert!(judge.denied() > 0, "{} was not put to the test", judge.rule().name);
            tallies
        });
        assert_eq!(exact, table, "{}", pair[0].rule().name);
    }
}
