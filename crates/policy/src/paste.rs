//! Limiters of a policy with other values, as text to paste.

use std::collections::BTreeMap;

use crate::Format;
use crate::tree::{Entry, Node, Value};

/// The greatest width of a list that is written in one line.
const MAX_LINE: usize = 76;

/// A new value of a limiter's field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The name of the limiter.
    pub limiter: String,
    /// The field, with points between the names and places that lead to it: `limit`, `rate.amount`,
    /// `of.0.limit`.
    pub field: String,
    /// The value.
    pub value: NewValue,
    /// True to write the field even if the policy leaves it out.
    pub is_added: bool,
}

/// A value of a [`Change`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewValue {
    /// A number.
    Whole(u64),
    /// A text, such as a length of time.
    Text(String),
}

/// Returns the limiters that some changes are about, with their new values, as a policy in `format`. `text` is
/// the policy that they are in. Comments are left out.
///
/// Returns an empty text if the policy has no such limiter, or is not valid.
#[must_use]
pub fn with_changes(format: Format, text: &str, changes: &[Change]) -> String {
    let mut of_limiters: BTreeMap<&str, Vec<&Change>> = BTreeMap::new();
    for change in changes {
        of_limiters.entry(&change.limiter).or_default().push(change);
    }
    let Ok(tree) = Node::parse(format, text) else { return String::new() };
    let mut limiters: Vec<Entry> = limiters(tree)
        .into_iter()
        .filter_map(|mut entry| {
            for change in of_limiters.get(entry.name.as_str())? {
                set(&mut entry.node, &change.field, change);
            }
            Some(entry)
        })
        .collect();
    limiters.sort_by_key(|entry| entry.name_span.start);
    let written = limiters.iter().map(|entry| limiter(format, entry));
    match (format, limiters.is_empty()) {
        (_, true) => String::new(),
        (Format::Toml, _) => written.collect::<Vec<_>>().join("\n"),
        (Format::Yaml, _) => format!("limiters:\n{}", written.collect::<String>()),
        (Format::Json, _) => {
            let all: Vec<String> = written.collect();
            format!("{{\n  \"limiters\": {{\n{}\n  }}\n}}\n", all.join(",\n"))
        }
    }
}

/// Returns the limiters of a policy by their names, however it lists them.
fn limiters(tree: Node) -> Vec<Entry> {
    let mut found = Vec::new();
    let Value::Table(entries) = tree.value else { return found };
    for Entry { name, node, .. } in entries {
        match (name.as_str(), node.value) {
            ("limiter", Value::List(nodes)) => found.extend(nodes.into_iter().filter_map(|node| {
                let own = node.get("name")?;
                let (name, name_span) = (own.text()?.to_owned(), own.span.clone());
                Some(Entry { name, name_span, node })
            })),
            ("limiters", Value::Table(entries)) => found.extend(entries),
            ("framework", Value::Table(entries)) => {
                let named = entries.into_iter().filter(|entry| entry.name == "rate_limiter");
                for Entry { node, .. } in named {
                    if let Value::Table(entries) = node.value {
                        found.extend(entries);
                    }
                }
            }
            _ => {}
        }
    }
    found
}

/// Changes a field of a table or a list.
fn set(node: &mut Node, field: &str, change: &Change) {
    let (first, rest) = match field.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (field, None),
    };
    let inner = match &mut node.value {
        Value::List(nodes) => first.parse().ok().and_then(|place: usize| nodes.get_mut(place)),
        Value::Table(entries) => match entries.iter().position(|entry| entry.name == first) {
            Some(place) => entries.get_mut(place).map(|entry| &mut entry.node),
            None if change.is_added && rest.is_none() => {
                let node = Node { span: 0..0, value: Value::Null };
                entries.push(Entry { name: first.to_owned(), name_span: 0..0, node });
                entries.last_mut().map(|entry| &mut entry.node)
            }
            None => None,
        },
        _ => None,
    };
    match (inner, rest) {
        (Some(inner), Some(rest)) => set(inner, rest, change),
        (Some(inner), None) => {
            inner.value = match &change.value {
                NewValue::Whole(number) => Value::Whole(i128::from(*number)),
                NewValue::Text(text) => Value::Text(text.clone()),
            };
        }
        (None, _) => {}
    }
}

/// Returns a limiter as an entry of `limiters`.
fn limiter(format: Format, Entry { name, node, .. }: &Entry) -> String {
    let fields = node.table().unwrap_or_default().iter().filter(|field| field.name != "name");
    let (indent, separator, equals) = match format {
        Format::Toml => ("", "\n", " = "),
        Format::Yaml => ("    ", "\n", ": "),
        Format::Json => ("      ", ",\n", ": "),
    };
    let field = |Entry { name, node, .. }: &Entry| {
        let value = value(format, node, indent.len());
        format!("{indent}{}{equals}{value}", key(format, name))
    };
    let fields = fields.map(field).collect::<Vec<_>>().join(separator);
    let name = key(format, name);
    match format {
        Format::Toml => format!("[limiters.{name}]\n{fields}\n"),
        Format::Yaml => format!("  {name}:\n{fields}\n"),
        Format::Json => format!("    {name}: {{\n{fields}\n    }}"),
    }
}

