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

fn rule(text: &str) -> LimiterPolicy {
    let policies = Policies::from_toml("p.toml", text).unwrap_or_else(|error| panic!("{error}"));
    policies.into_limiters().remove(0)
}

fn error(text: &str) -> String {
    Policies::from_toml("p.toml", text).unwrap_err().to_string()
}

#[test]
fn each_kind_is_understood_and_put_in_words() {
    let rate = Rate::new(500, Duration::from_secs(900)).unwrap();
    let quota = Quota::new(rate).with_burst(20).unwrap();
    let bucket = rule(BUCKET);
    assert_eq!(bucket.kind, Kind::TokenBucket { quota, initial: 20 });
    assert_eq!(bucket.kind.to_string(), "token bucket: 20, then 500 per 15m");
    assert_eq!((bucket.key, bucket.cost), (vec![KeyField::Client.into()], Cost::Permits(1)));

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
