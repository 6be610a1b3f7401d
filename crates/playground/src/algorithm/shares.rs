//! Shares of tenants: one limiter for all keys, which has to know the key of a request.

use std::sync::Arc;

use sluicegate::share::{Share, ShareGrant, Shares};
use sluicegate::{ConfigError, Denied, Grant, Quota, Refill};
use sluicegate_http::fields::QuotaPolicy;

use super::buckets::smooth;
use super::parameter::*;
use super::{Algorithm, AnyLimiter, Numbers, SharedClock};
use crate::units::{per_seconds, real};
use crate::wire::Shape;

pub(super) static SHARES: [Algorithm; 1] = [Algorithm {
    id: "shares",
    name: "Shares of tenants",
    summary: "One bucket for all keys. Each tenant has an equal part of the rate for sure; what it leaves idle is lent to the others, and nobody pays it back.",
    good_for: "tenants of one service: nobody starves, and nothing stands idle",
    bad_for: "callers that have nothing to share",
    parameters: &[SHARED_BURST, REFILL.by_default(4.0), PERIOD, TENANTS],
    limiter: |numbers, clock| {
        let (quota, share) = terms(numbers)?;
        let shares = Shares::with_clock(quota, [share], Arc::clone(&clock))?;
        Ok(AnyLimiter::Shares(Box::new(KeyShares { shares })))
    },
    policies: |numbers| numbers.quota(Refill::Smooth).map(QuotaPolicy::from).into_iter().collect(),
}];

/// A bucket for all keys, and a share for each of some.
#[derive(Debug)]
pub(crate) struct KeyShares {
    shares: Shares<String, SharedClock>,
}

impl KeyShares {
    pub(crate) fn try_acquire(&self, key: &str, permits: u64) -> Result<ShareGrant, Denied> {
        self.shares.try_acquire(0, key, permits)
    }

    /// Changes the numbers in place, and returns true; or returns false if there are to be other tenants.
    pub(super) fn reconfigure(&self, numbers: &Numbers) -> bool {
        let changed = |(quota, share)| self.shares.reconfigure(quota, [share]);
        terms(numbers).and_then(changed).is_ok()
    }

    /// Returns the state of the bucket for all.
    pub(super) fn common(&self, now_nanos: u64) -> Shape {
        // Nobody is in this group, so the answer is of the common bucket. Asking for no permits changes nothing.
        shape(self.shares.peek(usize::MAX, "", 0), self.shares.quota(), now_nanos)
    }

    /// Returns the state of the share of a key.
    pub(crate) fn share(&self, key: &str, now_nanos: u64) -> Shape {
        let Some(share) = self.shares.share(0) else { return Shape::empty() };
        match self.shares.peek(0, key, 0) {
            Ok(ShareGrant::Borrowed(_)) => Shape::empty(),
            peeked => shape(peeked, share.assured(), now_nanos),
        }
    }
}

fn shape(peeked: Result<ShareGrant, Denied>, quota: Quota, now_nanos: u64) -> Shape {
    let Ok(grant) = peeked.map(Grant::from) else { return Shape::empty() };
    smooth(&grant, real(quota.burst()), per_seconds(quota.rate()), now_nanos)
}

/// Returns the quota for all, and the share of each tenant: all of the rate is assured, and half of the burst.
fn terms(numbers: &Numbers) -> Result<(Quota, Share), ConfigError> {
    let quota = numbers.quota(Refill::Smooth)?;
    let tenants = numbers.permits("tenants") as usize;
    let shares = Share::by_weight(quota, [(1, tenants)])?;
    Ok((quota, shares[0]))
}
