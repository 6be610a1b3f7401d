//! Windows that follow each other from the origin, with or without a part of the
//! one before.

use super::{SKEW_NANOS, floor};

#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    length: i128,
    /// True if the window before counts by the part that is still covered.
    slides: bool,
    /// The window that was last written to.
    last: i128,
    /// The window of each grant, and the permits.
    grants: Vec<(i128, u64)>,
}

impl Fixed {
    pub(crate) fn new(now: u64, length: u64, slides: bool) -> Fixed {
        let length = length.into();
        Fixed { length, slides, last: floor(now.into(), length), grants: Vec::new() }
    }

    /// The window of a call at `now`.
    fn present(&self, now: i128) -> i128 {
        self.last.max(floor(now, self.length))
    }

    fn sum(&self, window: i128) -> i128 {
        self.grants.iter().filter(|grant| grant.0 == window).map(|grant| i128::from(grant.1)).sum()
    }

    pub(super) fn used(&self, _: usize, now: i128) -> u64 {
        let present = self.present(now);
        let previous = if self.slides { self.sum(present - 1) } else { 0 };
        let left = ((present + 1) * self.length - now).min(self.length);
        (self.sum(present) + super::ceil(previous * left, self.length)) as u64
    }

    pub(super) fn record(&mut self, now: i128, permits: u64) {
        self.last = self.present(now);
        self.grants.push((self.last, permits));
        self.grants.retain(|grant| grant.0 >= self.last - 1);
    }

    pub(super) fn heal(&mut self, now: i128) -> bool {
        let ahead = self.last - floor(now, self.length);
        if ahead <= 1 + SKEW_NANOS / self.length {
            return false;
        }
        let last = self.last;
        self.grants.retain(|grant| grant.0 >= last - 1);
        self.grants.iter_mut().for_each(|grant| grant.0 -= ahead);
        self.last -= ahead;
        true
    }

    pub(super) fn is_current(&self, now: i128) -> bool {
        self.last <= floor(now, self.length)
    }

    pub(super) fn reset(&mut self, now: i128) {
        self.last = floor(now, self.length);
        self.grants.clear();
    }

    pub(super) fn restore(&mut self, now: i128, spent: &[(u64, u64)]) {
        self.reset(now);
        let window = |age: u64| floor(now - i128::from(age), self.length);
        self.grants = spent.iter().map(|&(age, permits)| (window(age), permits)).collect();
    }

    pub(super) fn word(&self) -> [i128; 3] {
        let previous = if self.slides { self.sum(self.last - 1) } else { 0 };
        [self.last, self.sum(self.last), previous]
    }
}
