//! The callers and the reservations in line, in the order of their arrival. No atomics here, and no
//! clock.
//!
//! The nodes lie in a slab and name each other by their places, so that a caller that gives up is
//! unlinked in one step, and a node is used again. The outcomes of callers that were not told yet are
//! in a slab of their own: they are larger than a node, and usually few. Places are of 32 bits, and a
//! node of a line of the cache: there may be many.

mod by_tenant;
mod demands;
mod divided;
mod leaving;
mod reservations;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::task::Waker;

use slab::Slab;

use crate::decision::grant::Grant;

use super::arrival::Arrival;
use super::charged::Charged;
use super::error::AcquireError;
use super::place::{Demand, Place};

use self::by_tenant::ByTenant;

/// Nodes at most, so that each has a place. Few in unit tests, which come to the end of them.
const MOST_NODES: usize = if cfg!(test) { 4_096 } else { u32::MAX as usize };

/// The place of an outcome in its slab.
///
/// Zero is one of them, so that a node's `Option` of this has a tag of its own, with room for that of
/// the slab.
#[derive(Clone, Copy, Debug)]
struct OutcomeKey(u32);

/// The end of a caller's wait.
#[derive(Debug)]
pub(crate) enum Outcome {
    Granted {
        grant: Grant,
        charged: Charged,
        /// The end of the caller's time, as of its node.
        deadline_nanos: u64,
    },
    Refused(AcquireError),
}

#[derive(Debug)]
struct Node {
    permits: u64,
    /// The permits of all that have stood in line and not left, up to this one; modulo 2^64.
    end: u64,
    /// Its turn, as it was told; of a caller 0 before.
    due_nanos: u64,
    /// The end of its time. The last instant of the clock if it has no end.
    deadline_nanos: u64,
    waker: Option<Waker>,
    before: Option<Place>,
    after: Option<Place>,
    standing: NodeStanding,
}

/// The state of a node.
#[derive(Clone, Copy, Debug)]
enum NodeStanding {
    /// A caller in line.
    Waits,
    /// A caller that has yet to be told its outcome.
    Left(OutcomeKey),
    /// A reservation in line. Once nobody holds it, nobody asks for its charge.
    Reserved { is_held: bool },
    /// A reservation that was charged, and is held.
    Charged(OutcomeKey),
}

impl Node {
    fn is_reserved(&self) -> bool {
        matches!(self.standing, NodeStanding::Reserved { .. })
    }

    fn demand(&self) -> Demand {
        let told_nanos = self.is_reserved().then_some(self.due_nanos);
        Demand { permits: self.permits, told_nanos }
    }

    /// Returns the instant at which its timer wakes it.
    fn armed_nanos(&self) -> u64 {
        self.due_nanos.min(self.deadline_nanos)
    }
}

/// A line of callers and reservations, first come, first served.
#[derive(Debug, Default)]
pub(crate) struct Order {
    nodes: Slab<Node>,
    outcomes: Slab<Outcome>,
    /// By places; empty if the line never had a bound of the wait.
    arrivals: Vec<Option<Arrival>>,
    /// Charges of reservations that are held.
    charges: Slab<Charged>,
    /// The reservations in line, in order.
    reserved: VecDeque<Place>,
    /// No later than the first instant that any of them was told.
    first_told_nanos: u64,
    first: Option<Place>,
    last: Option<Place>,
    /// Reading of the clock since which the first has been the first and nothing was given back; `None`
    /// until the next pass.
    since_nanos: Option<u64>,
    count: usize,
    permits: u64,
    end: u64,
    /// The order of a line that is divided, in which the first need not be the oldest.
    by_tenant: Option<Box<ByTenant>>,
}

/// Nodes, and outcomes, for which memory is kept when the last one has gone.
const KEPT: usize = 64;

impl Order {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns whether nobody stands in line, has yet to be told an answer, or holds a reservation that
    /// was made there.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Permits wanted by all in line.
    pub(crate) fn permits(&self) -> u64 {
        self.permits
    }

    pub(crate) fn first(&self) -> Option<Place> {
        match &self.by_tenant {
            Some(by_tenant) => by_tenant.first(),
            None => self.first,
        }
    }

    pub(crate) fn last(&self) -> Option<Place> {
        self.last
    }

    /// Returns the reading from which the first in line may be charged, as of `now_nanos`.
    pub(crate) fn since(&self, now_nanos: u64) -> u64 {
        self.since_nanos.unwrap_or(now_nanos)
    }

    /// Notes a pass at `now_nanos`, from which the first in line may be charged unless it could be
    /// before.
    pub(crate) fn note_since(&mut self, now_nanos: u64) {
        if self.first.is_some() {
            self.since_nanos.get_or_insert(now_nanos);
        }
    }

    /// Lets the first in line be charged as of no instant before the next pass: the limiter has come
    /// to hold more otherwise than by time.
    pub(crate) fn renew_since(&mut self) {
        self.since_nanos = None;
    }

    /// Returns the one ahead of `place` in line.
    pub(crate) fn before(&self, place: Place) -> Option<Place> {
        self.nodes[place.index()].before
    }

    pub(crate) fn permits_of(&self, place: Place) -> u64 {
        self.nodes[place.index()].permits
    }

