//! The weights of a line that is divided among tenants.

use core::hash::Hash;
use std::collections::HashMap;

use crate::config::error::ConfigError;

use super::lane::{PRIORITIES, fingerprint};

/// The weights by which the line of a [`Queued`](crate::wait::Queued) is divided among tenants, and the callers of
/// a tenant among priorities.
///
/// | part | default | range |
/// |---|---|---|
/// | [places](LineWeights::new) for tenants without a weight of their own | | any number |
/// | [weight](LineWeights::weight) of a tenant | the default weight | 1 to 2^32 - 1 |
/// | [default weight](LineWeights::default_weight) | 1 | 1 to 2^32 - 1 |
/// | [priorities](LineWeights::priorities): high, normal, low | 16, 4, 1 | 1 to 2^32 - 1 each |
/// | [callers of a tenant in line](LineWeights::max_waiters_each) | no bound | any number; with 0 nobody waits |
///
/// A tenant needs a place while it has callers in line, and for as long after that as it is ahead of the others.
/// One that finds no place shares that of the *strangers* with all others that find none, and with callers that
/// name no tenant; it has the default weight. So memory is bounded, and tenants that are made up cannot push
/// others aside. A tenant with a weight of its own has a place of its own, always.
///
/// # Examples
///
/// ```
/// use sluicegate::wait::LineWeights;
///
/// // Up to 1,000 tenants that count alike, and one that counts as five of them.
/// let weights = LineWeights::new(1_000).weight("acme", 5).max_waiters_each(100);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineWeights {
    pub(crate) tenants: usize,
    default_weight: u32,
    /// By fingerprint.
    named: HashMap<u64, u32>,
    pub(crate) priorities: [u32; PRIORITIES],
    pub(crate) max_waiters_each: usize,
}

impl LineWeights {
    /// Returns weights with places for so many `tenants` at a time, besides tenants with a weight of their own.
    /// With 0 places, all tenants without one are strangers.
    #[must_use]
    pub fn new(tenants: usize) -> LineWeights {
        LineWeights {
            tenants,
            default_weight: 1,
            named: HashMap::new(),
            priorities: [16, 4, 1],
            max_waiters_each: usize::MAX,
        }
    }

    /// Gives `tenant` a weight of its own, and a place. Of several weights for one tenant the last counts.
    ///
    /// Tenants are known by a hash of 64 bits, as by [`Queued::tenant`](crate::wait::Queued::tenant).
    #[must_use]
    pub fn weight<T: Hash + ?Sized>(mut self, tenant: &T, weight: u32) -> LineWeights {
        self.named.insert(fingerprint(tenant), weight);
        self
    }

    /// Sets the weight of each tenant that has none of its own, and of all strangers together.
    #[must_use]
    pub fn default_weight(self, weight: u32) -> LineWeights {
        LineWeights { default_weight: weight, ..self }
    }

    /// Sets the weights of priorities within each tenant, in the order high, normal, low.
    #[must_use]
    pub fn priorities(self, weights: [u32; PRIORITIES]) -> LineWeights {
        LineWeights { priorities: weights, ..self }
    }

    /// Lets at most `waiters` callers of a tenant stand in line at a time, and as many strangers.
    ///
    /// Beyond that its newest caller is refused, or its oldest evicted, as
    /// [`LineLimits::when_full`](crate::wait::LineLimits::when_full) says. So one tenant cannot fill a line that is bounded.
    /// With 0, nobody waits: a caller is granted its permits at once, or refused.
    #[must_use]
    pub fn max_waiters_each(self, waiters: usize) -> LineWeights {
        LineWeights { max_waiters_each: waiters, ..self }
    }

    /// Gives a tenant a weight by its fingerprint.
    #[cfg(test)]
    pub(crate) fn with_own(mut self, tenant: u64, weight: u32) -> LineWeights {
        self.named.insert(tenant, weight);
        self
    }

    /// Checks that no weight is 0.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let weights = self.named.values().chain(&self.priorities).chain([&self.default_weight]);
        match weights.min() {
            Some(&0) => Err(ConfigError::LineWeight { weight: 0 }),
            _ => Ok(()),
        }
    }

    /// Returns the weight of a tenant that has its own.
    pub(crate) fn own_weight(&self, tenant: u64) -> Option<u32> {
        self.named.get(&tenant).copied()
    }

    pub(crate) fn weight_of(&self, tenant: Option<u64>) -> u32 {
        tenant.and_then(|tenant| self.own_weight(tenant)).unwrap_or(self.default_weight)
    }
}
