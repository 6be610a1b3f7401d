//! Sliding windows of slots, several over the same traffic.

use super::{SKEW_NANOS, ceil, floor};

/// A window.
#[derive(Clone, Debug)]
struct Span {
    /// The length of a slot.
    slot: i128,
    /// Number of slots in the window.
    slots: i128,
}

#[derive(Clone, Debug)]
pub(crate) struct Ring {
    tick: i128,
    spans: Vec<Span>,
    /// By how much its time is ahead of the clock's.
    shift: i128,
    /// The tick that was last written to.
    last: i128,
    /// All permits, and one for each reset.
    total: u64,
    /// The tick of each grant, the permits, and the total with them.
    grants: Vec<(i128, u64, u64)>,
}

impl Ring {
    /// Windows of these lengths. Slots are as long as the finest window's, doubled
    /// as long as they are no longer than was asked for.
    pub(crate) fn new(now: u64, lengths: &[u64], slots: u32) -> Ring {
        let asked = |length: u64| i128::from(length.div_ceil(slots.into()));
        let tick = lengths.iter().map(|&length| asked(length)).min().expect("a window");
        let spans = lengths.iter().map(|&length| {
            let mut slot = tick;
            while slot * 2 <= asked(length) {
                slot *= 2;
            }
            Span { slot, slots: ceil(length.into(), slot) }
        });
        let (spans, last) = (spans.collect(), floor(now.into(), tick));
        Ring { tick, spans, shift: 0, last, total: 0, grants: Vec::new() }
    }

    /// The time of a call at `now`: not before what was last written.
    fn time(&self, now: i128) -> i128 {
        (now + self.shift).max(self.last * self.tick)
    }

    /// The length of a slot, and how many make up the window.
    pub(crate) fn slots(&self, which: usize) -> (u64, u64) {
        let span = &self.spans[which];
        (span.slot as u64, span.slots as u64)
    }

    pub(super) fn used(&self, which: usize, now: i128) -> u64 {
        let Span { slot, slots } = self.spans[which];
        let present = floor(self.time(now), slot);
        // All slots that a window can overlap: one more than its length has.
        let counts =
            |grant: &&(i128, u64, u64)| floor(grant.0 * self.tick, slot) >= present - slots;
        self.grants.iter().filter(counts).map(|grant| grant.1).sum()
    }

    /// Begins the tick of `now`.
    pub(super) fn turn(&mut self, now: i128) {
        self.last = floor(self.time(now), self.tick);
    }

    pub(super) fn record(&mut self, now: i128, permits: u64) {
        self.turn(now);
        self.total += permits;
        self.grants.push((self.last, permits, self.total));
    }

    pub(super) fn take_back(&mut self, before: &Ring) {
        self.total = before.total;
        self.grants.retain(|grant| grant.2 <= before.total);
    }

    pub(super) fn heal(&mut self, now: i128) -> bool {
        let ahead = self.last - floor(now + self.shift, self.tick);
        let heals = ahead > 1 + SKEW_NANOS / self.tick;
        if heals {
            // Time goes on from before where it stood.
            self.shift += (ahead - 1) * self.tick;
        }
        heals
    }

    pub(super) fn is_current(&self, now: i128) -> bool {
        self.last <= floor(now + self.shift, self.tick)
    }

    pub(super) fn reset(&mut self, _: i128) {
        self.total += 1;
        self.grants.clear();
    }

    pub(super) fn restore(&mut self, now: i128, spent: &[(u64, u64)]) {
        let time = now + self.shift;
        self.last = floor(time, self.tick);
        self.total = 0;
        self.grants.clear();
        for &(age, permits) in spent {
            self.total += permits;
            let tick = floor(time - i128::from(age), self.tick);
            self.grants.push((tick, permits, self.total));
        }
    }

    pub(super) fn word(&self) -> [i128; 3] {
        [self.last, self.total.into(), 0]
    }
}
