//! The ways out of the line: granted, refused, or gone.

use alloc::vec::Vec;
use core::task::Waker;

use slab::Slab;

use crate::decision::grant::Grant;
use crate::wait::charged::Charged;
use crate::wait::error::AcquireError;

use super::{KEPT, Node, NodeStanding, Order, Outcome, OutcomeKey, Place};

impl Order {
    /// Takes the first caller out of the line, with a grant that it has yet to be told. Returns
    /// what wakes it.
    pub(crate) fn grant(&mut self, first: Place, grant: Grant, charged: Charged) -> Option<Waker> {
        debug_assert_eq!(self.first(), Some(first));
        if let Some(by_tenant) = &mut self.by_tenant {
            by_tenant.charge(first);
        }
        self.unlink(first);
        let deadline_nanos = self.deadline_of(first);
        self.note(first, Outcome::Granted { grant, charged, deadline_nanos })
    }

    /// Returns the outcome of a caller and forgets the caller; `None` if it still stands in line.
    pub(crate) fn take_outcome(&mut self, place: Place) -> Option<Outcome> {
        let NodeStanding::Left(outcome) = self.node(place).standing else { return None };
        self.forget(place);
        let outcome = self.outcomes.remove(outcome.0 as usize);
        if self.outcomes.is_empty() && self.outcomes.capacity() > KEPT {
            self.outcomes = Slab::new();
        }
        Some(outcome)
    }

    /// Takes a caller out of the line that has given up. Takes as many steps as there are callers
    /// behind it, unless it is the first. Returns what would have woken it.
    pub(crate) fn leave(&mut self, place: Place) -> Option<Waker> {
        self.withdraw(place);
        let waker = self.nodes[place.index()].waker.take();
        self.forget(place);
        waker
    }

    /// Takes a caller out of the line that is refused, as in `leave`. Returns what wakes it.
    pub(crate) fn refuse(&mut self, place: Place, error: AcquireError) -> Option<Waker> {
        self.withdraw(place);
        self.note(place, Outcome::Refused(error))
    }

    /// Takes callers that want more than `limit` out of the line, in one pass. Returns what wakes them.
    pub(crate) fn refuse_above(&mut self, limit: u64) -> Vec<Waker> {
        self.refuse_where(|permits| permits > limit, AcquireError::TooLarge { limit })
    }

    /// Takes all callers out of the line. Returns what wakes them.
    pub(crate) fn refuse_all(&mut self, error: AcquireError) -> Vec<Waker> {
        self.refuse_where(|_| true, error)
    }

    /// Reservations stay.
    fn refuse_where(
        &mut self,
        is_refused: impl Fn(u64) -> bool,
        error: AcquireError,
    ) -> Vec<Waker> {
        let mut wakers = Vec::new();
        // Permits that were wanted behind the first and ahead of the present one.
        let mut gone = 0_u64;
        let mut next = self.first;
        while let Some(place) = next {
            let node = self.node(place);
            node.end = node.end.wrapping_sub(gone);
            next = node.after;
            if !node.is_reserved() && is_refused(node.permits) {
                // The line begins with its first, so one that was the first leaves no gap.
                if node.before.is_some() {
                    gone = gone.wrapping_add(node.permits);
                }
                self.unlink(place);
                wakers.extend(self.note(place, Outcome::Refused(error)));
            }
        }
        self.end = self.end.wrapping_sub(gone);
        wakers
    }

    /// Unlinks a caller whose permits were not granted: those behind it are due earlier.
    pub(super) fn withdraw(&mut self, place: Place) {
        let Node { permits, before, after, .. } = self.nodes[place.index()];
        self.unlink(place);
        if before.is_some() && self.by_tenant.is_none() {
            let mut next = after;
            while let Some(place) = next {
                let node = self.node(place);
                node.end = node.end.wrapping_sub(permits);
                next = node.after;
            }
            self.end = self.end.wrapping_sub(permits);
        }
    }

    fn unlink(&mut self, place: Place) {
        let Node { permits, before, after, .. } = self.nodes[place.index()];
        if self.first() == Some(place) {
            self.since_nanos = None;
        }
        if let Some(by_tenant) = &mut self.by_tenant {
            by_tenant.leave(place);
        }
        match before {
            Some(before) => self.nodes[before.index()].after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => self.nodes[after.index()].before = before,
            None => self.last = before,
        }
        self.count -= 1;
        self.permits -= permits;
        if self.nodes[place.index()].is_reserved() {
            self.forget_reserved(place);
        }
    }

    /// Notes the outcome of a caller that has left the line. Returns what wakes it.
    fn note(&mut self, place: Place, outcome: Outcome) -> Option<Waker> {
        let outcome = OutcomeKey(self.outcomes.insert(outcome) as u32);
        let node = self.node(place);
        node.standing = NodeStanding::Left(outcome);
        node.waker.take()
    }

    pub(super) fn forget(&mut self, place: Place) {
        self.nodes.remove(place.index());
        if self.nodes.is_empty() && self.nodes.capacity() > KEPT {
            self.nodes = Slab::new();
            self.arrivals = Vec::new();
        }
    }
}
