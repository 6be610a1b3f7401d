//! A file of vectors, and all that replays of any file have in common. The crate `sluicegate-flow` includes this by its path.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

const DOCUMENT: &str = include_str!("../../docs/conformance.md");

/// Named results, expected or found. Times end in `_nanos`.
pub(crate) type Facts = BTreeMap<String, Value>;

/// One file: where it was taken from, and its cases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File<Case> {
    pub(crate) source: Source,
    pub(crate) cases: Vec<Case>,
}

/// The origin of a file's facts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    pub(crate) project: String,
    pub(crate) commit: String,
    pub(crate) files: Vec<String>,
    pub(crate) licence: String,
    pub(crate) copied: String,
}

/// Counts of what a file made us do, so that an empty one cannot pass.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) cases: usize,
    /// Calls with their results, each at every scale of its case; a set-up that
    /// is refused is one.
    pub(crate) steps: usize,
    /// Results in which the peer differs.
    pub(crate) differences: usize,
}

/// `json` as a file of vectors that says where it comes from.
pub(crate) fn parse<Case: for<'de> Deserialize<'de>>(json: &str) -> File<Case> {
    let file: File<Case> = serde_json::from_str(json).unwrap();
    let Source { project, commit, files, licence, copied, .. } = &file.source;
    for field in [project, commit, licence, copied] {
        assert!(!field.is_empty(), "{:?}", file.source);
    }
    assert!(!files.is_empty() && !file.cases.is_empty(), "{:?}", file.source);
    file
}

/// Returns the name of a case in the message of a failure.
pub(crate) fn label(name: &str, note: &str) -> String {
    if note.is_empty() { name.to_owned() } else { format!("{name} ({note})") }
}

/// Counts the peer's results that differ from ours; it is a fault to list one that does not.
pub(crate) fn differences(peer: &Facts, ours: &Facts, at: &str) -> usize {
    for (name, value) in peer {
        let ours = ours.get(name);
        assert!(ours.is_some_and(|ours| ours != value), "{at}: {name} is no difference");
    }
    peer.len()
}

/// Returns a result with its times multiplied by `scale`.
pub(crate) fn scaled(name: &str, value: &Value, scale: u64) -> Value {
    match value.as_u64() {
        Some(nanos) if name.ends_with("_nanos") => json!(nanos * scale),
        _ => value.clone(),
    }
}

/// Checks that each difference from the peer of `json` is in `docs/conformance.md`, under the heading that it names.
///
/// # Panics
///
/// If one is not.
pub(crate) fn assert_documented(json: &str) {
    let file: serde_json::Value = serde_json::from_str(json).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let parts = ["steps", "counts"].iter().filter_map(|part| case[part].as_array());
        for part in parts.flatten().chain([case]).filter(|part| !part["why"].is_null()) {
            let (name, why) = (case["name"].as_str().unwrap(), part["why"].as_str().unwrap());
            let section = DOCUMENT.split("\n## ").find(|section| section.starts_with(why));
            let section = section.unwrap_or_else(|| panic!("no heading {why}"));
            assert!(section.contains(&format!("`{name}`")), "{name} is not under {why}");
        }
    }
}
