//! The requests that a limiter judges: `match`, and `except`.

use super::Checks;
use super::given::{Given, many, texts, wholes};
use crate::tree::Node;
use crate::{Filter, Named, Networks, PathTemplates, Texts};

impl Checks<'_> {
    /// Returns the requests of `match`: all, if it is left out.
    pub(super) fn only(&mut self, given: &Given<'_>) -> Filter {
        given.get("match").map(|node| self.filter("match", node)).unwrap_or_default()
    }

    /// Returns the requests of `except`, of which each table of a list has some.
    pub(super) fn except(&mut self, given: &Given<'_>) -> Vec<Filter> {
        let Some(node) = given.get("except") else { return Vec::new() };
        let nodes = many(node);
        let mut filters = Vec::with_capacity(nodes.len());
        for node in nodes {
            if node.table().is_some_and(<[_]>::is_empty) {
                let label = "expected at least one field: this leaves out every request";
                self.errors.push(self.wrong_value("except", node, label));
            }
            filters.push(self.filter("except", node));
        }
        filters
    }

    /// Returns the requests of a filter, whose field is named `path` in messages.
    pub(super) fn filter(&mut self, path: &str, node: &Node) -> Filter {
        let list = |field| -> Vec<String> {
            let texts = node.get(field).map(texts).unwrap_or_default();
            texts.into_iter().map(str::to_owned).collect()
        };
        let [method, path_prefix] = ["method", "path_prefix"].map(list);
        if let Some(field) = node.get("method")
            && let Some(small) = method.iter().find(|method| **method != method.to_uppercase())
        {
            let capitals = format!("methods are upper case; write {}", small.to_uppercase());
            self.warn(&format!("{path}.method"), field, capitals);
        }
        if let Some(field) = node.get("path_prefix")
            && path_prefix.iter().any(|prefix| !prefix.starts_with('/') || prefix.contains('?'))
        {
            let label = "paths begin with a slash and have no query: no request has this one";
            self.warn(&format!("{path}.path_prefix"), field, label);
        }
        // The beginning of a segment may be all of a dot.
        self.warn_of_spelling(&format!("{path}.path_prefix"), node.get("path_prefix"), "x");
        self.warn_of_spelling(&format!("{path}.path"), node.get("path"), "");
        if let Some(field) = node.get("path_prefix")
            && path_prefix.iter().any(|prefix| prefix.contains(['*', '{']) || prefix.contains("/:"))
        {
            let label = "a prefix is taken as it is written; `path` has templates, such as \"/api/{*rest}\"";
            self.warn(&format!("{path}.path_prefix"), field, label);
        }
        let statuses = node.get("status").map(wholes).unwrap_or_default();
        Filter {
            method,
            path_prefix,
            path: self.templates(&format!("{path}.path"), node.get("path")),
            status_class: list("status_class"),
            status: statuses.into_iter().filter_map(|code| u16::try_from(code).ok()).collect(),
            client: self.networks(&format!("{path}.client"), node.get("client")),
            agent_contains: self.agent_texts(path, node.get("agent_contains")),
            named: named_values(node),
        }
    }

    /// Warns of paths that no request has, because theirs are compared in another spelling. `then` follows a path.
    fn warn_of_spelling(&mut self, path: &str, node: Option<&Node>, then: &str) {
        let Some(node) = node else { return };
        for text in texts(node) {
            let given = format!("{text}{then}");
            let normal = crate::normal_path(given.as_bytes());
            if *normal != *given.as_bytes() {
                let normal = String::from_utf8_lossy(&normal[..normal.len() - then.len()]);
                let label = format!(
                    "requests are compared in another spelling, in which no path has this one; write {}",
                    crate::escaped(&normal)
                );
                self.warn(path, element(node, text), label);
            }
        }
    }

    /// Returns path templates, which are one text or a list.
    pub(super) fn templates(&mut self, path: &str, node: Option<&Node>) -> PathTemplates {
        let Some(node) = node else { return PathTemplates::default() };
        for text in texts(node) {
            self.warn_of_pattern(path, element(node, text), text);
        }
        match PathTemplates::new(texts(node)) {
            Ok(templates) => templates,
            Err(error) => {
                let place = element(node, &error.template);
                self.errors.push(self.wrong_value(path, place, error.reason));
                PathTemplates::default()
            }
        }
    }

    fn networks(&mut self, path: &str, node: Option<&Node>) -> Networks {
        let Some(node) = node else { return Networks::default() };
        match Networks::new(texts(node)) {
            Ok(networks) => networks,
            Err(text) => {
                let label = "expected an address or a network, such as 10.0.0.0/8 or 2001:db8::/32";
                self.errors.push(self.wrong_value(path, element(node, text), label));
                Networks::default()
            }
        }
    }

    fn agent_texts(&mut self, path: &str, node: Option<&Node>) -> Texts {
        let Some(node) = node else { return Texts::default() };
        let all = texts(node).into_iter().map(str::to_owned).collect();
        match Texts::new(all) {
            Ok(texts) => texts,
            Err(error) => {
                let path = format!("{path}.agent_contains");
                self.errors.push(self.wrong_value(&path, node, error));
                Texts::default()
            }
        }
    }
}

/// Returns the last of a list that is this text, or the one text.
fn element<'n>(node: &'n Node, text: &str) -> &'n Node {
    let nodes = node.list().unwrap_or_default();
    nodes.iter().rfind(|node| node.text() == Some(text)).unwrap_or(node)
}

/// Returns the values that headers and columns may have.
fn named_values(node: &Node) -> Vec<(Named, Vec<String>)> {
    let of = |field: &str, named: fn(String) -> Named| {
        let entries = node.get(field).and_then(Node::table).unwrap_or_default();
        let values = entries.iter().map(move |entry| {
            let texts = texts(&entry.node).into_iter().map(str::to_owned);
            (named(entry.name.clone()), texts.collect())
        });
        values.collect::<Vec<_>>()
    };
    [of("header", Named::Header), of("column", Named::Column)].concat()
}
