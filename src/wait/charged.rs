//! The charge of a grant, and of a reservation.

use super::place::Place;

/// A word before and after a grant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charged {
    pub(crate) before: u64,
    pub(crate) after: u64,
    /// Changes of the limiter before the grant; 0 where no word comes back after a change.
    pub(crate) changes: u64,
}

impl Charged {
    /// The charge of a grant that took nothing of a word, or of which nothing is kept.
    pub(crate) const NOTHING: Charged = Charged { before: 0, after: 0, changes: 0 };
}

/// A reservation that was made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Booked {
    /// Instant at which the permits are earned.
    pub(crate) at_nanos: u64,
    /// Time until then, from when the reservation was made.
    pub(crate) wait_nanos: u64,
    /// Quarter-units that were taken of a bucket's word.
    pub(crate) cost: u64,
    /// Nothing, as long as it stands in line.
    pub(crate) charged: Charged,
    /// Its place in line, if others wait ahead of it.
    pub(crate) place: Option<Place>,
}
