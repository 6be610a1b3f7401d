//! A window over the ring: its slots, and the permits in them.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::bits::Field;
use crate::config::error::ConfigError;
use crate::decision::history::History;
use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::window::intervals::Intervals;
use crate::window::limit::Limit;

use super::Now;
use super::plan::Plan;
use super::words::{Hot, Layout, STATE_BITS};

/// One window.
pub(crate) struct WindowSlots {
    limit: Limit,
    window_nanos: u64,
    /// Number of slots that the window was made for.
    asked: u32,
    /// Logarithm of the slot length: a slot is `2^exponent` ticks.
    exponent: u32,
    tick_nanos: u64,
    /// Number of slots that count, including the present one.
    slots: u64,
    /// Field of the count in a boundary; below, that of the slot.
    count: Field,
    slot: Field,
    count_mask: u64,
    /// Field of the tick in the hot word.
    tick: Field,
    /// Boundaries, indexed by slot modulo their number, which is a power of two.
    boundaries: Box<[AtomicWord<u64>]>,
}

impl WindowSlots {
    pub(super) fn new(
        plan: &Plan,
        ticks: &Intervals,
        layout: &Layout,
        tick: u64,
    ) -> Result<WindowSlots, ConfigError> {
        let exponent = plan.exponent(ticks);
        let count = layout.count;
        let slot = count.then(layout.tick.bits() - exponent);
        let slots = plan.slots(ticks);
        let places = slots.next_power_of_two();
        // Each place gets the latest past slot that maps to it. Otherwise a future slot would
        // seem to be there already.
        let present = tick >> exponent;
        let latest =
            |place: u64| present.wrapping_sub(1 + (present.wrapping_sub(1 + place) & (places - 1)));
        let boundaries =
            (0..places).map(|place| AtomicWord::new(slot.wrap(latest(place)))).collect();
        Ok(WindowSlots {
            limit: Limit::new(plan.limit, layout.max_limit())?,
            window_nanos: plan.window_nanos,
            asked: plan.slots,
            exponent,
            tick_nanos: ticks.length_nanos(),
            slots,
            count,
            slot,
            count_mask: layout.count_mask,
            tick: layout.tick,
            boundaries,
        })
    }

    /// Returns the plan of this window, with the limit in force.
    pub(super) fn plan(&self) -> Plan {
        Plan { limit: self.limit.get(), window_nanos: self.window_nanos, slots: self.asked }
    }

    pub(crate) fn limit(&self) -> &Limit {
        &self.limit
    }

    pub(crate) fn window_nanos(&self) -> u64 {
        self.window_nanos
    }

    /// Returns the length of a slot.
    #[inline(always)]
    pub(crate) fn slot_nanos(&self) -> u64 {
        self.tick_nanos << self.exponent
    }

    /// Returns the number of slots that count, including the present one.
    pub(super) fn slots(&self) -> u64 {
        self.slots
    }

    /// Returns the bits of the count, in place.
    #[inline(always)]
    pub(super) fn count_mask(&self) -> u64 {
        self.count_mask
    }

    /// Returns how many slots `present`, which is not before the slot of the word, is after it.
    #[inline(always)]
    pub(super) fn slots_since(&self, hot: Hot, present: u64) -> u64 {
        present.wrapping_sub(self.slot_of(hot.tick)) & self.slot.max()
    }

    /// Returns by how many ticks the word is ahead of now; 0 if it is not.
    pub(super) fn ticks_ahead(&self, hot: Hot, now: Now) -> u64 {
        u64::try_from(self.tick.ahead(hot.tick, now.moment.tick)).unwrap_or(0)
    }

    /// Returns the ticks after which no permit counts any more.
    pub(super) fn ticks_in_view(&self) -> u64 {
        self.slots << self.exponent
    }

    /// Returns the slot of `tick`.
    #[inline]
    pub(super) fn slot_of(&self, tick: u64) -> u64 {
        tick >> self.exponent
    }

    /// Returns the boundary at the end of `slot`.
    #[inline]
    pub(super) fn boundary(&self, slot: u64) -> &AtomicWord<u64> {
        &self.boundaries[(slot as usize) & (self.boundaries.len() - 1)]
    }

    /// Encodes the boundary of `count` at the end of `slot`.
    #[inline]
    pub(super) fn word(&self, slot: u64, count: u64) -> u64 {
        self.slot.wrap(slot) | self.count.wrap(count)
    }

    /// Returns whether `word` is the boundary at the end of `slot`.
    #[inline]
    pub(super) fn is_of(&self, word: u64, slot: u64) -> bool {
        self.slot.get(word) == slot & self.slot.max()
    }

