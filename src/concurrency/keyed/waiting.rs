//! Waiting for permits of a key.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use crate::concurrency::entering::Entering;
use crate::concurrency::entering::error::InFlightError;

use super::KeyedConcurrency;

/// Waiting, with the feature `wait`.
impl<K: Hash + Eq, S: BuildHasher + Clone> KeyedConcurrency<K, S> {
    /// Returns a future of a guard of `permits` of `key`, first come, first served: for tasks, and
    /// with its [`wait`](Entering::wait) for threads. Each key has a line of its own. The future
    /// keeps the key known, and does not borrow this.
    ///
    /// # Errors
    ///
    /// [`InFlightError::TooLarge`] here for more than the limit of a key that is not known; and
    /// those of [`Entering`], from the future.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{InFlightError, KeyedConcurrency};
    ///
    /// let uploads = KeyedConcurrency::<String>::new(2);
    /// let _both = uploads.acquire_async("ada", 2)?.wait()?;
    /// let soon = Duration::from_millis(1);
    /// let refused = uploads.acquire_async("ada", 1)?.timeout(soon).wait().unwrap_err();
    /// assert_eq!(refused, InFlightError::TimedOut);
    /// assert!(uploads.acquire_async("bob", 1)?.wait().is_ok());
    /// # Ok::<(), InFlightError>(())
    /// ```
    pub fn acquire_async<Q>(
        &self,
        key: &Q,
        permits: u64,
    ) -> Result<Entering<'static>, InFlightError>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        match self.limit_for(key, permits) {
            Ok(limit) => Ok(limit.acquire_owned_async(permits)),
            Err(denied) => Err(InFlightError::TooLarge { limit: denied.limit() }),
        }
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
