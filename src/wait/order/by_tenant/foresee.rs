//! Forecasts for a line by tenants: how many permits are likely to be granted up to a caller, how many
//! are for certain; and the caller that makes room in a full line.

use crate::wait::lane::Lane;

use super::{ByTenant, Place, STRANGERS, Step};

impl ByTenant {
    /// Permits that are likely to be granted up to a caller, its own among them, if nobody comes and nobody leaves; at most
    /// `all`, which is what all in line want. An estimate: as if all that are in line stayed there until then.
    pub(in crate::wait::order) fn permits_up_to(&self, place: Place, all: u64) -> u64 {
        let Step { slot, lane, permits, .. } = self.steps[place.index()];
        if self.first == Some(place) {
            return permits;
        }
        let slot = &self.slots[slot];
        let in_lane = self.in_lane_up_to(place);
        let lanes = slot.lanes.iter().zip(self.weights.priorities);
        let taken = lanes.filter(|(lane, _)| lane.first.is_some());
        let sum = taken.map(|(_, weight)| u64::from(weight)).sum();
        let weight = self.weights.priorities[lane.priority as usize];
        let of_tenant = times(in_lane, sum, weight).min(slot.permits).max(in_lane);
        times(of_tenant, self.weight, slot.weight).min(all).max(of_tenant)
    }

    /// Permits that are granted up to a caller whatever others come, if nobody leaves: of its lane, and of the
    /// first in line.
    pub(in crate::wait::order) fn certain_up_to(&self, place: Place) -> u64 {
        let of = |place: Place| self.steps[place.index()];
        let is_other = |first: &Place| {
            (of(*first).slot, of(*first).lane.priority) != (of(place).slot, of(place).lane.priority)
        };
        let first = self.first.filter(is_other).map_or(0, |first| of(first).permits);
        self.in_lane_up_to(place).saturating_add(first)
    }

    fn in_lane_up_to(&self, place: Place) -> u64 {
        let Step { slot, lane, end, .. } = self.steps[place.index()];
        let first = self.slots[slot].lanes[lane.priority as usize].first;
        let start = first.map_or(end, |first| {
            let first = &self.steps[first.index()];
            first.end.wrapping_sub(first.permits)
        });
        end.wrapping_sub(start)
    }

    /// Number of callers in line of the tenant of a lane.
    pub(in crate::wait::order) fn waiters_of(&self, lane: Lane) -> usize {
        match lane.tenant {
            Some(tenant) => match self.known.get(&tenant) {
                Some(index) => self.slots[*index].waiters,
                None => self.strangers.get(&tenant).copied().unwrap_or(0),
            },
            None => self.slots[STRANGERS].waiters,
        }
    }

    /// Returns whether the tenant of a lane may have one more caller in line.
    pub(in crate::wait::order) fn admits(&self, lane: Lane) -> bool {
        let waiters = match lane.tenant {
            Some(tenant) if self.finds_place(tenant) => self.waiters_of(lane),
            _ => self.slots[STRANGERS].waiters,
        };
        waiters < self.weights.max_waiters_each
    }

    /// Returns whether a tenant has a place of its own, or would find one.
    pub(super) fn finds_place(&self, tenant: u64) -> bool {
        self.known.contains_key(&tenant)
            || !self.strangers.contains_key(&tenant)
                && (self.unnamed < self.weights.tenants
                    || self.weights.own_weight(tenant).is_some())
    }

    /// Returns the caller that makes room for one of `lane`: the oldest of the least important of its tenant, if that has as
    /// many callers as it may; or else of the tenant that has the most permits in line for its weight.
    pub(in crate::wait::order) fn evictee(&self, lane: Lane) -> Option<Place> {
        let index = if self.admits(lane) {
            let weighty = self.in_line.iter().map(|&(_, _, index)| index).max_by(|one, other| {
                let [one, other] = [one, other].map(|index| &self.slots[*index]);
                let product = |permits: u64, weight: u32| u128::from(permits) * u128::from(weight);
                product(one.permits, other.weight).cmp(&product(other.permits, one.weight))
            });
            weighty?
        } else {
            self.known_slot(lane)
        };
        self.slots[index].lanes.iter().rev().find_map(|lane| lane.first)
    }

    /// Returns the slot that a tenant has, or that of the strangers.
    fn known_slot(&self, lane: Lane) -> usize {
        let known = lane.tenant.and_then(|tenant| self.known.get(&tenant).copied());
        known.unwrap_or(STRANGERS)
    }
}

/// Returns `permits * sum / weight`, rounded up.
fn times(permits: u64, sum: u64, weight: u32) -> u64 {
    let product = u128::from(permits) * u128::from(sum);
    u64::try_from(product.div_ceil(weight.into())).unwrap_or(u64::MAX)
}
