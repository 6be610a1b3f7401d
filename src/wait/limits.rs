//! The bounds of a line.

use core::time::Duration;

use crate::time::units;

/// The bounds of a line of waiting callers, and what happens when it is full.
///
/// A new line has no bounds. Callers that are granted permits at once never stand in line. A
/// [`Reservation`](crate::wait::Reservation) that finds others in line counts as a caller, but is not evicted.
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::wait::{LineLimits, WhenLineFull};
///
/// let bucket = TokenBucket::new(quota!(10 / second));
/// bucket.line().set_limits(
///     LineLimits::new().max_waiters(100).max_permits(500).when_full(WhenLineFull::EvictOldest),
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LineLimits {
    pub(crate) max_waiters: usize,
    pub(crate) max_permits: u64,
    /// `u64::MAX` if there is no bound.
    pub(crate) max_wait_nanos: u64,
    pub(crate) when_full: WhenLineFull,
}

/// The caller that is refused when a line is full.
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, Wait, quota};
/// use sluicegate::wait::{LineLimits, WhenLineFull};
///
/// // Old requests have callers that may have left: room is made for a new one.
/// let bucket = TokenBucket::new(quota!(100 / second));
/// let limits = LineLimits::new().max_waiters(50).when_full(WhenLineFull::EvictOldest);
/// bucket.line().set_limits(limits);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhenLineFull {
    /// The newest, with [`AcquireError::LineFull`](crate::wait::AcquireError::LineFull).
    #[default]
    RefuseNewest,
    /// The callers that have waited for longest, with
    /// [`AcquireError::Evicted`](crate::wait::AcquireError::Evicted), until there is room. A caller whose
    /// permits alone are more than the line takes is refused itself. For permits in flight, and behind
    /// more than its limiter grants at a time in a `Queued`, nobody knows whether the new one will have
    /// its turn in its time: others leave for it all the same, and it may be refused later.
    EvictOldest,
}

impl LineLimits {
    /// Returns no bounds.
    #[must_use]
    pub const fn new() -> LineLimits {
        LineLimits {
            max_waiters: usize::MAX,
            max_permits: u64::MAX,
            max_wait_nanos: u64::MAX,
            when_full: WhenLineFull::RefuseNewest,
        }
    }

    /// Lets at most `waiters` callers stand in line. With 0, no caller ever waits.
    #[must_use]
    pub const fn max_waiters(self, waiters: usize) -> LineLimits {
        LineLimits { max_waiters: waiters, ..self }
    }

    /// Lets callers with at most `permits` permits in all stand in line.
    #[must_use]
    pub const fn max_permits(self, permits: u64) -> LineLimits {
        LineLimits { max_permits: permits, ..self }
    }

    /// Lets each caller wait for at most `longest` from when it came to stand in line, by the limiter's
    /// clock, or for its own timeout if that is shorter. [`Duration::MAX`] is no bound, and with 0 only
    /// those are granted permits that are due at once.
    ///
    /// Live: when it is changed, each caller in line has the new time, from when it came. (From the
    /// change, if it came before the line had any such bound.) Those who would be too late are refused
    /// with [`AcquireError::TimedOut`](crate::wait::AcquireError::TimedOut), nobody loses its place, and nothing
    /// is charged. Reservations are not bound by it.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use sluicegate::{TokenBucket, Wait, quota};
    /// use sluicegate::wait::{AcquireError, LineLimits};
    ///
    /// let bucket = TokenBucket::new(quota!(1 / minute));
    /// bucket.line().set_limits(LineLimits::new().max_wait(Duration::from_millis(5)));
    /// bucket.acquire_blocking(1)?;
    /// // Blocks for no time at all: the next permit comes too late.
    /// assert!(matches!(bucket.acquire_blocking(1), Err(AcquireError::TimedOut { .. })));
    /// # Ok::<(), AcquireError>(())
    /// ```
    #[must_use]
    pub const fn max_wait(self, longest: Duration) -> LineLimits {
        LineLimits { max_wait_nanos: units::nanos(longest), ..self }
    }

    /// Chooses who is refused when the line is full.
    #[must_use]
    pub const fn when_full(self, when_full: WhenLineFull) -> LineLimits {
        LineLimits { when_full, ..self }
    }

    /// Returns whether a line of `waiters` callers and `permits` permits takes a caller with `more`.
    pub(crate) fn admit(&self, waiters: usize, permits: u64, more: u64) -> bool {
        waiters < self.max_waiters
            && permits.checked_add(more).is_some_and(|all| all <= self.max_permits)
    }
}

impl Default for LineLimits {
    fn default() -> LineLimits {
        LineLimits::new()
    }
}
