//! Observers of the decisions about keys.

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;

/// An observer of each decision of a store of keys: to count, to log, or to find the keys
/// that take the most, like `TopKeys`.
///
/// It is called by the thread that made the request, after the decision and before the
/// answer, so its time adds to that of the call. It should not block. Calls into the store
/// that called it are at its own risk. A call for several keys reports each of them.
///
/// Observers compose: a pair `(A, B)` tells both, `A` first; an `Option` tells the one that is
/// there; a reference, a `Box` or an `Arc` tells the one behind it. `()` is no observer, and costs
/// nothing.
///
/// # Examples
///
/// ```
/// use std::sync::mpsc::{Sender, channel};
/// use sluicegate::{Denied, Grant, Keyed, quota};
/// use sluicegate::keyed::{Buckets, Observe, TopKeys};
///
/// /// Tells another thread of each refusal. Sending does not block.
/// struct Refused(Sender<u64>);
///
/// impl Observe<u64> for Refused {
///     fn decided(&self, key: &u64, _permits: u64, answer: Result<&Grant, &Denied>) {
///         if answer.is_err() {
///             let _ = self.0.send(*key);
///         }
///     }
/// }
///
/// let (sender, refused) = channel();
/// let top = TopKeys::<u64>::new(10);
/// let keyed = Keyed::<u64, _>::builder(Buckets::new(quota!(10 / hour)))
///     .observer((Refused(sender), &top))
///     .build()?;
/// assert!(keyed.try_acquire(&7, 10).is_ok());
/// assert!(keyed.try_acquire(&7, 3).is_err());
/// assert_eq!(refused.try_iter().collect::<Vec<_>>(), [7]);
/// assert_eq!(top.granted()[0].count, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Observe<K: ?Sized>: Send + Sync {
    /// Notes the `answer` to a request of `key` for `permits`: what the caller is about to get.
    ///
    /// The grant says how many of them were granted. `permits` is 0 for a `drain`, which asks for no
    /// number.
    fn decided(&self, key: &K, permits: u64, answer: Result<&Grant, &Denied>);
}

/// No observer.
impl<K: ?Sized> Observe<K> for () {
    #[inline(always)]
    fn decided(&self, _key: &K, _permits: u64, _answer: Result<&Grant, &Denied>) {}
}

/// Tells both, the first one first.
impl<K: ?Sized, A: Observe<K>, B: Observe<K>> Observe<K> for (A, B) {
    #[inline]
    fn decided(&self, key: &K, permits: u64, answer: Result<&Grant, &Denied>) {
        self.0.decided(key, permits, answer);
        self.1.decided(key, permits, answer);
    }
}

/// Tells the observer, if there is one.
impl<K: ?Sized, O: Observe<K>> Observe<K> for Option<O> {
    #[inline]
    fn decided(&self, key: &K, permits: u64, answer: Result<&Grant, &Denied>) {
        if let Some(observer) = self {
            observer.decided(key, permits, answer);
        }
    }
}

/// Tells the observer behind a pointer.
macro_rules! through {
    ($(#[$attribute:meta])* $Pointer:ty) => {
        $(#[$attribute])*
        impl<K: ?Sized, O: Observe<K> + ?Sized> Observe<K> for $Pointer {
            #[inline]
            fn decided(&self, key: &K, permits: u64, answer: Result<&Grant, &Denied>) {
                (**self).decided(key, permits, answer);
            }
        }
    };
}

through!(&O);
through!(#[cfg(feature = "alloc")] alloc::boxed::Box<O>);
through!(#[cfg(all(feature = "alloc", target_has_atomic = "ptr"))] alloc::sync::Arc<O>);
