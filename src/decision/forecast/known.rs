//! The forecast of a limiter that looks up its waits when it decides.

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
