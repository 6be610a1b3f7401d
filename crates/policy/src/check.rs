//! Checks of a policy file, which turn its text into a policy that can be used.

mod kind;
mod messages;
mod store;

use std::ops::Range;

use hashbrown::HashMap;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde_path_to_error::{Path, Segment};
use toml::Spanned;

use super::error_snippet::Problem;
use super::schema::*;
use super::{Cost, Filter, KeyField, Policy, Rule};

/// The statuses' first digits.
const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

pub(super) fn policy(text: &str) -> Result<Policy, Problem> {
    let raw = parse(text)?;
    if raw.limiter.is_empty() {
        return Err(messages::no_limiter());
    }
    let mut names = HashMap::new();
    let mut rules = Vec::with_capacity(raw.limiter.len());
    for raw in &raw.limiter {
        let (rule, name) = Check { text, raw: raw.get_ref() }.rule(raw.span())?;
        if let Some(first) = names.insert(rule.name.clone(), name.clone()) {
            return Err(messages::same_name(&rule.name, name, first));
        }
        rules.push(rule);
    }
    Ok(Policy { rules })
}

/// Checks what serde can check: the syntax, and the names and types of fields.
fn parse(text: &str) -> Result<RawPolicy, Problem> {
    let at = |error: &toml::de::Error| error.span().unwrap_or(0..0);
    let parsed = toml::Deserializer::parse(text)
        .map_err(|error| messages::not_toml(at(&error), error.message()))?;
    serde_path_to_error::deserialize(parsed).map_err(|error| {
        let field = field_name(error.path());
        messages::not_valid(at(error.inner()), &field, error.inner().message())
    })
}

/// Returns the name of a field, such as `rate.interval`, without the index of its limiter and
/// without the steps that `Spanned` adds.
fn field_name(path: &Path) -> String {
    let names: Vec<&str> = path
        .iter()
        .filter_map(|segment| match segment {
            Segment::Map { key } if !key.starts_with("$__serde_spanned") => Some(key.as_str()),
            _ => None,
        })
        .collect();
    match names.as_slice() {
        ["limiter", field @ ..] if !field.is_empty() => field.join("."),
        names => names.join("."),
    }
}

/// One limiter of the file.
struct Check<'a> {
    text: &'a str,
    raw: &'a RawRule,
}

impl Check<'_> {
    /// Checks the limiter of the table at `place`. Returns it, and the place of its name.
    fn rule(&self, place: Range<usize>) -> Result<(Rule, Range<usize>), Problem> {
        let Check { raw, .. } = self;
        let lacks = |field: &str| messages::limiter_lacks(field, place.clone());
        let name = raw.name.as_ref().ok_or_else(|| lacks("name"))?;
        if name.get_ref().is_empty() {
            return Err(self.wrong("name", name.span(), messages::SOME_TEXT));
        }
        let key = self.key(raw.key.as_ref().ok_or_else(|| lacks("key"))?)?;
        let kind = self.kind()?;
        let rule = Rule {
            name: name.get_ref().clone(),
            key,
            store: self.store(&kind)?,
            kind,
            filter: raw.filter.as_ref().map_or(Ok(Filter::default()), |raw| self.filter(raw))?,
            cost: raw.cost.as_ref().map_or(Ok(Cost::Permits(1)), |raw| self.cost(raw))?,
        };
        match &raw.cost {
            Some(cost) if rule.kind.takes_only_one() && rule.cost != Cost::Permits(1) => {
                Err(self.wrong("cost", cost.span(), messages::ONE_AT_A_TIME))
            }
            _ => Ok((rule, name.span())),
        }
    }

    fn key(&self, raw: &Spanned<OneOrMany>) -> Result<Vec<KeyField>, Problem> {
        let field = |name: &String| {
            let name: StrDeserializer<'_, ValueError> = name.as_str().into_deserializer();
            KeyField::deserialize(name)
        };
        let names = self.strings("key", raw)?;
        let fields = names.iter().map(field).collect::<Result<_, _>>();
        fields.map_err(|error| self.wrong("key", raw.span(), error.to_string()))
    }

    fn filter(&self, raw: &Spanned<RawFilter>) -> Result<Filter, Problem> {
        let raw = raw.get_ref();
        let list = |field, raw: &Option<Spanned<OneOrMany>>| {
            raw.as_ref().map_or(Ok(Vec::new()), |raw| self.strings(field, raw))
        };
        let status_class = list("match.status_class", &raw.status_class)?;
        if let Some(raw) = &raw.status_class
            && !status_class.iter().all(|class| STATUS_CLASSES.contains(&class.as_str()))
        {
            let label = messages::some_of(&STATUS_CLASSES);
            return Err(self.wrong("match.status_class", raw.span(), label));
        }
        Ok(Filter {
            method: list("match.method", &raw.method)?,
            path_prefix: list("match.path_prefix", &raw.path_prefix)?,
            status_class,
        })
    }

    fn cost(&self, raw: &Spanned<RawCost>) -> Result<Cost, Problem> {
        match *raw.get_ref() {
            RawCost::Bytes(BytesWord::Bytes) => Ok(Cost::Bytes),
            RawCost::Permits(Whole(0)) => {
                Err(self.wrong("cost", raw.span(), messages::ONE_OR_MORE_OR_BYTES))
            }
            RawCost::Permits(Whole(permits)) => Ok(Cost::Permits(permits)),
        }
    }

    /// Checks one string or a list of strings, none of which may be empty.
    fn strings(&self, field: &str, raw: &Spanned<OneOrMany>) -> Result<Vec<String>, Problem> {
        let strings = raw.get_ref().as_slice();
        if strings.is_empty() || strings.iter().any(String::is_empty) {
            return Err(self.wrong(field, raw.span(), messages::SOME_TEXTS));
        }
        Ok(strings.to_vec())
    }
}
