//! TOML, read by the `toml` crate, which is also what Cargo reads its manifests with.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::{Entry, MAX_DEPTH, Node, Value, not_in_format, too_deep};
use crate::Format;
use crate::problem::Problem;

pub(super) fn parse(text: &str) -> Result<Node, Vec<Problem>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        let problem = |error: &toml::de::Error| {
            *not_in_format(Format::Toml, error.span().unwrap_or(0..0), error.message())
        };
        return Err(errors.iter().map(problem).collect());
    }
    let span = table.span();
    node(span, DeValue::Table(table.into_inner()), 0).map_err(|problem| vec![*problem])
}

fn node(span: Range<usize>, value: DeValue<'_>, depth: usize) -> Result<Node, Box<Problem>> {
    if depth > MAX_DEPTH {
        return Err(too_deep(span));
    }
    let value = match value {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => integer(&number),
        DeValue::Float(_) => Value::Number,
        DeValue::Boolean(flag) => Value::Flag(flag),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(items) => Value::List(
            items.into_iter().map(|item| spanned(item, depth)).collect::<Result<_, _>>()?,
        ),
        DeValue::Table(fields) => {
            let entry = |(name, value): (Spanned<_>, _)| {
                Ok(Entry {
                    name_span: name.span(),
                    name: std::borrow::Cow::into_owned(name.into_inner()),
                    node: spanned(value, depth)?,
                })
            };
            let mut entries: Vec<Entry> =
                fields.into_iter().map(entry).collect::<Result<_, Box<Problem>>>()?;
            // The parser's tables are sorted by name.
            entries.sort_by_key(|entry| entry.name_span.start);
            Value::Table(entries)
        }
    };
    Ok(Node { span, value })
}

fn spanned(value: Spanned<DeValue<'_>>, depth: usize) -> Result<Node, Box<Problem>> {
    node(value.span(), value.into_inner(), depth + 1)
}

fn integer(number: &DeInteger<'_>) -> Value {
    i128::from_str_radix(number.as_str(), number.radix()).map_or(Value::Number, Value::Whole)
}
