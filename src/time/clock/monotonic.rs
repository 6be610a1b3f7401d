//! The operating system's monotonic clock.

use std::time::Instant;

use super::Clock;

/// Reads [`std::time::Instant`]: the operating system's monotonic clock.
///
/// Slower than the processor's counter and immune to its faults: the system
/// keeps processors in step, and the time never goes back. Time since the clock
/// was made.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// A clock that starts at 0 now.
    #[must_use]
    pub fn new() -> MonotonicClock {
        MonotonicClock { origin: Instant::now() }
    }
}

impl Default for MonotonicClock {
    fn default() -> MonotonicClock {
        MonotonicClock::new()
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now_nanos(&self) -> u64 {
        crate::time::units::nanos(self.origin.elapsed())
    }
}
