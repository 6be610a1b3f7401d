//! The comments in `src/`, and those of leases, name models. A name that no test has is a claim that
//! nothing checks.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The text of every file below `folder` whose name ends in `suffix`.
fn texts(folder: &Path, suffix: &str) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts.extend(self::texts(&path, suffix));
        } else if path.to_str().unwrap().ends_with(suffix) {
            texts.push(fs::read_to_string(path).unwrap());
        }
    }
    texts
}

/// The names in backticks of every `MODEL:` comment in `text`, which ends where
/// the comment does.
fn named(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        let Some(comment) = line.trim_start().strip_prefix("// ") else {
            inside = false;
            continue;
        };
        inside |= comment.starts_with("MODEL:");
        if inside {
            // Every other piece between backticks is inside a pair of them.
            names.extend(comment.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    names
}

/// The names of the tests in `text`.
fn tests(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for part in text.split("#[test]").skip(1) {
        let name = part.split_once("fn ").unwrap().1;
        names.push(name.split('(').next().unwrap().to_owned());
    }
    names
}

#[test]
fn every_model_that_the_sources_name_exists() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let exist: BTreeSet<String> =
        texts(&folder.join("tests"), ".rs").iter().flat_map(|text| tests(text)).collect();
    let mut sources = texts(&folder.join("../src"), ".rs");
    sources.extend(texts(&folder.join("../crates/redis/src/lease"), ".rs"));
    let claimed: BTreeSet<String> = sources.iter().flat_map(|text| named(text)).collect();
    assert!(!claimed.is_empty());
    let missing: Vec<_> = claimed.difference(&exist).collect();
    assert!(missing.is_empty(), "named in the sources, but no test: {missing:?}");
}