fn value(format: Format, node: &Node, indent: usize) -> String {
    match &node.value {
        Value::Flag(flag) => flag.to_string(),
        Value::Whole(number) => number.to_string(),
        Value::Text(text) => quoted(text),
        Value::List(nodes) => {
            let all: Vec<String> =
                nodes.iter().map(|node| value(format, node, indent + 4)).collect();
            let line = format!("[{}]", all.join(", "));
            if line.len() + indent <= MAX_LINE || all.len() < 2 {
                return line;
            }
            let inner = " ".repeat(indent + 4);
            let lines: Vec<String> = all.iter().map(|one| format!("{inner}{one}")).collect();
            format!("[\n{}\n{}]", lines.join(",\n"), " ".repeat(indent))
        }
        Value::Table(entries) => {
            let equals = if format == Format::Toml { " = " } else { ": " };
            let field = |Entry { name, node, .. }: &Entry| {
                format!("{}{equals}{}", key(format, name), value(format, node, indent))
            };
            let fields: Vec<String> = entries.iter().map(field).collect();
            if fields.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
        }
        // No field of a valid policy has another value.
        Value::Null | Value::Number | Value::Date => "null".to_owned(),
    }
}

/// Returns the name of a field, in quotes if it needs them.
fn key(format: Format, name: &str) -> String {
    let is_bare = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_bare && format != Format::Json { name.to_owned() } else { quoted(name) }
}

/// Returns a text in quotes, as JSON writes it, which TOML and YAML read as well.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Policies;

    const TOML: &str = r#"
# A comment.
[[limiter]]
name = "per client"
key = { client = { ipv4 = 24, ipv6 = 64 } }
policy = "fixed_window"
limit = 3
interval = "1 minute"
match = { path = ["/a/{id}", "/b"] }
[[limiter]]
name = "both"
policy = "all"
of = [
    { policy = "token_bucket", limit = 60, rate = { amount = 300, interval = "1 minute" } },
    { policy = "multi_window", limits = [{ limit = 5, interval = "1 s" }, { limit = 9, interval = "1 m" }] },
]
[[limiter]]
name = "other"
policy = "sliding_log"
limit = 7
interval = "1 s"
"#;

    fn changes() -> Vec<Change> {
        let change = |limiter: &str, field: &str, value, is_added| Change {
            limiter: limiter.to_owned(),
            field: field.to_owned(),
            value,
            is_added,
        };
        vec![
            change("per client", "limit", NewValue::Whole(40), false),
            change("per client", "start", NewValue::Text("first".to_owned()), true),
            change("per client", "initial", NewValue::Whole(1), false),
            change("both", "of.0.rate.amount", NewValue::Whole(301), false),
            change("both", "of.1.limits.1.limit", NewValue::Whole(8), false),
        ]
    }

    #[test]
    fn changed_limiters_are_valid_in_each_format_and_say_what_was_changed() {
        let expected = TOML.replace("limit = 3\n", "limit = 40\n").replace("300", "301");
        let expected = expected.replace("limit = 9", "limit = 8");
        let expected = Policies::from_toml("expected", &expected).unwrap();
        let text = with_changes(Format::Toml, TOML, &changes());
        assert!(text.starts_with("[limiters.\"per client\"]\n"), "{text}");
        assert!(text.contains("\nstart = \"first\"\n"), "{text}");
        assert!(!text.contains("initial") && !text.contains("other"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 110), "{text}");
        let found = Policies::from_toml("found", &text).unwrap();
        assert_eq!(found.limiters(), &expected.limiters()[..2]);
        let all: Vec<Change> = changes();
        // The same limiters in the other formats.
        let json = r#"{ "limiters": { "a b": { "policy": "sliding_log", "limit": 1, "interval": "1 s", "match": { "status": [404] } } } }"#;
        let yaml = "limiters:\n  \"a b\":\n    policy: sliding_log\n    limit: 1\n    interval: 1 s\n    match: { status: [404] }\n";
        let change =
            [Change { limiter: "a b".to_owned(), field: "limit".to_owned(), ..all[0].clone() }];
        let of_json = with_changes(Format::Json, json, &change);
        let of_yaml = with_changes(Format::Yaml, yaml, &change);
        let [one, other] = [
            Policies::from_json("json", &of_json).unwrap(),
            Policies::from_yaml("yaml", &of_yaml).unwrap(),
        ];
        assert_eq!(one.limiters(), other.limiters());
        assert_eq!(one.limiters()[0].kind.most_in(std::time::Duration::from_millis(1)), 40);
    }

    #[test]
    fn a_limiter_that_is_not_there_changes_nothing() {
        let change = Change { limiter: "nobody".to_owned(), ..changes()[0].clone() };
        assert_eq!(with_changes(Format::Toml, TOML, &[change]), "");
        assert_eq!(with_changes(Format::Toml, "x = [", &changes()), "");
    }
}
