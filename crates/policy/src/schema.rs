//! A policy file as it is written, before its values are checked.
//!
//! Every field keeps its place in the file, so that a later check can point at
//! it. That is why the fields of all the policies are in one flat struct: serde's
//! tagged enums lose the places.

mod store;
mod weekdays;

use std::fmt;
use std::ops::Range;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use sluicegate::{CalendarUnit, Refill};
use toml::Spanned;

pub(super) use self::store::{Bytes, RawShare, RawWhenFull, StoreName};
pub(super) use self::weekdays::RawDays;

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPolicy {
    #[serde(default)]
    pub(super) limiter: Vec<Spanned<RawRule>>,
}

/// A limiter of the file, or a part of an `all`, which has no name, key, match, cost or
/// store of its own.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a [[limiter]] table")]
pub(super) struct RawRule {
    pub(super) name: Option<Spanned<String>>,
    pub(super) key: Option<Spanned<OneOrMany>>,
    pub(super) policy: Spanned<PolicyName>,
    pub(super) mode: Option<Spanned<Mode>>,
    pub(super) limit: Option<Spanned<Whole>>,
    pub(super) rate: Option<Spanned<RawRate>>,
    pub(super) refill: Option<Spanned<RawRefill>>,
    pub(super) initial: Option<Spanned<Whole>>,
    pub(super) interval: Option<Spanned<Interval>>,
    pub(super) tolerance: Option<Spanned<Interval>>,
    pub(super) start: Option<Spanned<Start>>,
    pub(super) slots: Option<Spanned<Whole>>,
    pub(super) capacity: Option<Spanned<Whole>>,
    pub(super) limits: Option<Spanned<Vec<RawLimit>>>,
    pub(super) every: Option<Spanned<Every>>,
    pub(super) amount: Option<Spanned<Whole>>,
    pub(super) on: Option<Spanned<RawDays>>,
    pub(super) zone: Option<Spanned<String>>,
    pub(super) of: Option<Spanned<Vec<RawRule>>>,
    #[serde(rename = "match")]
    pub(super) filter: Option<Spanned<RawFilter>>,
    pub(super) cost: Option<Spanned<RawCost>>,
    pub(super) store: Option<Spanned<StoreName>>,
    pub(super) max_keys: Option<Spanned<Whole>>,
    pub(super) memory: Option<Spanned<Bytes>>,
    pub(super) keys: Option<Spanned<Whole>>,
    pub(super) when_full: Option<Spanned<RawWhenFull>>,
}

fn place<T>(field: Option<&Spanned<T>>) -> Option<Range<usize>> {
    field.map(Spanned::span)
}

impl RawRule {
    /// Returns the fields that only some policies have, if they are given.
    pub(super) fn given(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        [
            ("mode", place(self.mode.as_ref())),
            ("limit", place(self.limit.as_ref())),
            ("rate", place(self.rate.as_ref())),
            ("refill", place(self.refill.as_ref())),
            ("initial", place(self.initial.as_ref())),
            ("interval", place(self.interval.as_ref())),
            ("tolerance", place(self.tolerance.as_ref())),
            ("start", place(self.start.as_ref())),
            ("slots", place(self.slots.as_ref())),
            ("capacity", place(self.capacity.as_ref())),
            ("limits", place(self.limits.as_ref())),
            ("every", place(self.every.as_ref())),
            ("amount", place(self.amount.as_ref())),
            ("on", place(self.on.as_ref())),
            ("zone", place(self.zone.as_ref())),
            ("of", place(self.of.as_ref())),
        ]
        .into_iter()
        .filter_map(|(field, place)| Some((field, place?)))
    }

