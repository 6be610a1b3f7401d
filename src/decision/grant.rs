//! Answers that grant permits.

use core::time::Duration;

use super::forecast::Forecast;

/// Permits were granted.
///
/// Small and `Copy`. Describes the limiter as it was right after the grant; what
/// has to be computed is computed when it is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub(crate) permits: u64,
    pub(crate) forecast: Forecast,
}

impl Grant {
    /// The permits that were granted.
    #[must_use]
    #[inline]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Whole permits that were left.
    #[must_use]
    pub fn remaining(&self) -> u64 {
        self.forecast.remaining()
    }

    /// The most that can be granted at once; of a window, its limit.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.forecast.limit()
    }

    /// How long until the limiter is full again, if nobody takes any more.
    ///
    /// The least time that suffices, to the nanosecond.
    #[must_use]
    pub fn reset_after(&self) -> Duration {
        self.forecast.reset_after()
    }

    /// How long until the debt that this grant left is repaid; zero if it left
    /// none.
    ///
    /// A caller that forced its permits and then waits this long has kept to the
    /// rate.
    #[must_use]
    pub fn ready_after(&self) -> Duration {
        self.forecast.ready_after()
    }
}
