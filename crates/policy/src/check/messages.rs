//! The texts of the errors that a policy file may have: the mistake, and the value that is expected
//! there.
//!
//! Texts on the type of a field are in [`schema`](super::super::schema), where serde takes them
//! from. Those on the range of a number are the engine's: `ConfigError::rule`.

use std::ops::Range;

use sluicegate::ConfigError;

use super::super::error_snippet::Problem;
use super::Check;

// Labels at a value that is wrong; the title says that it is the field's.
pub(super) const SOME_TEXT: &str = "expected some text";
pub(super) const SOME_TEXTS: &str = "expected at least one, and none empty";
pub(super) const ONE_OR_MORE: &str = "must be 1 or more";
pub(super) const ONE_OR_MORE_OR_BYTES: &str = "must be 1 or more, or \"bytes\"";
pub(super) const ONE_AT_A_TIME: &str =
    "sliding_log takes 1 at a time; weighted_log takes any number";
pub(super) const NAME_OF_ZONE: &str =
    "expected a name of the IANA database, such as Europe/Berlin or UTC";
pub(super) const FULL_IN_A_TABLE: &str =
    "must be the limit in a table, where every new key starts full";
pub(super) const EXACT_STORE: &str = "expected \"exact\": a table has only token buckets";

// Labels at another place that is the reason.
pub(super) const NEEDS_EXACT_STORE: &str = "this needs an exact store";
pub(super) const IN_THIS_STORE: &str = "in this store";

// Labels at a field of another store.
pub(super) const ONLY_MAX_KEYS: &str = "expected only `max_keys`, or store = \"table\"";
pub(super) const ONLY_MEMORY_OR_KEYS: &str =
    "expected only `memory` or `keys`, or store = \"exact\"";

// Names of fields, of which a policy needs some.
pub(super) const MODE: &str = "`mode`, \"meter\" or \"min_interval\"";
pub(super) const RATE_OR_INTERVAL: &str = "`rate` or `interval`";

pub(super) fn some_of(words: &[&str]) -> String {
    format!("expected some of {}", words.join(", "))
}

/// Returns the rule for an amount of a calendar, from 0 to `max`.
pub(super) fn up_to(max: u64) -> String {
    format!("must be from 0 to {max}")
}

/// Returns the rule that a number broke, in the words of a policy.
pub(super) fn rule(error: &ConfigError) -> String {
    match *error {
        ConfigError::Initial { .. } => "must be from 0 to the limit".to_owned(),
        ConfigError::Limit { max, .. } => format!("must be from 1 to {max} for this window"),
        // The least is the number itself, or 1.
        ConfigError::Capacity { most, .. } => format!("must be from 1 to {most}"),
        _ => error.rule().to_owned(),
    }
}

pub(super) fn not_toml(place: Range<usize>, message: &str) -> Problem {
    Problem::new(place, "this is not TOML", message)
}

pub(super) fn not_valid(place: Range<usize>, field: &str, message: &str) -> Problem {
    Problem::new(place, format!("`{field}` is not valid"), message)
}

pub(super) fn no_limiter() -> Problem {
    Problem::new(0..0, "the policy has no limiter", "expected at least one [[limiter]]")
}

pub(super) fn same_name(name: &str, place: Range<usize>, first: Range<usize>) -> Problem {
    let title = format!("`name` is \"{name}\" twice");
    Problem::new(place, title, "expected a name that no other limiter has")
        .with_context(first, "the first")
}

pub(super) fn limiter_lacks(field: &str, place: Range<usize>) -> Problem {
    let label = format!("expected `{field}`, as every [[limiter]] has");
    Problem::new(place, format!("a limiter lacks `{field}`"), label)
}

pub(super) fn not_of_policy(
    field: &str,
    place: Range<usize>,
    policy: &str,
    allowed: &[&str],
) -> Problem {
    let title = format!("`{field}` does not belong to {policy}");
    Problem::new(place, title, format!("expected only `{}`", allowed.join("`, `")))
}

pub(super) fn not_of_part(field: &str, place: Range<usize>) -> Problem {
    let title = format!("`{field}` does not belong to a part of all");
    Problem::new(place, title, "expected it beside `of`")
}

pub(super) fn not_of_store(field: &str, place: Range<usize>, store: &str, label: &str) -> Problem {
    let title = format!("`{field}` does not belong to a store that is \"{store}\"");
    Problem::new(place, title, label)
}

/// Returns the problem of a bound on keys that would never be forgotten; `reason` is the place of
/// the field that keeps them.
pub(super) fn keys_are_kept(place: Range<usize>, reason: Option<Range<usize>>) -> Problem {
    let title = "`max_keys` needs buckets that start full and refill smoothly";
    let label = "each key is kept: full, it is not as one that was never seen";
    let problem = Problem::new(place, title, label);
    match reason {
        Some(reason) => problem.with_context(reason, "because of this"),
        None => problem,
    }
}

pub(super) fn two_sizes(keys: Range<usize>, memory: Range<usize>) -> Problem {
    let title = "`keys` does not belong beside `memory`";
    Problem::new(keys, title, "expected one of the two").with_context(memory, "the other")
}

pub(super) fn no_size(name: &str, place: Range<usize>) -> Problem {
    let title = format!("limiter \"{name}\" lacks `memory` or `keys`");
    Problem::new(place, title, "a table needs `memory`, such as \"64 MiB\", or `keys`")
}

impl Check<'_> {
    /// Returns the problem that `field` must not have the value at `place`.
    pub(super) fn wrong(
        &self,
        field: &str,
        place: Range<usize>,
        expected: impl Into<String>,
    ) -> Problem {
        let title = format!("`{field}` is {}", &self.text[place.clone()]);
        Problem::new(place, title, expected)
    }

    /// Returns the problem that the policy lacks a field that it needs.
    pub(super) fn missing(&self, policy: &str, what: &str) -> Problem {
        let title = match &self.raw.name {
            Some(name) => format!("limiter \"{}\" lacks {what}", name.get_ref()),
            None => format!("a part of all lacks {what}"),
        };
        Problem::new(self.raw.policy.span(), title, format!("{policy} needs {what}"))
    }
}
