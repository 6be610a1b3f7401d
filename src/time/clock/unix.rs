//! Time since the Unix epoch, by the system's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::time::units;

use super::Clock;

/// A clock that reads nanoseconds since the Unix epoch, 1970-01-01 00:00 UTC, from the system's
/// clock.
///
/// For windows that begin on the hour or the day. The clock can be set, by a person or by a time
/// server, so it may jump in both directions; [`Clock`] describes the effect on a limiter. Times
/// before the epoch read as the epoch.
///
/// # Examples
///
/// ```
/// use sluicegate::Clock;
/// use sluicegate::clock::UnixClock;
///
/// let year_nanos = 31_556_952_000_000_000;
/// assert!(UnixClock::new().now_nanos() > 50 * year_nanos);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct UnixClock(());

impl UnixClock {
    /// Creates a clock that reads the system's clock.
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
