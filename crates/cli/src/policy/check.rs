//! From a policy as it is written to one that makes sense.

use std::ops::Range;

use hashbrown::HashMap;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde_path_to_error::{Path, Segment};
use sluicegate::{ConfigError, Gcra, ManualClock, Quota, Rate, Refill};
use toml::Spanned;

use super::error::Problem;
use super::schema::*;
use super::{Cost, Filter, Kind, Policy, Rule};
use crate::log::Field;

/// The statuses' first digits.
const STATUS_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

pub(super) fn policy(text: &str) -> Result<Policy, Problem> {
    let raw = parse(text)?;
    if raw.limiter.is_empty() {
        let title = "the policy has no limiter";
        return Err(Problem::new(0..0, title, "expected at least one [[limiter]]"));
    }
    let mut names = HashMap::new();
    let mut rules = Vec::with_capacity(raw.limiter.len());
    for raw in &raw.limiter {
        let rule = Check { text, raw }.rule()?;
        if let Some(first) = names.insert(rule.name.clone(), raw.name.span()) {
            let title = format!("`name` is \"{}\" twice", rule.name);
            let label = "expected a name that no other limiter has";
            return Err(
                Problem::new(raw.name.span(), title, label).with_context(first, "the first")
            );
        }
        rules.push(rule);
    }
    Ok(Policy { rules })
}

/// What serde can check: the syntax, the fields' names and types.
fn parse(text: &str) -> Result<RawPolicy, Problem> {
    let at = |error: &toml::de::Error| error.span().unwrap_or(0..0);
    let parsed = toml::Deserializer::parse(text)
        .map_err(|error| Problem::new(at(&error), "this is not TOML", error.message()))?;
    serde_path_to_error::deserialize(parsed).map_err(|error| {
        let title = format!("`{}` is not valid", field_name(error.path()));
        Problem::new(at(error.inner()), title, error.inner().message())
    })
}

