//! Reservations of windows of one word. What is checked:
//!
//! * Every answer, of every sequence of a few calls on small windows, and of long random ones on
//!   larger ones, is that of a slow reference, which keeps what was taken of each window; and each
//!   wait is the least that suffices.
//! * No window has more than its limit of what was granted in it, reserved for it, and used beyond
//!   estimates.
//! * The windows of a calendar, and those from the first grant, keep to their limits, too, whatever
//!   their lengths.
//! * A change of the limit, a reset, a clock that goes back, callers in line and receipts.

#[cfg(feature = "calendar")]
mod calendars;
mod from_first;
mod random;
mod reference;
mod replay;
mod stories;
