//! Time: integer units, clocks, and the windows of a calendar.

#[cfg(feature = "calendar")]
pub(crate) mod calendar;
pub mod clock;
#[cfg(feature = "wait")]
pub(crate) mod latest;
pub(crate) mod units;
#[cfg(feature = "wait")]
pub(crate) mod wide;
