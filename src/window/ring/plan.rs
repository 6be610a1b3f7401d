//! Plans of windows: how many slots they have, and how long these are. No atomics here.

use crate::window::ticks::Ticks;

/// Which slots a window counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// All that a window of its length can touch.
    Strict,
    /// As many as make up its length.
    Aligned,
    /// The same, and the one before them in part.
    Interpolated,
}

/// What a window is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) limit: u64,
    pub(crate) window_nanos: u64,
    pub(crate) slots: u32,
    pub(crate) cover: Cover,
}

/// The ticks of `plans`: the slots of the finest of them.
pub(super) fn ticks_of(plans: &[Plan]) -> Ticks {
    Ticks::new(plans.iter().map(Plan::slot_nanos).min().unwrap_or(1))
}

impl Plan {
    /// The length of a slot. Rounded up, so that no slot is missing to the window.
    fn slot_nanos(&self) -> u64 {
        self.window_nanos.div_ceil(u64::from(self.slots.max(1)))
    }

    /// A slot is two to the power of this ticks: at most as long as it was asked to
    /// be, so that the window has no fewer slots.
    pub(super) fn exponent(&self, ticks: &Ticks) -> u32 {
        (self.slot_nanos() / ticks.length_nanos()).ilog2()
    }

    /// How many slots count, the present one included.
    pub(super) fn slots(&self, ticks: &Ticks) -> u64 {
        let slots = self.window_nanos.div_ceil(ticks.length_nanos() << self.exponent(ticks));
        match self.cover {
            Cover::Aligned => slots,
            Cover::Strict | Cover::Interpolated => slots + 1,
        }
    }

    /// The least bits for the numbers of ticks.
    pub(super) fn bits(&self, ticks: &Ticks) -> u32 {
        u64::BITS - self.slots(ticks).leading_zeros() + 2 + self.exponent(ticks)
    }
}
