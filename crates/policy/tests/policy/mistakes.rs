//! Each mistake is named with its place, what is expected there, and the name that was meant; and all
//! mistakes of a file at once.

use std::fmt::Write as _;
use std::fs;
use std::sync::LazyLock;

use serde_json::Value;
use sluicegate_policy::{Format, Policies, json_schema};

/// Stands for the names of all kinds of limiters.
const ALL_KINDS: &str = "`token_bucket`, .., `all`";

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/policy/mistakes.txt");

/// A policy, and what is said of it.
struct Case<'a> {
    format: &'a str,
    policy: &'a str,
    said: &'a str,
}

fn cases(file: &str) -> Vec<Case<'_>> {
    let case = |block: &'_ str| -> Option<(usize, usize)> {
        Some((block.find('\n')?, block.find("\n---\n")?))
    };
    file.split("\n=== ")
        .skip(1)
        .map(|block| {
            let (head, middle) = case(block).expect("a case has a format and a line of dashes");
            let policy = block.get(head + 1..=middle).unwrap_or_default();
            Case { format: &block[..head], policy, said: block[middle + 5..].trim_end() }
        })
        .collect()
}

fn format(name: &str) -> Format {
    match name {
        "toml" => Format::Toml,
        "yaml" => Format::Yaml,
        "json" => Format::Json,
        other => panic!("{other} is not a format"),
    }
}

/// The names of all kinds of limiters, as mistakes list them.
static NAMES: LazyLock<String> = LazyLock::new(|| {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let names = schema["$defs"]["limiter"]["properties"]["policy"]["enum"].as_array().unwrap();
    let names: Vec<&str> = names.iter().map(|name| name.as_str().unwrap()).collect();
    format!("`{}`", names.join("`, `"))
});

fn said(format: Format, policy: &str) -> String {
    let errors = Policies::from_text(format, "p", policy).expect_err(policy);
    let lines: Vec<String> = errors
        .into_iter()
        .map(|error| {
            let (line, column) = (error.line(), error.column());
            let mut said = format!("{line}:{column}: {}: {}", error.message(), error.expected());
            if let Some(name) = error.did_you_mean() {
                let _ = write!(said, " (did you mean `{name}`?)");
            }
            // What is shown is the same, at the same place.
            let shown = error.to_string();
            assert!(shown.contains(&format!(" p:{line}:{column}\n")), "{shown}");
            assert!(shown.contains(error.message()) && shown.contains(error.expected()), "{shown}");
            assert!(!shown.contains(['\x1b', '\u{202e}']), "{shown}");
            said
        })
        .collect();
    lines.join("\n").replace(&*NAMES, ALL_KINDS)
}

#[test]
fn every_mistake_is_named_with_its_place_and_what_is_expected() {
    let file = fs::read_to_string(FILE).unwrap();
    let cases = cases(&file);
    assert!(cases.len() >= 100, "only {} cases", cases.len());
    if std::env::var_os("BLESS").is_some() {
        let mut blessed = file.split("\n===").next().unwrap().to_owned();
        for Case { format: name, policy, .. } in &cases {
            let said = said(format(name), policy);
            let _ = write!(blessed, "\n=== {name}\n{policy}---\n{said}\n");
        }
        fs::write(FILE, blessed).unwrap();
        return;
    }
    for Case { format: name, policy, said: expected } in &cases {
        assert_eq!(&said(format(name), policy), expected, "{name}:\n{policy}");
    }
}
