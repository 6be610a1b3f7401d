//! The same tests for the stores that keep a limiter's keys.

use std::time::Duration;

use sluicegate::keyed::WhenFull;
use sluicegate::{Quota, Rate};

use super::{BUCKET, error, rule};
use crate::{Room, Size, Store};

fn store(fields: &str) -> Store {
    rule(&format!("{BUCKET}{fields}")).store
}

/// Returns the error for a bucket with these fields, as it is shown.
fn shown(fields: &str) -> String {
    error(&format!("{BUCKET}{fields}"))
}

#[test]
fn each_store_is_understood() {
    let room = |fields: &str| store(fields).room;
    assert_eq!(store(""), Store::default());
    assert_eq!(room("store = \"exact\""), Room::Exact { max_keys: None });
    assert_eq!(room("max_keys = 1_000"), Room::Exact { max_keys: Some(1000) });
    let table = "store = \"table\"\n";
    for (size, expected) in [
        ("memory = \"1 MiB\"", Size::Memory(1 << 20)),
        ("memory = \"1.5 kB\"", Size::Memory(1500)),
        ("memory = \"64kib\"", Size::Memory(64 << 10)),
        ("memory = \"128\"", Size::Memory(128)),
        ("keys = 1_000", Size::Keys(1000)),
    ] {
        assert_eq!(room(&format!("{table}{size}")), Room::Table(expected), "{size}");
    }
    assert!(
        store("store = \"table\"\nkeys = 1\ninitial = 20\nrefill = \"smooth\"").room
            != Room::default()
    );
}

#[test]
fn what_becomes_of_a_key_without_room_is_understood() {
    let when_full = |fields: &str| store(fields).when_full;
    assert_eq!(when_full("max_keys = 9"), WhenFull::Deny);
    assert_eq!(when_full("max_keys = 9\nwhen_full = \"deny\""), WhenFull::Deny);
    let table = "store = \"table\"\nkeys = 9\n";
    assert_eq!(when_full(&format!("{table}when_full = \"admit\"")), WhenFull::Admit);
    let rate = Rate::new(5, Duration::from_secs(60)).unwrap();
    let share = WhenFull::Share(Quota::new(rate).with_burst(3).unwrap());
    let quota = "{ limit = 3, rate = { amount = 5, interval = \"1 minute\" } }";
    assert_eq!(when_full(&format!("{table}when_full = {quota}")), share);
}

#[test]
fn a_store_that_does_not_go_with_the_limiter_is_shown_with_what_is_in_its_way() {
    let table = "store = \"table\"\nkeys = 9\n";
    assert_eq!(
        shown(&format!("{table}refill = \"interval\"")),
        "\
error: `refill` is \"interval\"
  --> p.toml:10:10
   |
 8 | store = \"table\"
   |         ------- in this store
 9 | keys = 9
10 | refill = \"interval\"
   |          ^^^^^^^^^^ must be smooth in a table"
    );
    assert_eq!(
        error(
            "[[limiter]]\nname = \"a\"\nkey = \"all\"\npolicy = \"sliding_log\"\nlimit = 9\n\
             interval = \"1 s\"\nstore = \"table\"\nmemory = \"64 B\""
        ),
        "\
error: `store` is \"table\"
 --> p.toml:7:9
  |
4 | policy = \"sliding_log\"
  |          ------------- this needs an exact store
...
7 | store = \"table\"
  |         ^^^^^^^ expected \"exact\": a table has only token buckets"
    );
    assert_eq!(
        shown("max_keys = 9\ninitial = 0"),
        "\
error: `max_keys` needs buckets that start full and refill smoothly
 --> p.toml:8:12
  |
8 | max_keys = 9
  |            ^ such buckets are never removed, because an idle one differs from a new one
9 | initial = 0
  |           - because of this"
    );
}

#[test]
fn what_keeps_a_store_from_forgetting_is_shown() {
    let part = BUCKET.split_once("policy").unwrap().1.trim_end().replace('\n', ", ");
    let all = format!("key = \"all\"\npolicy = \"all\"\nof = [{{ policy{part}, initial = 1 }}]");
    for (policy, place) in [
        (format!("{BUCKET}initial = 20\nrefill = \"interval\""), "refill = \"interval\""),
        (format!("{BUCKET}refill = \"interval\"\ninitial = 0"), "initial = 0"),
        (format!("[[limiter]]\nname = \"a\"\n{all}"), "of = ["),
    ] {
        let found = error(&format!("{policy}\nmax_keys = 9"));
        let shown = found.lines().skip_while(|line| !line.contains(place)).nth(1).unwrap();
        assert!(shown.ends_with("because of this"), "{found}");
    }
}

#[test]
fn numbers_that_only_a_table_cannot_have_are_named() {
    let table =
        |from, to| error(&format!("{}store = \"table\"\nkeys = 9", BUCKET.replace(from, to)));
    let burst = table("limit = 20", "limit = 33_554_433");
    assert!(burst.starts_with("error: `limit` is 33_554_433\n --> p.toml:6:9\n"), "{burst}");
    assert!(burst.contains("must be from 1 to 2^25 in a table"), "{burst}");
    let rate = table("15 minutes", "1 us");
    assert!(rate.starts_with("error: `rate` is { amount = 500"), "{rate}");
    assert!(rate.contains("must be at most 2^27 permits per second in a table"), "{rate}");
}
