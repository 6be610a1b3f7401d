//! Waiting for permits of a key.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use sluicegate::wait::LineLimits;

use crate::concurrency::ConcurrencyLimit;
use crate::concurrency::entering::Entering;
use crate::concurrency::entering::error::InFlightError;
use crate::concurrency::in_flight::InFlight;

use super::KeyedConcurrency;
use super::for_each::ForEach;

/// The terms of the lines of all keys.
#[derive(Clone, Copy, Default)]
pub(super) struct LineTerms {
    limits: LineLimits,
    is_closed: bool,
}

impl LineTerms {
    /// Bounds or closes the line of a new limit, which nobody waits for. Allocates the line only if
    /// there is something to be noted.
    pub(super) fn apply_to(self, limit: &ConcurrencyLimit) {
        if self.limits != LineLimits::new() {
            limit.line().set_limits(self.limits);
        }
        if self.is_closed {
            limit.line().close();
        }
    }
}

/// Waiting. Each key has a line of its own, for threads and tasks, first
/// come, first served.
impl<K: Hash + Eq, S: BuildHasher + Clone> KeyedConcurrency<K, S> {
    /// Bounds the line of each key, live: of all that are known, and of all to come. A new store has
    /// no bounds, so that one tenant may wait as often as it likes.
    ///
    /// Takes time for each key that is known. Callers that stand in line already stay. With bounds,
    /// a key that is inserted allocates its line, whether anybody waits for it or not.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::concurrency::{InFlightError, KeyedConcurrency};
    /// use sluicegate::wait::LineLimits;
    ///
    /// let uploads = KeyedConcurrency::<String>::new(2);
    /// uploads.set_line_limits(LineLimits::new().max_waiters(0));
    /// let _both = uploads.acquire_blocking("ada", 2)?;
    /// assert_eq!(uploads.acquire_blocking("ada", 1).unwrap_err(), InFlightError::LineFull);
    /// assert!(uploads.acquire_blocking("bob", 1).is_ok());
    /// # Ok::<(), InFlightError>(())
    /// ```
    pub fn set_line_limits(&self, limits: LineLimits) {
        let mut terms = self.terms.write();
        terms.line.limits = limits;
        for shard in &self.shards {
            shard.read().keys.values().for_each(|known| known.limit.line().set_limits(limits));
        }
    }

    /// Closes the line of each key, of all that are known and of all to come: refuses all that wait,
    /// and all that would, with [`InFlightError::Closed`]. What is left can still be taken.
    ///
    /// Takes time and memory for each key that is known.
    pub fn close_lines(&self) {
        let mut terms = self.terms.write();
        terms.line.is_closed = true;
        let mut limits = Vec::new();
        for shard in &self.shards {
            let shard = shard.read();
            limits.extend(shard.keys.values().map(|known| Arc::clone(&known.limit)));
        }
        drop(terms);
        ForEach::new(limits, |limit| limit.line().close()).run();
    }

    /// Takes all of `permits` of `key`, until the guard is dropped, and blocks the thread until they
    /// are there. The guard keeps the key known, and does not borrow this.
    ///
    /// # Errors
    ///
    /// As for [`ConcurrencyLimit::acquire`].
    pub fn acquire_blocking<Q>(
        &self,
        key: &Q,
        permits: u64,
    ) -> Result<InFlight<'static>, InFlightError>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.acquire(key, permits).wait_blocking()
    }

    /// Returns a future of a guard of `permits` of `key`, first come, first served: to `.await`, or for a thread to
    /// [block](Entering::wait_blocking) on. The future keeps the key known, and does not borrow this.
    ///
    /// # Errors
    ///
    /// The future's, as for [`ConcurrencyLimit::acquire`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate_flow::concurrency::{InFlightError, KeyedConcurrency};
    ///
    /// let uploads = KeyedConcurrency::<String>::new(2);
    /// let _both = uploads.acquire_blocking("ada", 2)?;
    /// let soon = Duration::from_millis(1);
    /// let refused = uploads.acquire("ada", 1).timeout(soon).wait_blocking().unwrap_err();
    /// assert_eq!(refused, InFlightError::TimedOut);
    /// assert!(uploads.acquire("bob", 1).wait_blocking().is_ok());
    /// # Ok::<(), InFlightError>(())
    /// ```
    pub fn acquire<Q>(&self, key: &Q, permits: u64) -> Entering<'static>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.limit_for(key, permits)
            // One of this key alone, which refuses the permits as too many.
            .unwrap_or_else(|denied| Arc::new(ConcurrencyLimit::new(denied.limit())))
            .acquire_owned(permits)
    }

    /// Returns the number of callers that wait for permits of `key`.
    #[must_use]
    pub fn waiters<Q>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shard(key).read().keys.get(key).map_or(0, |known| known.limit.line().waiters())
    }
}
