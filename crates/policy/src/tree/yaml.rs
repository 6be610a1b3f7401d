//! YAML 1.2, read by `saphyr-parser`, the maintained parser that passes the whole test suite of YAML.
//!
//! Its events are made into a tree here, because the trees of other crates either forget which field
//! was given twice, or expand aliases without a bound.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, Tag};

use super::{Entry, MAX_DEPTH, Node, Value, not_in_format, too_deep};
use crate::Format;
use crate::problem::Problem;

/// The most values that a file may have once its aliases are replaced, where [`TEXT_PER_VALUE`] bytes
/// of text, in values and in names, count for one. A few lines of aliases to aliases would fill any
/// memory.
const MAX_VALUES: usize = 100_000;

/// The bytes of text that count for a value.
const TEXT_PER_VALUE: usize = 64;

pub(super) fn parse(text: &str) -> Result<Node, Box<Problem>> {
    let mut builder = Builder::new(text);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| builder.scan_error(&error))?;
        let span = builder.places.range(&span);
        builder.event(event, span)?;
    }
    // A text without a document is an empty one.
    Ok(builder.document.unwrap_or(Node { span: 0..0, value: Value::Null }))
}

/// The places of characters, of which the parser has the numbers.
struct Places(Option<Vec<usize>>, usize);

impl Places {
    fn new(text: &str) -> Places {
        let starts = || text.char_indices().map(|(place, _)| place).collect();
        Places((!text.is_ascii()).then(starts), text.len())
    }

    fn byte(&self, character: usize) -> usize {
        match &self.0 {
            None => character,
            Some(starts) => starts.get(character).copied().unwrap_or(self.1),
        }
    }

    fn range(&self, span: &Span) -> Range<usize> {
        self.byte(span.start.index())..self.byte(span.end.index())
    }
}

/// A list or a table that is not complete yet.
struct Open {
    start: usize,
    anchor: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Table { entries: Vec<Entry>, name: Option<(String, Range<usize>)> },
}

struct Builder<'a> {
    text: &'a str,
    places: Places,
    open: Vec<Open>,
    anchors: HashMap<usize, (Node, usize)>,
    values: usize,
    document: Option<Node>,
}

