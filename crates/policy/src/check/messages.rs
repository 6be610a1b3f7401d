//! The texts of errors and warnings: the mistake, and the value that is expected there.
//!
//! Texts on the form of a field are in [`fields`](crate::fields). Those on the range of a number are
//! the engine's: `ConfigError::rule`.

mod other_formats;

use std::ops::Range;

use sluicegate::ConfigError;

use self::other_formats::{is_rate_limiter, outside_of_framework};
pub(super) use self::other_formats::{no_rate_limiter, of_envoy};

use super::given::Given;
use crate::MAX_KEY_BYTES;
use crate::fields::MAX_NAME;
use crate::problem::{Problem, escaped};
use crate::tree::{Entry, Node};

// Labels at a value that is wrong; the title says that it is the field's.
pub(super) const SOME_TEXT: &str = "expected some text";
pub(super) const NO_LEADING_ZERO: &str =
    "expected a whole number without leading zeros, which some readers take for octal";
pub(super) const ONE_OR_MORE: &str = "must be 1 or more";
pub(super) const ONE_OR_MORE_OR_BYTES: &str = "must be 1 or more, or \"bytes\"";
pub(super) const ONE_AT_A_TIME: &str =
    "sliding_log takes 1 at a time; weighted_log takes any number";
pub(super) const NAME_OF_ZONE: &str =
    "expected a name of the IANA database, such as Europe/Berlin or UTC";
pub(super) const FULL_IN_A_TABLE: &str =
    "must be the limit in a table, where every new key starts full";
pub(super) const TABLE_MEMORY: &str =
    "must be from 64 bytes to 128 TiB, the most that a process can address";
pub(super) const TABLE_KEYS: &str = "must be at least 1, and take no more than 128 TiB";
pub(super) const EXACT_STORE: &str = "expected \"exact\": a table has only token buckets";

pub(super) const NAMES_OF_ONE_FIELD: &str =
    "expected a `key` of a single field, since these are its values";
pub(super) const NOT_IN_ALL: &str = "expected a kind with a limiter for each key: this one is a limiter for all keys, which no other can be around";

// Labels at another place that is the reason.
pub(super) const NEEDS_EXACT_STORE: &str = "this needs an exact store";
pub(super) const IN_THIS_STORE: &str = "in this store";

// Labels at a field of another store.
pub(super) const ONLY_MAX_KEYS: &str = "expected only `max_keys`, or store = \"table\"";
pub(super) const ONLY_MEMORY_OR_KEYS: &str =
    "expected only `memory` or `keys`, or store = \"exact\"";

/// Returns the name of a field in a table, such as `rate.amount`.
pub(super) fn path(table: &str, field: &str) -> String {
    match table {
        "" => escaped(field),
        table => format!("{table}.{}", escaped(field)),
    }
}

/// Returns the name of a field in a sentence.
pub(super) fn named(path: &str) -> String {
    match path {
        "" => "the limiter".to_owned(),
        path => format!("`{path}`"),
    }
}

/// Returns a number as all messages have it: near a large power of two by that, as in `2^32` and `2^47 - 1`.
pub(super) fn number(number: u64) -> String {
    match number.checked_next_power_of_two() {
        Some(power) if power >= 1 << 16 && power - number <= 2 => {
            let exponent = power.trailing_zeros();
            match power - number {
                0 => format!("2^{exponent}"),
                less => format!("2^{exponent} - {less}"),
            }
        }
        _ => number.to_string(),
    }
}

/// Returns the table that a rate such as `10/s`, `10r/s` or `10 per minute` stands for.
pub(super) fn rate_of(text: &str) -> Option<String> {
    let (amount, unit) = text.split_once('/').or_else(|| text.split_once(" per "))?;
    let amount = amount.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
    let unit = unit.trim();
    let interval = match unit.to_ascii_lowercase().as_str() {
        "s" | "sec" | "second" => "1 second",
        "m" | "min" | "minute" => "1 minute",
        "h" | "hour" => "1 hour",
        "d" | "day" => "1 day",
        _ => unit,
    };
    humantime::parse_duration(interval).ok()?;
    let amount: u64 = amount.replace('_', "").parse().ok()?;
    Some(format!("{{ amount = {amount}, interval = \"{interval}\" }}"))
}

