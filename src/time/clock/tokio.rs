//! Tokio's time as a clock.

use tokio::time::Instant;

use super::Clock;

/// A clock that reads tokio's time, which `tokio::time::pause` stops.
///
/// For tests in paused time, and for callers that sleep by [`TokioTimer`](crate::wait::TokioTimer) in it: by another
/// clock no time would pass for the limiter while they sleep, and they would sleep again and again. Where time is never
/// paused, the default clock is faster: a reading of this one costs tens of nanoseconds. The origin is the creation of
/// the clock.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate::clock::TokioClock;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// tokio::time::pause();
/// let bucket = TokenBucket::with_clock(quota!(1 / hour), TokioClock::new());
/// assert!(bucket.try_acquire(1).is_ok());
/// tokio::time::advance(Duration::from_secs(3_600)).await;
/// assert!(bucket.try_acquire(1).is_ok());
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    origin: Instant,
}

impl TokioClock {
    /// Creates a clock that is at 0 now.
    #[must_use]
    pub fn new() -> TokioClock {
        TokioClock { origin: Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> TokioClock {
        TokioClock::new()
    }
}

impl Clock for TokioClock {
    fn now_nanos(&self) -> u64 {
        crate::time::units::nanos(self.origin.elapsed())
    }
}
