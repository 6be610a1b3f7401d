//! The request that a closure stop.

use std::fmt;
use std::sync::Arc;

use crate::sync::AtomicBool;
use crate::sync::Ordering::Relaxed;

/// A request that an operation stop, which the operation looks at when it can stop.
///
/// A thread cannot be killed, so a closure that is to be cancelled must look at its token: between
/// two steps, or once for so many rows. Once cancelled, a token stays cancelled.
///
/// A clone is the same token, for threads of the operation's own. Nothing is synchronized by it:
/// what the caller did before it gave up need not be visible to the operation.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use sluicegate_flow::time_limit::{CancelToken, TimeLimit, TimeLimiter};
///
/// /// Counts until it is told to stop.
/// fn count(cancelled: &CancelToken) -> u64 {
///     let mut count = 0;
///     while !cancelled.is_cancelled() {
///         count += 1;
///     }
///     count
/// }
///
/// let limiter = TimeLimiter::new("count", TimeLimit::new(Duration::from_millis(10))?);
/// assert!(limiter.run(count).is_err());
/// # Ok::<(), sluicegate_flow::ConfigError>(())
/// ```
#[doc(alias = "CancellationToken")]
#[doc(alias = "interrupt")]
#[derive(Clone)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Returns true once the caller has timed out.
    ///
    /// One load of a word that is written once: cheap enough for an inner loop.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        // ORDERING: Relaxed. Nothing is read on the strength of it, and a later look finds it.
        // MODEL: none; an operation may stop at any time, and may go on.
        self.0.load(Relaxed)
    }

    pub(super) fn cancel(&self) {
        // ORDERING: Relaxed. See `is_cancelled`.
        // MODEL: none; an operation may stop at any time, and may go on.
        self.0.store(true, Relaxed);
    }
}

/// A token that nobody cancels, to call an operation without a limiter.
impl Default for CancelToken {
    fn default() -> CancelToken {
        CancelToken(Arc::new(AtomicBool::new(false)))
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("is_cancelled", &self.is_cancelled()).finish()
    }
}
