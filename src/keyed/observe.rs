//! Who is told of the decisions about keys.

/// Is told of each decision of a store of keys: to count, to log, to find the keys that
/// take the most, as `TopKeys` does.
///
/// It is called by the thread that asked, after the decision and before the answer: what
/// it takes, the caller waits for. It should not block, and what it does to the store that
/// called it, it does at its own risk. A call for several keys tells of each.
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
    /// `key` asked for `permits`, and was granted them or was not. (If it was granted fewer
    /// than it asked for, these are the ones that it was granted.)
    fn decided(&self, key: &K, permits: u64, is_granted: bool);
}

/// Nobody.
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
