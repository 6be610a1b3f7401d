//! Tests of a replay by its stores: the keys that find space, those that are refused for want of it, and what is not
//! forgotten.

use std::io::Cursor;
use std::ops::Range;

use super::*;

/// The stores that have space for eight keys.
const EIGHT: [&str; 2] = ["max_keys = 8", "store = \"table\"\nmemory = \"64 B\""];

/// More keys than there are before idle ones are looked for.
const MANY: Range<u32> = 0..5_000;

/// Replays a log through a limiter of clients.
fn replay(fields: &str, log: &str) -> Replay {
    let policy = format!("[limiters.a]\n{fields}\n");
    let mut replay = Replay::new(Policy::parse("test.toml", &policy).unwrap());
    replay.read(&mut logs("test.log", log)).unwrap();
    replay
}

/// Returns one log of that name.
fn logs(name: &str, log: &str) -> Merged {
    Merged::of_log(name, Cursor::new(log.to_owned()))
}

fn line(client: &str, second: u32) -> String {
    format!("{client} - - [17/May/2015:10:00:{second:02} +0000] \"GET / HTTP/1.1\" 200 10\n")
}

/// Returns one line for each client of a range, in that second.
fn lines(clients: Range<u32>, second: u32) -> String {
    clients.map(|client| line(&format!("c{client}"), second)).collect()
}

fn allowed_and_denied(replay: &Replay) -> (u64, u64) {
    let judge = &replay.judges()[0];
    (judge.allowed(), judge.denied())
}

#[test]
fn logs_follow_those_read_before() {
    let rate = "policy = \"gcra\"\ninterval = \"1 minute\"\ntolerance = \"0 s\"";
    let mut replay = replay(rate, &line("a", 0));
    replay.read(&mut logs("next.log", &(line("a", 59) + "bad"))).unwrap();
    assert_eq!(allowed_and_denied(&replay), (1, 1));
    let skipped = &replay.pass().first_skipped()[0];
    assert_eq!((&*skipped.log, skipped.number), ("next.log", 2));
    let span = replay.pass().span().map(|(first, last)| (first.to_string(), last.to_string()));
    assert_eq!(span, Some(("2015-05-17T10:00:00Z".to_owned(), "2015-05-17T10:00:59Z".to_owned())));
}

#[test]
fn a_key_without_room_is_answered_as_the_policy_says() {
    let log = lines(0..10, 0) + &lines(0..10, 1);
    let bucket =
        "policy = \"token_bucket\"\nlimit = 1\nrate = { amount = 1, interval = \"1 hour\" }";
    let share = "when_full = { limit = 3, rate = { amount = 1, interval = \"1 hour\" } }";
    for room in EIGHT {
        // Eight are admitted once. Clients 8 and 9 are asked for twice each.
        for (when_full, allowed) in
            [("", 8), ("when_full = \"deny\"", 8), ("when_full = \"admit\"", 12), (share, 11)]
        {
            let replay = replay(&format!("{bucket}\n{room}\n{when_full}"), &log);
            let judge = &replay.judges()[0];
            let found = (judge.allowed(), judge.denied(), judge.full(), judge.keys());
            assert_eq!(found, (allowed, 20 - allowed, 4, 10), "{room}, {when_full}");
        }
    }
}

#[test]
fn several_limiters_are_not_forgotten_before_all_of_them_are_full() {
    let both = r#"
policy = "all"
of = [
    { policy = "token_bucket", limit = 1, rate = { amount = 1, interval = "1 s" } },
    { policy = "fixed_window", limit = 1, interval = "1 hour" },
]
"#;
    let replay = replay(both, &(line("a", 0) + &lines(MANY, 2) + &line("a", 4)));
    assert_eq!(replay.judges()[0].denied_by(), [0, 1]);
}

#[test]
fn buckets_that_start_empty_or_refill_in_steps_forget_nothing() {
    let bucket = |fields: &str| {
        let rate = "rate = { amount = 1, interval = \"10 s\" }";
        format!("policy = \"token_bucket\"\nlimit = 2\n{rate}\n{fields}")
    };
    // The bucket of the first is full when the others come.
    let log = line("a", 0) + &lines(MANY, 25) + &line("a", 26);
    assert_eq!(allowed_and_denied(&replay(&bucket("initial = 0"), &log)), (1, 5_001));

    // In steps since 10:00:00, so the next one is at 10:00:20.
    let log = line("a", 0) + &lines(MANY, 15) + &line("a", 19).repeat(2) + &line("a", 20);
    let steps = replay(&bucket("refill = \"interval\""), &log);
    assert_eq!(allowed_and_denied(&steps), (5_004, 0));
}
