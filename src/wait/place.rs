//! Places in line.

use core::num::NonZeroU32;

/// The place of a caller or a reservation among the nodes of its line, plus 1; valid until it is told its
/// outcome, or let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key(NonZeroU32);

impl Key {
    /// Returns the key of a place that is below the most nodes of a line.
    pub(super) fn new(place: usize) -> Key {
        Key(NonZeroU32::MIN.saturating_add(place as u32))
    }

    pub(super) fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// One in line, as the turns of those behind it depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) permits: u64,
    /// The instant that a reservation was told; `None` for a caller.
    pub(crate) told_nanos: Option<u64>,
}
