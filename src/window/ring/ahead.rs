//! The turns of callers in line for a ring: what the windows will hold if nobody else comes. No
//! atomics here, but for the boundaries that it reads.

use alloc::vec::Vec;

use crate::window::intervals::Moment;

use super::Now;
use super::slots::WindowSlots;
use super::words::Hot;

/// A ring as it is at one moment, with grants that are yet to come.
pub(super) struct Ahead<'a> {
    windows: &'a [WindowSlots],
    hot: Hot,
    now: Now,
    tick_nanos: u64,
    /// Ticks by which the word is ahead of now. A grant before that is counted in the word's slot.
    skew: u64,
    /// Ticks from now to the last turn.
    last: u64,
    /// Each grant: ticks from now, and the permits of all grants up to it.
    granted: Vec<(u64, u64)>,
}

impl<'a> Ahead<'a> {
    /// The word is open.
    pub(super) fn new(
        windows: &'a [WindowSlots],
        hot: Hot,
        now: Now,
        tick_nanos: u64,
    ) -> Ahead<'a> {
        let skew = windows.first().map_or(0, |window| window.ticks_ahead(hot, now));
        Ahead { windows, hot, now, tick_nanos, skew, last: 0, granted: Vec::new() }
    }

    /// Returns the time until the last of several callers has its turn. They want `sizes`, one
    /// after the other. Those that want more than a limit are refused, and hold nobody up.
    pub(super) fn wait_nanos(mut self, sizes: &[u64]) -> u64 {
        for &permits in sizes {
            if self.windows.iter().any(|window| permits > window.limit().get()) {
                continue;
            }
            let Some(turn) = self.turn_of(permits) else { return u64::MAX };
            self.last = turn;
            let before = self.granted.last().map_or(0, |&(_, permits)| permits);
            self.granted.push((turn, before.saturating_add(permits)));
        }
        match self.last {
            0 => 0,
            ticks => (ticks - 1)
                .saturating_mul(self.tick_nanos)
                .saturating_add(self.now.moment.left_nanos),
        }
    }

    /// Returns the first tick, from the last turn on, in which there is room for `permits`. It can be
    /// searched for: as long as nobody is granted any, what counts only gets less.
    fn turn_of(&self, permits: u64) -> Option<u64> {
        if self.has_room(self.last, permits) {
            return Some(self.last);
        }
        let (mut too_early, mut step) = (self.last, 1_u64);
        let mut enough = loop {
            let tick = self.last.checked_add(step)?;
            if self.has_room(tick, permits) {
                break tick;
            }
            too_early = tick;
            step = step.checked_mul(2)?;
        };
        while enough - too_early > 1 {
            let middle = too_early.midpoint(enough);
            if self.has_room(middle, permits) { enough = middle } else { too_early = middle }
        }
        Some(enough)
    }

    fn has_room(&self, ticks: u64, permits: u64) -> bool {
        self.windows.iter().all(|window| {
            let present = self.slot(window, ticks);
            // The first grant that still counts then.
            let first = self.granted.partition_point(|&(ticks, _)| {
                present.wrapping_sub(self.slot(window, ticks)) >= window.slots()
            });
            let before = first.checked_sub(1).map_or(0, |last| self.granted[last].1);
            let granted = self.granted.last().map_or(0, |&(_, permits)| permits) - before;
            let used = self.used(window, ticks).saturating_add(granted);
            used.saturating_add(permits) <= window.limit().get()
        })
    }

    /// Returns the slot in which a grant is counted. Its number does not wrap as those in words do.
    fn slot(&self, window: &WindowSlots, ticks: u64) -> u64 {
        window.slot_of(self.now.moment.tick.wrapping_add(ticks.max(self.skew)))
    }

    /// Returns the permits of present grants that still count.
    fn used(&self, window: &WindowSlots, ticks: u64) -> u64 {
        if ticks > window.ticks_in_view().saturating_add(self.skew) {
            return 0;
        }
        let Moment { tick, left_nanos } = self.now.moment;
        let tick = tick.wrapping_add(ticks);
        let left_nanos = if ticks == 0 { left_nanos } else { self.tick_nanos };
        window.used(self.hot, Now { moment: Moment { tick, left_nanos } })
    }
}
