//! Observers of the decisions about keys.

/// An observer of each decision of a store of keys: to count, to log, or to find the keys
/// that take the most, like `TopKeys`.
///
/// It is called by the thread that made the request, after the decision and before the
/// answer, so its time adds to that of the call. It should not block. Calls into the store
/// that called it are at its own risk. A call for several keys reports each of them.
///
/// # Examples
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use sluicegate::Observe;
///
/// #[derive(Default)]
/// struct Refused(AtomicU64);
///
/// impl<K: ?Sized> Observe<K> for Refused {
///     fn decided(&self, _key: &K, _permits: u64, is_granted: bool) {
///         if !is_granted {
///             self.0.fetch_add(1, Relaxed);
///         }
///     }
/// }
///
/// let refused = Refused::default();
/// refused.decided("user:7", 1, false);
/// assert_eq!(refused.0.into_inner(), 1);
/// ```
pub trait Observe<K: ?Sized>: Send + Sync {
    /// Notes that `key` asked for `permits`, and whether it was granted them. (If it was
    /// granted fewer than it asked for, `permits` is the number granted.)
    fn decided(&self, key: &K, permits: u64, is_granted: bool);
}

/// No observer.
impl<K: ?Sized> Observe<K> for () {
    #[inline(always)]
    fn decided(&self, _key: &K, _permits: u64, _is_granted: bool) {}
}

impl<K: ?Sized, O: Observe<K> + ?Sized> Observe<K> for &O {
    #[inline]
    fn decided(&self, key: &K, permits: u64, is_granted: bool) {
        (**self).decided(key, permits, is_granted);
    }
}

#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))]
impl<K: ?Sized, O: Observe<K> + ?Sized> Observe<K> for alloc::sync::Arc<O> {
    #[inline]
    fn decided(&self, key: &K, permits: u64, is_granted: bool) {
        (**self).decided(key, permits, is_granted);
    }
}
