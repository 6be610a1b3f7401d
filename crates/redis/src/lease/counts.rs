//! The counts of a limiter with leases.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Numbers of a [`LeasedLimiter`](super::LeasedLimiter), since it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseCounts {
    /// Keys that have a lease now.
    pub keys: usize,
    /// Permits that are left in their leases.
    pub permits: u64,
    /// Requests for leases.
    pub requests: u64,
    /// Permits that were given back.
    pub given_back: u64,
}

/// Counts of limiters that take each other's place.
#[derive(Debug, Default)]
pub(crate) struct LeaseTotals {
    requests: AtomicU64,
    given_back: AtomicU64,
}

// ORDERING: Relaxed throughout: numbers for users.
// MODEL: none; no permit depends on them.
impl LeaseTotals {
    /// Counts a request for a lease.
    pub(super) fn asked(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    /// Counts permits that were given back.
    pub(super) fn gave_back(&self, permits: u64) {
        self.given_back.fetch_add(permits, Relaxed);
    }

    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    pub(super) fn given_back(&self) -> u64 {
        self.given_back.load(Relaxed)
    }
}
