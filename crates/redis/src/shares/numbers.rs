//! The buckets, and their numbers for the script.

use sluicegate::share::{Share, Shares};
use sluicegate::{ManualClock, Quota};

use crate::error::LimitError;
use crate::limit::RedisLimit;

/// The buckets, and their numbers for the script.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    pub(super) quota: Quota,
    pub(super) common: RedisLimit,
    /// The permits that borrowers leave: the sum of all assured bursts.
    pub(super) kept: u64,
    pub(super) groups: Box<[Group]>,
}

impl Numbers {
    /// Checks the shares, and computes the numbers.
    pub(super) fn new(quota: Quota, shares: &[Share]) -> Result<Numbers, LimitError> {
        // The engine checks them.
        Shares::<u64, _>::with_clock(quota, shares.iter().copied(), &ManualClock::new())?;
        let groups = shares.iter().enumerate().map(|(index, &share)| Group::new(index, share));
        Ok(Numbers {
            quota,
            common: RedisLimit::token_bucket(indebted(quota)?)?,
            kept: Share::sum_of_bursts(shares),
            groups: groups.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the most permits that a tenant can be granted at once.
    pub(super) fn largest(&self, group: Option<&Group>) -> u64 {
        let lent = self.common.limit() - self.kept;
        let Some(group) = group else { return lent };
        let own = group.assured.limit();
        let most = group.ceiling.as_ref().map_or(lent, |ceiling| lent.min(ceiling.limit() - own));
        most.max(own)
    }
}

/// Tenants with equal shares.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub(super) share: Share,
    /// The name in keys.
    pub(super) name: String,
    /// The number of tenants that have a place at a time; `None` if each has its own.
    pub(super) places: Option<u64>,
    pub(super) assured: RedisLimit,
    pub(super) ceiling: Option<RedisLimit>,
}

impl Group {
    fn new(index: usize, share: Share) -> Result<Group, LimitError> {
        let (name, places) = (index.to_string(), Some(share.tenants() as u64));
        let assured = RedisLimit::token_bucket(share.assured().with_max_debt(0)?)?;
        let ceiling = share.ceiling().map(|quota| RedisLimit::token_bucket(indebted(quota)?));
        Ok(Group { share, name, places, assured, ceiling: ceiling.transpose()? })
    }
}

/// Returns `quota` with the debt that lost keys may leave.
fn indebted(quota: Quota) -> Result<Quota, LimitError> {
    Ok(quota.with_max_debt(quota.burst().min(Quota::MAX_DEBT))?)
}
