//! A level as a policy describes it, and the checks of levels.

use std::collections::HashSet;

use crate::kind::Unbuildable;
use crate::{Kind, escaped};

/// One level of a [`Hierarchy`](crate::Hierarchy): what its keys are, and the limit of each key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelPolicy {
    /// The name that refusals call it by, from 1 to 200 characters. No two levels have the same.
    pub name: String,
    /// Names of the fields of a request that make the key. At least one.
    pub key: Vec<String>,
    /// Names of the amounts of a request that the level counts the sum of. If there are none, each
    /// request counts 1.
    pub counts: Vec<String>,
    /// The algorithm and its numbers: one that can be [settled](Kind::is_settleable).
    pub kind: Kind,
    /// The most keys at a time, if there is a bound. A request with another key is refused.
    pub max_keys: Option<usize>,
    /// Keys that have numbers of their own.
    pub overrides: Vec<LevelOverride>,
}

/// The numbers of the keys that a pattern matches.
///
/// It has a part for each field of the key, with `/` between them: `*` matches any characters of a field, and
/// `?` one.
///
/// A pattern without `*` and `?` counts before all that have some. Of several others that match, the one with most
/// other characters counts, and if two have as many, the first in alphabetical order. The order in which they are
/// written does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelOverride {
    /// The pattern, such as `acme/*`.
    pub pattern: String,
    /// The numbers, which may be of another algorithm if they are not from a file.
    pub kind: Kind,
}

/// A reason why there is no such [`Hierarchy`](crate::Hierarchy).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HierarchyError {
    /// There is no level.
    #[error("the hierarchy has no level: expected at least one")]
    NoLevel,
    /// Two levels have one name.
    #[error("two levels are named \"{}\": expected a name that no other level has", escaped(.level))]
    SameName {
        /// The name.
        level: String,
    },
    /// A level has no field in its key.
    #[error("level \"{}\": `key` is empty: expected at least one field", escaped(.level))]
    NoKey {
        /// The name of the level.
        level: String,
    },
    /// A level names a field or an amount that requests do not have.
    #[error(
        "level \"{}\" names \"{}\", which requests do not have: expected one of {known}",
        escaped(.level), escaped(.name)
    )]
    Unknown {
        /// The name of the level.
        level: String,
        /// The field or the amount.
        name: String,
        /// Those that requests have.
        known: String,
    },
    /// The kind cannot be settled.
    #[error("level \"{}\": {kind} cannot be settled: expected token_bucket or a window", escaped(.level))]
    NotSettleable {
        /// The name of the level.
        level: String,
        /// The kind in words.
        kind: String,
    },
    /// A bucket that starts with less than its limit, or refills in steps.
    #[error("level \"{}\": buckets must start full and refill smoothly, or idle keys could not be forgotten", escaped(.level))]
    NotNewWhenFull {
        /// The name of the level.
        level: String,
    },
    /// A pattern of the overrides cannot be read.
    #[error("level \"{}\": \"{}\" is not a pattern: {reason}", escaped(.level), escaped(.pattern))]
    Pattern {
        /// The name of the level.
        level: String,
        /// The pattern.
        pattern: String,
        /// The mistake in it.
        reason: String,
    },
    /// A number is out of its range.
    #[error("level \"{}\": {error}", escaped(.level))]
    Unbuildable {
        /// The name of the level.
        level: String,
        /// The engine's verdict.
        error: Unbuildable,
    },
}

/// Checks that there are levels, and that no two have one name.
pub(super) fn check_names(levels: &[LevelPolicy]) -> Result<(), HierarchyError> {
    if levels.is_empty() {
        return Err(HierarchyError::NoLevel);
    }
    let mut names = HashSet::new();
    for LevelPolicy { name, key, .. } in levels {
        if !names.insert(name) {
            return Err(HierarchyError::SameName { level: name.clone() });
        }
        if key.is_empty() {
            return Err(HierarchyError::NoKey { level: name.clone() });
        }
    }
    Ok(())
}

impl LevelPolicy {
    /// Returns all kinds that its keys have.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        std::iter::once(&self.kind).chain(self.overrides.iter().map(|own| &own.kind))
    }

    /// Returns the indexes of `names` in `known`.
    pub(super) fn indexes(
        &self,
        names: &[String],
        known: &[&str],
    ) -> Result<Vec<usize>, HierarchyError> {
        let index = |name: &String| {
            known.iter().position(|other| other == name).ok_or_else(|| HierarchyError::Unknown {
                level: self.name.clone(),
                name: name.clone(),
                known: match known {
                    [] => "none".to_owned(),
                    known => format!("`{}`", known.join("`, `")),
                },
            })
        };
        names.iter().map(index).collect()
    }

    /// Checks that limiters of this kind can be settled, and forgotten.
    pub(super) fn check_kind(&self, kind: &Kind) -> Result<(), HierarchyError> {
        let level = self.name.clone();
        if !kind.is_settleable() {
            return Err(HierarchyError::NotSettleable { level, kind: kind.to_string() });
        }
        if !kind.is_new_when_full() {
            return Err(HierarchyError::NotNewWhenFull { level });
        }
        Ok(())
    }
}
