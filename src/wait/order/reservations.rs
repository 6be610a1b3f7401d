//! Reservations among the callers in line: they have no timer and no waker, and keep the instant that
//! they were told.

use alloc::collections::VecDeque;

use super::{KEPT, NodeStanding, Order, OutcomeKey, Place};
use crate::wait::charged::Charged;

impl Order {
    /// Puts a reservation at the end of the line, which has a place for it.
    pub(crate) fn push_reserved(&mut self, permits: u64, told_nanos: u64) -> Place {
        let standing = NodeStanding::Reserved { is_held: true };
        let place = self.insert(permits, told_nanos, u64::MAX, standing);
        let is_first = self.reserved.is_empty();
        let first_nanos = if is_first { told_nanos } else { self.first_told_nanos.min(told_nanos) };
        self.first_told_nanos = first_nanos;
        self.reserved.push_back(place);
        place
    }

    /// Returns the instant that a reservation was told.
    pub(crate) fn told_of(&self, place: Place) -> u64 {
        self.nodes[place.index()].due_nanos
    }

    /// Returns the instant that the first reservation in line was told.
    pub(crate) fn first_told(&self) -> Option<u64> {
        self.reserved.front().map(|place| self.told_of(*place))
    }

    /// Returns an instant no later than the first that any reservation in line was told; the last instant of
    /// the clock if there is none.
    pub(crate) fn next_told(&self) -> u64 {
        if self.has_reserved() { self.first_told_nanos } else { u64::MAX }
    }

    pub(crate) fn has_reserved(&self) -> bool {
        !self.reserved.is_empty()
    }

    /// Returns the reservation that is to be charged next at `now_nanos`: one whose instant has come, or
    /// else one with nobody ahead of it.
    pub(crate) fn due_reserved(&mut self, now_nanos: u64) -> Option<Place> {
        let front = *self.reserved.front()?;
        if self.first_told_nanos <= now_nanos {
            let told = |place: &Place| self.nodes[place.index()].due_nanos;
            if let Some(place) = self.reserved.iter().find(|place| told(place) <= now_nanos) {
                return Some(*place);
            }
            self.first_told_nanos = self.reserved.iter().map(told).min().unwrap_or(u64::MAX);
        }
        (self.first == Some(front)).then_some(front)
    }

    /// Takes a reservation out of the line that was charged.
    pub(crate) fn note_charge(&mut self, place: Place, charged: Charged) {
        let is_held = matches!(self.node(place).standing, NodeStanding::Reserved { is_held: true });
        // Those behind it are as far from the front as before, less what it wanted.
        self.withdraw(place);
        if is_held {
            let charge = OutcomeKey(self.charges.insert(charged) as u32);
            self.node(place).standing = NodeStanding::Charged(charge);
        } else {
            self.forget(place);
        }
    }

    /// Forgets who holds a reservation. It keeps its place.
    pub(crate) fn release_reserved(&mut self, place: Place) {
        match self.node(place).standing {
            NodeStanding::Reserved { .. } => {
                self.node(place).standing = NodeStanding::Reserved { is_held: false };
            }
            _ => drop(self.take_charge(place)),
        }
    }

    /// Takes back a reservation: out of the line, or with what was charged for it.
    pub(crate) fn take_reserved(&mut self, place: Place) -> Option<Charged> {
        let charged = self.take_charge(place);
        if charged.is_none() {
            drop(self.leave(place));
        }
        charged
    }

    /// Takes a reservation off the list of those in line. Usually it is the first.
    pub(super) fn forget_reserved(&mut self, place: Place) {
        if self.reserved.front() == Some(&place) {
            self.reserved.pop_front();
        } else {
            self.reserved.retain(|other| *other != place);
        }
        if self.reserved.is_empty() && self.reserved.capacity() > KEPT {
            self.reserved = VecDeque::new();
        }
    }

    fn take_charge(&mut self, place: Place) -> Option<Charged> {
        let NodeStanding::Charged(charge) = self.node(place).standing else { return None };
        self.forget(place);
        let charged = self.charges.remove(charge.0 as usize);
        if self.charges.is_empty() {
            self.charges.shrink_to_fit();
        }
        Some(charged)
    }
}
