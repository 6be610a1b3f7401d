//! A policy file as a tree of values, each with its place: the same for every format.
//!
//! The parsers are libraries, each made for its format. None is asked to fill structures by serde,
//! which stops at the first mistake; a tree lets the checks report all of them, and compare what
//! they read with one description of the fields, whatever the format.

mod json;
mod toml;
mod yaml;

pub(crate) use self::yaml::has_leading_zero;

use std::ops::Range;

use crate::Format;
use crate::problem::Problem;

/// The deepest that lists and tables may be nested, and more than any policy needs.
const MAX_DEPTH: usize = 32;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Whole(i128),
    /// A number with a fraction or an exponent, or one too long for an integer.
    Number,
    Text(String),
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A field of a table.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) name_span: Range<usize>,
    pub(crate) node: Node,
}

impl Node {
    /// Reads a text.
    pub(crate) fn parse(format: Format, text: &str) -> Result<Node, Vec<Problem>> {
        let tree = Node::parse_as(format, text);
        if matches!(&tree, Ok(Node { value: Value::Table(_) | Value::Null, .. })) {
            return tree;
        }
        // A table in another format says more than the mistakes that it has in this one; but YAML takes nearly all that JSON
        // does not.
        let is_json = text.trim_start().starts_with(['{', '[']);
        let others = [Format::Json, Format::Toml, Format::Yaml].into_iter();
        let is_table = |other: &Format| {
            let tree = Node::parse_as(*other, text);
            tree.is_ok_and(|tree| tree.table().is_some_and(|table| !table.is_empty()))
        };
        match others
            .filter(|other| *other != format && !(is_json && *other == Format::Yaml))
            .find(is_table)
        {
            Some(other) => Err(vec![*looks_like(format, other, text)]),
            None => tree,
        }
    }

    fn parse_as(format: Format, text: &str) -> Result<Node, Vec<Problem>> {
        match format {
            Format::Toml => toml::parse(text),
            Format::Yaml => yaml::parse(text).map_err(|problem| vec![*problem]),
            Format::Json => json::parse(text).map_err(|problem| vec![*problem]),
        }
    }

    /// Returns the value in words, for one that is not to be shown as it is written.
    pub(crate) fn in_words(&self) -> &'static str {
        match self.value {
            Value::Null => "empty",
            Value::Flag(_) => "true or false",
            Value::Whole(_) | Value::Number => "a number",
            Value::Text(_) => "a text of several lines",
            Value::Date => "a date",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn table(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Table(entries) => Some(entries),
            _ => None,
        }
    }

    pub(crate) fn list(&self) -> Option<&[Node]> {
        match &self.value {
            Value::List(nodes) => Some(nodes),
            _ => None,
        }
    }

    /// Returns the fields of this name in a table.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        self.table()?.iter().find(|entry| entry.name == name).map(|entry| &entry.node)
    }
}

/// Returns the problem of a text that the parser of a format does not understand.
fn not_in_format(format: Format, span: Range<usize>, message: impl Into<String>) -> Box<Problem> {
    Box::new(Problem::new(span, "", format!("this is not {format}"), message))
}

/// Returns the problem of a text that is in another format.
fn looks_like(format: Format, other: Format, text: &str) -> Box<Problem> {
    let end = other.to_string().to_lowercase();
    let from = text.len() - text.trim_start().len();
    let first = text[from..].lines().next().unwrap_or_default().trim_end();
    let label = format!("this looks like {other}, whose files have names that end in .{end}");
    not_in_format(format, from..from + first.len(), label)
}

/// Returns the problem of lists and tables that are too deep in each other.
fn too_deep(span: Range<usize>) -> Box<Problem> {
    let label = format!("at most {MAX_DEPTH} levels");
    Box::new(Problem::new(span, "", "lists and tables are nested too deeply", label))
}