    /// Returns the end of a caller's time. The last instant of the clock if it has no end.
    pub(crate) fn deadline_of(&self, place: Place) -> u64 {
        self.nodes[place.index()].deadline_nanos
    }

    /// Returns whether permits at `now_nanos` are too late for a caller: its time is over, and its
    /// turn was not to come before. (One that only wakes late is not too late.)
    pub(crate) fn is_too_late(&self, place: Place, now_nanos: u64) -> bool {
        let Node { due_nanos, deadline_nanos, .. } = self.nodes[place.index()];
        deadline_nanos < now_nanos.min(due_nanos)
    }

    /// Returns whether a caller has a place to stand at. Those that have yet to be told their outcomes
    /// keep theirs.
    pub(crate) fn has_place(&self) -> bool {
        self.nodes.len() < MOST_NODES
    }

    /// Puts a caller at the end of the line, which has a place for it.
    pub(crate) fn push(&mut self, permits: u64, deadline_nanos: Option<u64>) -> Place {
        self.insert(permits, 0, deadline_nanos.unwrap_or(u64::MAX), NodeStanding::Waits)
    }

    fn insert(
        &mut self,
        permits: u64,
        due_nanos: u64,
        deadline_nanos: u64,
        standing: NodeStanding,
    ) -> Place {
        self.end = self.end.wrapping_add(permits);
        let node = Node {
            permits,
            end: self.end,
            due_nanos,
            deadline_nanos,
            waker: None,
            before: self.last,
            after: None,
            standing,
        };
        // By a quarter, not to twice as many: there may be ten thousand.
        if self.nodes.len() == self.nodes.capacity() {
            self.nodes.reserve_exact((self.nodes.len() / 4).max(1));
        }
        let place = Place::new(self.nodes.insert(node));
        match self.last {
            Some(last) => self.nodes[last.index()].after = Some(place),
            None => self.first = Some(place),
        }
        self.last = Some(place);
        self.count += 1;
        self.permits = self.permits.saturating_add(permits);
        place
    }

    /// Notes a caller's turn, and what wakes it before. Returns when its timer is to wake it: at its
    /// turn, or at its deadline.
    pub(crate) fn arm(&mut self, place: Place, due_nanos: u64, waker: Waker) -> u64 {
        let node = self.node(place);
        node.due_nanos = due_nanos;
        node.waker = Some(waker);
        node.armed_nanos()
    }

    /// Notes the stay of a caller, if the line bounds the wait.
    pub(crate) fn note_arrival(&mut self, place: Place, arrival: Option<Arrival>) {
        let index = place.index();
        if arrival.is_some() && index >= self.arrivals.len() {
            self.arrivals.resize(index + 1, None);
        }
        // That of another caller, which had the place.
        if let Some(noted) = self.arrivals.get_mut(index) {
            *noted = arrival;
        }
    }

    /// Gives all in line their times anew, in a line where none may stand for longer than
    /// `longest_nanos`. Returns the wakers of those that would sleep for too long. A caller whose
    /// arrival was not noted comes at `now_nanos`.
    pub(crate) fn bound_waits(&mut self, now_nanos: u64, longest_nanos: u64) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let mut next = self.first;
        while let Some(place) = next {
            let node = self.node(place);
            if node.is_reserved() {
                next = node.after;
                continue;
            }
            let own_nanos = node.deadline_nanos;
            let known = self.arrivals.get(place.index()).copied().flatten();
            let arrival = known.unwrap_or(Arrival::new(now_nanos, Some(own_nanos)));
            self.note_arrival(place, Some(arrival));
            let node = self.node(place);
            let armed_nanos = node.armed_nanos();
            node.deadline_nanos = arrival.deadline(longest_nanos);
            if node.armed_nanos() < armed_nanos {
                wakers.extend(node.waker.take());
            }
            next = node.after;
        }
        wakers
    }

    /// Returns the waker of a caller, and forgets it.
    pub(crate) fn disarm(&mut self, place: Place) -> Option<Waker> {
        self.nodes[place.index()].waker.take()
    }

    /// Returns the waker of the first caller that has one, and forgets it.
    pub(crate) fn disarm_first(&mut self) -> Option<Waker> {
        let first = self.first()?;
        let mut next = self.first;
        let mut waker = self.node(first).waker.take();
        while let (None, Some(place)) = (&waker, next) {
            let node = self.node(place);
            waker = node.waker.take();
            next = node.after;
        }
        waker
    }

    /// Returns the waker of a caller that would sleep beyond `due_nanos`, its turn; or that should have
    /// been awake by `now_nanos`: if the clock has jumped ahead, its timer has not.
    pub(crate) fn wake_if_later(
        &mut self,
        place: Place,
        now_nanos: u64,
        due_nanos: u64,
    ) -> Option<Waker> {
        let node = self.node(place);
        let armed_nanos = node.armed_nanos();
        let is_late = armed_nanos > due_nanos || armed_nanos <= now_nanos;
        node.due_nanos = node.due_nanos.min(due_nanos);
        if is_late { node.waker.take() } else { None }
    }

    fn node(&mut self, place: Place) -> &mut Node {
        &mut self.nodes[place.index()]
    }
}

#[cfg(test)]
mod tests;
