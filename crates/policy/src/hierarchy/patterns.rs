//! The numbers of a key: those of the most specific pattern that matches it.

use std::cmp::Reverse;

use globset::{Glob, GlobBuilder, GlobSet};

use super::level::{HierarchyError, LevelPolicy};
use crate::Kind;

/// The longest pattern, in bytes.
const MAX_PATTERN: usize = 1_000;

/// The kinds of a level's keys.
#[derive(Debug)]
pub(super) struct Patterns {
    all: GlobSet,
    /// In the order of the patterns in `all`: the most specific first.
    kinds: Vec<Kind>,
    other: Kind,
}

impl Patterns {
    pub(super) fn new(policy: &LevelPolicy) -> Result<Patterns, HierarchyError> {
        let mut overrides: Vec<_> = policy.overrides.iter().collect();
        overrides.sort_by_cached_key(|own| (rank(&own.pattern), own.pattern.clone()));
        let error = |pattern: &str, reason: String| HierarchyError::Pattern {
            level: policy.name.clone(),
            pattern: pattern.to_owned(),
            reason,
        };
        let mut all = GlobSet::builder();
        for own in &overrides {
            all.add(glob(&own.pattern).map_err(|reason| error(&own.pattern, reason))?);
        }
        Ok(Patterns {
            all: all.build().map_err(|reason| error("", reason.kind().to_string()))?,
            kinds: overrides.iter().map(|own| own.kind.clone()).collect(),
            other: policy.kind.clone(),
        })
    }

    /// Returns the numbers of a key. Allocates; called once for a key that becomes known.
    pub(super) fn kind_of(&self, key: &str) -> &Kind {
        let first = self.all.matches(key).into_iter().min();
        first.and_then(|first| self.kinds.get(first)).unwrap_or(&self.other)
    }
}

/// Orders patterns: first those that match one key, then by the characters that must be there.
fn rank(pattern: &str) -> (bool, Reverse<usize>) {
    let is_pattern = pattern.contains(['*', '?', '[', '{', '\\']);
    (is_pattern, Reverse(pattern.chars().filter(|c| !matches!(c, '*' | '?')).count()))
}

fn glob(pattern: &str) -> Result<Glob, String> {
    // Alternatives in alternatives are compiled by recursion.
    if pattern.len() > MAX_PATTERN {
        return Err(format!("expected at most {MAX_PATTERN} bytes"));
    }
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| error.kind().to_string())
}

/// Returns the mistake of a pattern, if it has one.
pub(crate) fn pattern_error(pattern: &str) -> Option<String> {
    let built =
        |glob| GlobSet::builder().add(glob).build().map_err(|error| error.kind().to_string());
    glob(pattern).and_then(built).err()
}
