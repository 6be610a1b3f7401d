//! Findings of a search, as the JSON report has them.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::{Point, Share, Vary, WHOLE};
use crate::crawlers::Crawlers;
use crate::replay::{Lacking, Profile};

/// Everything that was found out.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// Lines of the logs.
    pub lines: u64,
    /// Lines that could not be read.
    pub skipped: u64,
    /// The number that was searched for. The "limits" of rates are permits per interval.
    #[serde(skip_serializing_if = "Vary::is_limit")]
    pub vary: Vary,
    /// The things of which a share was to be left untouched.
    pub of: Share,
    /// The share, in percent.
    #[serde(serialize_with = "as_percent")]
    pub untouched_percent: u64,
    /// The limiters with one limit, in the order of the policy.
    pub limiters: Vec<Suggestion>,
    /// The limiters with the numbers that were found, as a policy to paste.
    pub policy: String,
    /// Limiters that have no limit which could be searched for.
    pub without: Vec<Without>,
    /// Reasons for which the counts may mislead.
    pub warnings: Vec<String>,
    /// Logs that could not be read to their end.
    pub failures: Vec<String>,
}

impl Findings {
    /// Names the networks of the keys that would have been hit.
    pub fn name_networks(&mut self, crawlers: &Crawlers) {
        let lists =
            self.limiters.iter_mut().flat_map(|limiter| [&mut limiter.hit, &mut limiter.neediest]);
        for key in lists.flatten() {
            if let Some(profile) = &mut key.profile {
                profile.network = crawlers.name_of(&key.key).map(str::to_owned);
            }
        }
    }
}

/// A limiter that has no limit which could be searched for.
#[derive(Debug, Serialize)]
pub struct Without {
    /// Its name in the policy.
    pub name: String,
    /// The reason.
    pub why: Cow<'static, str>,
}

/// The least limit of one limiter.
#[derive(Debug, Serialize)]
pub struct Suggestion {
    /// Its name in the policy, and the part of it.
    pub name: String,
    /// The limiter in words, with its present limit.
    pub policy: String,
    /// Its keys.
    pub keys: u64,
    /// Requests of these.
    pub requests: u64,
    /// The interval of the rates, if rates were searched for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// Its present limit; `None` if it has none that means anything.
    pub present: Option<u64>,
    /// The least limit that leaves the share untouched; `None` if none was found.
    pub suggested: Option<u64>,
    /// The limiter in words, with the suggested limit.
    pub suggested_policy: Option<String>,
    /// The most keys, or requests, that it was allowed to hit; the curve has the number that it hits.
    pub may_hit: u64,
    /// True if a higher limit never denies more, so that no lower limit would do.
    pub is_least: bool,
    /// The widest gap between the least limits of keys, if they were computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    /// Requests of keys with numbers of their own, which are not among the others.
    pub overridden: u64,
    /// The lines that lacked a value, if there were any. Those without a key that are denied or admitted
    /// whatever the limit is are not among the requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacking: Option<Lacking>,
    /// The limit of the curve above which a higher one spares few more keys: the least limit of the gap, if
    /// there is one.
    pub knee: Option<u64>,
    /// True if the key is the client, or the client's network, alone or beside others.
    pub is_by_client: bool,
    /// Limits and what they would have done, in rising order.
    pub curve: Vec<Point>,
    /// The keys that the suggested limit would have hit, the most denied first.
    pub hit: Vec<HitKey>,
    /// The keys that need the highest limits, whether it would have hit them or not; where that is not computed, those
    /// that it would have hit. At most 100, for the page.
    #[serde(skip)]
    pub neediest: Vec<HitKey>,
}

/// Limits that all hit the same few keys: those that are far apart from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// The least of these limits.
    pub from: u64,
    /// The highest.
    pub to: u64,
    /// The keys that each of them hits.
    pub keys_hit: u64,
}

/// A key that the suggested limit would have hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HitKey {
    /// The key's fields, separated by a space.
    pub key: String,
    /// Requests that would have been denied.
    pub denied: u64,
    /// All its requests.
    pub requests: u64,
    /// The least limit that leaves it untouched, if that was computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_limit: Option<u64>,
    /// The user agents and paths of the requests that would have been denied.
    #[serde(rename = "mostly", skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The time of its first request.
    #[serde(serialize_with = "as_text")]
    pub first: Timestamp,
    /// The time of its last request.
    #[serde(serialize_with = "as_text")]
    pub last: Timestamp,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn as_percent<S: Serializer>(parts: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    #[expect(clippy::cast_precision_loss, reason = "at most a million")]
    serializer.serialize_f64(*parts as f64 * 100.0 / WHOLE as f64)
}

fn as_text<S: Serializer>(time: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(time)
}
