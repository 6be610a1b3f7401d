//! Guards: permits that are in flight for as long as their guard lives.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use super::ConcurrencyLimit;

/// A limit that a guard returns its permits to: borrowed, or kept alive.
pub(super) enum Home<'a, T> {
    Borrowed(&'a T),
    Owned(Arc<T>),
}

impl<T> Deref for Home<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        match self {
            Home::Borrowed(limit) => limit,
            Home::Owned(limit) => limit,
        }
    }
}

impl<T> Clone for Home<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Home::Borrowed(limit) => Home::Borrowed(limit),
            Home::Owned(limit) => Home::Owned(Arc::clone(limit)),
        }
    }
}

/// Permits of a [`ConcurrencyLimit`] that are in flight until this is dropped.
///
/// Dropping it is wait-free: one read-modify-write, which cannot fail. It also happens while a
/// panic unwinds. If callers wait in line, it then also takes the line's lock for a moment, and wakes
/// those that have been granted the permits; it may allocate for that, and a panic of a waker goes
/// on from here. The permits have come back by then. Permits of a guard that is forgotten
/// (`std::mem::forget`) never come back.
///
/// A guard borrows its limit; one from `try_acquire_owned` is an `InFlight<'static>`, which keeps
/// the limit alive instead.
///
/// # Examples
///
/// ```
/// use sluicegate_flow::concurrency::ConcurrencyLimit;
///
/// let limit = ConcurrencyLimit::new(4);
/// let mut both = limit.try_acquire(3)?;
/// let one = both.split(1).expect("it has three");
/// drop(both);
/// assert_eq!((one.permits(), limit.in_flight()), (1, 1));
/// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
/// ```
#[doc(alias = "SemaphorePermit")]
#[must_use = "dropped at once, it limits nothing"]
pub struct InFlight<'a> {
    home: Home<'a, ConcurrencyLimit>,
    permits: u64,
}

impl<'a> InFlight<'a> {
    /// Creates the guard of `permits` that have been admitted.
    #[inline]
    pub(super) fn new(home: Home<'a, ConcurrencyLimit>, permits: u64) -> InFlight<'a> {
        InFlight { home, permits }
    }

    /// Returns the number of permits in this guard.
    #[must_use]
    pub fn permits(&self) -> u64 {
        self.permits
    }

    /// Moves `permits` of this guard into a guard of their own, which ends by itself. Returns
    /// `None`, and moves nothing, if this guard has fewer.
    ///
    /// Never blocks or allocates; the limit is not touched.
    #[must_use = "dropped at once, it ends what was split off"]
    pub fn split(&mut self, permits: u64) -> Option<InFlight<'a>> {
        self.permits = self.permits.checked_sub(permits)?;
        Some(InFlight { home: self.home.clone(), permits })
    }
}

impl Drop for InFlight<'_> {
    #[inline]
    fn drop(&mut self) {
        self.home.end(self.permits);
    }
}

impl fmt::Debug for InFlight<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InFlight").field("permits", &self.permits).finish_non_exhaustive()
    }
}