/// Returns the rule for a number in a range.
pub(super) fn within(least: u64, most: u64) -> String {
    match most {
        u64::MAX => format!("must be {least} or more, and at most 2^64 - 1"),
        most => format!("must be from {least} to {}", number(most)),
    }
}

/// Returns what is expected where one of several fields decides what a table is.
pub(super) fn lacks_one_of(names: &[&str]) -> String {
    format!("expected one of {}", listed(names))
}

/// Returns the rule for an amount of a calendar, from 0 to `max`.
pub(super) fn up_to(max: u64) -> String {
    format!("must be from 0 to {}", number(max))
}

/// Returns the rule that a number broke, in the words of a policy.
pub(super) fn rule(error: &ConfigError) -> String {
    match *error {
        ConfigError::Initial { .. } => "must be from 0 to the limit".to_owned(),
        ConfigError::Limit { max, .. } => {
            format!("must be from 1 to {} for this window", number(max))
        }
        ConfigError::Capacity { most, .. } => format!("must be from 1 to {}", number(most)),
        ConfigError::Count { .. } => "expected 1 to 64 entries".to_owned(),
        _ => error.rule().to_owned(),
    }
}

/// Returns names for a list of those that are allowed.
fn listed(names: &[&str]) -> String {
    format!("`{}`", names.join("`, `"))
}

/// The most names that a message lists.
const MOST_LISTED: usize = 8;

/// Returns names for a list of those that are allowed: of many, those that are most like the given one.
fn nearest_of(given: &str, names: &[&str]) -> String {
    if names.len() <= MOST_LISTED {
        return listed(names);
    }
    let given: String = given.to_lowercase().chars().take(40).collect();
    let likeness = |name: &&str| strsim::jaro_winkler(&given, name);
    let mut best = names.to_vec();
    best.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)));
    best.truncate(MOST_LISTED);
    // In the order that they are explained in.
    let shown: Vec<&str> = names.iter().copied().filter(|name| best.contains(name)).collect();
    match names.len() - MOST_LISTED {
        1 => format!("{}, or another", listed(&shown)),
        others => format!("{}, or {others} others", listed(&shown)),
    }
}

pub(super) fn unknown_field(table: &str, entry: &Entry, names: &[&str], of: &str) -> Problem {
    if table.is_empty() && names.contains(&"framework") && is_rate_limiter(&entry.name) {
        return outside_of_framework(entry);
    }
    let title = format!("`{}` is not a field of {of}", path(table, &cut(&entry.name)));
    let label = format!("expected one of {}", nearest_of(&entry.name, names));
    Problem::at_field(entry, table, title, label).did_you_mean(&entry.name, names.iter().copied())
}

pub(super) fn twice(table: &str, entry: &Entry, first: &Entry) -> Problem {
    let title = format!("`{}` is given twice", path(table, &cut(&entry.name)));
    Problem::at_field(entry, table, title, "expected it once".to_owned())
        .with_context(first.name_span.clone(), "the first")
}

pub(super) fn same_key(entry: &Entry, key: &str) -> Problem {
    let title = format!("`overrides` has \"{}\", which is {key}", cut(&entry.name));
    let label = "expected each key once: another override is for the same";
    Problem::new(entry.name_span.clone(), "overrides", title, label)
}

pub(super) fn lacks_field(table: &str, field: &str, place: Range<usize>) -> Problem {
    let title = format!("`{table}` lacks `{field}`");
    Problem::new(place, path(table, field), title, format!("expected `{field}`"))
}

pub(super) fn too_long(path: &str, place: Range<usize>, text: &str, most: usize) -> Problem {
    let title = format!("{} has {} characters", named(path), text.chars().count());
    Problem::new(place, path, title, format!("expected at most {most}"))
}

/// Returns the problem of a key that is longer than those that a service keeps as they are.
pub(super) fn longer_than_keys(path: &str, key: &str, place: Range<usize>) -> Option<Problem> {
    if key.len() <= MAX_KEY_BYTES {
        return None;
    }
    let title = format!("`{path}` has a key of {} bytes", key.len());
    let label =
        format!("expected at most {MAX_KEY_BYTES}: of longer ones, a service keeps the hash");
    Some(Problem::new(place, path, title, label))
}

