//! A line that is divided among tenants. The one that is not has no more than the question whether it is.

use alloc::boxed::Box;
use core::iter::successors;

use crate::wait::lane::Lane;
use crate::wait::line_weights::LineWeights;

use super::by_tenant::ByTenant;
use super::{Order, Place};

impl Order {
    /// Divides the line by `weights`, which have been checked. Those that stand there already are strangers, unless the
    /// line was divided before.
    pub(crate) fn divide(&mut self, weights: LineWeights) {
        if let Some(by_tenant) = &mut self.by_tenant {
            return by_tenant.reweigh(weights);
        }
        let mut by_tenant = Box::new(ByTenant::new(weights));
        for place in successors(self.first, |place| self.nodes[place.index()].after) {
            by_tenant.stand(place, self.nodes[place.index()].permits, Lane::default());
        }
        self.by_tenant = Some(by_tenant);
    }

    /// Returns whether the line is divided among tenants.
    pub(crate) fn is_divided(&self) -> bool {
        self.by_tenant.is_some()
    }

    /// Puts a caller that was pushed into its lane, if the line is divided.
    pub(crate) fn stand_in(&mut self, lane: Lane, place: Place) {
        let permits = self.permits_of(place);
        if let Some(by_tenant) = &mut self.by_tenant {
            by_tenant.stand(place, permits, lane);
        }
    }

    /// Takes back the charge of `permits` that a caller of `lane` was granted and not told of.
    pub(crate) fn refund(&mut self, lane: Lane, permits: u64) {
        if let Some(by_tenant) = &mut self.by_tenant {
            by_tenant.refund(lane, permits);
        }
    }

    /// Returns whether the tenant of a lane may have one more caller in line.
    pub(crate) fn admits(&self, lane: Lane) -> bool {
        self.by_tenant.as_ref().is_none_or(|by_tenant| by_tenant.admits(lane))
    }

    /// Number of callers in line of the tenant of a lane; of all, if the line is not divided.
    pub(crate) fn waiters_of(&self, lane: Lane) -> usize {
        self.by_tenant.as_ref().map_or(self.count, |by_tenant| by_tenant.waiters_of(lane))
    }

    /// Returns the caller that makes room for one of `lane`.
    pub(crate) fn evictee(&self, lane: Lane) -> Option<Place> {
        match &self.by_tenant {
            Some(by_tenant) => by_tenant.evictee(lane),
            None => self.first,
        }
    }
}
