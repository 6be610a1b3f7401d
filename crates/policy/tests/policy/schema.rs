//! The JSON Schema and the parser agree: it accepts every good policy, and what it refuses the parser
//! refuses too.

use std::fs;

use jsonschema::Validator;
use serde_json::{Value, json};
use sluicegate_policy::{Policies, json_schema};

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::draft202012::new(&schema).unwrap()
}

fn value(toml: &str) -> Value {
    toml::from_str(toml).unwrap()
}

#[test]
fn every_good_policy_is_valid() {
    let validator = validator();
    let named = json!({ "limiters": {
        "anonymous_api": { "policy": "fixed_window", "limit": 100, "interval": "60 minutes" },
        "authenticated_api": {
            "policy": "token_bucket",
            "limit": 5000,
            "rate": { "interval": "15 minutes", "amount": 500 },
        },
    }});
    for policy in [
        value(include_str!("policies/every_option.toml")),
        value(include_str!("../../../replay/sample/policy.toml")),
        named,
    ] {
        Policies::from_json("p", &policy.to_string()).unwrap();
        let errors: Vec<String> =
            validator.iter_errors(&policy).map(|error| error.to_string()).collect();
        assert_eq!(errors, [""; 0]);
    }
}

#[test]
fn the_bundled_policy_has_a_limiter_of_every_kind() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let kinds = schema["$defs"]["limiter"]["properties"]["policy"]["enum"].as_array().unwrap();
    let sample = value(include_str!("../../../replay/sample/policy.toml"));
    let limiters = sample["limiter"].as_array().unwrap();
    for kind in kinds {
        assert!(limiters.iter().any(|limiter| limiter["policy"] == *kind), "{kind}");
    }
}

/// Policies of the table of mistakes as JSON, if they are in JSON or TOML that can be read.
fn mistakes() -> Vec<(String, Value)> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/policy/mistakes.txt");
    let file = fs::read_to_string(file).unwrap();
    let mut policies = Vec::new();
    for block in file.split("\n=== ").skip(1) {
        let (format, rest) = block.split_once('\n').unwrap();
        let text = rest.split("---\n").next().unwrap();
        let value: Option<Value> = match format {
            "toml" => toml::from_str(text).ok(),
            "json" => serde_json::from_str(text).ok(),
            _ => None,
        };
        policies.extend(value.map(|value| (text.to_owned(), value)));
    }
    policies
}

#[test]
fn most_mistakes_are_not_valid_and_the_schema_refuses_nothing_else() {
    let validator = validator();
    let mistakes = mistakes();
    let refused = |value: &Value| !validator.is_valid(value);
    for (text, value) in &mistakes {
        let is_refused = Policies::from_json("p", &value.to_string()).is_err();
        assert!(is_refused || !refused(value), "only the schema refuses\n{text}");
    }
    // The others are numbers out of a range that depends on other fields.
    let accepted: Vec<&str> = mistakes
        .iter()
        .filter(|(_, value)| !refused(value))
        .map(|(text, _)| text.as_str())
        .collect();
    let (all, accepted) = (mistakes.len(), accepted.len());
    assert!(all >= 130 && accepted * 3 <= all, "{accepted} of {all} are accepted");
}

/// Numbers by chance, the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// Adds all fields inside of `value`, and the items of lists as fields without a name.
fn parts(value: &Value, found: &mut Vec<(String, Value)>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        found.push((name.clone(), value.clone()));
        parts(value, found);
    }
    for value in value.as_array().into_iter().flatten() {
        found.push((String::new(), value.clone()));
        parts(value, found);
    }
}

/// Changes something in `value`: replaces it or a part of it, or removes or adds a field.
fn damage(value: &mut Value, chance: &mut Chance, parts: &[(String, Value)]) {
    let inside = chance.below(8) > 0;
    match value {
        Value::Object(fields) if inside && !fields.is_empty() => {
            let names: Vec<String> = fields.keys().cloned().collect();
            let name = chance.pick(&names);
            match chance.below(6) {
                0 => drop(fields.remove(name)),
                1 => {
                    let (name, value) = chance.pick(parts).clone();
                    drop(fields.insert(name, value));
                }
                2 | 3 => {
                    let alike: Vec<_> = parts.iter().filter(|(other, _)| other == name).collect();
                    let (_, value) = chance.pick(&alike);
                    fields[name.as_str()] = value.clone();
                }
                _ => damage(&mut fields[name.as_str()], chance, parts),
            }
        }
        Value::Array(items) if inside && !items.is_empty() => {
            let which = chance.below(items.len());
            damage(&mut items[which], chance, parts);
        }
        _ => *value = chance.pick(parts).1.clone(),
    }
}

