//! The limit of a leased limiter, and what its answers look like.

use std::time::Duration;

use sluicegate::penalty::Standing;
use sluicegate::{Denied, Grant};

use super::options::{LeaseError, LeaseOptions};
use crate::limit::RedisLimit;

/// The terms that all keys of a limiter share.
#[derive(Debug)]
pub(crate) struct LeaseTerms {
    /// The limit that the server enforces: the part beside the leases.
    pub(crate) limit: RedisLimit,
    /// The most permits that a key's lease holds here.
    pub(crate) most: u64,
}

impl LeaseTerms {
    pub(crate) fn new(limit: &RedisLimit, options: &LeaseOptions) -> Result<Self, LeaseError> {
        let most = options.split(limit.limit())?.lease;
        Ok(LeaseTerms { limit: limit.beside_leases(options)?, most })
    }

    /// Returns the largest request that may be granted from a lease. Larger ones ask the server on their own.
    pub(crate) fn largest(&self) -> u64 {
        self.most.min(self.limit.limit())
    }

    /// Returns a grant of `permits` that left so many permits, here and on the server.
    pub(super) fn grant(&self, permits: u64, left: u64, reset_after: Duration) -> Grant {
        let limit = self.limit.limit();
        Standing::new(limit, limit - left.min(limit), reset_after).grant(permits)
    }

    /// Returns the server's answer, beside a lease that holds so many permits more.
    pub(super) fn beside(&self, held: u64, answer: Result<Grant, Denied>) -> Result<Grant, Denied> {
        let grant = answer?;
        let left = grant.remaining().saturating_add(held);
        Ok(self.grant(grant.permits(), left, grant.reset_after()))
    }

    /// Returns the answer to a look for `permits`, of which the lease has `held` and the server was asked for the rest.
    pub(super) fn look(
        &self,
        permits: u64,
        held: u64,
        answer: Result<Grant, Denied>,
    ) -> Result<Grant, Denied> {
        match answer {
            Ok(grant) => {
                // What would be left of the lease: the server was asked for what it lacks.
                let left = grant.remaining().saturating_add(held.saturating_sub(permits));
                Ok(self.grant(permits, left, grant.reset_after()))
            }
            Err(denied) => Err(denied),
        }
    }
}
