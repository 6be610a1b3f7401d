//! Drafts 8 to 10: lists of named items.
//!
//! ```text
//! RateLimit-Policy: "burst";q=100;w=60, "bytes";q=65535;qu="content-bytes";w=10;pk=:c2RmamxqdW8=:
//! RateLimit: "burst";r=50;t=30
//! ```

use std::time::Duration;

use http::{HeaderMap, HeaderName};
use sfv::{BareItem, Item, ItemSerializer, KeyRef, ListSerializer, Parameters, StringRef};

use super::policy::{QuotaPolicy, QuotaUnit};
use super::service_limit::ServiceLimit;
use super::state::PolicyState;
use super::values;

pub(super) const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
pub(super) const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

const QUOTA: &KeyRef = KeyRef::constant("q");
const UNIT: &KeyRef = KeyRef::constant("qu");
const WINDOW: &KeyRef = KeyRef::constant("w");
const PARTITION: &KeyRef = KeyRef::constant("pk");
const REMAINING: &KeyRef = KeyRef::constant("r");
const RESET: &KeyRef = KeyRef::constant("t");

/// Returns the value of `RateLimit-Policy`, empty without policies. `limit` tells the limit of a policy if it is not the quota.
pub(super) fn policies(policies: &[QuotaPolicy], limit: impl Fn(usize) -> Option<u64>) -> String {
    let mut text = values::buffer();
    let mut list = ListSerializer::with_buffer(&mut text);
    for (which, policy) in policies.iter().enumerate().filter(|(_, policy)| policy.is_told()) {
        // Names were checked when they were given, and these are the same characters.
        let Ok(name) = StringRef::from_str(policy.name_or_default()) else { continue };
        let quota = limit(which).unwrap_or(policy.quota());
        let mut item = list.bare_item(name).parameter(QUOTA, values::integer(quota));
        if *policy.unit() != QuotaUnit::Requests
            && let Ok(unit) = StringRef::from_str(policy.unit().as_str())
        {
            item = item.parameter(UNIT, unit);
        }
        if let Some(window) = policy.window() {
            item = item.parameter(WINDOW, values::seconds(window));
        }
        if let Some(key) = policy.partition_key() {
            item = item.parameter(PARTITION, key);
        }
        let _ = item.finish();
    }
    text
}

/// Returns the text of an item of `RateLimit` as far as all items of the policy have it in common: up to the number that
/// remains. Empty if fields do not tell the policy.
pub(super) fn opening(policy: &QuotaPolicy) -> String {
    let mut text = String::new();
    if policy.is_told()
        && let Ok(name) = StringRef::from_str(policy.name_or_default())
    {
        let mut list = ListSerializer::with_buffer(&mut text);
        let _ = list.bare_item(name).parameter(REMAINING, 0).finish();
        text.pop();
    }
    text
}

