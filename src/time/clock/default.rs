//! The default clock of a limiter.

#[cfg(feature = "std")]
use super::Clock;
#[cfg(all(feature = "std", not(feature = "quanta")))]
use super::monotonic::MonotonicClock as Source;
#[cfg(feature = "quanta")]
use super::quanta::QuantaClock as Source;

/// The default clock of a limiter.
///
/// With the feature `quanta` it reads the processor's counter, like `QuantaClock`; otherwise the
/// operating system's monotonic clock, like `MonotonicClock`. Without `std` there is no default
/// clock: this type has no values, and every limiter must be given a clock.
///
/// # Examples
///
/// ```
/// use sluicegate::{Clock, TokenBucket, quota};
/// use sluicegate::clock::DefaultClock;
///
/// // The clock of a type that names none.
/// let bucket: TokenBucket<DefaultClock> = TokenBucket::new(quota!(10 / second));
/// assert!(bucket.clock().now_nanos() <= bucket.clock().now_nanos());
/// ```
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default)]
pub struct DefaultClock(Source);

/// The default clock of a limiter. Without `std` there is none: this type has no values, and every
/// limiter must be given a clock.
#[cfg(not(feature = "std"))]
#[derive(Clone, Debug)]
pub enum DefaultClock {}

#[cfg(feature = "std")]
impl Clock for DefaultClock {
    #[inline]
    fn now_nanos(&self) -> u64 {
        self.0.now_nanos()
    }
}