/// As in `rate.interval`, without which limiter it is of and without the steps
/// that `Spanned` takes.
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
    fn rule(&self) -> Result<Rule, Problem> {
        let Check { raw, .. } = self;
        if raw.name.get_ref().is_empty() {
            return Err(self.wrong("name", raw.name.span(), "expected some text"));
        }
        Ok(Rule {
            name: raw.name.get_ref().clone(),
            key: self.key()?,
            kind: self.kind()?,
            filter: raw.filter.as_ref().map_or(Ok(Filter::default()), |raw| self.filter(raw))?,
            cost: raw.cost.as_ref().map_or(Ok(Cost::Permits(1)), |raw| self.cost(raw))?,
        })
    }

    fn key(&self) -> Result<Vec<Field>, Problem> {
        let field = |name: &String| {
            let name: StrDeserializer<'_, ValueError> = name.as_str().into_deserializer();
            Field::deserialize(name)
        };
        let names = self.strings("key", &self.raw.key)?;
        let fields = names.iter().map(field).collect::<Result<_, _>>();
        fields.map_err(|error| self.wrong("key", self.raw.key.span(), error.to_string()))
    }

    fn kind(&self) -> Result<Kind, Problem> {
        let Check { raw, .. } = self;
        let out_of_range = |error| self.out_of_range(&error);
        match (*raw.policy.get_ref(), raw.mode.as_ref().map(|mode| *mode.get_ref())) {
            (PolicyName::TokenBucket, _) => {
                let policy = "token_bucket";
                self.allow(policy, &["limit", "rate", "refill", "initial"])?;
                let quota = self.quota(policy)?.with_refill(match &raw.refill {
                    Some(refill) => refill.get_ref().into(),
                    None => Refill::Smooth,
                });
                let quota = match &raw.initial {
                    Some(initial) => quota.with_initial(initial.get_ref().0),
                    None => Ok(quota),
                };
                quota.map(Kind::TokenBucket).map_err(out_of_range)
            }
            (PolicyName::Gcra, _) => {
                let policy = "gcra";
                self.allow(policy, &["interval", "tolerance"])?;
                let interval = self.need(policy, "interval", raw.interval.as_ref())?.0;
                let tolerance = self.need(policy, "tolerance", raw.tolerance.as_ref())?.0;
                Gcra::with_clock(interval, tolerance, ManualClock::new())
                    .map(|_| Kind::Gcra { interval, tolerance })
                    .map_err(out_of_range)
            }
            (PolicyName::LeakyBucket, None) => {
                Err(self.missing("leaky_bucket", "`mode`, \"meter\" or \"min_interval\""))
            }
            (PolicyName::LeakyBucket, Some(Mode::Meter)) => {
                let policy = "leaky_bucket as a meter";
                self.allow(policy, &["mode", "limit", "rate"])?;
                self.quota(policy).map(Kind::LeakyMeter)
            }
            (PolicyName::LeakyBucket, Some(Mode::MinInterval)) => {
                let policy = "leaky_bucket as a min_interval";
                match (&raw.rate, &raw.interval) {
                    (Some(rate), _) => {
                        self.allow(policy, &["mode", "rate"])?;
                        self.rate(rate.get_ref()).map(Kind::LeakyMinInterval)
                    }
                    (None, Some(interval)) => {
                        self.allow(policy, &["mode", "interval"])?;
                        let rate = Rate::every(interval.get_ref().0);
                        rate.map(Kind::LeakyMinInterval).map_err(out_of_range)
                    }
                    (None, None) => Err(self.missing(policy, "`rate` or `interval`")),
                }
            }
        }
    }

    /// The limit and the rate.
    fn quota(&self, policy: &str) -> Result<Quota, Problem> {
        let limit = self.need(policy, "limit", self.raw.limit.as_ref())?.0;
        let rate = self.rate(self.need(policy, "rate", self.raw.rate.as_ref())?)?;
        Quota::new(rate).with_burst(limit).map_err(|error| self.out_of_range(&error))
    }

    fn rate(&self, rate: &RawRate) -> Result<Rate, Problem> {
        Rate::new(rate.amount.get_ref().0, rate.interval.get_ref().0)
            .map_err(|error| self.out_of_range(&error))
    }

    fn filter(&self, raw: &RawFilter) -> Result<Filter, Problem> {
        let list = |field, raw: &Option<Spanned<OneOrMany>>| {
            raw.as_ref().map_or(Ok(Vec::new()), |raw| self.strings(field, raw))
        };
        let status_class = list("match.status_class", &raw.status_class)?;
        if let Some(raw) = &raw.status_class
            && !status_class.iter().all(|class| STATUS_CLASSES.contains(&class.as_str()))
        {
            let label = format!("expected some of {}", STATUS_CLASSES.join(", "));
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
                Err(self.wrong("cost", raw.span(), "must be 1 or more, or \"bytes\""))
            }
            RawCost::Permits(Whole(permits)) => Ok(Cost::Permits(permits)),
        }
    }

    /// One string or a list of them, none of which may be empty.
    fn strings(&self, field: &str, raw: &Spanned<OneOrMany>) -> Result<Vec<String>, Problem> {
        let strings = raw.get_ref().as_slice();
        if strings.is_empty() || strings.iter().any(String::is_empty) {
            return Err(self.wrong(field, raw.span(), "expected at least one, and none empty"));
        }
        Ok(strings.to_vec())
    }

    /// Refuses the fields that belong to other policies.
    fn allow(&self, policy: &str, allowed: &[&str]) -> Result<(), Problem> {
        match self.raw.given().find(|(field, _)| !allowed.contains(field)) {
            None => Ok(()),
            Some((field, place)) => {
                let title = format!("`{field}` does not belong to {policy}");
                let label = format!("expected only `{}`", allowed.join("`, `"));
                Err(Problem::new(place, title, label))
            }
        }
    }

    fn need<'v, T>(
        &self,
        policy: &str,
        field: &str,
        value: Option<&'v Spanned<T>>,
    ) -> Result<&'v T, Problem> {
        value.map(Spanned::get_ref).ok_or_else(|| self.missing(policy, &format!("`{field}`")))
    }

    fn missing(&self, policy: &str, what: &str) -> Problem {
        let title = format!("limiter \"{}\" lacks {what}", self.raw.name.get_ref());
        Problem::new(self.raw.policy.span(), title, format!("{policy} needs {what}"))
    }

    /// The engine's verdict on a number, at the place where the number is.
    fn out_of_range(&self, error: &ConfigError) -> Problem {
        let Check { raw, .. } = self;
        let name = match error.field() {
            "permits" => "rate.amount",
            "period" if raw.rate.is_some() => "rate.interval",
            "period" => "interval",
            "burst" => "limit",
            same => same,
        };
        let rule = match error {
            ConfigError::Initial { .. } => "must be from 0 to the limit",
            _ => error.rule(),
        };
        let place = match (name, &raw.rate) {
            ("rate.amount", Some(rate)) => Some(rate.get_ref().amount.span()),
            ("rate.interval", Some(rate)) => Some(rate.get_ref().interval.span()),
            _ => raw.given().find(|(field, _)| *field == name).map(|(_, place)| place),
        };
        self.wrong(name, place.unwrap_or_else(|| raw.policy.span()), rule)
    }

    /// `field` has the value that is written at `place`, and should not.
    fn wrong(&self, field: &str, place: Range<usize>, expected: impl Into<String>) -> Problem {
        let title = format!("`{field}` is {}", &self.text[place.clone()]);
        Problem::new(place, title, expected)
    }
}