/// Returns the value of `RateLimit`, empty if no state tells what remains. `openings` has the [opening] of each policy.
pub(super) fn limits(openings: &[String], states: &[PolicyState<'_>]) -> String {
    let mut text = values::buffer();
    for state in states {
        let (Some(opening), Some(remaining)) = (openings.get(state.which), state.remaining) else {
            continue;
        };
        if opening.is_empty() {
            continue;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(opening);
        let mut last = values::integer(remaining);
        if let Some(wait) = state.more_after() {
            values::push_number(&mut text, last);
            text.extend([";", RESET.as_str(), "="]);
            last = values::seconds(wait);
        }
        match state.partition {
            None => values::push_number(&mut text, last),
            Some(key) => {
                let item = ItemSerializer::with_buffer(&mut text).bare_item(last);
                let _ = item.parameter(PARTITION, key).finish();
            }
        }
    }
    text
}

/// Returns the well-formed policies of `RateLimit-Policy`. Parameters that are not known are comments.
pub(super) fn parse_policies(headers: &HeaderMap) -> Vec<QuotaPolicy> {
    values::list(headers, &POLICY).iter().filter_map(parse_policy).collect()
}

fn parse_policy(item: &Item) -> Option<QuotaPolicy> {
    let parameters = &item.params;
    let quota = values::number_parameter(parameters, QUOTA.as_str()).ok()??;
    let mut policy = QuotaPolicy::new(quota).named(values::text(&item.bare_item)?).ok()?;
    if let Some(unit) = parameters.get(UNIT.as_str()) {
        policy = policy.counting(QuotaUnit::from(values::text(unit)?));
    }
    match values::number_parameter(parameters, WINDOW.as_str()).ok()? {
        Some(0) => return None,
        Some(seconds) => policy = policy.per(Duration::from_secs(seconds)),
        None => {}
    }
    Some(match parse_partition(parameters).ok()? {
        Some(key) => policy.partition(key),
        None => policy,
    })
}

/// Returns the well-formed limits of `RateLimit`.
pub(super) fn parse_limits(headers: &HeaderMap) -> Vec<ServiceLimit> {
    values::list(headers, &LIMIT).iter().filter_map(parse_limit).collect()
}

fn parse_limit(item: &Item) -> Option<ServiceLimit> {
    let name = values::text(&item.bare_item)?;
    let remaining = values::number_parameter(&item.params, REMAINING.as_str()).ok()??;
    let reset = values::number_parameter(&item.params, RESET.as_str()).ok()?;
    Some(ServiceLimit {
        name: Some(name.into()),
        limit: None,
        remaining,
        reset_after: reset.map(Duration::from_secs),
        partition: parse_partition(&item.params).ok()?.map(Into::into),
    })
}

/// Returns the permits that are left, as an item of `RateLimit` tells them.
pub(super) fn remaining(item: &Item) -> Option<u64> {
    values::number_parameter(&item.params, REMAINING.as_str()).ok()?
}

/// Returns the partition key, if there is one; `Err` if it is malformed.
fn parse_partition(parameters: &Parameters) -> Result<Option<&[u8]>, ()> {
    match parameters.get(PARTITION.as_str()) {
        None => Ok(None),
        Some(BareItem::ByteSequence(key)) => Ok(Some(key)),
        Some(_) => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;
    use sfv::{FieldType, List, Parser};

    use super::*;

    /// Returns the value as a serializer writes it item by item.
    fn serialized(policies: &[QuotaPolicy], states: &[PolicyState<'_>]) -> String {
        let mut list = ListSerializer::new();
        for state in states {
            let told = policies.get(state.which).filter(|policy| policy.is_told());
            let (Some(policy), Some(remaining)) = (told, state.remaining) else { continue };
            let name = StringRef::from_str(policy.name_or_default()).unwrap();
            let mut item = list.bare_item(name).parameter(REMAINING, values::integer(remaining));
            if let Some(wait) = state.more_after() {
                item = item.parameter(RESET, values::seconds(wait));
            }
            if let Some(key) = state.partition {
                item = item.parameter(PARTITION, key);
            }
            let _ = item.finish();
        }
        list.finish().unwrap_or_default()
    }

    fn policy() -> impl Strategy<Value = QuotaPolicy> {
        option::of(prop_oneof![Just(None), "[ -~]{1,12}".prop_map(Some)]).prop_map(
            |name| match name {
                None => QuotaPolicy::untold(),
                Some(None) => QuotaPolicy::new(5),
                Some(Some(name)) => QuotaPolicy::new(5).named(&name).unwrap(),
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn limits_are_written_as_a_serializer_writes_them(
            policies in vec(policy(), 0..4),
            states in vec(
                (0_usize..5, option::of(any::<u64>()), option::of(any::<Duration>()), option::of(vec(any::<u8>(), 0..9))),
                0..5,
            ),
        ) {
            let states: Vec<_> = states.iter().map(|(which, remaining, wait, key)| PolicyState {
                which: *which,
                remaining: *remaining,
                next_permit_after: *wait,
                partition: key.as_deref(),
                ..PolicyState::UNKNOWN
            }).collect();
            let openings: Vec<_> = policies.iter().map(opening).collect();
            let text = limits(&openings, &states);
            prop_assert_eq!(&text, &serialized(&policies, &states));
            let parsed = Parser::new(&text).parse::<List>().unwrap();
            prop_assert_eq!(parsed.serialize().unwrap_or_default(), text);
        }
    }
}
