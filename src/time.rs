//! Time: integer units, clocks, and the windows of a calendar.

#[cfg(feature = "calendar")]
pub(crate) mod calendar;
pub mod clock;
pub(crate) mod units;
