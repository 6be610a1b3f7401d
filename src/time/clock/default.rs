//! The clock of a limiter that was not given one.

#[cfg(feature = "std")]
use super::Clock;
#[cfg(all(feature = "std", not(feature = "quanta")))]
use super::monotonic::MonotonicClock as Source;
#[cfg(feature = "quanta")]
use super::quanta::QuantaClock as Source;

/// The clock of a limiter that was not given one.
///
/// The processor's counter with the feature `quanta`, as `QuantaClock`; else the
/// operating system's monotonic clock, as `MonotonicClock`. Without `std` there is
/// no such clock: it cannot be made, and a limiter has to be given one.
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default)]
pub struct DefaultClock(Source);

/// The clock of a limiter that was not given one. Without `std` there is no such
/// clock: it cannot be made, and a limiter has to be given one.
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
