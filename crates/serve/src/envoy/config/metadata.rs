//! Metadata of a descriptor, as the protocol has it.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde_json::{Map, Value as Json};

/// Deepest nesting, which every reader of Protobuf takes.
pub(super) const MAX_DEPTH: usize = 16;

/// Returns the fields of a map; `None` if it is nested too deeply.
pub(super) fn of_map(map: Map<String, Json>) -> Option<Struct> {
    fields(map, MAX_DEPTH)
}

fn fields(map: Map<String, Json>, depth: usize) -> Option<Struct> {
    let depth = depth.checked_sub(1)?;
    let fields = map.into_iter().map(|(key, json)| Some((key, value(json, depth)?)));
    Some(Struct { fields: fields.collect::<Option<_>>()? })
}

fn value(json: Json, depth: usize) -> Option<Value> {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(truth) => Kind::BoolValue(truth),
        // All numbers are of this kind there.
        Json::Number(number) => Kind::NumberValue(number.as_f64().unwrap_or_default()),
        Json::String(text) => Kind::StringValue(text),
        Json::Array(values) => {
            let depth = depth.checked_sub(1)?;
            let values = values.into_iter().map(|json| value(json, depth));
            Kind::ListValue(ListValue { values: values.collect::<Option<_>>()? })
        }
        Json::Object(map) => Kind::StructValue(fields(map, depth)?),
    };
    Some(Value { kind: Some(kind) })
}