pub(super) fn no_limiter() -> Problem {
    let label = "expected at least one, in `limiter`, `limiters` or `hierarchy`";
    Problem::new(0..0, "limiters", "the policy has no limiter", label)
}

pub(super) fn same_name(name: &str, place: Range<usize>, first: Range<usize>) -> Problem {
    let title = format!("`name` is \"{}\" twice", cut(name));
    Problem::new(place, "name", title, "expected a name that no other limiter has")
        .with_context(first, "the first")
}

pub(super) fn same_level(name: &str, place: Range<usize>, first: Range<usize>) -> Problem {
    let title = format!("`hierarchy.name` is \"{}\" twice", cut(name));
    Problem::new(place, "hierarchy.name", title, "expected a name that no other level has")
        .with_context(first, "the first")
}

pub(super) fn not_a_pattern(entry: &Entry, reason: &str) -> Problem {
    let title = format!("`overrides` has \"{}\", which is not a pattern", cut(&entry.name));
    Problem::new(entry.name_span.clone(), "hierarchy.overrides", title, reason)
}

pub(super) fn not_of_level(path: &str, place: Range<usize>) -> Problem {
    let title = format!("`{path}` does not belong to a level");
    let label =
        "buckets of a level start full and refill smoothly, so that idle keys are forgotten";
    Problem::new(place, path, title, label)
}

pub(super) fn name_of_name(entry: &Entry, name: Range<usize>) -> Problem {
    let title = "`name` does not belong to a limiter that has a name".to_owned();
    Problem::at_field(entry, "", title, "expected no other".to_owned())
        .with_context(name, "the name")
}

pub(super) fn limiter_lacks(given: &Given<'_>, field: &str, label: &str) -> Problem {
    let title = format!("{} lacks `{field}`", limiter(given));
    Problem::new(given.place.clone(), path(given.prefix, field), title, label)
}

/// Returns the limiter's name in a sentence.
fn limiter(given: &Given<'_>) -> String {
    match (given.prefix, given.name) {
        ("of", _) => "a part of all".to_owned(),
        ("hierarchy", Some(name)) => format!("level \"{}\"", cut(name)),
        ("hierarchy", None) => "a level".to_owned(),
        (_, Some(name)) => format!("limiter \"{}\"", cut(name)),
        (_, None) => "a limiter".to_owned(),
    }
}

/// Returns the problem that a limiter lacks what its kind needs.
pub(super) fn kind_needs(given: &Given<'_>, kind: &str, what: &str) -> Problem {
    let field = what.split('`').nth(1).unwrap_or_default();
    let title = format!("{} lacks {what}", limiter(given));
    let label = format!("{kind} needs {what}");
    Problem::new(given.place_of("policy"), path(given.prefix, field), title, label)
}

pub(super) fn not_of_kind(path: &str, place: Range<usize>, kind: &str, own: &[&str]) -> Problem {
    let title = format!("`{path}` does not belong to {kind}");
    Problem::new(place, path, title, format!("expected only {}", listed(own)))
}

pub(super) fn not_beside(first: &str, other: &Node, field: &str, node: &Node) -> Problem {
    let title = format!("`{field}` and `{first}` are both given");
    let label = format!("give either `{first}` or `{field}`, not both");
    Problem::new(node.span.clone(), field, title, label)
        .with_context(other.span.clone(), "the other")
}

pub(super) fn not_of_part(table: &str, entry: &Entry) -> Problem {
    let title = format!("`{}` does not belong to a part of all", path(table, &entry.name));
    let label = "expected it beside `of`";
    Problem::new(entry.node.span.clone(), path(table, &entry.name), title, label)
}

pub(super) fn not_of_override(entry: &Entry, kind: &str, own: &[&str]) -> Problem {
    let title = format!("`overrides.{}` cannot be overridden for {kind}", cut(&entry.name));
    let label = format!("expected only {}", listed(own));
    Problem::at_field(entry, "overrides", title, label)
        .did_you_mean(&entry.name, own.iter().copied())
}

pub(super) fn overrides_of_many(place: Range<usize>, key: Range<usize>) -> Problem {
    let title = "`overrides` works only if `key` is a single field";
    Problem::new(place, "overrides", title, "expected no overrides")
        .with_context(key, "this key has several, or none")
}

