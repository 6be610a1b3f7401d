//! Levels of a hierarchy, for people.

use std::fmt::Write as _;
use std::time::Duration;

use indicatif::HumanCount;
use sluicegate_policy::{LevelPolicy, escaped};

/// The spans of time of which it is told what a level admits in them.
const SPANS: [(&str, u64); 3] = [("second", 1), ("minute", 60), ("hour", 3600)];

/// Returns a level in one line.
pub(super) fn line(level: &LevelPolicy) -> String {
    let by = joined(&level.key, " and ");
    let mut line = format!("level {}, by {by}: {}", escaped(&level.name), level.kind);
    if !level.counts.is_empty() {
        let _ = write!(line, "; counts {}", joined(&level.counts, " and "));
    }
    match level.overrides.len() {
        0 => {}
        1 => line += "; keys of 1 pattern have other numbers",
        patterns => {
            let _ = write!(line, "; keys of {patterns} patterns have other numbers");
        }
    }
    line
}

/// Returns sentences on the most that a level can admit.
pub(super) fn explain(level: &LevelPolicy) -> Vec<String> {
    let what = match level.counts.as_slice() {
        [] => "requests".to_owned(),
        counts => format!("of {}", joined(counts, " + ")),
    };
    let most = |whom: &str, kind: &sluicegate_policy::Kind| {
        let spans = SPANS.map(|(name, seconds)| {
            let most = HumanCount(kind.most_in(Duration::from_secs(seconds)));
            match name {
                "second" => format!("{most} {what} in any {name}"),
                _ => format!("{most} in any {name}"),
            }
        });
        format!("For {whom}, admits at most {}.", spans.join(", "))
    };
    let mut sentences = vec![most("each key", &level.kind)];
    for own in &level.overrides {
        sentences.push(most(&format!("keys like \"{}\"", escaped(&own.pattern)), &own.kind));
    }
    sentences.push("Use beyond an estimate comes on top.".to_owned());
    if let Some(keys) = level.max_keys {
        sentences.push(format!("Keeps at most {} keys.", HumanCount(keys as u64)));
    }
    sentences
}

fn joined(names: &[String], by: &str) -> String {
    names.iter().map(|name| escaped(name)).collect::<Vec<_>>().join(by)
}
