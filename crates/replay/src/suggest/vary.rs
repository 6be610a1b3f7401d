//! The number that is searched for: the limit of a limiter, or the rate of a bucket at its burst.
//!
//! A rate is so many permits in the policy's interval, which stays, as the burst does. A key that a rate
//! leaves untouched is untouched by any higher one: as long as nothing is denied, a bucket has at no time
//! fewer tokens. But the least rate of a key follows from the densest of all stretches of its requests, so
//! it is searched for.

use std::sync::Arc;

use serde::Serialize;
use sluicegate::{ManualClock, Quota, Rate, Refill};
use sluicegate_policy::NewValue;

use super::Share;
use super::dial::{self, Method};
use crate::policy::{Cost, Kind, Rule};

/// The highest limit of a log that is tried, whose memory grows with it.
const MAX_LOG_LIMIT: u64 = 1 << 24;

/// The number that is searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Vary {
    /// The limit: of a bucket its burst
    #[default]
    Limit,
    /// The rate of a bucket, in permits per its interval; the burst stays
    Rate,
}

impl Vary {
    /// Returns true if it is the limit.
    #[must_use]
    pub fn is_limit(&self) -> bool {
        *self == Vary::Limit
    }

    /// Returns the number of a limiter, or why it has none that could be searched for.
    pub(super) fn of(self, kind: &Kind) -> Result<u64, &'static str> {
        match (self, kind) {
            (Vary::Limit, _) => dial::limit(kind),
            (Vary::Rate, Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota)) => {
                Ok(quota.rate().permits())
            }
            (Vary::Rate, Kind::All(_)) => Err("its parts have rates of their own"),
            (Vary::Rate, _) => Err(
                "only token buckets and meters have a rate beside their burst; search for the limit",
            ),
        }
    }

    /// Returns the fields of a limiter whose number was chosen, with their values. True stands beside those that
    /// are written even if a policy leaves them out.
    pub(super) fn fields(self, kind: &Kind) -> Vec<(&'static str, NewValue, bool)> {
        let whole = |field, number| (field, NewValue::Whole(number), true);
        match (self, kind) {
            (Vary::Rate, Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota)) => {
                vec![whole("rate.amount", quota.rate().permits())]
            }
            (Vary::Limit, Kind::TokenBucket { quota, initial }) => {
                let is_told = *initial != quota.burst();
                vec![whole("limit", quota.burst()), ("initial", NewValue::Whole(*initial), is_told)]
            }
            (_, Kind::Gcra { tolerance, .. }) => {
                let tolerance = humantime::format_duration(*tolerance).to_string();
                vec![("tolerance", NewValue::Text(tolerance), true)]
            }
            (_, Kind::FixedWindow(limit) | Kind::WindowFromFirst(limit)) => {
                let start = if matches!(kind, Kind::FixedWindow(_)) { "epoch" } else { "first" };
                vec![
                    whole("limit", limit.permits()),
                    ("start", NewValue::Text(start.to_owned()), true),
                ]
            }
            (_, Kind::WeightedLog { limit, capacity }) => {
                let is_told = *capacity != limit.permits();
                vec![
                    whole("limit", limit.permits()),
                    ("capacity", NewValue::Whole(*capacity), is_told),
                ]
            }
            _ => dial::limit(kind).map(|limit| whole("limit", limit)).into_iter().collect(),
        }
    }

    /// Returns the highest number that a limiter of this kind can have.
    pub(super) fn highest(self, kind: &Kind) -> u64 {
        match kind {
            Kind::SlidingLog(_) => return MAX_LOG_LIMIT,
            Kind::WeightedLog { limit, capacity } if *capacity >= limit.permits() => {
                return MAX_LOG_LIMIT - 2;
            }
            _ => {}
        }
        let can_be = |limit| {
            self.with(kind, limit)
                .is_some_and(|kind| kind.limiter(Arc::new(ManualClock::new())).is_ok())
        };
        let (mut good, mut bad) = (0, u64::MAX);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if can_be(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        good
    }

    /// Returns the same limiter with another number. `None` if it has none, or cannot have this one.
    pub(super) fn with(self, kind: &Kind, number: u64) -> Option<Kind> {
        let with_rate = |of: &Quota| {
            let quota = Quota::new(Rate::new(number, of.rate().period()).ok()?);
            let quota = quota.with_refill(of.refill()).with_burst(of.burst()).ok()?;
            quota.with_max_debt(of.max_debt()).ok()
        };
        match (self, kind) {
            (Vary::Limit, _) => dial::with_limit(kind, number),
            (Vary::Rate, Kind::TokenBucket { quota, initial }) => {
                Some(Kind::TokenBucket { quota: with_rate(quota)?, initial: *initial })
            }
            (Vary::Rate, Kind::LeakyMeter(quota)) => Some(Kind::LeakyMeter(with_rate(quota)?)),
            (Vary::Rate, _) => None,
        }
    }

    /// Returns the way in which the least number of a key is found.
    pub(super) fn method(self, kind: &Kind) -> Method {
        match self {
            Vary::Limit => dial::method(kind),
            Vary::Rate => Method::Search,
        }
    }

    /// Returns true if a higher number never hits more keys, or never denies more requests.
    ///
    /// Buckets that refill smoothly grant as many requests of one permit as can be granted, and a higher
    /// rate leaves every choice of them possible.
    pub(super) fn is_monotone(self, rule: &Rule, of: Share) -> bool {
        let (Vary::Rate, Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota)) =
            (self, &rule.kind)
        else {
            return dial::is_monotone(rule, of);
        };
        let takes_one = rule.cost == Cost(sluicegate_policy::Cost::Permits(1));
        match of {
            Share::Keys => true,
            Share::Requests => takes_one && quota.refill() == Refill::Smooth,
        }
    }

    /// Returns the interval of a rate in words.
    pub(super) fn interval(self, kind: &Kind) -> Option<String> {
        match (self, kind) {
            (Vary::Rate, Kind::TokenBucket { quota, .. } | Kind::LeakyMeter(quota)) => {
                Some(humantime::format_duration(quota.rate().period()).to_string())
            }
            _ => None,
        }
    }

    /// Returns true if no number at all hits a key of so many permits.
    pub(super) fn is_never_hit(self, kind: &Kind, permits: u64) -> bool {
        match (self, kind) {
            (Vary::Rate, Kind::TokenBucket { initial, .. }) => permits <= *initial,
            (Vary::Rate, Kind::LeakyMeter(quota)) => permits <= quota.burst(),
            _ => false,
        }
    }
}
