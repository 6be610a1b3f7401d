//! The forecast of a limiter that has looked up its waits when it decided.

/// Of a limiter that has looked up when it will be as it is asked to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) limit: u64,
    /// Permits that count now; more than the limit if that was lowered.
    pub(crate) used: u64,
    /// Until nothing counts any more.
    pub(crate) reset_nanos: u64,
    /// Until what was refused can be granted; 0 in a grant.
    pub(crate) retry_nanos: u64,
}