    /// Returns the fields that select the lines it judges and the store of their keys, if
    /// they are given.
    pub(super) fn of_lines(&self) -> impl Iterator<Item = (&'static str, Range<usize>)> {
        [
            ("name", place(self.name.as_ref())),
            ("key", place(self.key.as_ref())),
            ("match", place(self.filter.as_ref())),
            ("cost", place(self.cost.as_ref())),
            ("store", place(self.store.as_ref())),
            ("max_keys", place(self.max_keys.as_ref())),
            ("memory", place(self.memory.as_ref())),
            ("keys", place(self.keys.as_ref())),
            ("when_full", place(self.when_full.as_ref())),
        ]
        .into_iter()
        .filter_map(|(field, place)| Some((field, place?)))
    }
}

#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PolicyName {
    TokenBucket,
    Gcra,
    LeakyBucket,
    FixedWindow,
    SlidingWindow,
    SlidingCounter,
    SlidingLog,
    WeightedLog,
    MultiWindow,
    CalendarWindow,
    Budget,
    All,
}

#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    Meter,
    MinInterval,
}

#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum RawRefill {
    Smooth,
    Interval,
}

impl From<&RawRefill> for Refill {
    fn from(raw: &RawRefill) -> Refill {
        match raw {
            RawRefill::Smooth => Refill::Smooth,
            RawRefill::Interval => Refill::Interval,
        }
    }
}

/// The beginning of a fixed window.
#[derive(Clone, Copy, Debug, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Start {
    Epoch,
    #[default]
    First,
}

#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Every {
    Minute,
    Hour,
    Day,
    Week,
    Month,
}

impl From<&Every> for CalendarUnit {
    fn from(raw: &Every) -> CalendarUnit {
        match raw {
            Every::Minute => CalendarUnit::Minute,
            Every::Hour => CalendarUnit::Hour,
            Every::Day => CalendarUnit::Day,
            Every::Week => CalendarUnit::Week,
            Every::Month => CalendarUnit::Month,
        }
    }
}

/// One of several windows.
#[derive(Debug, serde::Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a list of limits such as { limit = 10, interval = \"1 second\" }"
)]
pub(super) struct RawLimit {
    pub(super) limit: Spanned<Whole>,
    pub(super) interval: Spanned<Interval>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a rate such as { amount = 5, interval = \"1 minute\" }")]
pub(super) struct RawRate {
    pub(super) amount: Spanned<Whole>,
    pub(super) interval: Spanned<Interval>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { method = \"POST\" }")]
pub(super) struct RawFilter {
    pub(super) method: Option<Spanned<OneOrMany>>,
    pub(super) path_prefix: Option<Spanned<OneOrMany>>,
    pub(super) status_class: Option<Spanned<OneOrMany>>,
}

#[derive(Debug, serde::Deserialize)]
#[serde(untagged, expecting = "expected a string or a list of strings")]
pub(super) enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    pub(super) fn as_slice(&self) -> &[String] {
        match self {
            OneOrMany::One(one) => std::slice::from_ref(one),
            OneOrMany::Many(many) => many,
        }
    }
}

#[derive(Debug, serde::Deserialize)]
#[serde(untagged, expecting = "expected a whole number or \"bytes\"")]
pub(super) enum RawCost {
    Permits(Whole),
    Bytes(BytesWord),
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BytesWord {
    Bytes,
}

/// A count of permits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Whole(pub(super) u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Whole, D::Error> {
        struct WholeVisitor;

        impl Visitor<'_> for WholeVisitor {
            type Value = Whole;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Whole, E> {
                u64::try_from(number)
                    .map(Whole)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Whole, E> {
                Ok(Whole(number))
            }
        }

        deserializer.deserialize_u64(WholeVisitor)
    }
}

/// A length of time in words, such as `15 minutes`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interval(pub(super) Duration);

impl<'de> Deserialize<'de> for Interval {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Interval, D::Error> {
        struct IntervalVisitor;

        impl Visitor<'_> for IntervalVisitor {
            type Value = Interval;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time in quotes, such as \"15 minutes\" or \"100 ms\"")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Interval, E> {
                humantime::parse_duration(text)
                    .map(Interval)
                    .map_err(|error| E::custom(format_args!("\"{text}\" is not a time: {error}")))
            }
        }

        deserializer.deserialize_str(IntervalVisitor)
    }
}
