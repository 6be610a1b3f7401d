//! The verbs that sleep until a turn.

use core::time::Duration;

use crate::time::clock::Clock;
use crate::wait::error::AcquireError;
use crate::wait::scheduled::Scheduled;
use crate::wait::timer::Timer;

use super::WarmUp;

impl<C: Clock> WarmUp<C> {
    /// Takes `permits`, and blocks the thread until they may be used.
    ///
    /// # Errors
    ///
    /// As for [`reserve`](WarmUp::reserve), at once.
    pub fn acquire(&self, permits: u64) -> Result<(), AcquireError> {
        self.reserve(permits).map(Scheduled::wait)
    }

    /// Waits as [`acquire`](WarmUp::acquire) does, if the permits may be used within `timeout`.
    /// Otherwise it does not wait at all.
    ///
    /// # Errors
    ///
    /// As for [`reserve_within`](WarmUp::reserve_within), at once.
    pub fn acquire_timeout(&self, permits: u64, timeout: Duration) -> Result<(), AcquireError> {
        self.reserve_within(permits, timeout).map(Scheduled::wait)
    }

    /// Does the same as [`acquire`](WarmUp::acquire) for a task, which sleeps by `timer`.
    ///
    /// # Errors
    ///
    /// As for [`reserve`](WarmUp::reserve), at the first poll.
    ///
    /// # Cancel safety
    ///
    /// A future that is dropped before its permits may be used gives them back, if no other request
    /// was granted since; otherwise they are lost, as if they had been used.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::wait::{AcquireError, ThreadTimer};
    /// use sluicegate::warm_up::WarmUp;
    ///
    /// async fn query(pool: &WarmUp) -> Result<(), AcquireError> {
    ///     pool.acquire_async(1, ThreadTimer).await?;
    ///     Ok(()) // the query, at its turn
    /// }
    /// ```
    pub async fn acquire_async<T: Timer>(
        &self,
        permits: u64,
        timer: T,
    ) -> Result<(), AcquireError> {
        self.reserve(permits)?.wait_or_cancel(timer).await;
        Ok(())
    }
}
