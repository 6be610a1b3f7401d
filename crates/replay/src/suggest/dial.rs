//! The number of a limiter that is searched for, and whether it can be computed.
//!
//! A key is untouched by a limit if none of its requests is denied. As long as none is, the state of
//! most limiters does not depend on their limit: a window counts the same requests, a bucket owes the
//! same tokens. The least limit of a key is then the highest level that it ever reaches, which one
//! reading of the log tells. In some kinds the limit changes more than the comparison: for those, it is
//! searched for.

use std::time::Duration;

use sluicegate::{Rate, Refill};

use super::Share;
use crate::policy::{Cost, Kind, Rule};

/// The way in which the least limit of a key is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// By the level of the engine's limiter, with the highest limit that it can have.
    Level,
    /// By the requests of the last interval.
    Log,
    /// By replaying limits.
    Search,
}

/// A part of a limiter that has one limit.
pub(super) struct Part {
    /// Its description, if there are several.
    pub(super) name: Option<String>,
    /// The way to its fields among those of the limiter, with a point at its end; empty for the limiter itself.
    pub(super) place: String,
    pub(super) kind: Kind,
}

/// Returns the parts of a limiter that have one limit each.
pub(super) fn parts(kind: &Kind) -> Vec<Part> {
    match kind {
        Kind::MultiWindow { limits, slots } => {
            let names = kind.parts().into_iter().map(|name| (limits.len() > 1).then_some(name));
            let part = |(place, (name, limit)): (usize, (_, &Rate))| Part {
                name,
                place: format!("limits.{place}."),
                kind: Kind::MultiWindow { limits: vec![*limit], slots: *slots },
            };
            names.zip(limits).enumerate().map(part).collect()
        }
        Kind::All(of) => {
            let inner = |(place, part): (usize, &Kind)| {
                let of_part = move |inner: Part| Part {
                    name: inner.name.or_else(|| Some(part.to_string())),
                    place: format!("of.{place}.{}", inner.place),
                    kind: inner.kind,
                };
                parts(part).into_iter().map(of_part).collect::<Vec<_>>()
            };
            of.iter().enumerate().flat_map(inner).collect()
        }
        _ => vec![Part { name: None, place: String::new(), kind: kind.clone() }],
    }
}

/// Returns the limit of a limiter, or why it has none that could be searched for.
pub(super) fn limit(kind: &Kind) -> Result<u64, &'static str> {
    Ok(match kind {
        Kind::LeakyMinInterval(_) => {
            return Err("a minimum interval has no limit; a `gcra` of the same interval has one");
        }
        Kind::Budget { .. } => {
            return Err("a budget has an amount for each day; a `calendar_window` has one limit");
        }
        Kind::All(_) => return Err("its parts have limits of their own"),
        Kind::Shares { .. } | Kind::Priorities { .. } => {
            return Err("its limit is for all keys together; `replay` tells what each gets of it");
        }
        _ => kind.window().map_or_else(|| kind.most_at_once(), Rate::permits),
    })
}

/// Returns the same limiter with another limit. `None` if it has none, or cannot have this one.
///
/// Rates and intervals stay: the limit of a bucket is its burst, and that of a GCRA the number of
/// requests at once. A bucket that starts full still does, and a log that remembers as many lines as its limit.
pub(super) fn with_limit(kind: &Kind, limit: u64) -> Option<Kind> {
    let rate = |of: &Rate| Rate::new(limit, of.period()).ok();
    Some(match kind {
        Kind::Gcra { interval, .. } => {
            let nanos = interval.as_nanos().checked_mul(u128::from(limit.checked_sub(1)?))?;
            let tolerance = Duration::from_nanos(u64::try_from(nanos).ok()?);
            Kind::Gcra { interval: *interval, tolerance }
        }
        // A capacity that is left out is the limit, and a larger one never matters.
        Kind::WeightedLog { limit: of, capacity } => Kind::WeightedLog {
            limit: rate(of)?,
            capacity: if *capacity >= of.permits() { limit } else { *capacity },
        },
        Kind::MultiWindow { limits, slots } => {
            Kind::MultiWindow { limits: vec![rate(limits.first()?)?], slots: *slots }
        }
        Kind::CalendarWindow { calendar, .. } => {
            Kind::CalendarWindow { limit, calendar: calendar.clone() }
        }
        _ => match kind.quota() {
            Some(quota) => kind.with_quota(quota.with_burst(limit).ok()?)?,
            None => kind.with_window(rate(&kind.window()?)?)?,
        },
    })
}

/// Returns the way in which the least limit of a key of this kind is found.
pub(super) fn method(kind: &Kind) -> Method {
    match kind {
        Kind::TokenBucket { quota, initial }
            if quota.refill() == Refill::Smooth && *initial == quota.burst() =>
        {
            Method::Level
        }
        Kind::LeakyMeter(quota) if quota.refill() == Refill::Smooth => Method::Level,
        Kind::Gcra { .. }
        | Kind::FixedWindow(_)
        | Kind::SlidingWindow { .. }
        | Kind::SlidingCounter(_)
        | Kind::MultiWindow { .. }
        | Kind::CalendarWindow { .. } => Method::Level,
        Kind::SlidingLog(_) => Method::Log,
        // What a bucket starts with may be less than its limit, and its periods are whole; these
        // windows last longer the higher the limit is; a log also denies for want of places.
        _ => Method::Search,
    }
}

/// Returns true if a higher limit never hits more keys, or never denies more requests.
///
/// For keys that holds wherever their least limit can be computed. For requests it holds for those of one
/// permit in buckets, logs and windows that count exactly: each grants as many as can be granted. It
/// does not if a higher limit lets a request through that takes the place of several smaller ones, or
/// if what was granted is counted in steps or estimated.
pub(super) fn is_monotone(rule: &Rule, of: Share) -> bool {
    let is_computed = method(&rule.kind) != Method::Search;
    let is_exact = match rule.kind {
        Kind::SlidingCounter(_) | Kind::SlidingWindow { .. } | Kind::MultiWindow { .. } => false,
        _ => is_computed,
    };
    let takes_one = rule.cost == Cost(sluicegate_policy::Cost::Permits(1));
    match of {
        Share::Keys => is_computed,
        Share::Requests => is_exact && takes_one,
    }
}
