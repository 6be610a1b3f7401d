//! The fields of a response, as a client reads them.

use std::time::{Duration, SystemTime};

use http::HeaderMap;

use super::named_items;
use super::policy::QuotaPolicy;
use super::retry_after::{MAX_WAIT, parse_retry_after, sent};
use super::service_limit::ServiceLimit;
use super::single_limit::{self, DRAFT, LEGACY, LEGACY_WITH_DASH};

/// The limits that a response tells, in whichever version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResponseFields {
    /// The policies that the server advertises.
    pub policies: Vec<QuotaPolicy>,
    /// The state of some of them.
    pub limits: Vec<ServiceLimit>,
    /// The wait of `Retry-After`.
    pub retry_after: Option<Duration>,
}

impl ResponseFields {
    /// Parses the fields of a response. `received` is the time at which the client got it: times in
    /// `Retry-After` and `X-RateLimit-Reset` are compared with `Date`, or without one with that.
    ///
    /// If a response has fields of several versions, the limits are those of the newest one. Malformed
    /// fields are ignored, as the drafts require, and so are malformed items and parameters that are not
    /// known. A `X-RateLimit-Reset` from 1,000,000,000 on is a Unix time, and from 100,000,000,000 on one
    /// in milliseconds; below that, it is the seconds left. `X-Rate-Limit-*` is the same as
    /// `X-RateLimit-*`.
    ///
    /// Never panics, and takes memory in proportion to at most
    /// [`MAX_FIELD_BYTES`](super::MAX_FIELD_BYTES) for each field: longer ones are ignored.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use http::HeaderMap;
    /// use sluicegate_http::fields::ResponseFields;
    ///
    /// let mut headers = HeaderMap::new();
    /// headers.insert("ratelimit-policy", r#""hour";q=1000;w=3600, "day";q=5000;w=86400"#.parse().unwrap());
    /// headers.insert("ratelimit", r#""day";r=100;t=36000"#.parse().unwrap());
    /// let fields = ResponseFields::parse(&headers, SystemTime::now());
    /// assert_eq!(fields.policies.len(), 2);
    /// assert_eq!(fields.policy_of(&fields.limits[0]).map(|day| day.quota()), Some(5_000));
    /// assert_eq!(fields.wait(), Duration::ZERO);
    /// ```
    #[must_use]
    pub fn parse(headers: &HeaderMap, received: SystemTime) -> ResponseFields {
        let retry_after = parse_retry_after(headers, received);
        ResponseFields {
            policies: policies(headers),
            limits: limits(headers, received),
            retry_after,
        }
    }

    /// Returns the policy that a limit belongs to: the one with its name, or the only one.
    #[must_use]
    pub fn policy_of(&self, limit: &ServiceLimit) -> Option<&QuotaPolicy> {
        match &limit.name {
            Some(name) => self.policies.iter().find(|policy| policy.name() == Some(name)),
            None if self.policies.len() == 1 => self.policies.first(),
            None => None,
        }
    }

    /// Returns how long a client should wait before it sends another request, at most
    /// [`MAX_WAIT`](super::MAX_WAIT): `Retry-After` if there is one, whatever else the response says;
    /// else the longest wait of the limits that have nothing left; else zero.
    #[must_use]
    pub fn wait(&self) -> Duration {
        let exhausted = self.limits.iter().filter(|limit| limit.remaining == 0);
        let reset = || exhausted.filter_map(|limit| limit.reset_after).max();
        self.retry_after.or_else(reset).unwrap_or_default().min(MAX_WAIT)
    }
}

fn policies(headers: &HeaderMap) -> Vec<QuotaPolicy> {
    let sources: [fn(&HeaderMap) -> Vec<QuotaPolicy>; 4] = [
        named_items::parse_policies,
        single_limit::parse_policies,
        |headers| single_limit::parse_draft3_policies(headers, &DRAFT),
        |headers| single_limit::parse_draft3_policies(headers, &LEGACY),
    ];
    let found = sources.into_iter().map(|parse| parse(headers));
    found.into_iter().find(|policies| !policies.is_empty()).unwrap_or_default()
}

fn limits(headers: &HeaderMap, received: SystemTime) -> Vec<ServiceLimit> {
    let named = named_items::parse_limits(headers);
    if !named.is_empty() {
        return named;
    }
    let now = sent(headers, received);
    let single = single_limit::parse_dictionary(headers).or_else(|| {
        let triples = [&DRAFT, &LEGACY, &LEGACY_WITH_DASH];
        triples.iter().find_map(|names| single_limit::parse(headers, names, now))
    });
    single.into_iter().collect()
}
