//! The callers and the reservations in line, in the order of their arrival. No atomics here, and no
//! clock.
//!
//! The nodes lie in a slab and name each other by their places, so that a caller that gives up is
//! unlinked in one step, and a node is used again. The outcomes of callers that were not told yet are
//! in a slab of their own: they are larger than a node, and usually few. Places are of 32 bits, and a
//! node of a line of the cache: there may be many.

mod leaving;
mod reservations;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::iter::{from_fn, successors};
use core::task::Waker;

use slab::Slab;

use crate::decision::grant::Grant;

use super::charged::Charged;
use super::error::AcquireError;
use super::limits::LineLimits;
use super::place::{Key, Place};
use super::stay::Stay;

/// Nodes at most, so that each has a key. Few in unit tests, which come to the end of them.
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
    before: Option<Key>,
    after: Option<Key>,
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

    fn place(&self) -> Place {
        let told_nanos = self.is_reserved().then_some(self.due_nanos);
        Place { permits: self.permits, told_nanos }
    }

    /// Returns the instant at which its timer wakes it.
    fn armed_nanos(&self) -> u64 {
        self.due_nanos.min(self.deadline_nanos)
    }
}

/// A line of callers and reservations, first come, first served.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    nodes: Slab<Node>,
    outcomes: Slab<Outcome>,
    /// By places; empty if the line never had a bound of the wait.
    stays: Vec<Option<Stay>>,
    /// Charges of reservations that are held.
    charges: Slab<Charged>,
    /// The reservations in line, in order.
    reserved: VecDeque<Key>,
    /// No later than the first instant that any of them was told.
    first_told_nanos: u64,
    first: Option<Key>,
    last: Option<Key>,
    /// Reading of the clock since which the first has been the first and nothing was given back; `None`
    /// until the next settling.
    since_nanos: Option<u64>,
    count: usize,
    permits: u64,
    end: u64,
}

/// Nodes, and outcomes, for which memory is kept when the last one has gone.
const KEPT: usize = 64;

impl Waiters {
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

    pub(crate) fn first(&self) -> Option<Key> {
        self.first
    }

    pub(crate) fn last(&self) -> Option<Key> {
        self.last
    }

    /// Returns the reading from which the first in line may be charged, as of `now_nanos`.
    pub(crate) fn since(&self, now_nanos: u64) -> u64 {
        self.since_nanos.unwrap_or(now_nanos)
    }

    /// Notes a settling at `now_nanos`, from which the first in line may be charged unless it could be
    /// before.
    pub(crate) fn note_since(&mut self, now_nanos: u64) {
        if self.first.is_some() {
            self.since_nanos.get_or_insert(now_nanos);
        }
    }

    /// Lets the first in line be charged as of no instant before the next settling: the limiter has come
    /// to hold more otherwise than by time.
    pub(crate) fn renew_since(&mut self) {
        self.since_nanos = None;
    }

    /// Returns the one ahead of `key` in line.
    pub(crate) fn before(&self, key: Key) -> Option<Key> {
        self.nodes[key.place()].before
    }

    pub(crate) fn permits_of(&self, key: Key) -> u64 {
        self.nodes[key.place()].permits
    }

    /// Permits wanted by all up to `key`.
    pub(crate) fn permits_up_to(&self, key: Key) -> u64 {
        let start = self.first.map_or(self.end, |first| {
            let first = &self.nodes[first.place()];
            first.end.wrapping_sub(first.permits)
        });
        self.nodes[key.place()].end.wrapping_sub(start)
    }

    /// Returns the end of a caller's time. The last instant of the clock if it has no end.
    pub(crate) fn deadline_of(&self, key: Key) -> u64 {
        self.nodes[key.place()].deadline_nanos
    }

    /// Returns whether permits at `now_nanos` are too late for a caller: its time is over, and its
    /// turn was not to come before. (One that only wakes late is not too late.)
    pub(crate) fn is_too_late(&self, key: Key, now_nanos: u64) -> bool {
        let Node { due_nanos, deadline_nanos, .. } = self.nodes[key.place()];
        deadline_nanos < now_nanos.min(due_nanos)
    }

    /// Returns whether a caller has a place to stand at. Those that have yet to be told their outcomes
    /// keep theirs.
    pub(crate) fn has_place(&self) -> bool {
        self.nodes.len() < MOST_NODES
    }

    /// Puts a caller at the end of the line, which has a place for it.
    pub(crate) fn push(&mut self, permits: u64, deadline_nanos: Option<u64>) -> Key {
        self.insert(permits, 0, deadline_nanos.unwrap_or(u64::MAX), NodeStanding::Waits)
    }

    fn insert(
        &mut self,
        permits: u64,
        due_nanos: u64,
        deadline_nanos: u64,
        standing: NodeStanding,
    ) -> Key {
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
        let key = Key::new(self.nodes.insert(node));
        match self.last {
            Some(last) => self.nodes[last.place()].after = Some(key),
            None => self.first = Some(key),
        }
        self.last = Some(key);
        self.count += 1;
        self.permits = self.permits.saturating_add(permits);
        key
    }

