//! Tests of policies: each kind is understood, and every mistake is shown at its place.

use std::time::Duration;

use sluicegate::{Quota, Rate, Refill};

use super::*;

mod stores;
mod windows;

const BUCKET: &str = r#"
[[limiter]]
name = "a"
key = "client"
policy = "token_bucket"
limit = 20
rate = { amount = 500, interval = "15 minutes" }
"#;

fn rule(text: &str) -> Rule {
    Policy::parse("p.toml", text).unwrap_or_else(|error| panic!("{error}")).rules.remove(0)
}

fn error(text: &str) -> String {
    Policy::parse("p.toml", text).unwrap_err().to_string()
}

#[test]
fn each_kind_is_understood_and_put_in_words() {
    let rate = Rate::new(500, Duration::from_secs(900)).unwrap();
    let quota = Quota::new(rate).with_burst(20).unwrap();
    let bucket = rule(BUCKET);
    assert_eq!(bucket.kind, Kind::TokenBucket { quota, initial: 20 });
    assert_eq!(bucket.kind.to_string(), "token bucket: 20, then 500 per 15m");
    assert_eq!((bucket.key, bucket.cost), (vec![KeyField::Client], Cost::Permits(1)));

    let stepped = rule(&format!("{BUCKET}refill = \"interval\"\ninitial = 3\ncost = \"bytes\""));
    let expected = quota.with_refill(Refill::Interval);
    assert_eq!(stepped.kind, Kind::TokenBucket { quota: expected, initial: 3 });
    let words = "token bucket: 20, then 500 at once every 15m, starts with 3";
    assert_eq!((stepped.kind.to_string().as_str(), stepped.cost), (words, Cost::Bytes));

    let header = "[[limiter]]\nname = \"a\"\nkey = [\"client\", \"status_class\"]\n";
    let gcra = format!(
        "{header}policy = \"gcra\"\ninterval = \"100 ms\"\ntolerance = \"900ms\"\ncost = 2\n\
         match = {{ method = \"POST\", path_prefix = [\"/a\", \"/b\"], status_class = \"4xx\" }}"
    );
    let gcra = rule(&gcra);
    assert_eq!(gcra.kind.to_string(), "gcra: every 100ms, up to 900ms early");
    assert_eq!(gcra.key, [KeyField::Client, KeyField::StatusClass]);
    assert_eq!(gcra.filter.path_prefix, ["/a", "/b"]);
    assert_eq!(gcra.cost, Cost::Permits(2));

    let meter = format!(
        "{header}policy = \"leaky_bucket\"\nmode = \"meter\"\nlimit = 20\n\
         rate = {{ amount = 500, interval = \"15 minutes\" }}"
    );
    assert_eq!(rule(&meter).kind, Kind::LeakyMeter(quota));
    assert_eq!(rule(&meter).kind.to_string(), "leaky bucket: holds 20, leaks 500 per 15m");

    let apart = format!("{header}policy = \"leaky_bucket\"\nmode = \"min_interval\"\n");
    let interval = rule(&format!("{apart}interval = \"2s\"")).kind;
    assert_eq!(interval.to_string(), "leaky bucket: at least 2s apart");
    let rate = rule(&format!("{apart}rate = {{ amount = 3, interval = \"1s\" }}")).kind;
    assert_eq!(rate.to_string(), "leaky bucket: 3 per 1s, evenly apart");
}

#[test]
fn the_bundled_policy_shows_every_kind() {
    let policy = Policy::parse("bundled", include_str!("../../cli/sample/policy.toml")).unwrap();
    for kind in [
        "token bucket",
        "gcra",
        "leaky bucket: holds",
        "leaky bucket: at least",
        "fixed window",
        "sliding window",
        "sliding counter",
        "sliding log",
        "weighted log",
        "multi window",
        "calendar window",
        "budget",
        "all of",
    ] {
        let shown = |rule: &Rule| rule.kind.to_string().starts_with(kind);
        assert!(policy.rules.iter().any(shown), "{kind}");
    }
}

#[test]
fn an_error_shows_its_place() {
    assert_eq!(
        error(&BUCKET.replace("20", "0")),
        "\
error: `limit` is 0
 --> p.toml:6:9
  |
6 | limit = 0
  |         ^ must be from 1 to 2^32"
    );
    assert_eq!(
        error(&BUCKET.repeat(2)),
        "\
error: `name` is \"a\" twice
  --> p.toml:10:8
   |
 3 | name = \"a\"
   |        --- the first
...
10 | name = \"a\"
   |        ^^^ expected a name that no other limiter has"
    );
}