impl Builder<'_> {
    fn new(text: &str) -> Builder<'_> {
        Builder {
            text,
            places: Places::new(text),
            open: Vec::new(),
            anchors: HashMap::new(),
            values: 0,
            document: None,
        }
    }

    fn scan_error(&self, error: &ScanError) -> Box<Problem> {
        let place = self.places.byte(error.marker().index());
        not_in_format(Format::Yaml, place..place, error.info())
    }

    fn event(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), Box<Problem>> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => match self.document {
                None => Ok(()),
                Some(_) => Err(unsupported(span, "expected one document")),
            },
            Event::Scalar(text, style, anchor, tag) => {
                if self.wants_name() {
                    return self.name(text.into_owned(), anchor, span);
                }
                let value = scalar(&text, style, tag.as_deref(), &span)?;
                let written = self.text.get(span.clone()).unwrap_or_default().trim_end().len();
                let node = Node { span: span.start..span.start + written, value };
                let values = count(&node);
                self.add(node, anchor, values)
            }
            Event::Alias(anchor) => {
                let Some((node, values)) = self.anchors.get(&anchor).cloned() else {
                    return Err(unsupported(span, "this alias is inside of what it stands for"));
                };
                if self.wants_name() {
                    return Err(unsupported(span, "expected the name of a field"));
                }
                self.add(node, 0, values)
            }
            Event::SequenceStart(anchor, tag) => {
                self.start(span, anchor, tag.as_deref(), Items::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                let items = Items::Table { entries: Vec::new(), name: None };
                self.start(span, anchor, tag.as_deref(), items)
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span.end),
        }
    }

    fn wants_name(&self) -> bool {
        matches!(self.open.last(), Some(Open { items: Items::Table { name: None, .. }, .. }))
    }

    /// Takes the name of a field, and counts it.
    fn name(
        &mut self,
        text: String,
        anchor: usize,
        span: Range<usize>,
    ) -> Result<(), Box<Problem>> {
        if text == "<<" {
            return Err(unsupported(
                span,
                "merge keys (`<<`) are not supported: repeat the fields",
            ));
        }
        if anchor != 0 {
            return Err(unsupported(span, "anchor a value: the name of a field cannot have one"));
        }
        self.put(of_text(&text), &span)?;
        if let Some(Open { items: Items::Table { name, .. }, .. }) = self.open.last_mut() {
            *name = Some((text, span));
        }
        Ok(())
    }

    /// Counts values.
    fn put(&mut self, values: usize, span: &Range<usize>) -> Result<(), Box<Problem>> {
        self.values += values;
        if self.values > MAX_VALUES {
            let label = format!("expected at most {MAX_VALUES} values, with those of aliases");
            return Err(unsupported(span.clone(), label));
        }
        Ok(())
    }

    fn start(
        &mut self,
        span: Range<usize>,
        anchor: usize,
        tag: Option<&Tag>,
        items: Items,
    ) -> Result<(), Box<Problem>> {
        if self.wants_name() {
            return Err(unsupported(span, "expected the name of a field"));
        }
        if tag.is_some_and(|tag| !tag.is_yaml_core_schema()) {
            return Err(unsupported(span, "expected no tag"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(too_deep(span));
        }
        self.open.push(Open { start: span.start, anchor, items });
        Ok(())
    }

    fn end(&mut self, end: usize) -> Result<(), Box<Problem>> {
        let Some(Open { start, anchor, items }) = self.open.pop() else { return Ok(()) };
        let value = match items {
            Items::List(nodes) => Value::List(nodes),
            Items::Table { entries, .. } => Value::Table(entries),
        };
        // Blocks end where the next value begins.
        let written = self.text.get(start..end).map_or(0, |written| written.trim_end().len());
        let node = Node { span: start..start + written, value };
        let values = if anchor == 0 { 1 } else { count(&node) };
        // Those in it have been counted.
        self.values -= values - 1;
        self.add(node, anchor, values)
    }

    /// Adds a node, and counts its values.
    fn add(&mut self, node: Node, anchor: usize, values: usize) -> Result<(), Box<Problem>> {
        self.put(values, &node.span)?;
        if anchor != 0 {
            self.anchors.insert(anchor, (node.clone(), values));
        }
        match self.open.last_mut().map(|open| &mut open.items) {
            None => self.document = Some(node),
            Some(Items::List(nodes)) => nodes.push(node),
            Some(Items::Table { entries, name }) => {
                if let Some((name, name_span)) = name.take() {
                    entries.push(Entry { name, name_span, node });
                }
            }
        }
        Ok(())
    }
}

fn count(node: &Node) -> usize {
    1 + match &node.value {
        Value::List(nodes) => nodes.iter().map(count).sum(),
        Value::Table(entries) => {
            entries.iter().map(|entry| of_text(&entry.name) + count(&entry.node)).sum()
        }
        Value::Text(text) => of_text(text),
        _ => 0,
    }
}

/// Returns what a text counts for. The name of a field counts beside the field's value.
fn of_text(text: &str) -> usize {
    text.len() / TEXT_PER_VALUE
}

fn unsupported(span: Range<usize>, label: impl Into<String>) -> Box<Problem> {
    Box::new(Problem::new(span, "", "this YAML is not supported", label))
}

/// Returns the value of a scalar by the core schema of YAML 1.2, in which `on` and `no` are texts.
fn scalar(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    span: &Range<usize>,
) -> Result<Value, Box<Problem>> {
    let is_text = match tag {
        None => style != ScalarStyle::Plain,
        Some(tag) if tag.is_yaml_core_schema() => tag.suffix == "str",
        Some(_) => return Err(unsupported(span.clone(), "expected no tag")),
    };
    if is_text {
        return Ok(Value::Text(text.to_owned()));
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Flag(true),
        "false" | "False" | "FALSE" => Value::Flag(false),
        _ => number(text).unwrap_or_else(|| Value::Text(text.to_owned())),
    })
}

fn number(text: &str) -> Option<Value> {
    let whole = match text.get(..2) {
        Some("0x") => i128::from_str_radix(&text[2..], 16),
        Some("0o") => i128::from_str_radix(&text[2..], 8),
        _ => text.parse(),
    };
    let begins_as_one =
        text.trim_start_matches(['+', '-', '.']).starts_with(|c: char| c.is_ascii_digit());
    match whole {
        // YAML 1.2 reads 010 as 10, and 1.1 as 8; TOML and JSON refuse it.
        Ok(_) if has_leading_zero(text) => Some(Value::Number),
        Ok(number) => Some(Value::Whole(number)),
        Err(_) if begins_as_one && text.parse::<f64>().is_ok() => Some(Value::Number),
        Err(_) => None,
    }
}

/// Returns true for a number such as 010.
pub(crate) fn has_leading_zero(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}
