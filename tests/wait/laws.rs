//! Limiters by definition, and lines before them.

pub(crate) mod bucket;
pub(crate) mod windows;

use std::collections::VecDeque;

/// A limiter by definition: how it decides, and what it counts.
pub(crate) trait Law: Clone {
    type State: Clone + PartialEq;

    /// Returns the state of a limiter that was reset at `now`.
    fn empty(&self, now: u64) -> Self::State;

    /// Returns the most permits that are granted at once.
    fn limit(&self) -> u64;

    /// Returns what the limiter tells of its state: the permits that count, or those that are left.
    fn told(&self, state: &Self::State, now: u64) -> i64;

    /// Returns the state after a grant to a caller that has been the first since `since`; `None` if there are too few
    /// permits.
    fn grant(&self, state: &Self::State, since: u64, now: u64, permits: u64)
    -> Option<Self::State>;

    /// Changes the limiter as its kind can be changed. Returns whether it does.
    fn change(ideal: &mut Ideal<Self>, now: u64, amount: u64) -> bool;

    /// Returns the instant at which it is the turn of `id`, if all ahead of it stay and nothing is late: time passes a
    /// nanosecond at a time, and at each everybody is granted permits whose turn it is.
    fn due(ideal: &Ideal<Self>, now: u64, id: usize) -> u64 {
        let mut ahead = ideal.clone();
        let is_served = |&now: &u64| {
            ahead.settle(now);
            !ahead.stands(id)
        };
        (now..now + 100_000).find(is_served).unwrap()
    }
}

/// The states before and after a grant, if nothing has changed since.
pub(crate) type Charge<L> = Option<(<L as Law>::State, <L as Law>::State)>;

/// A limiter and its line, by definition.
#[derive(Clone)]
pub(crate) struct Ideal<L: Law> {
    pub(crate) law: L,
    pub(crate) state: L::State,
    /// The reading since which the first has been first and nothing was given back.
    since: Option<u64>,
    pub(crate) line: VecDeque<(usize, u64)>,
    /// Grants that their callers do not know of.
    unseen: Vec<(usize, Charge<L>)>,
}

impl<L: Law> Ideal<L> {
    pub(crate) fn new(law: L) -> Ideal<L> {
        let state = law.empty(0);
        Ideal { state, law, since: None, line: VecDeque::new(), unseen: Vec::new() }
    }

    pub(crate) fn settle(&mut self, now: u64) {
        while let Some(&(id, permits)) = self.line.front() {
            let since = *self.since.get_or_insert(now);
            let Some(after) = self.law.grant(&self.state, since, now, permits) else { return };
            let before = std::mem::replace(&mut self.state, after.clone());
            self.unseen.push((id, Some((before, after))));
            self.line.pop_front();
            self.since = None;
        }
    }

    /// Takes permits, if there are enough and nobody stands in line.
    pub(crate) fn take(&mut self, now: u64, permits: u64) -> Charge<L> {
        self.settle(now);
        if !self.line.is_empty() {
            return None;
        }
        let after = self.law.grant(&self.state, now, now, permits)?;
        Some((std::mem::replace(&mut self.state, after.clone()), after))
    }

    pub(crate) fn give_back(&mut self, charge: Charge<L>) -> bool {
        let Some((before, _)) = charge.filter(|(_, after)| self.state == *after) else {
            return false;
        };
        (self.state, self.since) = (before, None);
        true
    }

    /// Lets a caller stand in line. Returns whether it still does then.
    pub(crate) fn stand(&mut self, now: u64, id: usize, permits: u64) -> bool {
        if self.line.is_empty() {
            self.since = None;
        }
        self.line.push_back((id, permits));
        self.settle(now);
        self.stands(id)
    }

    pub(crate) fn stands(&self, id: usize) -> bool {
        self.line.iter().any(|(other, _)| *other == id)
    }

    /// Tells a caller of its grant. Returns false if it has none that it does not know of.
    pub(crate) fn tell(&mut self, id: usize) -> bool {
        let unseen = self.unseen.len();
        self.unseen.retain(|(other, _)| *other != id);
        self.unseen.len() < unseen
    }

    /// Returns true for a caller that is in line, or does not know of its grant.
    pub(crate) fn knows(&self, id: usize) -> bool {
        self.stands(id) || self.unseen.iter().any(|(other, _)| *other == id)
    }

    pub(crate) fn leave(&mut self, now: u64, id: usize) {
        if let Some(at) = self.unseen.iter().position(|(other, _)| *other == id) {
            let (_, charge) = self.unseen.swap_remove(at);
            if !self.give_back(charge) {
                return;
            }
        }
        if self.line.front().is_some_and(|(first, _)| *first == id) {
            self.since = None;
        }
        self.line.retain(|(other, _)| *other != id);
        self.settle(now);
    }

    /// Makes the limiter empty. Grants from before it are not given back, even if the state recurs.
    pub(crate) fn reset(&mut self, now: u64) {
        for (_, charge) in &mut self.unseen {
            *charge = None;
        }
        (self.state, self.since) = (self.law.empty(now), None);
        self.settle(now);
    }
}