    /// Returns the slot of `word`, a boundary.
    #[inline]
    pub(super) fn slot_in(&self, word: u64) -> u64 {
        self.slot.get(word)
    }

    /// Returns `word`, a boundary, with `permits` more, modulo the bits of the count.
    pub(super) fn raised(&self, word: u64, permits: u64) -> u64 {
        self.slot.wrap(self.slot.get(word))
            | self.count.wrap(self.count.get(word).wrapping_add(permits))
    }

    /// Returns how many slots, from `present` on, will pass before `slot` leaves the window; 0 if it has.
    /// That many boundaries before it are, or will be, the oldest.
    pub(super) fn slots_left(&self, slot: u64, present: u64) -> u64 {
        self.slots.saturating_sub(present.wrapping_sub(slot) & self.slot.max())
    }

    /// Returns whether the slot of `tick` counts, as of `now`.
    pub(super) fn counts(&self, tick: u64, hot: Hot, now: Now) -> bool {
        self.slots_left(self.slot_of(tick), self.present(hot, now)) > 0
    }

    /// Returns the permits counted since the end of `slot`.
    ///
    /// Valid only if the hot word is unchanged afterwards.
    #[inline]
    fn since(&self, slot: u64, hot: Hot) -> u64 {
        let has_ended = self.slot.ahead(slot, self.slot_of(hot.tick)) < 0;
        if has_ended { self.since_ended(slot, hot) } else { 0 }
    }

    /// The same for a slot that ended before the tick of the hot word.
    #[inline]
    fn since_ended(&self, slot: u64, hot: Hot) -> u64 {
        // ORDERING: Relaxed. The value cannot be too old: the word was loaded with Acquire,
        // and the boundaries before its tick were written, or seen to be written,
        // by the thread that opened it. If it is too new, the word has moved on, and a CAS
        // there fails. (That CAS is a Release, and the seal before the new boundary an
        // Acquire that reads it or a later one, so this load comes before that
        // boundary's store.) A caller that does no CAS checks the word again, after a fence.
        // MODEL: `no_window_admits_more_than_its_limit`,
        // `a_denial_is_of_a_moment_at_which_the_window_was_full`.
        let boundary = self.boundary(slot).load(Relaxed);
        hot.count.wrapping_sub(self.count.get(boundary)) & self.count.max()
    }

    /// Returns the permits that count for `word`, which is open in `tick`.
    #[inline(always)]
    pub(super) fn held(&self, word: u64, tick: u64) -> u64 {
        let oldest = self.slot_of(tick).wrapping_sub(self.slots);
        // ORDERING: Relaxed, as in `since_ended`.
        // MODEL: `no_window_admits_more_than_its_limit`.
        let boundary = self.boundary(oldest).load(Relaxed);
        (word.wrapping_sub(boundary) & self.count_mask) >> STATE_BITS
    }

    /// Returns the permits that count, as of `now`.
    #[inline]
    pub(super) fn used(&self, hot: Hot, now: Now) -> u64 {
        self.since(self.present(hot, now).wrapping_sub(self.slots), hot)
    }

    /// Returns the slot in which a call is counted.
    #[inline(always)]
    fn present(&self, hot: Hot, now: Now) -> u64 {
        let is_later = self.tick.ahead(now.moment.tick, hot.tick) > 0;
        self.slot_of(if is_later { now.moment.tick } else { hot.tick })
    }

    /// Returns the time until `slot` begins.
    #[inline(always)]
    pub(super) fn until(&self, slot: u64, now: Now) -> u64 {
        let tick = slot.wrapping_shl(self.exponent);
        // At least one tick: the present one has not ended.
        match u64::try_from(self.tick.ahead(tick, now.moment.tick)) {
            Ok(ticks @ 1..) => {
                (ticks - 1).saturating_mul(self.tick_nanos).saturating_add(now.moment.left_nanos)
            }
            _ => 0,
        }
    }

    /// Returns the time until the present slot no longer counts.
    #[inline(always)]
    pub(super) fn forgotten_nanos(&self, hot: Hot, now: Now) -> u64 {
        self.until(self.present(hot, now).wrapping_add(self.slots), now)
    }

    /// The same for a word in the current tick.
    #[inline(always)]
    pub(super) fn forgotten_at_once_nanos(&self, now: Now) -> u64 {
        self.until_later(self.slot_of(now.moment.tick).wrapping_add(self.slots), now)
    }

    /// Returns the time until `slot` begins, which is after the current one by at most a window.
    #[inline(always)]
    pub(super) fn until_later(&self, slot: u64, now: Now) -> u64 {
        let ticks = (slot << self.exponent).wrapping_sub(now.moment.tick);
        (ticks.wrapping_sub(1)).wrapping_mul(self.tick_nanos).wrapping_add(now.moment.left_nanos)
    }

