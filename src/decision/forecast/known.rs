//! The forecast of a limiter that looks up its waits when it decides.

use crate::window_counts::WindowCounts;

/// The limit, the use and the waits of a limiter that looked them up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KnownForecast {
    pub(crate) limit: u64,
    /// Permits that count now; more than the limit if that was lowered.
    pub(crate) used: u64,
    /// Time until no permit counts any more.
    pub(crate) reset_nanos: u64,
    /// Time until the refused request can be granted; 0 in a grant.
    pub(crate) retry_nanos: u64,
}

impl KnownForecast {
    /// Looks the waits of a window up, for a request for `permits`.
    pub(crate) fn of(counted: &WindowCounts, permits: u64) -> KnownForecast {
        KnownForecast {
            limit: counted.limit,
            used: counted.used(),
            reset_nanos: counted.wait_nanos(counted.limit),
            retry_nanos: counted.wait_nanos(permits),
        }
    }
}
