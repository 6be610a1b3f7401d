//! The older versions, whose fields tell one limit: `X-RateLimit-*`, and drafts 3, 6 and 7.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName};
use sfv::{BareItem, DictSerializer, Item, KeyRef, ListSerializer, StringRef};

use super::named_items::{LIMIT as DICTIONARY, POLICY};
use super::policy::QuotaPolicy;
use super::service_limit::ServiceLimit;
use super::state::PolicyState;
use super::values;

/// The three fields of a limit.
pub(super) struct Names {
    limit: HeaderName,
    remaining: HeaderName,
    reset: HeaderName,
}

impl Names {
    pub(super) fn all(&self) -> [&HeaderName; 3] {
        [&self.limit, &self.remaining, &self.reset]
    }
}

/// Those of [`FieldVersion::Legacy`](super::FieldVersion::Legacy).
pub(super) static LEGACY: Names = Names {
    limit: HeaderName::from_static("x-ratelimit-limit"),
    remaining: HeaderName::from_static("x-ratelimit-remaining"),
    reset: HeaderName::from_static("x-ratelimit-reset"),
};

/// The same with another spelling, which some servers have.
pub(super) static LEGACY_WITH_DASH: Names = Names {
    limit: HeaderName::from_static("x-rate-limit-limit"),
    remaining: HeaderName::from_static("x-rate-limit-remaining"),
    reset: HeaderName::from_static("x-rate-limit-reset"),
};

/// Those of drafts 3 and 6.
pub(super) static DRAFT: Names = Names {
    limit: HeaderName::from_static("ratelimit-limit"),
    remaining: HeaderName::from_static("ratelimit-remaining"),
    reset: HeaderName::from_static("ratelimit-reset"),
};

const WINDOW: &KeyRef = KeyRef::constant("w");
const NAME: &KeyRef = KeyRef::constant("name");
const COMMENT: &KeyRef = KeyRef::constant("comment");
const LIMIT: &KeyRef = KeyRef::constant("limit");
const REMAINING: &KeyRef = KeyRef::constant("remaining");
const RESET: &KeyRef = KeyRef::constant("reset");

/// A `X-RateLimit-Reset` from this number on is a time: 2001, or 31 years.
const UNIX_SECONDS_FROM: u64 = 1_000_000_000;

/// A `X-RateLimit-Reset` from this number on counts milliseconds: 1973, or the year 5138.
const UNIX_MILLIS_FROM: u64 = 100_000_000_000;

/// Writes the three fields. The reset is a time if `now` is given, and else the seconds left.
pub(super) fn write(
    headers: &mut HeaderMap,
    names: &Names,
    policy: &QuotaPolicy,
    state: &PolicyState<'_>,
    now: Option<SystemTime>,
) {
    let limit = values::integer(state.limit.unwrap_or(policy.quota()));
    values::set_number(headers, names.limit.clone(), limit);
    if let Some(remaining) = state.remaining {
        values::set_number(headers, names.remaining.clone(), values::integer(remaining));
    }
    let reset = state.reset_or_retry_after().map(|wait| match now {
        Some(now) => {
            let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
            values::seconds(since_epoch.saturating_add(wait))
        }
        None => values::seconds(wait),
    });
    if let Some(reset) = reset {
        values::set_number(headers, names.reset.clone(), reset);
    }
}

/// Writes the third draft, whose `RateLimit-Limit` also has the policies.
pub(super) fn write_draft3(
    headers: &mut HeaderMap,
    policies: &[QuotaPolicy],
    policy: &QuotaPolicy,
    state: &PolicyState<'_>,
) {
    write(headers, &DRAFT, policy, state, None);
    let mut text = values::buffer();
    let mut list = ListSerializer::with_buffer(&mut text);
    let _ = list.bare_item(values::integer(state.limit.unwrap_or(policy.quota())));
    write_policies(&mut list, policies, NAME);
    values::set_text(headers, DRAFT.limit.clone(), &text);
}

/// Returns the `RateLimit-Policy` of drafts 6 and 7, which has only policies with a window. Empty without one.
pub(super) fn policies(policies: &[QuotaPolicy]) -> String {
    let mut text = values::buffer();
    write_policies(&mut ListSerializer::with_buffer(&mut text), policies, COMMENT);
    text
}

