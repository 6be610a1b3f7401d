//! Tokio's time as a clock.

use tokio::time::Instant;

use super::{Clock, Timeline};

/// A clock that reads tokio's time, which `tokio::time::pause` stops.
///
/// For tests in paused time. Tasks that wait for a limiter on this clock sleep by tokio's timer, so the time of their
/// runtime has to be enabled. A thread that blocks sleeps in the system's time even if tokio's is paused: once that has gone
/// on, the next call of the limiter serves the thread. Where time is never paused, the default clock is faster: a reading of
/// this one costs tens of nanoseconds. The origin is the creation of the clock.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::clock::TokioClock;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), sluicegate::wait::AcquireError> {
/// tokio::time::pause();
/// let bucket = TokenBucket::with_clock(quota!(1 / hour), TokioClock::new());
/// assert!(bucket.try_acquire(1).is_ok());
/// tokio::time::advance(Duration::from_secs(3_600)).await;
/// assert!(bucket.try_acquire(1).is_ok());
/// // The time is paused: this hour passes at once.
/// bucket.acquire(1).await?;
/// # Ok(())
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

    fn timeline(&self) -> Timeline {
        Timeline::Tokio
    }
}
