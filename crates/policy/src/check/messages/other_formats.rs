//! The texts for files that are another program's, or have limiters where another has them.

use std::ops::Range;

use super::cut;
use crate::problem::Problem;
use crate::tree::{Entry, Node};

/// Fields of Envoy's files: of its rate limit service, and of its proxies.
const OF_ENVOY: [&str; 6] = [
    "descriptors",
    "http_filters",
    "static_resources",
    "typed_config",
    "token_bucket",
    "rate_limits",
];

/// Reports that a file is one of Envoy's.
pub(in crate::check) fn of_envoy(tree: &Node) -> Option<Problem> {
    let entries = tree.table()?;
    let is_own =
        |entry: &Entry| ["limiter", "limiters", "hierarchy"].contains(&entry.name.as_str());
    if entries.iter().any(is_own) {
        return None;
    }
    let entry = entries.iter().find(|entry| OF_ENVOY.contains(&entry.name.as_str()))?;
    let label = "expected `limiters`; what is `requests_per_unit` or `max_tokens` there is `limit` here, and `unit` or \
                 `fill_interval` is `interval`";
    let title = format!("this is a file of Envoy, which has `{}`", entry.name);
    Some(Problem::new(entry.name_span.clone(), entry.name.as_str(), title, label))
}

/// Reports that a file has `framework`, but no limiters where Symfony has them.
pub(in crate::check) fn no_rate_limiter(entries: &[Entry], place: Range<usize>) -> Problem {
    let title = "`framework` has no `rate_limiter`";
    let label = "expected limiters by their names, in `framework.rate_limiter`";
    match entries.iter().find(|entry| is_rate_limiter(&entry.name)) {
        Some(entry) => Problem::new(entry.name_span.clone(), "framework", title, label)
            .did_you_mean(&entry.name, ["rate_limiter"]),
        None => Problem::new(place, "framework", title, label),
    }
}

/// Returns true for the name that Symfony has for its limiters, also misspelt.
pub(super) fn is_rate_limiter(name: &str) -> bool {
    let name = name.to_lowercase().replace('-', "_");
    strsim::jaro_winkler(&name, "rate_limiter") >= 0.9
}

/// Reports limiters that are written as Symfony has them, but not where it has them.
pub(super) fn outside_of_framework(entry: &Entry) -> Problem {
    let title = format!("`{}` is not a field of a policy", cut(&entry.name));
    let label = "expected `limiters`, or `rate_limiter` in `framework`";
    Problem::at_field(entry, "", title, label.to_owned()).did_you_mean("limiters", ["limiters"])
}