fn write_policies(list: &mut ListSerializer<&mut String>, policies: &[QuotaPolicy], name: &KeyRef) {
    for policy in policies.iter().filter(|policy| policy.is_told()) {
        let Some(window) = policy.window() else { continue };
        let item = list.bare_item(values::integer(policy.quota()));
        let item = item.parameter(WINDOW, values::seconds(window));
        let _ = match policy.name().map(StringRef::from_str) {
            Some(Ok(text)) => item.parameter(name, text).finish(),
            _ => item.finish(),
        };
    }
}

/// Returns the `RateLimit` of the seventh draft, empty if the state does not tell what remains.
pub(super) fn dictionary(policy: &QuotaPolicy, state: &PolicyState<'_>) -> String {
    let mut text = values::buffer();
    let Some(remaining) = state.remaining else { return text };
    let mut dictionary = DictSerializer::with_buffer(&mut text);
    let limit = values::integer(state.limit.unwrap_or(policy.quota()));
    let _ = dictionary.bare_item(LIMIT, limit);
    let _ = dictionary.bare_item(REMAINING, values::integer(remaining));
    // The draft requires a reset. Without one, nothing is known of it.
    let reset = state.reset_or_retry_after().unwrap_or_default();
    let _ = dictionary.bare_item(RESET, values::seconds(reset));
    text
}

/// Parses the three fields. `now` is the time of the response, by the clock of the server if it tells
/// it.
pub(super) fn parse(headers: &HeaderMap, names: &Names, now: SystemTime) -> Option<ServiceLimit> {
    let remaining = first_number(headers, &names.remaining)?;
    let reset = first_number_up(headers, &names.reset);
    let since_epoch = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let reset_after = reset.map(|reset| match reset {
        UNIX_MILLIS_FROM.. => Duration::from_millis(reset).saturating_sub(since_epoch),
        UNIX_SECONDS_FROM.. => Duration::from_secs(reset).saturating_sub(since_epoch),
        seconds => Duration::from_secs(seconds),
    });
    let limit = first_number(headers, &names.limit);
    Some(ServiceLimit { name: None, limit, remaining, reset_after, partition: None })
}

/// Parses the dictionary of the seventh draft.
pub(super) fn parse_dictionary(headers: &HeaderMap) -> Option<ServiceLimit> {
    let members = values::dictionary(headers, &DICTIONARY);
    Some(ServiceLimit {
        name: None,
        limit: values::member(&members, LIMIT.as_str()),
        remaining: values::member(&members, REMAINING.as_str())?,
        reset_after: values::member(&members, RESET.as_str()).map(Duration::from_secs),
        partition: None,
    })
}

/// Returns the policies of drafts 6 and 7.
pub(super) fn parse_policies(headers: &HeaderMap) -> Vec<QuotaPolicy> {
    values::list(headers, &POLICY).iter().filter_map(parse_policy).collect()
}

/// Returns the policies of the third draft, which some servers also send as `X-RateLimit-Limit`.
pub(super) fn parse_draft3_policies(headers: &HeaderMap, names: &Names) -> Vec<QuotaPolicy> {
    values::list(headers, &names.limit).iter().skip(1).filter_map(parse_policy).collect()
}

fn parse_policy(item: &Item) -> Option<QuotaPolicy> {
    let quota = values::number(&item.bare_item)?;
    let window = values::number_parameter(&item.params, WINDOW.as_str()).ok()??;
    if window == 0 {
        return None;
    }
    let policy = QuotaPolicy::new(quota).per(Duration::from_secs(window));
    let name = [NAME, COMMENT].into_iter().find_map(|key| item.params.get(key.as_str()));
    // A name that cannot be one is a comment.
    let named = name.and_then(values::text).and_then(|name| policy.clone().named(name).ok());
    Some(named.unwrap_or(policy))
}

/// Returns the first number of a field.
fn first_number(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    values::number(&values::list(headers, name).first()?.bare_item)
}

/// Returns the first number of a field. A fraction, which some servers send, is rounded up.
fn first_number_up(headers: &HeaderMap, name: &HeaderName) -> Option<u64> {
    match values::list(headers, name).first()?.bare_item {
        BareItem::Decimal(decimal) => {
            let thousandths = u64::try_from(i64::from(decimal.as_integer_scaled_1000())).ok()?;
            Some(thousandths.div_ceil(1_000))
        }
        ref value => values::number(value),
    }
}
