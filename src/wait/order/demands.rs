//! The permits that those in line want, up to a caller or behind some of them.

use core::iter::{from_fn, once, successors};

use crate::wait::limits::LineLimits;

use super::{Demand, Order, Place};

impl Order {
    /// Permits wanted by all up to `place`: an estimate, if the line is divided.
    pub(crate) fn permits_up_to(&self, place: Place) -> u64 {
        if let Some(by_tenant) = &self.by_tenant {
            return by_tenant.permits_up_to(place, self.permits);
        }
        let start = self.first.map_or(self.end, |first| {
            let first = &self.nodes[first.index()];
            first.end.wrapping_sub(first.permits)
        });
        self.nodes[place.index()].end.wrapping_sub(start)
    }

    /// Permits that are granted up to `place` for certain, if nobody leaves.
    pub(crate) fn certain_up_to(&self, place: Place) -> u64 {
        match &self.by_tenant {
            Some(by_tenant) => by_tenant.certain_up_to(place),
            None => self.permits_up_to(place),
        }
    }

    /// Returns those in line, in order.
    pub(crate) fn demands(&self) -> impl Iterator<Item = Demand> + '_ {
        successors(self.first, |place| self.nodes[place.index()].after)
            .map(|place| self.nodes[place.index()].demand())
    }

    /// Returns those in line up to `place`, in order.
    pub(crate) fn demands_up_to(&self, place: Place) -> impl Iterator<Item = Demand> + '_ {
        let mut next = self.first;
        from_fn(move || {
            let present = next?;
            let node = &self.nodes[present.index()];
            next = if present == place { None } else { node.after };
            Some(node.demand())
        })
    }

    /// Returns the oldest in a divided line, as many as are likely to have their turns before `place`, and then the one
    /// at `place`.
    pub(crate) fn demands_likely_up_to(&self, place: Place) -> impl Iterator<Item = Demand> + '_ {
        let mut ahead = self.permits_up_to(place).saturating_sub(self.permits_of(place));
        successors(self.first, |place| self.nodes[place.index()].after)
            .filter(move |other| *other != place)
            .map_while(move |other| {
                let demand = self.nodes[other.index()].demand();
                ahead = ahead.checked_sub(demand.permits)?;
                Some(demand)
            })
            .chain(once(self.nodes[place.index()].demand()))
    }

    /// Returns those in line without the `left` oldest callers, in order.
    pub(crate) fn demands_behind(&self, left: usize) -> impl Iterator<Item = Demand> + '_ {
        let mut left = left;
        self.demands().filter(move |demand| {
            let leaves = left > 0 && demand.told_nanos.is_none();
            left -= usize::from(leaves);
            !leaves
        })
    }

    /// Permits wanted by all in line without the `left` oldest callers.
    pub(crate) fn permits_behind(&self, left: usize) -> u64 {
        match left {
            0 => self.permits,
            _ => {
                self.demands_behind(left).fold(0, |sum, demand| sum.saturating_add(demand.permits))
            }
        }
    }

    /// Number of the oldest callers that have to leave until there is room for one with `more`. A
    /// reservation is not in the way of anybody once nobody waits ahead of it.
    pub(crate) fn oldest_that_leave(&self, limits: LineLimits, more: u64) -> usize {
        let (mut gone, mut permits, mut left) = (0, self.permits, 0);
        for demand in self.demands() {
            if demand.told_nanos.is_none() {
                if limits.admit(self.count - gone, permits, more) {
                    break;
                }
                left += 1;
            }
            gone += 1;
            permits = permits.saturating_sub(demand.permits);
        }
        left
    }
}
