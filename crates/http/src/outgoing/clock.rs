//! Tokio's time as a clock.

use sluicegate::Clock;
use tokio::time::Instant;

/// The clock of tokio's timers, which `tokio::time::pause` stops: so what waits by tokio's timers also
/// decides by their time. A reading costs tens of nanoseconds.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate_http::outgoing::TokioClock;
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
    start: Instant,
}

impl TokioClock {
    /// Creates a clock at 0.
    #[must_use]
    pub fn new() -> TokioClock {
        TokioClock { start: Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> TokioClock {
        TokioClock::new()
    }
}

impl Clock for TokioClock {
    fn now_nanos(&self) -> u64 {
        super::nanos(self.start.elapsed())
    }
}
