//! A clock that moves only when told to.

use core::time::Duration;

use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::time::units;

use super::Clock;

/// A clock that moves only when told to: for tests, simulations, replayed
/// traffic and models. Needs neither `std` nor an allocator.
///
/// Share it by reference, or in an `Arc`; both are clocks.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{ManualClock, TokenBucket, quota};
///
/// let clock = ManualClock::new();
/// let bucket = TokenBucket::with_clock(quota!(2 / second), &clock);
/// assert!(bucket.try_acquire(2).is_ok());
/// assert!(bucket.try_acquire(1).is_err());
///
/// clock.advance(Duration::from_millis(500));
/// assert!(bucket.try_acquire(1).is_ok());
/// ```
#[derive(Debug)]
#[doc(alias = "FakeRelativeClock")]
pub struct ManualClock {
    nanos: AtomicWord<u64>,
}

// ORDERING: Relaxed throughout. A reading is a number and publishes nothing; a
// limiter's bound holds for any reading taken during the call.
// MODEL: every model that moves a clock, such as `the_clock_may_move_at_any_time`.
impl ManualClock {
    /// Creates a clock at 0.
    #[must_use]
    pub fn new() -> ManualClock {
        ManualClock::at(0)
    }

    /// Creates a clock at `nanos`.
    #[must_use]
    pub fn at(nanos: u64) -> ManualClock {
        ManualClock { nanos: AtomicWord::new(nanos) }
    }

    /// Sets the time, forwards or backwards.
    pub fn set_nanos(&self, nanos: u64) {
        self.nanos.store(nanos, Relaxed);
    }

    /// Moves the time forwards, at most to the end of its range.
    ///
    /// For use by one thread at a time: of two concurrent moves, one may be lost.
    pub fn advance(&self, by: Duration) {
        self.advance_nanos(units::nanos(by));
    }

    /// Moves the time forwards like [`advance`](ManualClock::advance), by `nanos` nanoseconds.
    pub fn advance_nanos(&self, nanos: u64) {
        self.set_nanos(self.now_nanos().saturating_add(nanos));
    }

    /// Moves the time backwards, at most to 0, which a real clock should never do.
    pub fn rewind(&self, by: Duration) {
        self.set_nanos(self.now_nanos().saturating_sub(units::nanos(by)));
    }
}

impl Default for ManualClock {
    fn default() -> ManualClock {
        ManualClock::new()
    }
}

impl Clock for ManualClock {
    #[inline]
    fn now_nanos(&self) -> u64 {
        self.nanos.load(Relaxed)
    }
}
