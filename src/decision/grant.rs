//! Answers that grant permits.

use core::time::Duration;

use super::forecast::Forecast;

/// The answer to a request that was granted.
///
/// Small and `Copy`. Describes the limiter right after the grant; derived values are computed on
/// request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub(crate) permits: u64,
    pub(crate) forecast: Forecast,
}

impl Grant {
    /// Returns the number of permits that were granted.
    #[must_use]
    #[inline]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Returns the number of whole permits that were left.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.forecast.remaining()
    }

    /// Returns the largest number of permits that can be granted at once; for a window, its limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.forecast.limit()
    }

    /// Returns the wait until the limiter is full again, if no other permits are taken.
    ///
    /// The least time that suffices, to the nanosecond.
    #[must_use]
    pub fn reset_after(&self) -> Duration {
        self.forecast.reset_after()
    }

    /// Returns the wait until the debt that this grant left is repaid; zero if it left none.
    ///
    /// A caller that forces its permits and then waits this long keeps to the rate.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.forecast.ready_after()
    }
}
