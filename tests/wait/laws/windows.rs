//! Windows by definition.

use super::{Ideal, Law};

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
    type State = Counts;

    fn empty(&self, now: u64) -> Counts {
        let start =
            if matches!(self.kind, Kind::FromFirst) { now } else { now - now % self.length };
        Counts { start, current: 0, previous: 0 }
    }

    fn limit(&self) -> u64 {
        self.limit
    }

    fn told(&self, counts: &Counts, now: u64) -> i64 {
        let Counts { start, current, previous } = self.at(*counts, now);
        (current + (previous * (start + self.length - now)).div_ceil(self.length)) as i64
    }

    fn grant(&self, counts: &Counts, _since: u64, now: u64, permits: u64) -> Option<Counts> {
        let counts = self.at(*counts, now);
        let (current, left) = (counts.current + permits, counts.start + self.length - now);
        let fits = current * self.length + counts.previous * left <= self.limit * self.length;
        fits.then_some(Counts { current, ..counts })
    }

    fn change(ideal: &mut Ideal<OneWord>, now: u64, limit: u64) -> bool {
        ideal.law.limit = limit;
        keep_within(ideal, now)
    }
}

/// Refuses callers that want more than the limit is now.
fn keep_within<L: Law>(ideal: &mut Ideal<L>, now: u64) -> bool {
    let limit = ideal.law.limit();
    ideal.line.retain(|(_, permits)| *permits <= limit);
    ideal.settle(now);
    true
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
    type State = Vec<(u64, u64)>;

    fn empty(&self, _now: u64) -> Vec<(u64, u64)> {
        Vec::new()
    }

    fn limit(&self) -> u64 {
        self.windows.iter().map(|window| window.0).min().unwrap()
    }

    fn told(&self, grants: &Vec<(u64, u64)>, now: u64) -> i64 {
        let (_, slot, slots) = self.windows[0];
        OfSlots::used_of(grants, now, slot, slots) as i64
    }

    fn grant(
        &self,
        grants: &Vec<(u64, u64)>,
        _since: u64,
        now: u64,
        permits: u64,
    ) -> Option<Vec<(u64, u64)>> {
        let fits = |&(limit, slot, slots): &(u64, u64, u64)| {
            OfSlots::used_of(grants, now, slot, slots) + permits <= limit
        };
        self.windows.iter().all(fits).then(|| [grants.as_slice(), &[(now, permits)]].concat())
    }

    fn change(ideal: &mut Ideal<OfSlots>, now: u64, limit: u64) -> bool {
        ideal.law.windows[0].0 = limit;
        keep_within(ideal, now)
    }
}