#[test]
fn the_schema_refuses_no_policy_that_the_parser_accepts() {
    const CASES: usize = 20_000;
    let (validator, mut chance) = (validator(), Chance(7));
    let mut found = Vec::new();
    let good = [
        value(include_str!("policies/every_option.toml")),
        value(include_str!("policies/requests.toml")),
    ];
    let mut limiters = Vec::new();
    for policy in &good {
        parts(policy, &mut found);
        let listed = policy.get("limiter").and_then(Value::as_array).into_iter().flatten();
        let named = policy.get("limiters").and_then(Value::as_object).into_iter().flatten();
        limiters.extend(listed.chain(named.map(|(_, limiter)| limiter)).cloned());
    }
    let odd = json!([
        0,
        -1,
        1.5,
        5.0,
        u64::MAX,
        null,
        "",
        [],
        {},
        "all",
        "refuse",
        " 1 s ",
        ["client", "all"]
    ]);
    parts(&odd, &mut found);
    parts(&json!({ "name": "a" }), &mut found);
    let mut accepted = 0;
    for case in 0..CASES {
        let mut limiter = chance.pick(&limiters).clone();
        limiter["name"] = json!("a");
        for _ in 0..=chance.below(2) {
            damage(&mut limiter, &mut chance, &found);
        }
        let policy = json!({ "limiter": [limiter] });
        if Policies::from_json("p", &policy.to_string()).is_ok() {
            accepted += 1;
            let errors: Vec<_> = validator.iter_errors(&policy).map(|e| e.to_string()).collect();
            assert!(errors.is_empty(), "case {case}: {errors:?}\n{policy}");
        }
    }
    assert!(accepted > CASES / 20, "only {accepted} of {CASES} were accepted");
}

#[test]
fn what_an_editor_should_see_is_not_valid() {
    let validator = validator();
    for (mistake, policy) in [
        ("no limiter", json!({})),
        ("an unknown field of the file", json!({ "limitters": {} })),
        ("no kind", json!({ "limiters": { "a": { "limit": 5 } } })),
        ("an unknown kind", json!({ "limiters": { "a": { "policy": "gcraa" } } })),
        (
            "a field of another kind",
            json!({ "limiters": { "a": {
            "policy": "gcra", "interval": "1 s", "tolerance": "1 s", "limit": 5 } } }),
        ),
        (
            "a lacking field",
            json!({ "limiters": { "a": { "policy": "gcra", "interval": "1 s" } } }),
        ),
        (
            "no mode",
            json!({ "limiters": { "a": {
            "policy": "leaky_bucket", "interval": "1 s" } } }),
        ),
        (
            "both of two",
            json!({ "limiters": { "a": { "policy": "leaky_bucket",
            "mode": "min_interval", "interval": "1 s", "rate": { "amount": 1, "interval": "1 s" } } } }),
        ),
        (
            "a time without a unit",
            json!({ "limiters": { "a": {
            "policy": "gcra", "interval": "1", "tolerance": "1 s" } } }),
        ),
        ("a list without names", json!({ "limiter": [{ "policy": "budget", "amount": 5 }] })),
        (
            "two names",
            json!({ "limiters": { "a": { "name": "b", "policy": "budget", "amount": 5 } } }),
        ),
        (
            "a long name",
            json!({ "limiters": { ("a".repeat(201)): { "policy": "budget", "amount": 5 } } }),
        ),
        (
            "a key of a part",
            json!({ "limiters": { "a": { "policy": "all",
            "of": [{ "policy": "budget", "amount": 5, "key": "client" }] } } }),
        ),
        (
            "a key of nothing",
            json!({ "limiters": { "a": { "policy": "budget", "amount": 5, "key": {} } } }),
        ),
        (
            "a key of two kinds",
            json!({ "limiters": { "a": { "policy": "budget", "amount": 5,
            "key": { "header": "a", "column": "b" } } } }),
        ),
        (
            "a cost of nothing",
            json!({ "limiters": { "a": { "policy": "budget", "amount": 5,
            "cost": { "missing": 1 } } } }),
        ),
        (
            "an unknown override",
            json!({ "limiters": { "a": {
            "policy": "budget", "amount": 5, "overrides": { "b": { "key": "client" } } } } }),
        ),
    ] {
        assert!(!validator.is_valid(&policy), "{mistake}: {policy}");
        assert!(Policies::from_json("p", &policy.to_string()).is_err(), "{mistake}: {policy}");
    }
}