    /// Returns the time until nothing counts.
    pub(super) fn empty_nanos(&self, hot: Hot, now: Now) -> u64 {
        // Usually the present slot has permits.
        let present = self.present(hot, now);
        if self.since(present.wrapping_sub(1), hot) > 0 {
            return self.until(present.wrapping_add(self.slots), now);
        }
        self.wait_nanos(self.limit.get(), hot, now)
    }

    /// Returns the shortest wait after which `permits`, at most the limit, are available.
    pub(super) fn wait_nanos(&self, permits: u64, hot: Hot, now: Now) -> u64 {
        let room = self.limit.get().saturating_sub(permits);
        let oldest = self.present(hot, now).wrapping_sub(self.slots);
        if self.since(oldest, hot) <= room {
            return 0;
        }
        // Finds the smallest number of slots that have to leave. After the slot of the word
        // nothing counts; before it, all boundaries are written.
        let counts = |slots: u64| self.since_ended(oldest.wrapping_add(slots), hot);
        let (mut too_few, mut enough) = (0, self.slot_of(hot.tick).wrapping_sub(oldest));
        enough = (enough & self.slot.max()).min(self.slots);
        while enough - too_few > 1 {
            let middle = too_few.midpoint(enough);
            if counts(middle) <= room { enough = middle } else { too_few = middle }
        }
        let end = oldest.wrapping_add(enough).wrapping_add(self.slots);
        self.until(end, now)
    }

    /// Writes the boundaries for `spent`, of which `total` counts, at `now`; also those
    /// that do not count, as in `new`.
    pub(super) fn refill(&self, total: u64, spent: impl Iterator<Item = (u64, u64)>, now: Now) {
        let present = self.slot_of(now.moment.tick);
        let mut held = alloc::vec![0_u64; self.slots as usize + 1];
        for (age_nanos, permits) in spent {
            let ago = self.slots_ago(age_nanos, now).min(self.slots) as usize;
            held[ago] = held[ago].saturating_add(permits);
        }
        // The count at the end of a slot is the total minus the permits after it. If there are
        // more than can be told apart, the latest count.
        let mut after = 0_u64;
        for ago in 1..=self.boundaries.len() as u64 {
            let held = held.get(ago as usize - 1).copied().unwrap_or(0);
            after = after.saturating_add(held).min(self.count.max());
            let slot = present.wrapping_sub(ago);
            let word = self.word(slot, total.saturating_sub(after));
            // ORDERING: Relaxed. The caller has exclusive access to the ring.
            // MODEL: none; there is no other thread.
            self.boundary(slot).store(word, Relaxed);
        }
    }

    /// Returns how many slots before the present one the time `age_nanos` ago was.
    fn slots_ago(&self, age_nanos: u64, now: Now) -> u64 {
        let into_tick = self.tick_nanos - now.moment.left_nanos;
        let ticks = age_nanos.saturating_sub(into_tick).div_ceil(self.tick_nanos);
        let into_slot = now.moment.tick & ((1 << self.exponent) - 1);
        ticks.saturating_sub(into_slot).div_ceil(1 << self.exponent)
    }

    /// Returns the age of each boundary that counts, latest first, and the permits counted
    /// since.
    fn ages(&self, hot: Hot, now: Now) -> impl Iterator<Item = (u64, u64)> {
        let present = self.present(hot, now);
        let into = self.slot_nanos().saturating_sub(self.until(present.wrapping_add(1), now));
        (0..self.slots).map(move |slots| {
            let age_nanos = into.saturating_add(slots.saturating_mul(self.slot_nanos()));
            (age_nanos, self.since(present.wrapping_sub(slots + 1), hot))
        })
    }
}

/// Returns the permits that `windows` count, with the least age that each can have.
pub(super) fn history(windows: &[WindowSlots], hot: Hot, now: Now) -> History {
    // All windows share one count, so their boundaries form one sequence.
    let mut ages: Vec<_> = windows.iter().flat_map(|window| window.ages(hot, now)).collect();
    ages.sort_unstable();
    let mut before: Option<(u64, u64)> = None;
    History::of(ages.into_iter().map(|(age_nanos, since)| {
        // One nanosecond after the boundary before this one.
        let latest = before.map_or(0, |(age_nanos, _)| age_nanos.saturating_add(1));
        // For a clock that is behind, windows disagree about where their slots end. Permits
        // that one has reported are not reported again.
        let told = before.map_or(0, |(_, told)| told);
        let permits = since.saturating_sub(told);
        before = Some((age_nanos, since.max(told)));
        (latest, permits)
    }))
}
