//! The requests that a limiter judges, and what each of them takes.

use super::given::{Given, texts, whole};
use super::{Checks, messages};
use crate::{Cost, Filter, Kind};

impl Checks<'_> {
    pub(super) fn filter(&mut self, given: &Given<'_>) -> Filter {
        let Some(node) = given.get("match") else { return Filter::default() };
        let list = |field| -> Vec<String> {
            let texts = node.get(field).map(texts).unwrap_or_default();
            texts.into_iter().map(str::to_owned).collect()
        };
        let [method, path_prefix] = ["method", "path_prefix"].map(list);
        if let Some(field) = node.get("method")
            && let Some(small) = method.iter().find(|method| **method != method.to_uppercase())
        {
            let capitals = format!("methods are upper case; write {}", small.to_uppercase());
            self.warn("match.method", field, capitals);
        }
        if let Some(field) = node.get("path_prefix")
            && path_prefix.iter().any(|prefix| !prefix.starts_with('/') || prefix.contains('?'))
        {
            let path = "paths begin with a slash and have no query: no request has this one";
            self.warn("match.path_prefix", field, path);
        }
        Filter { method, path_prefix, status_class: list("status_class") }
    }

    /// Checks what a request takes, of a limiter of this kind.
    pub(super) fn cost(&mut self, given: &Given<'_>, kind: Option<&Kind>) -> Option<Cost> {
        let Some(node) = given.get("cost") else { return Some(Cost::Permits(1)) };
        let cost = match whole(node) {
            Some(0) => return self.wrong("cost", node, messages::ONE_OR_MORE_OR_BYTES),
            Some(permits) => Cost::Permits(permits),
            None if node.text() == Some("bytes") => Cost::Bytes,
            None => return None,
        };
        let Some(kind) = kind else { return Some(cost) };
        if kind.takes_only_one() && cost != Cost::Permits(1) {
            return self.wrong("cost", node, messages::ONE_AT_A_TIME);
        }
        if let Cost::Permits(permits) = cost
            && permits > kind.most_at_once()
        {
            let most = kind.most_at_once();
            self.warn(
                "cost",
                node,
                format!(
                    "every request will be denied: it costs more than the {most} that can be granted \
                     at once"
                ),
            );
        }
        Some(cost)
    }
}
