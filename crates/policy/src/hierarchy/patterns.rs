//! The numbers of a key: those of the most specific pattern that matches it.

use std::cmp::Reverse;
use std::collections::HashMap;

use wildmatch::WildMatch;

use super::level::{HierarchyError, LevelPolicy};
use crate::Kind;

/// The kinds of a level's keys.
#[derive(Debug)]
pub(super) struct Patterns {
    /// The kinds of single keys.
    keys: HashMap<String, Kind>,
    /// A pattern for each field of a key, with the kind of the keys that they match: the most specific first.
    by_fields: Vec<(Vec<WildMatch>, Kind)>,
    other: Kind,
}

impl Patterns {
    pub(super) fn new(policy: &LevelPolicy) -> Result<Patterns, HierarchyError> {
        let mut overrides: Vec<_> = policy.overrides.iter().collect();
        overrides.sort_by_cached_key(|own| (specificity(&own.pattern), own.pattern.clone()));
        let (mut keys, mut by_fields) = (HashMap::new(), Vec::new());
        for own in overrides {
            if let Some(reason) = pattern_error(&own.pattern, policy.key.len()) {
                let (level, pattern) = (policy.name.clone(), own.pattern.clone());
                return Err(HierarchyError::Pattern { level, pattern, reason });
            }
            if own.pattern.contains(WILD) {
                let fields = own.pattern.split('/').map(WildMatch::new).collect();
                by_fields.push((fields, own.kind.clone()));
            } else {
                keys.entry(own.pattern.clone()).or_insert_with(|| own.kind.clone());
            }
        }
        Ok(Patterns { keys, by_fields, other: policy.kind.clone() })
    }

    /// Returns the numbers of a key. Called once for a key that becomes known.
    pub(super) fn kind_of(&self, key: &str) -> &Kind {
        let matches = |(fields, _): &&(Vec<WildMatch>, Kind)| {
            fields.iter().zip(key.split('/')).all(|(pattern, field)| pattern.matches(field))
        };
        let by_pattern = || self.by_fields.iter().find(matches).map(|(_, kind)| kind);
        self.keys.get(key).or_else(by_pattern).unwrap_or(&self.other)
    }
}

const WILD: [char; 2] = ['*', '?'];

/// Orders patterns by the characters that must be there, most first.
fn specificity(pattern: &str) -> Reverse<usize> {
    Reverse(pattern.chars().filter(|c| !WILD.contains(c)).count())
}

/// Returns the mistake of a pattern for keys of this many fields, if it has one.
pub(crate) fn pattern_error(pattern: &str, fields: usize) -> Option<String> {
    if pattern.contains(['[', '{', '\\']) {
        return Some(
            "expected `*` for any characters of a field, and `?` for one: `[`, `{` and `\\` have no \
             meaning here"
                .to_owned(),
        );
    }
    let own = pattern.split('/').count();
    (own != fields).then(|| {
        format!(
            "it has {own} fields, and keys have {fields}: expected as many, such as \"{}\"",
            vec!["*"; fields].join("/")
        )
    })
}
