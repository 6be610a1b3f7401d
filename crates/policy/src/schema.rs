//! The JSON Schema of policies, made from the same [fields](crate::fields) as the checks.

mod words;

use serde_json::{Map, Value, json};

use self::words::{default_of, schema_of_words};
use crate::check::{KINDS, KindFields, NOT_OF_COMMON, POLICIES, kind_names};
use crate::fields::{COMMON, Field, Form, LEVEL, LIMITER, MAX_NAME, TOP};

/// Times as `humantime` reads them, loosely: a number and a unit, once or more.
const TIME: &str = r"^\s*(0|([0-9][0-9.]*\s*[A-Za-zµμ]+\s*)+)$";

/// Amounts of memory as `bytesize` reads them, loosely.
const MEMORY: &str = r"^\s*[0-9.]+\s*([kKmMgGtTpPeE][iI]?)?[bB]?\s*$";

/// Returns the JSON Schema of policy files, draft 2020-12, as indented JSON. It is the same for all
/// formats.
///
/// The checks refuse more, such as a limit that is too large for the length of its window.
#[must_use]
pub fn json_schema() -> String {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy of sluicegate",
        "description": "Named limiters, in `limiters` by their names or in the list `limiter`.",
        "type": "object",
        "properties": properties(&TOP),
        "additionalProperties": false,
        "minProperties": 1,
        "$defs": {
            "limiter": limiter(&LIMITER.iter().collect::<Vec<_>>()),
            "part": part(),
            "level": level(),
            "numbers": {
                "type": "object",
                "properties": properties(LIMITER.iter().filter(|field| is_own(field.name))),
                "additionalProperties": false,
                "minProperties": 1,
            },
        },
    });
    format!("{schema:#}\n")
}

/// Returns the schema of a part of another limiter.
fn part() -> Value {
    let mut part = limiter(&LIMITER.iter().filter(|field| !is_common(field)).collect::<Vec<_>>());
    part["properties"]["policy"] = schema_of_words("policy", &kind_names(|kind| !kind.is_common));
    part
}

/// Returns the schema of a level: the fields of its own, and those of its kind of limiter.
fn level() -> Value {
    let of_kind = LIMITER.iter().filter(|field| !is_common(field));
    let fields: Vec<&Field> = LEVEL.iter().chain(of_kind).collect();
    let mut level = limiter(&fields);
    level["required"] = json!(["name", "key", "policy"]);
    // A level has no key unless it names one.
    if let Some(key) = level["properties"]["key"].as_object_mut() {
        key.remove("default");
    }
    level["properties"]["policy"] = schema_of_words("policy", &kind_names(|kind| kind.in_levels));
    level
}

fn is_common(field: &Field) -> bool {
    COMMON.contains(&field.name)
}

/// Returns true for the fields of some kind.
fn is_own(name: &str) -> bool {
    KINDS.iter().any(|kind| kind.own().any(|own| own == name))
}

fn properties<'a>(fields: impl IntoIterator<Item = &'a Field>) -> Map<String, Value> {
    let property = |field: &Field| {
        let mut schema = form(field.name, &field.form);
        schema["description"] = json!(field.about);
        (field.name.to_owned(), schema)
    };
    fields.into_iter().map(property).collect()
}

/// Returns the schema of a limiter with these fields, of which each kind has some.
fn limiter(fields: &[&Field]) -> Value {
    let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
    let mut rules: Vec<Value> = KINDS.iter().map(|kind| of_kind(kind, &names)).collect();
    if names.contains(&"store") {
        rules.push(of_store());
        rules.push(of_redis());
        rules.push(of_common());
    }
    let mut properties = properties(fields.iter().copied());
    for (name, schema) in &mut properties {
        if let Some(default) = default_of(name) {
            schema["default"] = default;
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["policy"],
        "additionalProperties": false,
        "allOf": rules,
    })
}

/// Returns the fields that a limiter of one kind has and needs, among `names`.
fn of_kind(kind: &KindFields, names: &[&str]) -> Value {
    let mut is_kind = json!({
        "properties": { "policy": { "const": kind.policy } },
        "required": ["policy"],
    });
    let mut needed = kind.needed.to_vec();
    if let Some(mode) = kind.mode {
        is_kind["properties"]["mode"] = json!({ "const": mode });
        needed.push("mode");
    }
    let allowed: Vec<&str> = names
        .iter()
        .copied()
        .filter(|name| match *name {
            "mode" => kind.mode.is_some(),
            name => !is_own(name) || kind.own().any(|own| own == name),
        })
        .collect();
    let mut then = json!({
        "description": kind.about,
        "required": needed,
        "propertyNames": { "enum": allowed },
    });
    if !kind.either.is_empty() {
        let one = |field: &&str| json!({ "required": [field] });
        then["oneOf"] = kind.either.iter().map(one).collect();
    }
    json!({ "if": is_kind, "then": then })
}

