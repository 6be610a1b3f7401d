//! The number that is searched for: the limit of a limiter, or the rate of a bucket at its burst.
//!
//! A rate is so many permits in the policy's interval, which stays, as the burst does. A key that a rate
//! leaves untouched is untouched by any higher one: as long as nothing is denied, a bucket has at no time
//! fewer tokens. But the least rate of a key follows from the densest of all stretches of its requests, so
//! it is searched for.

use serde::Serialize;
use sluicegate::{Quota, Rate, Refill};

use super::Share;
use super::dial::{self, Method};
use crate::policy::{Cost, Kind, Rule};

/// The number that is searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Serialize)]
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
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields so")]
    pub(crate) fn is_limit(&self) -> bool {
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
