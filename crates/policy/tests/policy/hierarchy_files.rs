//! Levels of a file: each field is read, in all formats.

use std::time::Duration;

use sluicegate::Rate;
use sluicegate_policy::{Kind, Policies};

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_file_says_the_same_in_all_formats() {
    let toml = r#"
[[hierarchy]]
name = "org"
key = "org"
policy = "token_bucket"
limit = 100
rate = { amount = 10, interval = "1 second" }
max_keys = 50

[[hierarchy]]
name = "user"
key = ["org", "user"]
counts = ["input", "output"]
policy = "fixed_window"
start = "epoch"
limit = 5
interval = "1 minute"
overrides = { "acme/*" = { limit = 7 }, "acme/ada" = { interval = "2 minutes" } }
"#;
    let json: serde_json::Value = toml::from_str(toml).unwrap();
    let read = |policies: Policies| policies.hierarchy().to_vec();
    let levels = read(Policies::from_toml("p", toml).unwrap());
    assert_eq!(levels, read(Policies::from_json("p", &json.to_string()).unwrap()));
    assert_eq!(levels, read(Policies::from_yaml("p", &format!("{json:#}")).unwrap()));
    assert_eq!(
        (levels[0].max_keys, levels[0].counts.len(), levels[1].name.as_str()),
        (Some(50), 0, "user")
    );
    assert_eq!(
        (levels[1].key.join(" "), levels[1].counts.join(" ")),
        ("org user".into(), "input output".into())
    );
    let mut own: Vec<_> =
        levels[1].overrides.iter().map(|own| (own.pattern.as_str(), own.kind.clone())).collect();
    own.sort_by_key(|(pattern, _)| *pattern);
    let of = |limit, minutes| Kind::FixedWindow(Rate::new(limit, minutes * MINUTE).unwrap());
    assert_eq!(own, [("acme/*", of(7, 1)), ("acme/ada", of(5, 2))]);
    let schema: serde_json::Value =
        serde_json::from_str(&sluicegate_policy::json_schema()).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    assert!(schema.is_valid(&json));
}
