//! Time since the Unix epoch, as the system's clock has it.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::time::units;

use super::Clock;

/// Nanoseconds since the Unix epoch, 1970-01-01 00:00 UTC, by the system's clock.
///
/// For windows that are to begin with the hour or the day. It can be set, by a
/// person or by a time server, so it may jump in both directions; see
/// [`Clock`] for what a limiter does then. A time before the epoch is the epoch.
///
/// # Examples
///
/// ```
/// use sluicegate::{Clock, UnixClock};
///
/// let year_nanos = 31_556_952_000_000_000;
/// assert!(UnixClock::new().now_nanos() > 50 * year_nanos);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct UnixClock(());

impl UnixClock {
    /// The system's clock.
    #[must_use]
    pub fn new() -> UnixClock {
        UnixClock(())
    }
}

impl Clock for UnixClock {
    #[inline]
    fn now_nanos(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, units::nanos)
    }
}
