//! Plans of windows: the number and the length of their slots. No atomics here.

use crate::window::intervals::Intervals;

/// Configuration of one window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) limit: u64,
    pub(crate) window_nanos: u64,
    pub(crate) slots: u32,
}

/// Returns the ticks of `plans`: the slots of the finest of them.
pub(super) fn ticks_of(plans: &[Plan]) -> Intervals {
    Intervals::new(plans.iter().map(Plan::slot_nanos).min().unwrap_or(1))
}

impl Plan {
    /// Number of slots of a window for which nobody has chosen it.
    pub(crate) const SLOTS: u32 = 60;

    /// Returns the length of a slot, rounded up so that the slots cover the window.
    fn slot_nanos(&self) -> u64 {
        self.window_nanos.div_ceil(u64::from(self.slots.max(1)))
    }

    /// Returns the logarithm of a slot's length in ticks. A slot is at most as long as
    /// requested, so that the window has at least as many slots.
    pub(super) fn exponent(&self, ticks: &Intervals) -> u32 {
        (self.slot_nanos() / ticks.length_nanos()).ilog2()
    }

    /// Returns the number of slots that count, including the present one: all that a window of
    /// this length can touch.
    pub(super) fn slots(&self, ticks: &Intervals) -> u64 {
        self.window_nanos.div_ceil(ticks.length_nanos() << self.exponent(ticks)) + 1
    }

    /// Returns the minimum number of bits for the numbers of ticks.
    pub(super) fn bits(&self, ticks: &Intervals) -> u32 {
        u64::BITS - self.slots(ticks).leading_zeros() + 2 + self.exponent(ticks)
    }
}
