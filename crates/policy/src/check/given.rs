//! The fields that a limiter has been given. Values of another form are read as absent: they have
//! been reported.

use std::ops::Range;
use std::slice;
use std::time::Duration;

use crate::tree::{Entry, Node, Value};

/// The fields of a limiter, of a part of one, or of one with the numbers of a key.
#[derive(Clone, Debug)]
pub(super) struct Given<'a> {
    /// The place of the table.
    pub(super) place: Range<usize>,
    /// The name of the limiter, if it has one.
    pub(super) name: Option<&'a str>,
    /// The field that the table is in; empty for a limiter of the file.
    pub(super) prefix: &'static str,
    entries: Vec<&'a Entry>,
}

impl<'a> Given<'a> {
    /// Returns the fields of a table; none if it is something else.
    pub(super) fn new(node: &'a Node, prefix: &'static str) -> Given<'a> {
        let entries = node.table().unwrap_or_default().iter().collect();
        Given { place: node.span.clone(), name: None, prefix, entries }
    }

    /// Returns the same with the fields of `node` instead of those of the same names.
    pub(super) fn with(&self, node: &'a Node, prefix: &'static str) -> Given<'a> {
        let own = node.table().unwrap_or_default();
        let is_kept = |entry: &&Entry| own.iter().all(|other| other.name != entry.name);
        let kept = self.entries.iter().copied().filter(is_kept);
        Given { prefix, entries: kept.chain(own).collect(), ..self.clone() }
    }

    pub(super) fn entries(&self) -> &[&'a Entry] {
        &self.entries
    }

    pub(super) fn get(&self, field: &str) -> Option<&'a Node> {
        self.entries.iter().find(|entry| entry.name == field).map(|entry| &entry.node)
    }

    /// Returns the place of the field's value, or of the limiter.
    pub(super) fn place_of(&self, field: &str) -> Range<usize> {
        self.get(field).map_or_else(|| self.place.clone(), |node| node.span.clone())
    }

    pub(super) fn word(&self, field: &str) -> Option<&'a str> {
        self.get(field)?.text()
    }

    /// Returns a number, or `default` if the field is not given.
    pub(super) fn whole_or(&self, field: &str, default: u64) -> Option<u64> {
        self.get(field).map_or(Some(default), whole)
    }
}

/// Returns a whole number that is not negative.
pub(super) fn whole(node: &Node) -> Option<u64> {
    match node.value {
        // More than any limit is more than any limit.
        Value::Whole(number) if number >= 0 => Some(u64::try_from(number).unwrap_or(u64::MAX)),
        _ => None,
    }
}

/// Returns the values of a list, or the only one.
pub(super) fn many(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(nodes) => nodes,
        _ => slice::from_ref(node),
    }
}

/// Returns one whole number, or a list of them.
pub(super) fn wholes(node: &Node) -> Vec<u64> {
    many(node).iter().filter_map(whole).collect()
}

/// Returns a length of time.
pub(super) fn time(node: &Node) -> Option<Duration> {
    humantime::parse_duration(node.text()?).ok()
}

/// Returns one text, or a list of them.
pub(super) fn texts(node: &Node) -> Vec<&str> {
    many(node).iter().filter_map(Node::text).collect()
}