/// Returns the fields that each store needs, and those that it does not have.
fn of_store() -> Value {
    let none_of = |fields: &[&str]| {
        let given: Vec<Value> = fields.iter().map(|field| json!({ "required": [field] })).collect();
        json!({ "not": { "anyOf": given } })
    };
    json!({
        "if": { "properties": { "store": { "const": "table" } }, "required": ["store"] },
        "then": {
            "properties": { "policy": { "const": "token_bucket" } },
            "oneOf": [{ "required": ["memory"] }, { "required": ["keys"] }],
            "allOf": [none_of(&["max_keys", "overrides"])],
        },
        "else": none_of(&["memory", "keys"]),
    })
}

/// Returns the kinds of limiters that a server can keep, and the fields that have no effect there.
fn of_redis() -> Value {
    let kinds = kind_names(|kind| kind.on_servers);
    let given = ["max_keys", "memory", "keys", "when_full", "wait", "penalty"];
    let given: Vec<Value> = given.iter().map(|field| json!({ "required": [field] })).collect();
    json!({
        "if": { "properties": { "store": { "type": "object" } }, "required": ["store"] },
        "then": {
            "properties": { "policy": { "enum": kinds } },
            "not": { "anyOf": given },
        },
    })
}

/// Returns the kinds whose keys have one limiter in common, and the fields that these do not have.
fn of_common() -> Value {
    let kinds = kind_names(|kind| kind.is_common);
    json!({
        "if": { "properties": { "policy": { "enum": kinds } }, "required": ["policy"] },
        "then": {
            "properties": {
                "key": { "not": { "const": "all" } },
                "store": { "not": { "const": "table" } },
                "wait": { "const": "refuse" },
            },
            "propertyNames": { "not": { "enum": NOT_OF_COMMON } },
        },
    })
}

/// Returns the schema of the values of the field `name`.
fn form(name: &str, form_of_value: &Form) -> Value {
    match form_of_value {
        Form::Text(most) => json!({ "type": "string", "minLength": 1, "maxLength": most }),
        Form::Whole(least, most) | Form::Within(least, most) => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Form::Flag => json!({ "type": "boolean" }),
        Form::Time => json!({
            "type": "string",
            "pattern": TIME,
            "examples": ["1 second", "15 minutes", "1h 30m"],
        }),
        Form::Memory => json!({ "type": "string", "pattern": MEMORY, "examples": ["64 MiB"] }),
        Form::Word(words) => schema_of_words(name, words),
        Form::Policy => schema_of_words(name, &POLICIES),
        Form::OneOrMany(one) => {
            let list = json!({ "type": "array", "items": form(name, one), "minItems": 1 });
            json!({ "anyOf": [form(name, one), list] })
        }
        Form::Table(fields, _) => table(fields, fields.iter().filter(|field| field.is_needed)),
        Form::Choice(kinds, _) => {
            let kinds = kinds.iter().map(|fields| {
                let needed = |(place, field): (usize, _)| {
                    let field: &Field = field;
                    (place == 0 || field.is_needed).then_some(field)
                };
                table(fields, fields.iter().enumerate().filter_map(needed))
            });
            json!({ "anyOf": kinds.collect::<Vec<_>>() })
        }
        Form::Named(one) => json!({ "type": "object", "additionalProperties": form(name, one) }),
        Form::List(one) => {
            json!({ "type": "array", "items": form(name, one), "minItems": 1, "maxItems": most(one) })
        }
        Form::Either(first, second) => json!({ "anyOf": [form(name, first), form(name, second)] }),
        Form::Limiter => json!({
            "$ref": "#/$defs/limiter",
            "required": ["name"],
        }),
        Form::Limiters => json!({
            "type": "object",
            "propertyNames": { "minLength": 1, "maxLength": MAX_NAME },
            "additionalProperties": {
                "$ref": "#/$defs/limiter",
                "properties": { "name": false },
            },
        }),
        Form::Level => json!({ "$ref": "#/$defs/level" }),
        Form::Part => json!({ "$ref": "#/$defs/part" }),
        Form::Overrides => json!({
            "type": "object",
            "additionalProperties": { "$ref": "#/$defs/numbers" },
        }),
        Form::Any => json!({}),
    }
}

/// Returns the schema of a table with these fields, of which some are needed.
fn table<'a>(fields: &[Field], needed: impl Iterator<Item = &'a Field>) -> Value {
    json!({
        "type": "object",
        "properties": properties(fields),
        "required": needed.map(|field| field.name).collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

/// Returns the most values in a list: 64 windows or parts, and any number of limiters or levels.
fn most(one: &Form) -> u32 {
    match one {
        Form::Limiter | Form::Level => u32::MAX,
        _ => 64,
    }
}
