//! The servers of limiters that several machines share: their counts, and whether they answer.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::Registry;
use super::remote_failure::RemoteFailure;

/// The requests to a server so far, and whether it answers: see [`Registry::servers`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerStatistics {
    /// The URL without a user and a password.
    pub name: String,
    /// False if a failure is the last that was heard of the server.
    pub is_answering: bool,
    /// Requests that it answered, by grants and denials.
    pub answered: u64,
    /// Requests that failed, by reason.
    pub failures: Vec<(&'static str, u64)>,
    /// Requests for which it was not asked, because others had failed shortly before.
    pub skipped: u64,
    /// Times that it was left alone.
    pub opened: u64,
}

/// Leases that a process holds of one limiter, and its counts, which go on when its terms change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaseStatistics {
    /// Keys that have a lease now.
    pub keys: usize,
    /// Permits that are left in their leases.
    pub permits: u64,
    /// Requests for leases.
    pub requests: u64,
    /// Permits that were given back.
    pub given_back: u64,
}

/// The answers of a limiter for requests to which its server gave none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FallbackCounts {
    /// Requests that were refused, as `on_failure = "closed"` says.
    pub refused: u64,
    /// Requests that `on_failure` has granted, or `shadow`.
    pub granted: u64,
    /// Requests that a machine's share of the limit has denied.
    pub denied: u64,
}

/// Counts the answers that a server did not give.
#[derive(Debug, Default)]
pub(super) struct Fallbacks {
    refused: AtomicU64,
    granted: AtomicU64,
    denied: AtomicU64,
}

// ORDERING: Relaxed throughout. Numbers for people; nothing is decided by them.
// MODEL: none.
impl Fallbacks {
    pub(super) fn refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    pub(super) fn answered(&self, is_granted: bool) {
        let count = if is_granted { &self.granted } else { &self.denied };
        count.fetch_add(1, Relaxed);
    }

    pub(super) fn counts(&self) -> FallbackCounts {
        FallbackCounts {
            refused: self.refused.load(Relaxed),
            granted: self.granted.load(Relaxed),
            denied: self.denied.load(Relaxed),
        }
    }
}

impl Registry {
    /// Returns the servers of its limiters, in the order of their names. Allocates; asks none of them.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerStatistics> {
        let mut servers = self.connector().map_or_else(Vec::new, |connector| connector.servers());
        servers.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        servers
    }

    /// Asks each server of its limiters for a sign of life, within the time limits of their stores. A server that is
    /// left alone after a failure is asked no earlier than by another request.
    ///
    /// # Errors
    ///
    /// [`RemoteFailure::Unavailable`] with the failure of the first server that does not answer.
    ///
    /// # Cancel safety
    ///
    /// Nothing is taken.
    pub async fn probe_servers(&self) -> Result<(), RemoteFailure> {
        match self.connector() {
            Some(connector) => connector.probe().await,
            None => Ok(()),
        }
    }
}
