//! The callers in line, in the order of their arrival. No atomics here, and no clock.
//!
//! The nodes lie in a slab and name each other by their places, so that a caller that gives up is
//! unlinked in one step, and a node is used again. The outcomes of callers that were not told yet are
//! in a slab of their own: they are larger than a node, and usually few. Places are of 32 bits, and a
//! node of a line of the cache: there may be many.

use alloc::vec::Vec;
use core::iter::{from_fn, successors};
use core::num::NonZeroU32;
use core::task::Waker;

use slab::Slab;

use crate::decision::grant::Grant;

use super::charged::Charged;
use super::error::AcquireError;
use super::limits::LineLimits;
use super::line::longest_wait::Stay;

/// The place of a caller in the slab, plus 1; valid until it is told its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(NonZeroU32);

impl Key {
    /// Returns the key of a place below `MOST_NODES`.
    fn new(place: usize) -> Key {
        Key(NonZeroU32::MIN.saturating_add(place as u32))
    }

    fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

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
    /// Its turn, as it was told; 0 before.
    due_nanos: u64,
    /// The end of its time. The last instant of the clock if it has no end.
    deadline_nanos: u64,
    waker: Option<Waker>,
    before: Option<Key>,
    after: Option<Key>,
    /// `None` while it stands in line.
    outcome: Option<OutcomeKey>,
}

impl Node {
    /// Returns the instant at which its timer wakes it.
    fn armed_nanos(&self) -> u64 {
        self.due_nanos.min(self.deadline_nanos)
    }
}

/// A line of callers, first come, first served.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    nodes: Slab<Node>,
    outcomes: Slab<Outcome>,
    /// By places; empty if the line never had a bound of the wait.
    stays: Vec<Option<Stay>>,
    first: Option<Key>,
    last: Option<Key>,
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
        self.end = self.end.wrapping_add(permits);
        let node = Node {
            permits,
            end: self.end,
            due_nanos: 0,
            deadline_nanos: deadline_nanos.unwrap_or(u64::MAX),
            waker: None,
            before: self.last,
            after: None,
            outcome: None,
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
            let own_nanos = self.deadline_of(key);
            let known = self.stays.get(key.place()).copied().flatten();
            let stay = known.unwrap_or(Stay { from_nanos: now_nanos, own_nanos });
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

    /// Permits wanted by each in line, in order.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = u64> + '_ {
        successors(self.first, |key| self.nodes[key.place()].after).map(|key| self.permits_of(key))
    }

    /// Permits wanted by each up to `key`, in order.
    pub(crate) fn sizes_up_to(&self, key: Key) -> impl Iterator<Item = u64> + '_ {
        let mut next = self.first;
        from_fn(move || {
            let present = next?;
            next = if present == key { None } else { self.nodes[present.place()].after };
            Some(self.permits_of(present))
        })
    }

    /// Number of the oldest that have to leave until there is room for a caller with `more`.
    pub(crate) fn oldest_that_leave(&self, limits: LineLimits, more: u64) -> usize {
        let mut permits = self.permits;
        let mut sizes = self.sizes();
        let mut left = 0;
        while !limits.admit(self.count - left, permits, more)
            && let Some(size) = sizes.next()
        {
            left += 1;
            permits = permits.saturating_sub(size);
        }
        left
    }

    /// Returns the waker of a caller that would sleep beyond `due_nanos`, its turn.
    pub(crate) fn wake_if_later(&mut self, key: Key, due_nanos: u64) -> Option<Waker> {
        let node = self.node(key);
        let is_late = node.armed_nanos() > due_nanos;
        node.due_nanos = node.due_nanos.min(due_nanos);
        if is_late { node.waker.take() } else { None }
    }

    /// Takes the first caller out of the line, with a grant that it has yet to be told. Returns
    /// what wakes it.
    pub(crate) fn grant(&mut self, first: Key, grant: Grant, charged: Charged) -> Option<Waker> {
        debug_assert_eq!(self.first, Some(first));
        self.unlink(first);
        let deadline_nanos = self.deadline_of(first);
        self.note(first, Outcome::Granted { grant, charged, deadline_nanos })
    }

    /// Returns the outcome of a caller and forgets the caller; `None` if it still stands in line.
    pub(crate) fn take_outcome(&mut self, key: Key) -> Option<Outcome> {
        let outcome = self.node(key).outcome?;
        self.forget(key);
        let outcome = self.outcomes.remove(outcome.0 as usize);
        if self.outcomes.is_empty() && self.outcomes.capacity() > KEPT {
            self.outcomes = Slab::new();
        }
        Some(outcome)
    }

    /// Takes a caller out of the line that has given up. Takes as many steps as there are callers
    /// behind it, unless it is the first. Returns what would have woken it.
    pub(crate) fn leave(&mut self, key: Key) -> Option<Waker> {
        self.withdraw(key);
        let waker = self.nodes[key.place()].waker.take();
        self.forget(key);
        waker
    }

    /// Takes a caller out of the line that is refused, as in `leave`. Returns what wakes it.
    pub(crate) fn refuse(&mut self, key: Key, error: AcquireError) -> Option<Waker> {
        self.withdraw(key);
        self.note(key, Outcome::Refused(error))
    }

    /// Takes out of the line whoever wants more than `limit`, in one pass. Returns what wakes them.
    pub(crate) fn refuse_above(&mut self, limit: u64) -> Vec<Waker> {
        let mut wakers = Vec::new();
        // Permits that were wanted behind the first and ahead of the present one.
        let mut gone = 0_u64;
        let mut next = self.first;
        while let Some(key) = next {
            let node = self.node(key);
            node.end = node.end.wrapping_sub(gone);
            next = node.after;
            if node.permits > limit {
                // The line begins with its first, so one that was the first leaves no gap.
                if node.before.is_some() {
                    gone = gone.wrapping_add(node.permits);
                }
                self.unlink(key);
                wakers.extend(self.note(key, Outcome::Refused(AcquireError::TooLarge { limit })));
            }
        }
        self.end = self.end.wrapping_sub(gone);
        wakers
    }

    /// Unlinks a caller whose permits were not granted: those behind it are due earlier.
    fn withdraw(&mut self, key: Key) {
        let Node { permits, before, after, .. } = self.nodes[key.place()];
        self.unlink(key);
        if before.is_some() {
            let mut next = after;
            while let Some(key) = next {
                let node = self.node(key);
                node.end = node.end.wrapping_sub(permits);
                next = node.after;
            }
            self.end = self.end.wrapping_sub(permits);
        }
    }

    fn unlink(&mut self, key: Key) {
        let Node { permits, before, after, .. } = self.nodes[key.place()];
        match before {
            Some(before) => self.nodes[before.place()].after = after,
            None => self.first = after,
        }
        match after {
            Some(after) => self.nodes[after.place()].before = before,
            None => self.last = before,
        }
        self.count -= 1;
        self.permits -= permits;
    }

    /// Notes the outcome of a caller that has left the line. Returns what wakes it.
    fn note(&mut self, key: Key, outcome: Outcome) -> Option<Waker> {
        let outcome = OutcomeKey(self.outcomes.insert(outcome) as u32);
        let node = self.node(key);
        node.outcome = Some(outcome);
        node.waker.take()
    }

    fn forget(&mut self, key: Key) {
        self.nodes.remove(key.place());
        if self.nodes.is_empty() && self.nodes.capacity() > KEPT {
            self.nodes = Slab::new();
            self.stays = Vec::new();
        }
    }

    fn node(&mut self, key: Key) -> &mut Node {
        &mut self.nodes[key.place()]
    }
}

#[cfg(test)]
mod tests;
