//! No input panics, or makes an error that a terminal would obey: random texts, and good policies with
//! random damage, in each format.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use sluicegate::ManualClock;
use sluicegate_policy::{Format, Hierarchy, HierarchyError, Policies};

const TOML: &str = include_str!("policies/every_option.toml");
const REQUESTS: &str = include_str!("policies/requests.toml");
const YAML: &str = include_str!("policies/named.yaml");

/// Pieces that parsers stumble over.
const PIECES: [&str; 24] = [
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    ":",
    "=",
    "\n",
    "\r\n",
    "\t",
    " ",
    "#",
    "&a ",
    "*a",
    "!!str ",
    "- ",
    "? ",
    "\u{1b}[31m",
    "\u{202e}",
    "é",
    "\u{1f600}",
    "99999999999999999999999",
    "\u{feff}",
];

fn check(format: Format, bytes: &[u8]) {
    match Policies::from_bytes(format, "p\u{1b}[31m", bytes) {
        Ok(policies) => {
            for limiter in policies.limiters() {
                let _ = (limiter.explain(), limiter.kind.to_string(), limiter.kind.parts());
            }
            if !policies.hierarchy().is_empty() {
                // Requests of this program have other fields, or these levels can be built.
                let built = Hierarchy::new(
                    policies.hierarchy(),
                    ["org", "user", "model"],
                    ["input", "output"],
                    Arc::new(ManualClock::new()),
                );
                match built {
                    Ok(hierarchy) => _ = hierarchy.request(["a", "b", "c"]).try_acquire([1, 2]),
                    Err(HierarchyError::Unknown { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            for warning in policies.warnings() {
                assert!(!warning.to_string().contains('\u{1b}'));
            }
        }
        Err(errors) => {
            assert!(!errors.as_slice().is_empty());
            let shown = errors.to_string();
            assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
            for error in &errors {
                assert!(error.line() >= 1 && error.column() >= 1);
                let _ = (error.in_colour(), format!("{error:?}"));
            }
        }
    }
}

fn format() -> impl Strategy<Value = Format> {
    prop_oneof![Just(Format::Toml), Just(Format::Yaml), Just(Format::Json)]
}

/// A good policy in some format.
fn good() -> impl Strategy<Value = (Format, String)> {
    let value: serde_json::Value = toml::from_str(TOML).unwrap();
    prop_oneof![
        Just((Format::Toml, TOML.to_owned())),
        Just((Format::Toml, REQUESTS.to_owned())),
        Just((Format::Yaml, YAML.to_owned())),
        Just((Format::Yaml, format!("{value:#}"))),
        Just((Format::Json, format!("{value:#}"))),
    ]
}

#[derive(Clone, Debug)]
enum Damage {
    Insert(Index, usize),
    Remove(Index, usize),
    Repeat(Index, usize),
    Swap(Index, Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        (any::<Index>(), 0..PIECES.len()).prop_map(|(at, piece)| Damage::Insert(at, piece)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, length)| Damage::Remove(at, length)),
        (any::<Index>(), 1..80_usize).prop_map(|(at, length)| Damage::Repeat(at, length)),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Damage::Swap(a, b)),
    ]
}

fn damaged(text: &str, damages: &[Damage]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for damage in damages {
        if bytes.is_empty() {
            break;
        }
        match damage {
            Damage::Insert(at, piece) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, PIECES[*piece].bytes());
            }
            Damage::Remove(at, length) => {
                let at = at.index(bytes.len());
                bytes.drain(at..(at + length).min(bytes.len()));
            }
            Damage::Repeat(at, length) => {
                let at = at.index(bytes.len());
                let again = bytes[at..(at + length).min(bytes.len())].to_vec();
                bytes.splice(at..at, again);
            }
            Damage::Swap(a, b) => {
                let (a, b) = (a.index(bytes.len()), b.index(bytes.len()));
                bytes.swap(a, b);
            }
        }
    }
    bytes
}

proptest! {
    #[test]
    fn no_bytes_panic(format in format(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(format, &bytes);
    }

    #[test]
    fn no_pieces_panic(format in format(), pieces in prop::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = pieces.into_iter().map(|piece| PIECES[piece]).collect();
        check(format, text.as_bytes());
    }

    #[test]
    fn no_damage_panics(
        (format, text) in good(),
        damages in prop::collection::vec(damage(), 1..6),
    ) {
        check(format, &damaged(&text, &damages));
    }
}

#[test]
fn deep_and_large_inputs_are_refused_without_harm() {
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("{\"a\":", "}"), ("- ", ""), ("a = [", "]")] {
        let text = format!("{}1{}", open.repeat(20_000), close.repeat(20_000));
        for format in [Format::Toml, Format::Yaml, Format::Json] {
            check(format, text.as_bytes());
        }
    }
    let names: Vec<String> = (0..2_000).map(|n| format!("[limiters.n{n}]\nx = 1\n")).collect();
    check(Format::Toml, names.concat().as_bytes());
    check(Format::Json, format!("{{{}\"a\": 1}}", "\"a\": 1, ".repeat(2_000)).as_bytes());
    check(Format::Yaml, format!("limiters:\n  a:\n    policy: {}", "x".repeat(100_000)).as_bytes());
}

#[test]
fn aliases_of_long_names_are_refused_before_they_fill_the_memory() {
    let name = "k".repeat(400_000);
    for (named, aliased) in [
        (format!("{{ {name}: 1 }}"), "*a"),
        (format!("{{ b: {{ {name}: 1 }} }}"), "*a"),
        (format!("[{{ {name}: 1 }}]"), "{ c: *a }"),
    ] {
        let aliases = format!("{aliased}, ").repeat(40_000);
        let text = format!("framework: {{ a: &a {named}, b: [{aliases}] }}\n");
        let errors = Policies::from_yaml("p", &text).unwrap_err();
        let expected = "expected at most 100000 values, with those of aliases";
        assert_eq!(errors.as_slice()[0].expected(), expected);
    }
}
