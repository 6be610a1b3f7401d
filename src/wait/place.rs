//! A place in line, and what the caller or the reservation at it wants.

use core::num::NonZeroU32;

/// The place of a caller or a reservation among the nodes of its line, plus 1; valid until it is told its
/// outcome, or let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(NonZeroU32);

impl Place {
    /// Returns the place at `index`, which is below the most nodes of a line.
    pub(super) fn new(index: usize) -> Place {
        Place(NonZeroU32::MIN.saturating_add(index as u32))
    }

    pub(super) fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The demand of one in line, on which the turns of those behind it depend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    pub(crate) permits: u64,
    /// The instant that a reservation was told; `None` for a caller.
    pub(crate) told_nanos: Option<u64>,
}
