//! A window that begins with the first grant.

use super::{SKEW_NANOS, ceil};

#[derive(Clone, Debug)]
pub(crate) struct FromFirst {
    length: i128,
    tick: i128,
    /// In ticks.
    start: i128,
    grants: Vec<u64>,
}

impl FromFirst {
    /// A limit of `b` bits leaves ticks of `2^b` ns, but at most `2^-16` of the
    /// window.
    pub(crate) fn new(now: u64, length: u64, limit: u64) -> FromFirst {
        let for_the_years = limit.ilog2() + 1;
        let for_the_window = length.ilog2().saturating_sub(16);
        let tick = 1 << for_the_years.min(for_the_window);
        let start = ceil(now.into(), tick);
        FromFirst { length: length.into(), tick, start, grants: Vec::new() }
    }

    fn end(&self) -> i128 {
        self.start * self.tick + self.length
    }

    fn is_running(&self, now: i128) -> bool {
        // It does not begin earlier than was noted, even if nothing was granted since.
        let has_begun = !self.grants.is_empty() || self.start * self.tick > now;
        has_begun && now < self.end()
    }

    pub(super) fn used(&self, _: usize, now: i128) -> u64 {
        if self.is_running(now) { self.grants.iter().sum() } else { 0 }
    }

    pub(super) fn record(&mut self, now: i128, permits: u64) {
        if !self.is_running(now) {
            self.reset(now);
        }
        self.grants.push(permits);
    }

    pub(super) fn heal(&mut self, now: i128) -> bool {
        let ahead = self.start * self.tick - now;
        let heals = self.is_running(now) && ahead > SKEW_NANOS + self.tick;
        if heals {
            self.start = ceil(now, self.tick);
        }
        heals
    }

    pub(super) fn is_current(&self, now: i128) -> bool {
        self.start <= ceil(now, self.tick)
    }

    pub(super) fn reset(&mut self, now: i128) {
        self.start = ceil(now, self.tick);
        self.grants.clear();
    }

    pub(super) fn restore(&mut self, now: i128, spent: &[(u64, u64)]) {
        self.reset(now);
        let young = || spent.iter().filter(|&&(age, _)| i128::from(age) < self.length);
        self.grants = young().map(|&(_, permits)| permits).collect();
        let oldest = young().map(|&(age, _)| i128::from(age)).max();
        self.start = ceil(now - oldest.unwrap_or(0), self.tick);
    }

    pub(super) fn word(&self) -> [i128; 3] {
        [self.start, i128::from(self.grants.iter().sum::<u64>()), 0]
    }
}
