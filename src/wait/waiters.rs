//! The callers in line, in the order of their arrival. No atomics here, and no clock.
//!
//! The nodes lie in a slab and name each other by their places, so that a caller that gives up is
//! unlinked in one step, and a node is used again. The outcomes of callers that were not told yet are
//! in a slab of their own: they are larger than a node, and usually few.

use alloc::vec::Vec;
use core::iter::{from_fn, successors};
use core::num::NonZeroUsize;
use core::task::Waker;

use slab::Slab;

use crate::decision::grant::Grant;

use super::charged::Charged;
use super::error::AcquireError;
use super::limits::LineLimits;

/// The place of a caller in the slab, plus 1; valid until it is told its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(NonZeroUsize);

impl Key {
    fn new(place: usize) -> Key {
        Key(plus_one(place))
    }

    fn place(self) -> usize {
        self.0.get() - 1
    }
}

fn plus_one(place: usize) -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(place)
}

/// The place of an outcome in its slab, plus 1.
#[derive(Clone, Copy, Debug)]
struct OutcomeKey(NonZeroUsize);

/// The end of a caller's wait.
#[derive(Debug)]
pub(crate) enum Outcome {
    Granted(Grant, Charged),
    Refused(AcquireError),
}

#[derive(Debug)]
struct Node {
    permits: u64,
    /// The permits of all that have stood in line and not left, up to this one; modulo 2^64.
    end: u64,
    /// Instant at which its timer wakes it.
    armed_nanos: u64,
    waker: Option<Waker>,
    before: Option<Key>,
    after: Option<Key>,
    /// `None` while it stands in line.
    outcome: Option<OutcomeKey>,
}

