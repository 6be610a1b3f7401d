//! The verbs that sleep until a turn.

use sluicegate::Clock;
use sluicegate::wait::{AcquireError, Timer};

use crate::scheduled::Scheduled;

use super::WarmUp;

impl<C: Clock> WarmUp<C> {
    /// Takes `permits`, and lets a task sleep by `timer` until they may be used.
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
    /// use sluicegate_flow::warm_up::WarmUp;
    ///
    /// async fn query(pool: &WarmUp) -> Result<(), AcquireError> {
    ///     pool.acquire(1, ThreadTimer).await?;
    ///     Ok(()) // the query, at its turn
    /// }
    /// ```
    pub async fn acquire<T: Timer>(&self, permits: u64, timer: T) -> Result<(), AcquireError> {
        self.reserve(permits)?.wait_or_cancel(timer).await;
        Ok(())
    }

    /// Takes `permits`, and blocks the thread until they may be used. With a time limit:
    /// [`reserve_within`](WarmUp::reserve_within).
    ///
    /// # Errors
    ///
    /// As for [`reserve`](WarmUp::reserve), at once.
    pub fn acquire_blocking(&self, permits: u64) -> Result<(), AcquireError> {
        self.reserve(permits).map(Scheduled::wait_blocking)
    }
}
