//! JSON, read by `jsonc-parser`, which knows the place of every value. In strict mode it accepts only
//! JSON. (A parser of YAML would take most of JSON, but not its surrogate pairs, and would speak of
//! YAML in its errors.)

use jsonc_parser::ast;
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::{Entry, MAX_DEPTH, Node, Value, not_in_format, too_deep};
use crate::Format;
use crate::problem::Problem;

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

pub(super) fn parse(text: &str) -> Result<Node, Box<Problem>> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &STRICT).map_err(|error| {
        let mut message = error.kind().to_string();
        message[..1].make_ascii_lowercase();
        not_in_format(Format::Json, place(error.range()), message)
    })?;
    match parsed.value {
        Some(value) => node(value, 0),
        None => Err(not_in_format(Format::Json, 0..0, "there is nothing")),
    }
}

fn place(range: Range) -> std::ops::Range<usize> {
    range.start..range.end
}

fn node(value: ast::Value<'_>, depth: usize) -> Result<Node, Box<Problem>> {
    let span = place(value.range());
    if depth > MAX_DEPTH {
        return Err(too_deep(span));
    }
    let value = match value {
        ast::Value::StringLit(text) => Value::Text(text.value.into_owned()),
        ast::Value::NumberLit(number) => number.value.parse().map_or(Value::Number, Value::Whole),
        ast::Value::BooleanLit(flag) => Value::Flag(flag.value),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => {
            let items = array.elements.into_iter().map(|item| node(item, depth + 1));
            Value::List(items.collect::<Result<_, _>>()?)
        }
        ast::Value::Object(object) => {
            let entry = |property: ast::ObjectProp<'_>| {
                Ok(Entry {
                    name_span: place(property.name.range()),
                    name: property.name.into_string(),
                    node: node(property.value, depth + 1)?,
                })
            };
            let entries = object.properties.into_iter().map(entry);
            Value::Table(entries.collect::<Result<_, Box<Problem>>>()?)
        }
    };
    Ok(Node { span, value })
}
