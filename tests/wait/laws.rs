//! Windows by definition, and lines before them.

use std::collections::VecDeque;

/// A window by definition: what it counts, and how it decides.
pub(crate) trait Law: Clone {
    type Counts: Clone + PartialEq;

    fn empty(&self, now: u64) -> Self::Counts;

    fn limit(&self) -> u64;

    fn set_limit(&mut self, limit: u64);

    /// The permits that count, rounded up.
    fn used(&self, counts: &Self::Counts, now: u64) -> u64;

    fn fits(&self, counts: &Self::Counts, now: u64, permits: u64) -> bool;

    fn grant(&self, counts: &Self::Counts, now: u64, permits: u64) -> Self::Counts;
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Fixed,
    FromFirst,
    Sliding,
}

/// A window whose state is one word.
#[derive(Clone)]
pub(crate) struct OneWord {
    pub(crate) kind: Kind,
    pub(crate) limit: u64,
    pub(crate) length: u64,
}

/// The permits of a window that begins at `start`, and of the one before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Counts {
    start: u64,
    current: u64,
    previous: u64,
}

impl OneWord {
    /// The counts at `now`.
    fn at(&self, counts: Counts, now: u64) -> Counts {
        let Counts { start, current, .. } = counts;
        let empty = |start| Counts { start, current: 0, previous: 0 };
        let aligned = now - now % self.length;
        match self.kind {
            Kind::FromFirst if current == 0 || now >= start + self.length => empty(now),
            Kind::Sliding if aligned == start + self.length => {
                Counts { previous: current, ..empty(aligned) }
            }
            Kind::Fixed | Kind::Sliding if aligned > start => empty(aligned),
            _ => counts,
        }
    }
}

impl Law for OneWord {
    type Counts = Counts;

    fn empty(&self, now: u64) -> Counts {
        let start =
            if matches!(self.kind, Kind::FromFirst) { now } else { now - now % self.length };
        Counts { start, current: 0, previous: 0 }
    }

    fn limit(&self) -> u64 {
        self.limit
    }

    fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    fn used(&self, counts: &Counts, now: u64) -> u64 {
        let Counts { start, current, previous } = self.at(*counts, now);
        current + (previous * (start + self.length - now)).div_ceil(self.length)
    }

    fn fits(&self, counts: &Counts, now: u64, permits: u64) -> bool {
        let Counts { start, current, previous } = self.at(*counts, now);
        let left = start + self.length - now;
        (current + permits) * self.length + previous * left <= self.limit * self.length
    }

    fn grant(&self, counts: &Counts, now: u64, permits: u64) -> Counts {
        let counts = self.at(*counts, now);
        Counts { current: counts.current + permits, ..counts }
    }
}

/// Windows of slots over the same grants.
#[derive(Clone)]
pub(crate) struct OfSlots {
    /// Limit, length of a slot, and slots that count.
    windows: Vec<(u64, u64, u64)>,
}

impl OfSlots {
    pub(crate) fn new(limits: &[(u64, u64)], slots: u64) -> OfSlots {
        let tick = limits.iter().map(|limit| limit.1.div_ceil(slots)).min().unwrap();
        let window = |&(limit, length): &(u64, u64)| {
            let asked = length.div_ceil(slots);
            let slot = tick << (asked / tick).ilog2();
            (limit, slot, length.div_ceil(slot) + 1)
        };
        OfSlots { windows: limits.iter().map(window).collect() }
    }

    fn used_of(grants: &[(u64, u64)], now: u64, slot: u64, slots: u64) -> u64 {
        let counts = |grant: &&(u64, u64)| now / slot - grant.0 / slot < slots;
        grants.iter().filter(counts).map(|grant| grant.1).sum()
    }
}

impl Law for OfSlots {
    /// The instants of grants, and the permits.
    type Counts = Vec<(u64, u64)>;

    fn empty(&self, _now: u64) -> Vec<(u64, u64)> {
        Vec::new()
    }

    fn limit(&self) -> u64 {
        self.windows.iter().map(|window| window.0).min().unwrap()
    }

    fn set_limit(&mut self, limit: u64) {
        self.windows[0].0 = limit;
    }

    fn used(&self, grants: &Vec<(u64, u64)>, now: u64) -> u64 {
        let (_, slot, slots) = self.windows[0];
        OfSlots::used_of(grants, now, slot, slots)
    }

    fn fits(&self, grants: &Vec<(u64, u64)>, now: u64, permits: u64) -> bool {
        self.windows.iter().all(|&(limit, slot, slots)| {
            OfSlots::used_of(grants, now, slot, slots) + permits <= limit
        })
    }

    fn grant(&self, grants: &Vec<(u64, u64)>, now: u64, permits: u64) -> Vec<(u64, u64)> {
        [grants.as_slice(), &[(now, permits)]].concat()
    }
}

/// The counts before and after a grant, if nothing has changed since.
type Unseen<L> = Option<(<L as Law>::Counts, <L as Law>::Counts)>;

/// A window and its line, by definition.
#[derive(Clone)]
pub(crate) struct Ideal<L: Law> {
    pub(crate) law: L,
    pub(crate) counts: L::Counts,
    pub(crate) line: VecDeque<(usize, u64)>,
    /// Grants that their callers do not know of.
    pub(crate) unseen: Vec<(usize, Unseen<L>)>,
}

impl<L: Law> Ideal<L> {
    pub(crate) fn new(law: L) -> Ideal<L> {
        Ideal { counts: law.empty(0), law, line: VecDeque::new(), unseen: Vec::new() }
    }

    fn fits(&self, now: u64, permits: u64) -> bool {
        self.law.fits(&self.counts, now, permits)
    }

    fn grant(&mut self, now: u64, permits: u64) -> (L::Counts, L::Counts) {
        let after = self.law.grant(&self.counts, now, permits);
        (std::mem::replace(&mut self.counts, after.clone()), after)
    }

    pub(crate) fn settle(&mut self, now: u64) {
        while let Some(&(id, permits)) = self.line.front()
            && self.fits(now, permits)
        {
            let charged = self.grant(now, permits);
            self.unseen.push((id, Some(charged)));
            self.line.pop_front();
        }
    }

    pub(crate) fn try_acquire(&mut self, now: u64, permits: u64) -> bool {
        if permits == 0 {
            return true;
        }
        self.settle(now);
        let is_granted = self.line.is_empty() && self.fits(now, permits);
        if is_granted {
            self.grant(now, permits);
        }
        is_granted
    }

    pub(crate) fn leave(&mut self, now: u64, id: usize) {
        if let Some(at) = self.unseen.iter().position(|(other, _)| *other == id) {
            match self.unseen.swap_remove(at) {
                (_, Some((before, after))) if self.counts == after => self.counts = before,
                _ => return,
            }
        }
        self.line.retain(|(other, _)| *other != id);
        self.settle(now);
    }

    /// The instant at which it is the turn of `id`, if all ahead of it stay and nothing is late.
    pub(crate) fn due(&self, now: u64, id: usize) -> u64 {
        let mut ahead = self.clone();
        (now..now + 100_000)
            .find(|&now| {
                ahead.settle(now);
                !ahead.line.iter().any(|(other, _)| *other == id)
            })
            .unwrap()
    }
}
