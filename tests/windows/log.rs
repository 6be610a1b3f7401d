//! The log of what was granted.

use super::{SKEW_NANOS, ceil};

#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) is_of_single_permits: bool,
    length: i128,
    tick: i128,
    /// Number of entries that there is space for.
    places: usize,
    /// By how much its time is ahead of the clock's.
    shift: i128,
    /// The first entry that was not reset.
    start: usize,
    /// The date of each entry, a whole number of ticks, and the permits; before the first
    /// one, what they are written over.
    entries: Vec<(i128, u64)>,
}

impl Log {
    /// A log of single permits, exact to the nanosecond.
    pub(crate) fn unit(now: u64, length: u64, capacity: u64) -> Log {
        // Dates may run ahead of the clock, so a window of one nanosecond lasts two.
        Log::new(now, length.max(2), capacity, 1, true)
    }

    /// A log of requests, in ticks of `2^(b + 1)` ns for a limit of `b` bits.
    pub(crate) fn weighted(now: u64, length: u64, capacity: u64, limit: u64) -> Log {
        Log::new(now, length, capacity + 2, 4 << limit.ilog2(), false)
    }

    fn new(now: u64, length: u64, places: u64, tick: i128, is_of_single_permits: bool) -> Log {
        let length = length.into();
        let places = places.next_power_of_two() as usize;
        let (shift, entries) = (0, Vec::new());
        let mut log = Log { is_of_single_permits, length, tick, places, shift, start: 0, entries };
        log.clear(log.dated(now.into()) - tick);
        log
    }

    fn clear(&mut self, before: i128) {
        self.entries = vec![(before, 0); self.places];
        self.start = self.places;
    }

    /// A time, rounded up to a tick.
    fn dated(&self, time: i128) -> i128 {
        ceil(time, self.tick) * self.tick
    }

    /// The most by which dates are rounded up.
    fn late(&self) -> i128 {
        if self.tick > 1 { self.tick } else { 0 }
    }

    fn last(&self) -> i128 {
        self.entries[self.entries.len() - 1].0
    }

    pub(crate) fn tick(&self) -> u64 {
        self.tick as u64
    }

    /// The oldest entry that is remembered. Those before it were gone when it was
    /// the next to go, to whoever wrote the last one.
    fn oldest(&self) -> usize {
        let places = if self.is_of_single_permits { self.places } else { self.places - 2 };
        self.entries.len() - places
    }

    /// The entries that count: those not older than the window, seen from now, or
    /// from the last one if that is later.
    fn counting(&self, now: i128) -> &[(i128, u64)] {
        let judged = (now + self.shift).max(self.last() - self.late());
        let entries = &self.entries[self.start.max(self.oldest())..];
        &entries[entries.iter().take_while(|entry| judged - entry.0 >= self.length).count()..]
    }

    pub(super) fn used(&self, _: usize, now: i128) -> u64 {
        self.counting(now).iter().map(|entry| entry.1).sum()
    }

    /// Returns whether there is no place for another entry.
    pub(super) fn is_full(&self, now: i128) -> bool {
        !self.is_of_single_permits && self.counting(now).len() >= self.places - 2
    }

    pub(super) fn record(&mut self, now: i128, permits: u64) {
        let over = self.entries[self.entries.len() - self.places].0;
        let now = self.dated(now + self.shift);
        self.entries.push((now.max(self.last()).max(over + self.tick), permits));
    }

    pub(super) fn heal(&mut self, now: i128) -> bool {
        let ahead = self.last() - (now + self.shift);
        let heals = ahead > SKEW_NANOS + self.tick;
        if heals {
            // Time goes on from where it stood, or from a moment before.
            self.shift += ahead - self.late();
        }
        heals
    }

    pub(super) fn is_current(&self, now: i128) -> bool {
        self.last() <= self.dated(now + self.shift)
    }

    pub(super) fn reset(&mut self, _: i128) {
        self.start = self.entries.len();
    }

    pub(super) fn spent(&self, now: i128) -> Vec<(u64, u64)> {
        let age = |date: i128| (now + self.shift - date).max(0) as u64;
        self.counting(now)
            .iter()
            // What was cut from a history that was too much.
            .filter(|&&(_, permits)| permits > 0)
            .map(|&(date, permits)| (age(date), permits))
            .collect()
    }

    pub(super) fn restore(&mut self, now: i128, spent: &[(u64, u64)]) {
        let mut young: Vec<_> =
            spent.iter().copied().filter(|&(age, _)| i128::from(age) < self.length).collect();
        if self.is_of_single_permits {
            let single = |&(age, permits)| std::iter::repeat_n((age, 1), permits as usize);
            young = young.iter().flat_map(single).collect();
            young.drain(..young.len().saturating_sub(self.places));
        } else if let Some(early @ 1..) = young.len().checked_sub(self.places - 2) {
            // Those for which there is no room count with the next ones.
            let sum: u64 = young.drain(..early).map(|(_, permits)| permits).sum();
            young[0].1 += sum;
        }
        if !self.is_of_single_permits {
            // Of more than can be counted, the latest count.
            let mut most = self.tick as u64 / 2 - 1;
            for (_, permits) in young.iter_mut().rev() {
                *permits = (*permits).min(most);
                most -= *permits;
            }
        }
        let date = |age: u64| self.dated(now + self.shift - i128::from(age));
        let before = date(young.first().map_or(0, |&(age, _)| age)) - self.tick;
        let entries: Vec<_> = young.iter().map(|&(age, permits)| (date(age), permits)).collect();
        self.clear(before);
        self.entries.extend(entries);
    }
}
