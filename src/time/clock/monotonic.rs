//! The operating system's monotonic clock.

use std::time::Instant;

use super::Clock;

/// A clock that reads [`std::time::Instant`], the operating system's monotonic clock.
///
/// It is slower than the processor's counter and immune to its faults: the system keeps the
/// processors in step, and the time never goes back. The origin is the creation of the clock.
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate::clock::MonotonicClock;
///
/// let bucket = TokenBucket::with_clock(quota!(10 / second), MonotonicClock::new());
/// assert!(bucket.try_acquire(10).is_ok());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// Creates a clock that is at 0 now.
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
