//! The interface of stores whose keys can be left a reserve.

use core::hash::{BuildHasher, Hash};

use crate::compose::counted::Counted;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::time::clock::Clock;

#[cfg(feature = "keyed")]
use super::exact::Keyed;
#[cfg(feature = "keyed")]
use super::exact::as_key::AsKey;
#[cfg(feature = "keyed")]
use super::exact::per_key::LeavingPerKey;
use super::hot::HotKeys;
use super::keyed_limiter::KeyedLimiter;
use super::observe::Observe;
use super::prepay::KeyStore;
use super::table::KeyTable;
use super::table::verbs::TableTier;

/// Stores that can refuse a request while too little would remain to its key: [`Leaving`](crate::share::Leaving), for
/// each key.
///
/// | store | the reserve is exact |
/// |---|---|
/// | a `Keyed` of buckets, a [`KeyTable`] and its tiers | to a fraction of a permit |
/// | a `Keyed` of an `Each` | as in the limiter of the key |
/// | [`HotKeys`] | at least: all of it remains in the store. Permits in seats do not count, so a request may be refused while the key has up to a quarter of its burst more than the store |
/// | a `QueuedKeys` | as in the store. Callers in line for the key go first, and leave none |
/// | a [`Counted`], a pointer to one of these | as in the wrapped store |
///
/// A `Keyed` of `Penalties` has none of this: nothing is used up there.
///
/// # Examples
///
/// ```
/// use sluicegate::keyed::KeyedLeaving;
/// use sluicegate::{KeyTable, quota};
///
/// /// Lets batches of a tenant use half of its ten.
/// fn admits_batch(tenants: &dyn KeyedLeaving<str>, tenant: &str) -> bool {
///     tenants.try_acquire_leaving(tenant, 1, 5).is_ok()
/// }
///
/// let tenants = KeyTable::<str>::with_keys(quota!(10 / hour), 1_000)?;
/// assert_eq!((0..10).filter(|_| admits_batch(&tenants, "acme")).count(), 5);
/// assert!(tenants.try_acquire("acme", 5).is_ok());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub trait KeyedLeaving<K: ?Sized>: KeyedLimiter<K> {
    /// Takes all of `permits` for the key, or none if fewer than `reserve` would remain to it.
    ///
    /// The decision and the grant are one step. In all else as [`try_acquire`](KeyedLimiter::try_acquire).
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] with the shortest wait after which `permits` and `reserve` are there together.
    /// * [`Denied::TooLarge`] if the limiter of the key can never hold both. The limit that it tells is without the
    ///   reserve.
    /// * [`Denied::Full`] as for [`try_acquire`](KeyedLimiter::try_acquire).
    fn try_acquire_leaving(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied>;

    /// Returns the answer that [`try_acquire_leaving`](KeyedLeaving::try_acquire_leaving) would give, if there is
    /// space for the key. Takes nothing.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] and [`Denied::TooLarge`].
    fn peek_leaving(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied>;
}

/// Forwards both verbs to `$store`, an expression of `$own`.
macro_rules! forward {
    ($Key:ident, $own:ident => $store:expr) => {
        fn try_acquire_leaving(
            &self,
            key: &$Key,
            permits: u64,
            reserve: u64,
        ) -> Result<Grant, Denied> {
            let $own = self;
            $store.try_acquire_leaving(key, permits, reserve)
        }

        fn peek_leaving(&self, key: &$Key, permits: u64, reserve: u64) -> Result<Grant, Denied> {
            let $own = self;
            $store.peek_leaving(key, permits, reserve)
        }
    };
}

#[cfg(feature = "keyed")]
impl<K, Q, L, S, O> KeyedLeaving<Q> for Keyed<K, L, S, O>
where
    K: Hash + Eq,
    Q: AsKey<K> + ?Sized,
    L: LeavingPerKey<K>,
    S: BuildHasher,
    O: Observe<Q>,
    Self: KeyedLimiter<Q>,
{
    forward!(Q, own => own);
}

impl<K, S, C, O> KeyedLeaving<K> for KeyTable<K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
    Self: KeyedLimiter<K>,
{
    forward!(K, own => own);
}

impl<K, S, C, O> KeyedLeaving<K> for TableTier<'_, K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
    Self: KeyedLimiter<K>,
{
    forward!(K, own => own);
}

impl<K: ?Sized, S: KeyStore<K> + KeyedLeaving<K>> KeyedLeaving<K> for HotKeys<S> {
    forward!(K, own => own.store());
}

impl<K: ?Sized, S: KeyedLeaving<K>> KeyedLeaving<K> for Counted<S> {
    fn try_acquire_leaving(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        let answer = self.limiter().try_acquire_leaving(key, permits, reserve);
        self.answers().count_whole(permits, answer.as_ref().err());
        answer
    }

    fn peek_leaving(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.limiter().peek_leaving(key, permits, reserve)
    }
}

impl<K: ?Sized, S: KeyedLeaving<K> + ?Sized> KeyedLeaving<K> for &S {
    forward!(K, own => (**own));
}

impl<K: ?Sized, S: KeyedLeaving<K> + ?Sized> KeyedLeaving<K> for alloc::boxed::Box<S> {
    forward!(K, own => (**own));
}

#[cfg(target_has_atomic = "ptr")]
impl<K: ?Sized, S: KeyedLeaving<K> + ?Sized> KeyedLeaving<K> for alloc::sync::Arc<S> {
    forward!(K, own => (**own));
}