    /// Notes a caller's turn, and what wakes it before. Returns when its timer is to wake it: at its
    /// turn, or at its deadline.
    pub(crate) fn arm(&mut self, key: Key, due_nanos: u64, waker: Waker) -> u64 {
        let node = self.node(key);
        node.due_nanos = due_nanos;
        node.waker = Some(waker);
        node.armed_nanos()
    }

    /// Notes the stay of a caller, if the line bounds the wait.
    pub(crate) fn note_stay(&mut self, key: Key, stay: Option<Stay>) {
        let place = key.place();
        if stay.is_some() && place >= self.stays.len() {
            self.stays.resize(place + 1, None);
        }
        // That of another caller, which had the place.
        if let Some(noted) = self.stays.get_mut(place) {
            *noted = stay;
        }
    }

    /// Gives all in line their times anew, in a line where none may stand for longer than
    /// `longest_nanos`. Returns the wakers of those that would sleep for too long. A caller whose
    /// arrival was not noted comes at `now_nanos`.
    pub(crate) fn bound_waits(&mut self, now_nanos: u64, longest_nanos: u64) -> Vec<Waker> {
        let mut wakers = Vec::new();
        let mut next = self.first;
        while let Some(key) = next {
            let node = self.node(key);
            if node.is_reserved() {
                next = node.after;
                continue;
            }
            let own_nanos = node.deadline_nanos;
            let known = self.stays.get(key.place()).copied().flatten();
            let stay = known.unwrap_or(Stay::new(now_nanos, Some(own_nanos)));
            self.note_stay(key, Some(stay));
            let node = self.node(key);
            let armed_nanos = node.armed_nanos();
            node.deadline_nanos = stay.deadline(longest_nanos);
            if node.armed_nanos() < armed_nanos {
                wakers.extend(node.waker.take());
            }
            next = node.after;
        }
        wakers
    }

    /// Returns the waker of a caller, and forgets it.
    pub(crate) fn disarm(&mut self, key: Key) -> Option<Waker> {
        self.nodes[key.place()].waker.take()
    }

    /// Returns the waker of the first caller that has one, and forgets it.
    pub(crate) fn disarm_first(&mut self) -> Option<Waker> {
        let mut next = self.first;
        while let Some(key) = next {
            let node = self.node(key);
            if let Some(waker) = node.waker.take() {
                return Some(waker);
            }
            next = node.after;
        }
        None
    }

    /// Returns those in line, in order.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + '_ {
        successors(self.first, |key| self.nodes[key.place()].after)
            .map(|key| self.nodes[key.place()].place())
    }

    /// Returns those in line up to `key`, in order.
    pub(crate) fn places_up_to(&self, key: Key) -> impl Iterator<Item = Place> + '_ {
        let mut next = self.first;
        from_fn(move || {
            let present = next?;
            let node = &self.nodes[present.place()];
            next = if present == key { None } else { node.after };
            Some(node.place())
        })
    }

    /// Returns those in line without the `left` oldest callers, in order.
    pub(crate) fn places_behind(&self, left: usize) -> impl Iterator<Item = Place> + '_ {
        let mut left = left;
        self.places().filter(move |place| {
            let leaves = left > 0 && place.told_nanos.is_none();
            left -= usize::from(leaves);
            !leaves
        })
    }

    /// Permits wanted by all in line without the `left` oldest callers.
    pub(crate) fn permits_behind(&self, left: usize) -> u64 {
        match left {
            0 => self.permits,
            _ => self.places_behind(left).fold(0, |sum, place| sum.saturating_add(place.permits)),
        }
    }

    /// Number of the oldest callers that have to leave until there is room for one with `more`. A
    /// reservation is not in the way of anybody once nobody waits ahead of it.
    pub(crate) fn oldest_that_leave(&self, limits: LineLimits, more: u64) -> usize {
        let (mut gone, mut permits, mut left) = (0, self.permits, 0);
        for place in self.places() {
            if place.told_nanos.is_none() {
                if limits.admit(self.count - gone, permits, more) {
                    break;
                }
                left += 1;
            }
            gone += 1;
            permits = permits.saturating_sub(place.permits);
        }
        left
    }

    /// Returns the waker of a caller that would sleep beyond `due_nanos`, its turn; or that should have
    /// been awake by `now_nanos`: if the clock has jumped ahead, its timer has not.
    pub(crate) fn wake_if_later(
        &mut self,
        key: Key,
        now_nanos: u64,
        due_nanos: u64,
    ) -> Option<Waker> {
        let node = self.node(key);
        let armed_nanos = node.armed_nanos();
        let is_late = armed_nanos > due_nanos || armed_nanos <= now_nanos;
        node.due_nanos = node.due_nanos.min(due_nanos);
        if is_late { node.waker.take() } else { None }
    }

    fn node(&mut self, key: Key) -> &mut Node {
        &mut self.nodes[key.place()]
    }
}

#[cfg(test)]
mod tests;