/// A line of callers, first come, first served.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    nodes: Slab<Node>,
    outcomes: Slab<Outcome>,
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

    /// Puts a caller at the end of the line.
    pub(crate) fn push(&mut self, permits: u64) -> Key {
        self.end = self.end.wrapping_add(permits);
        let node = Node {
            permits,
            end: self.end,
            armed_nanos: u64::MAX,
            waker: None,
            before: self.last,
            after: None,
            outcome: None,
        };
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

    /// Notes when a caller's timer wakes it, and what else does.
    pub(crate) fn arm(&mut self, key: Key, at_nanos: u64, waker: Waker) {
        let node = self.node(key);
        node.armed_nanos = at_nanos;
        node.waker = Some(waker);
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

    /// Returns the waker of a caller that would sleep beyond `due_nanos`.
    pub(crate) fn wake_if_later(&mut self, key: Key, due_nanos: u64) -> Option<Waker> {
        let node = self.node(key);
        if node.armed_nanos > due_nanos { node.waker.take() } else { None }
    }

    /// Takes the first caller out of the line, with a grant that it has yet to be told. Returns
    /// what wakes it.
    pub(crate) fn grant(&mut self, first: Key, grant: Grant, charged: Charged) -> Option<Waker> {
        debug_assert_eq!(self.first, Some(first));
        self.unlink(first);
        self.note(first, Outcome::Granted(grant, charged))
    }

    /// Returns the outcome of a caller and forgets the caller; `None` if it still stands in line.
    pub(crate) fn take_outcome(&mut self, key: Key) -> Option<Outcome> {
        let outcome = self.node(key).outcome?;
        self.forget(key);
        let outcome = self.outcomes.remove(outcome.0.get() - 1);
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
        let outcome = OutcomeKey(plus_one(self.outcomes.insert(outcome)));
        let node = self.node(key);
        node.outcome = Some(outcome);
        node.waker.take()
    }

    fn forget(&mut self, key: Key) {
        self.nodes.remove(key.place());
        if self.nodes.is_empty() && self.nodes.capacity() > KEPT {
            self.nodes = Slab::new();
        }
    }

    fn node(&mut self, key: Key) -> &mut Node {
        &mut self.nodes[key.place()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_line(waiters: &Waiters) -> Vec<u64> {
        let mut permits = Vec::new();
        let mut next = waiters.first();
        while let Some(key) = next {
            permits.push(waiters.permits_of(key));
            next = waiters.nodes[key.place()].after;
        }
        assert_eq!((permits.len(), permits.iter().sum()), (waiters.len(), waiters.permits()));
        permits
    }

    #[test]
    fn callers_leave_from_anywhere_and_the_others_keep_their_order() {
        for leaving in 0..4 {
            let mut waiters = Waiters::default();
            let keys: Vec<Key> = (1..=4).map(|permits| waiters.push(permits)).collect();
            waiters.leave(keys[leaving]);
            let left: Vec<u64> = (1..=4).filter(|permits| *permits != leaving as u64 + 1).collect();
            assert_eq!(in_line(&waiters), left);
            let newest = waiters.push(9);
            assert_eq!(newest, keys[leaving], "its node is used again");
            assert_eq!(in_line(&waiters).last(), Some(&9));
        }
    }

    #[test]
    fn an_outcome_is_told_once_and_frees_the_node() {
        let mut waiters = Waiters::default();
        let (first, second) = (waiters.push(1), waiters.push(2));
        assert!(waiters.take_outcome(first).is_none());
        assert!(waiters.refuse(first, AcquireError::Closed).is_none());
        assert_eq!(waiters.first(), Some(second));
        assert!(matches!(waiters.take_outcome(first), Some(Outcome::Refused(_))));
        assert!(waiters.outcomes.is_empty());
        assert_eq!(waiters.push(3), first);
    }

    #[test]
    fn the_permits_ahead_are_those_of_the_line_and_of_nobody_else() {
        let mut waiters = Waiters::default();
        let keys: Vec<Key> = [5, 7, 11, 13].map(|permits| waiters.push(permits)).into();
        let ahead = |waiters: &Waiters| {
            keys[2..].iter().map(|key| waiters.permits_up_to(*key)).collect::<Vec<_>>()
        };
        assert_eq!(ahead(&waiters), [23, 36]);
        waiters.leave(keys[1]);
        assert_eq!(ahead(&waiters), [16, 29]);
        waiters.refuse(keys[0], AcquireError::Closed);
        assert_eq!(ahead(&waiters), [11, 24]);
        let newest = waiters.push(17);
        assert_eq!(waiters.permits_up_to(newest), 41);
        assert_eq!(waiters.permits(), 41);
        assert!(waiters.refuse_above(12).is_empty());
        assert_eq!(in_line(&waiters), [11]);
    }

    #[test]
    fn refusing_all_above_a_limit_leaves_the_line_as_refusing_one_after_the_other_does() {
        let sizes = [9, 1, 9, 9, 2, 3, 9, 1, 9];
        for limit in [0, 1, 2, 3, 8, 9] {
            let [mut at_once, mut one_by_one] = [(); 2].map(|()| Waiters::default());
            for permits in sizes {
                at_once.push(permits);
                one_by_one.push(permits);
            }
            at_once.refuse_above(limit);
            for (index, permits) in sizes.into_iter().enumerate() {
                if permits > limit {
                    one_by_one.refuse(Key::new(index), AcquireError::TooLarge { limit });
                }
            }
            let newest = (at_once.push(4), one_by_one.push(4));
            assert_eq!(in_line(&at_once), in_line(&one_by_one));
            let here = (0..sizes.len()).filter(|index| at_once.nodes[*index].outcome.is_none());
            for key in here.map(Key::new).chain([newest.0]) {
                assert_eq!(at_once.permits_up_to(key), one_by_one.permits_up_to(key));
            }
        }
    }

    #[test]
    fn a_long_line_that_has_ended_keeps_no_memory() {
        let mut waiters = Waiters::default();
        let keys: Vec<Key> = (0..=KEPT as u64).map(|permits| waiters.push(permits)).collect();
        for key in keys {
            waiters.leave(key);
        }
        assert_eq!((waiters.nodes.capacity(), waiters.len(), waiters.permits()), (0, 0, 0));
        let keys: Vec<Key> = (0..=KEPT as u64).map(|permits| waiters.push(permits)).collect();
        for key in &keys {
            waiters.refuse(*key, AcquireError::Closed);
        }
        assert!(keys.into_iter().all(|key| waiters.take_outcome(key).is_some()));
        assert_eq!((waiters.nodes.capacity(), waiters.outcomes.capacity()), (0, 0));
    }

    #[test]
    fn only_a_caller_that_sleeps_too_long_is_woken_early() {
        let mut waiters = Waiters::default();
        let key = waiters.push(1);
        waiters.arm(key, 100, Waker::noop().clone());
        assert!(waiters.wake_if_later(key, 100).is_none());
        assert!(waiters.wake_if_later(key, 99).is_some());
        assert!(waiters.wake_if_later(key, 99).is_none(), "once");
    }
}
