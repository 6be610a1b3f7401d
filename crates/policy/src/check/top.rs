//! The limiters of a file, and their names.

use std::collections::HashMap;
use std::ops::Range;

use super::{Checks, messages};
use crate::LimiterPolicy;
use crate::fields::{Form, MAX_NAME, TOP};
use crate::problem::Problem;
use crate::tree::{Entry, Node, Value};

/// A limiter as it is written, and the place of its name.
struct Named<'a> {
    name: Option<(&'a str, Range<usize>)>,
    node: &'a Node,
}

impl Checks<'_> {
    /// Checks a whole file.
    pub(super) fn top(&mut self, tree: &Node) -> Vec<LimiterPolicy> {
        match &tree.value {
            Value::Table(_) => {}
            // A file of YAML with nothing but comments.
            Value::Null => return self.no_limiter(),
            _ => {
                let problem = self.wrong_value("", tree, "expected a table with `limiters`");
                self.errors.push(Problem { title: "the policy is not a table".into(), ..problem });
                return Vec::new();
            }
        }
        if let Some(problem) = messages::of_envoy(tree) {
            self.errors.push(problem);
            return Vec::new();
        }
        self.table("", tree, &TOP, "a policy");
        self.symfony(tree);
        let written = self.written(tree);
        let has_hierarchy = tree.get("hierarchy").is_some();
        if written.is_empty() && !has_hierarchy && self.errors.is_empty() {
            return self.no_limiter();
        }
        let mut names: HashMap<&str, Range<usize>> = HashMap::new();
        let mut limiters = Vec::with_capacity(written.len());
        for Named { name, node } in written {
            if let Some((name, place)) = &name
                && let Some(first) = names.insert(name, place.clone())
            {
                self.errors.push(messages::same_name(name, place.clone(), first));
            }
            limiters.extend(self.limiter(name.map(|(name, _)| name), node));
        }
        limiters
    }

    /// Checks that limiters are where a configuration of Symfony has them, if it is one.
    fn symfony(&mut self, tree: &Node) {
        let Some(framework) = tree.get("framework") else { return };
        let has_others =
            ["limiters", "limiter", "hierarchy"].iter().any(|field| tree.get(field).is_some());
        if framework.get("rate_limiter").is_none() && !has_others {
            let entries = framework.table().unwrap_or_default();
            self.errors.push(messages::no_rate_limiter(entries, framework.span.clone()));
        }
    }

    fn no_limiter(&mut self) -> Vec<LimiterPolicy> {
        self.errors.push(messages::no_limiter());
        Vec::new()
    }

    /// Returns all limiters of the file, in its order.
    fn written<'a>(&mut self, tree: &'a Node) -> Vec<Named<'a>> {
        let mut named = Vec::new();
        for node in tree.get("limiter").and_then(Node::list).unwrap_or_default() {
            let name = node.get("name");
            let name = name.and_then(|name| Some((name.text()?, name.span.clone())));
            named.push(Named { name, node });
        }
        let symfony = tree.get("framework").and_then(|framework| framework.get("rate_limiter"));
        let both = [("limiters", tree.get("limiters")), ("framework.rate_limiter", symfony)];
        for (field, limiters) in both {
            let Some(limiters) = limiters else { continue };
            match limiters.table() {
                Some(entries) => named.extend(entries.iter().map(|entry| self.by_name(entry))),
                None => self.errors.push(self.wrong_value(
                    field,
                    limiters,
                    self.expected(&Form::Limiters),
                )),
            }
        }
        named.sort_by_key(|named| named.node.span.start);
        named
    }

    fn by_name<'a>(&mut self, entry: &'a Entry) -> Named<'a> {
        let Entry { name, name_span, node } = entry;
        if name.trim().is_empty() {
            let title = format!("`name` is \"{name}\"");
            let problem = Problem::new(name_span.clone(), "name", title, messages::SOME_TEXT);
            self.errors.push(problem);
        } else if name.chars().count() > MAX_NAME {
            self.errors.push(messages::too_long("name", name_span.clone(), name, MAX_NAME));
        }
        let entries = node.table().unwrap_or_default();
        if let Some(other) = entries.iter().find(|entry| entry.name == "name") {
            self.errors.push(messages::name_of_name(other, name_span.clone()));
        }
        Named { name: Some((name, name_span.clone())), node }
    }
}