#[test]
fn every_mistake_is_named_with_its_place_and_what_is_expected() {
    let rate = "{ amount = 500, interval = \"15 minutes\" }";
    for (from, to, title, place, label) in [
        ("20", "4294967297", "`limit` is 4294967297", "6:9", "must be from 1 to 2^32"),
        ("20", "-1", "`limit` is not valid", "6:9", "integer `-1`, expected a whole number"),
        ("20", "1.5", "`limit` is not valid", "6:9", "`1.5`, expected a whole number"),
        ("20", "\"20\"", "`limit` is not valid", "6:9", "string \"20\", expected a whole number"),
        ("limit = 20", "", "limiter \"a\" lacks `limit`", "5:10", "token_bucket needs `limit`"),
        (
            "limit =",
            "burst =",
            "`burst` is not valid",
            "6:1",
            "unknown field `burst`, expected one of",
        ),
        ("20", "20\nlimit = 20", "this is not TOML", "7:1", "duplicate key"),
        ("500", "0", "`rate.amount` is 0", "7:19", "must be from 1 to 2^32"),
        ("15 minutes", "0 s", "`rate.interval` is \"0 s\"", "7:35", "from 1 ns to 100 years"),
        (
            "15 minutes",
            "101 years",
            "`rate.interval` is \"101 ye",
            "7:35",
            "from 1 ns to 100 years",
        ),
        (
            "15 minutes",
            "1 ns",
            "`rate` is { amount = 500,",
            "7:8",
            "at most 2^31 permits per second",
        ),
        ("15 minutes", "15", "`rate.interval` is not valid", "7:35", "time unit needed"),
        ("15 minutes", "15 xs", "`rate.interval` is not valid", "7:35", "unknown time unit \"xs\""),
        ("\"15 minutes\"", "900", "`rate.interval` is not valid", "7:35", "such as \"15 minutes\""),
        (rate, "500", "`rate` is not valid", "7:8", "expected a rate such as { amount = 5, "),
        (rate, "{ amount = 500 }", "`rate` is not valid", "7:8", "missing field `interval`"),
        (
            "\"client\"",
            "\"clinet\"",
            "`key` is \"clinet\"",
            "4:7",
            "expected one of `client`, `path`",
        ),
        ("\"client\"", "[]", "`key` is []", "4:7", "expected at least one, and none empty"),
        ("\"client\"", "7", "`key` is not valid", "4:7", "expected a string or a list of strings"),
        ("key", "kay", "`kay` is not valid", "4:1", "unknown field `kay`"),
        ("key = \"client\"", "", "a limiter lacks `key`", "2:1", "expected `key`, as every [["),
        ("name = \"a\"", "", "a limiter lacks `name`", "2:1", "expected `name`, as every [["),
        (
            "\"token_bucket\"",
            "\"fixed_windows\"",
            "`policy` is not valid",
            "5:10",
            "unknown variant `fixed_windows`, expected one of `token_bucket`, `gcra`, `leaky_bucket`",
        ),
        ("token_bucket", "gcra", "`limit` does not belong to gcra", "6:9", "only `interval`, `tol"),
        ("token_bucket", "leaky_bucket", "limiter \"a\" lacks `mode`", "5:10", "needs `mode`, \"m"),
        ("\"a\"", "\"\"", "`name` is \"\"", "3:8", "expected some text"),
        ("20", "20\ninitial = 21", "`initial` is 21", "7:11", "must be from 0 to the limit"),
        (
            "20",
            "20\nrefill = \"now\"",
            "`refill` is not valid",
            "7:10",
            "expected `smooth` or `inter",
        ),
        ("20", "20\nmode = \"meter\"", "`mode` does not belong to token_b", "7:8", "expected only"),
        ("20", "20\ncost = 0", "`cost` is 0", "7:8", "must be 1 or more, or \"bytes\""),
        ("20", "20\ncost = \"bits\"", "`cost` is not valid", "7:8", "a whole number or \"bytes\""),
        (
            "20",
            "20\nmatch = { status_class = [\"2xx\", \"3XX\"] }",
            "`match.status_class` is [\"2xx\", \"3XX\"]",
            "7:26",
            "expected some of 1xx, 2xx, 3xx, 4xx, 5xx",
        ),
        ("20", "20\nmatch = { method = [] }", "`match.method` is []", "7:20", "at least one"),
        ("20", "20\nmatch = { x = 1 }", "`match.x` is not valid", "7:11", "unknown field `x`"),
        ("20", "20\nmatch = 1", "`match` is not valid", "7:9", "expected a table such as"),
    ] {
        let found = error(&BUCKET.replacen(from, to, 1));
        let place = format!(" --> p.toml:{place}\n");
        assert!(found.starts_with(&format!("error: {title}")), "{title}:\n{found}");
        assert!(found.contains(&place), "{place}:\n{found}");
        assert!(found.lines().last().unwrap().contains(label), "{label}:\n{found}");
    }
}

#[test]
fn the_numbers_of_gcra_and_leaky_buckets_are_checked_too() {
    let gcra = |interval: &str, tolerance: &str| {
        error(&format!(
            "[[limiter]]\nname = \"a\"\nkey = \"all\"\npolicy = \"gcra\"\n\
             interval = \"{interval}\"\ntolerance = \"{tolerance}\""
        ))
    };
    let zero = gcra("0 s", "1 s");
    assert!(zero.starts_with("error: `interval` is \"0 s\"\n --> p.toml:5:12\n"), "{zero}");
    let wide = gcra("1 ns", "1 minute");
    assert!(wide.starts_with("error: `tolerance` is \"1 minute\"\n --> p.toml:6:13\n"), "{wide}");
    assert!(wide.ends_with("less than 2^32 emission intervals"), "{wide}");

    let apart = |fields: &str| {
        error(&format!(
            "[[limiter]]\nname = \"a\"\nkey = \"all\"\npolicy = \"leaky_bucket\"\n\
             mode = \"min_interval\"\n{fields}"
        ))
    };
    let zero = apart("interval = \"0 s\"");
    assert!(zero.starts_with("error: `interval` is \"0 s\"\n --> p.toml:6:12\n"), "{zero}");
    let both = apart("interval = \"1 s\"\nrate = { amount = 1, interval = \"1 s\" }");
    let title = "error: `interval` does not belong to leaky_bucket as a min_interval\n";
    assert!(both.starts_with(title), "{both}");
    assert!(apart("").contains("lacks `rate` or `interval`"));
}

#[test]
fn a_policy_has_at_least_one_limiter() {
    for empty in ["", "# nothing\n", "limiter = []\n"] {
        assert!(error(empty).starts_with("error: the policy has no limiter\n --> p.toml:1:1\n"));
    }
}
