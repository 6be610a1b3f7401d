//! Permits that come back, and changes of the weights.

use alloc::vec::Vec;

use crate::wait::lane::Lane;
use crate::wait::line_weights::LineWeights;

use super::{ByTenant, STRANGERS, is_unnamed};

impl ByTenant {
    /// Takes back the charge of `permits` that the caller of a lane was granted and not told of. A tenant without a
    /// place that has nobody in line is not known any more: what it was charged stays with the strangers.
    pub(in crate::wait::order) fn refund(&mut self, lane: Lane, permits: u64) {
        let index = match lane.tenant {
            Some(tenant) if !self.strangers.contains_key(&tenant) => {
                let Some(index) = self.known.get(&tenant) else { return };
                *index
            }
            _ => STRANGERS,
        };
        self.turns += 1;
        let slot = &mut self.slots[index];
        let is_in_line = slot.waiters > 0;
        let ranks = if is_in_line { &mut self.in_line } else { &mut self.ahead };
        ranks.remove(&slot.rank(index));
        slot.pace = slot.pace.minus(permits).max(self.now.rounded_up(slot.weight));
        slot.turn = self.turns;
        if is_in_line {
            let weight = self.weights.priorities[lane.priority as usize];
            let state = &mut slot.lanes[lane.priority as usize];
            state.pace = state.pace.minus(permits).max(slot.now.rounded_up(weight));
            ranks.insert(slot.rank(index));
        } else {
            self.keep_if_ahead(index);
        }
    }

    /// Changes the weights. Nobody loses a place, and no pace falls.
    pub(in crate::wait::order) fn reweigh(&mut self, weights: LineWeights) {
        self.weights = weights;
        (self.weight, self.unnamed) = (0, 0);
        self.in_line.clear();
        self.ahead.clear();
        let mut gone = Vec::new();
        for (index, slot) in &mut self.slots {
            slot.weight = self.weights.weight_of(slot.tenant);
            slot.pace = slot.pace.rounded_up(slot.weight);
            for (lane, weight) in slot.lanes.iter_mut().zip(self.weights.priorities) {
                lane.pace = lane.pace.rounded_up(weight);
            }
            self.unnamed += usize::from(is_unnamed(&self.weights, slot.tenant));
            if slot.waiters > 0 {
                self.weight += u64::from(slot.weight);
                self.in_line.insert(slot.rank(index));
            } else {
                gone.push(index);
            }
        }
        for index in gone {
            self.keep_if_ahead(index);
        }
        self.choose();
    }
}
