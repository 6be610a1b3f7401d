//! The words of fields, and what is taken if a field is left out, for editors.

use serde_json::{Value, json};

use crate::check::KINDS;

/// Words that fields have, besides the kinds of limiters.
const WORDS: [(&str, &str); 23] = [
    ("meter", "Each request adds to a level, which leaks at the rate."),
    ("min_interval", "Requests are at least an interval apart."),
    ("smooth", "Tokens come back continuously."),
    ("interval", "All tokens of an interval come back at its end."),
    (
        "first",
        "The window starts at the first request, and the next one at the first after its end.",
    ),
    ("epoch", "Windows follow each other from 1970 on, in UTC."),
    ("minute", "From second 0 on."),
    ("hour", "From minute 0 on."),
    ("day", "From midnight on."),
    ("week", "From Monday on."),
    ("month", "From the first on."),
    ("exact", "A limiter for each key, in memory that grows with the keys."),
    ("table", "A table of token buckets with a fixed number of bytes."),
    ("deny", "Its requests are denied."),
    ("admit", "Its requests are admitted."),
    ("refuse", "A request that is not granted its permits at once is refused."),
    ("closed", "Requests are refused."),
    ("open", "Requests are granted."),
    ("refusals", "Requests that the limit refuses."),
    ("client", "Address or name of the client."),
    ("all", "One limiter for all requests."),
    ("bytes", "One permit for each byte of the response."),
    ("user", "The user that the client signed in as."),
];

/// Values of fields that are left out.
const DEFAULTS: [(&str, &str); 13] = [
    ("key", r#""client""#),
    ("refill", r#""smooth""#),
    ("start", r#""first""#),
    ("slots", "60"),
    ("zone", r#""UTC""#),
    ("cost", "1"),
    ("store", r#""exact""#),
    ("when_full", r#""deny""#),
    ("wait", r#""refuse""#),
    ("shadow", "false"),
    ("reset", "false"),
    ("match", "{}"),
    ("on", "{}"),
];

/// Describes a word of the field `name`.
fn about(name: &str, word: &str) -> Option<&'static str> {
    if name == "policy" {
        // Of the leaky buckets, the first.
        return KINDS.iter().find(|kind| kind.policy == word).map(|kind| kind.about);
    }
    WORDS.iter().find(|(known, _)| *known == word).map(|(_, about)| *about)
}

/// Returns the schema of one of these words in the field `name`: with a description of each, if all have
/// one. Editors show them beside the words; the keyword is that of Visual Studio Code and of the language
/// servers of JSON and YAML, `x-taplo` that of the one of TOML.
pub(super) fn schema_of_words(name: &str, words: &[&str]) -> Value {
    let about: Option<Vec<&str>> = words.iter().map(|word| about(name, word)).collect();
    match about {
        Some(about) => json!({
            "enum": words,
            "enumDescriptions": about,
            "x-taplo": { "docs": { "enumValues": about } },
        }),
        None => json!({ "enum": words }),
    }
}

/// Returns the value of a field of a limiter that is left out, if it is always the same.
pub(super) fn default_of(name: &str) -> Option<Value> {
    let (_, text) = DEFAULTS.iter().find(|(known, _)| *known == name)?;
    serde_json::from_str(text).ok()
}