pub(super) fn overrides_in_table(place: Range<usize>, store: Range<usize>) -> Problem {
    let title = "`overrides` does not belong to a store that is \"table\"";
    Problem::new(place, "overrides", title, "expected no overrides, or store = \"exact\"")
        .with_context(store, IN_THIS_STORE)
}

pub(super) fn not_of_store(field: &str, place: Range<usize>, store: &str, label: &str) -> Problem {
    let title = format!("`{field}` does not belong to a store that is \"{store}\"");
    Problem::new(place, field, title, label)
}

/// Returns the problem of a bound on keys that would never be forgotten; `reason` is the place of
/// the field that keeps them.
pub(super) fn keys_are_kept(place: Range<usize>, reason: Option<Range<usize>>) -> Problem {
    let title = "`max_keys` needs buckets that start full and refill smoothly";
    let label = "such buckets are never removed, because an idle one differs from a new one";
    let problem = Problem::new(place, "max_keys", title, label);
    match reason {
        Some(reason) => problem.with_context(reason, "because of this"),
        None => problem,
    }
}

pub(super) fn not_of_common(field: &str, place: Range<usize>, kind: &str) -> Problem {
    let title = format!("`{field}` does not belong to {kind}");
    let label = match field {
        "overrides" => "expected tenants or classes with other numbers in `shares` or `classes`",
        "wait" => "expected no `wait`: there is no line before the limiter that all keys share",
        _ => {
            "expected no store: all keys share one limiter in the memory of the process, which is bounded"
        }
    };
    Problem::new(place, field, title, label)
}

pub(super) fn not_on_redis(field: &str, place: Range<usize>, store: Range<usize>) -> Problem {
    let title = format!("`{field}` does not belong to a store on a server");
    let label =
        "expected it only beside a store in the memory of the process: remove it, or `store`";
    Problem::new(place, field, title, label).with_context(store, IN_THIS_STORE)
}

pub(super) fn kind_not_on_redis(
    place: Range<usize>,
    store: Range<usize>,
    expected: &str,
) -> Problem {
    Problem::new(place, "policy", "no server can keep this limiter", expected)
        .with_context(store, IN_THIS_STORE)
}

pub(super) fn not_a_url(place: Range<usize>) -> Problem {
    let title = "`store.redis` is not the URL of a server";
    let label = "expected, for example, \"redis://127.0.0.1:6379/\", or rediss:// for TLS";
    Problem::new(place, "store.redis", title, label)
}

pub(super) fn two_passwords(place: Range<usize>) -> Problem {
    let title = "`password_file` and `password_env` are both given";
    let label = "give either the file or the variable, not both";
    Problem::new(place, "store.password_env", title, label)
}

pub(super) fn too_small_to_lease(
    place: Range<usize>,
    leases: Range<usize>,
    limit: u64,
    smallest: u64,
) -> Problem {
    let title = format!("the limit of {limit} is too small for these leases");
    let label = format!(
        "must be at least {smallest}; or take a greater `share`, fewer `nodes`, or no leases"
    );
    Problem::new(place, "limit", title, label).with_context(leases, "the leases")
}

pub(super) fn cut_by_leases(place: Range<usize>, leases: Range<usize>, cause: String) -> Problem {
    Problem::new(place, "policy", "leases would cut this limit for ever", cause)
        .with_context(leases, "the leases")
}

pub(super) fn two_sizes(keys: Range<usize>, memory: Range<usize>) -> Problem {
    let title = "`keys` and `memory` are both given";
    let label = "give either `memory` or `keys`, not both";
    Problem::new(keys, "keys", title, label).with_context(memory, "the other")
}

pub(super) fn no_size(given: &Given<'_>, place: Range<usize>) -> Problem {
    let title = format!("{} lacks `memory` or `keys`", limiter(given));
    let label = "a table needs `memory`, such as \"64 MiB\", or `keys`";
    Problem::new(place, "memory", title, label)
}

/// Returns a name, cut off if it is longer than names may be.
pub(super) fn cut(name: &str) -> String {
    match name.char_indices().nth(MAX_NAME) {
        None => escaped(name),
        Some((end, _)) => format!("{}…", escaped(&name[..end])),
    }
}