#[test]
fn every_time_and_memory_that_can_be_read_is_valid() {
    let validator = validator();
    let mut read = 0;
    for number in ["0", "1", " 1", "1.5", "007", "1e3", "-1", "1_000", ""] {
        for unit in [
            "", "s", " s ", "ms", "\u{b5}s", "\u{3bc}s", "min 3 s", "h30m", "M", "months", "y",
            "d", " ns",
        ] {
            let text = format!("{number}{unit}");
            let policy = json!({ "limiters": { "a": {
                "policy": "gcra", "interval": "1 s", "tolerance": text } } });
            if humantime::parse_duration(&text).is_ok() {
                read += 1;
                assert!(validator.is_valid(&policy), "{text}");
            }
        }
        for unit in ["", " B", "k", "kB", " KiB", "mib", "MB ", "G", "TiB", "PB", "EiB", "EB"] {
            let text = format!("{number}{unit}");
            let policy = json!({ "limiters": { "a": { "policy": "token_bucket", "limit": 5,
                "rate": { "amount": 1, "interval": "1 s" }, "store": "table", "memory": text } } });
            if text.trim().parse::<bytesize::ByteSize>().is_ok() {
                read += 1;
                assert!(validator.is_valid(&policy), "{text}");
            }
        }
    }
    assert!(read >= 60, "{read}");
}

/// Returns all schemas of fields in a schema, by their names.
fn fields<'a>(schema: &'a Value, found: &mut Vec<(&'a str, &'a Value)>) {
    for (name, value) in schema.as_object().into_iter().flatten() {
        if name == "properties" {
            found.extend(
                value.as_object().into_iter().flatten().map(|(name, one)| (name.as_str(), one)),
            );
        }
        fields(value, found);
    }
    schema.as_array().into_iter().flatten().for_each(|value| fields(value, found));
}

#[test]
fn a_default_is_valid_and_means_the_same_as_leaving_the_field_out() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let limiter = &schema["$defs"]["limiter"]["properties"];
    let plain = |policy: &str, more: &str| {
        let text = format!("limiters.a = {{ policy = \"{policy}\"{more} }}");
        value(&text)["limiters"]["a"].clone()
    };
    let window = ", limit = 5, interval = \"1 hour\"";
    let bucket = ", limit = 5, rate = { amount = 1, interval = \"1 hour\" }, max_keys = 9";
    let base = |field: &str| match field {
        "slots" => plain("sliding_window", window),
        "start" => plain("fixed_window", window),
        "zone" | "on" => plain("budget", ", amount = 5"),
        _ => plain("token_bucket", bucket),
    };
    let kinds = |limiter: &Value| {
        let policy = json!({ "limiters": { "a": limiter } }).to_string();
        let policies = Policies::from_json("p", &policy).unwrap_or_else(|error| panic!("{error}"));
        policies.into_limiters()
    };
    let mut defaults = 0;
    for (field, schema) in limiter.as_object().unwrap() {
        let Some(default) = schema.get("default") else { continue };
        let mut with = base(field);
        let without = kinds(&with);
        with[field.as_str()] = default.clone();
        assert_eq!(kinds(&with), without, "{field}");
        defaults += 1;
    }
    assert!(defaults >= 11, "only {defaults}");
    let level = &schema["$defs"]["level"]["properties"];
    assert!(level["key"].get("default").is_none() && level["refill"].get("default").is_some());
}

#[test]
fn an_editor_is_told_what_each_word_means() {
    let schema: Value = serde_json::from_str(&json_schema()).unwrap();
    let mut found = Vec::new();
    fields(&schema["$defs"], &mut found);
    let described = |name: &str| {
        let schemas = found.iter().filter(|(own, _)| *own == name).map(|(_, schema)| *schema);
        // A field may have words or something else.
        let schemas = schemas.flat_map(|schema| {
            let any_of = schema.get("anyOf").and_then(Value::as_array);
            std::iter::once(schema).chain(any_of.into_iter().flatten())
        });
        let words = |schema: &Value| {
            let both = schema.get("enum").and(schema.get("enumDescriptions"));
            both.map(|about| {
                (schema["enum"].as_array().unwrap().len(), about.as_array().unwrap().len())
            })
        };
        schemas.filter_map(words).collect::<Vec<_>>()
    };
    for (name, count) in
        [("policy", 12), ("mode", 2), ("refill", 2), ("start", 2), ("every", 5), ("store", 2)]
    {
        let described = described(name);
        assert!(described.iter().any(|(words, _)| *words >= count), "{name}: {described:?}");
        assert!(described.iter().all(|(words, about)| words == about));
    }
}
