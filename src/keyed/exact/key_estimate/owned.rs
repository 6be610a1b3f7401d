//! Estimates of a key's limiter that keep the store and the key: for an answer that is streamed on after
//! the call that began it has returned.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::ptr;

use crate::decision::denied::Denied;
use crate::keyed::exact::Keyed;
use crate::keyed::exact::as_key::AsKey;
use crate::keyed::exact::each::Each;
use crate::keyed::observe::Observe;
use crate::limiter::Limiter;
use crate::settle::Settle;
use crate::time::clock::Clock;

use super::{HasTenants, Home, KeyEstimate};

/// A store whose limiters are shared with estimates.
type SharedStore<K, L, F, C, S, O> = Keyed<K, Each<Arc<L>, F, C>, S, O>;

impl<K, L, F, C, S, O> Keyed<K, Each<Arc<L>, F, C>, S, O>
where
    K: Hash + Eq + Send + Sync + 'static,
    L: Settle + 'static,
    F: Fn(&K) -> Arc<L> + Send + Sync + 'static,
    C: Clock + Send + Sync + 'static,
    S: BuildHasher + Send + Sync + 'static,
    O: Send + Sync + 'static,
{
    /// Does the same as [`try_acquire_settleable`](Keyed::try_acquire_settleable), and returns an estimate
    /// that keeps the store alive and has its own copy of the key: to be moved into a task that is
    /// spawned, or kept in a struct. Allocates.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire_settleable`](Keyed::try_acquire_settleable).
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::*;
    /// use sluicegate::keyed::{Each, KeyEstimate};
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::settle::Settle;
    ///
    /// let each = Each::new(|_: &String| Arc::new(SettleableBucket::new(quota!(10_000 / hour))));
    /// let tenants = Arc::new(Keyed::<String, _>::with(each));
    /// let estimate: KeyEstimate<'static, str, _> =
    ///     tenants.try_acquire_settleable_owned("ada", 6_000)?;
    /// let streamed = std::thread::spawn(move || estimate.settle(1_500));
    /// assert_eq!(streamed.join().unwrap()?.given_back(), 4_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_acquire_settleable_owned<Q>(
        self: &Arc<Self>,
        key: &Q,
        permits: u64,
    ) -> Result<KeyEstimate<'static, Q, L>, Denied>
    where
        Q: AsKey<K> + ToOwned<Owned: Send + Sync> + ?Sized + 'static,
        O: Observe<Q>,
    {
        let estimate = self.try_acquire_settleable(key, permits)?;
        Ok(estimate.kept_by(Arc::clone(self) as _, key.to_owned()))
    }
}

impl<'a, Q: ?Sized, L> KeyEstimate<'a, Q, L> {
    /// Returns the same estimate, which keeps `store` alive, the one that it was taken from, and has its
    /// own copy of the key. Allocates.
    ///
    /// # Errors
    ///
    /// The estimate as it was, if it was taken from another store.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::*;
    /// use sluicegate::keyed::Each;
    /// use sluicegate::bucket::SettleableBucket;
    /// use sluicegate::settle::Settle;
    ///
    /// let each = Each::new(|_: &String| Arc::new(SettleableBucket::new(quota!(10_000 / hour))));
    /// let tenants = Arc::new(Keyed::<String, _>::with(each));
    /// let key = String::from("ada");
    /// let borrowed = tenants.try_acquire_settleable(key.as_str(), 6_000)?;
    /// let kept = borrowed.into_owned(&tenants).expect("it is of this store");
    /// drop(key);
    /// assert_eq!(kept.settle(2_000)?.given_back(), 4_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::result_large_err, reason = "it is the estimate, which comes back")]
    pub fn into_owned<K, F, C, S, O>(
        self,
        store: &Arc<SharedStore<K, L, F, C, S, O>>,
    ) -> Result<KeyEstimate<'static, Q, L>, KeyEstimate<'a, Q, L>>
    where
        K: Hash + Eq + Send + Sync + 'static,
        L: Limiter + 'static,
        F: Fn(&K) -> Arc<L> + Send + Sync + 'static,
        C: Clock + Send + Sync + 'static,
        S: BuildHasher + Send + Sync + 'static,
        O: Send + Sync + 'static,
        Q: AsKey<K> + ToOwned<Owned: Send + Sync> + 'static,
    {
        let (own, key) = self.home.parts();
        // A store of this type has a size, so no other one has its address.
        if !ptr::addr_eq(ptr::from_ref(own), Arc::as_ptr(store)) {
            return Err(self);
        }
        let key = key.to_owned();
        Ok(self.kept_by(Arc::clone(store) as _, key))
    }

    fn kept_by(
        self,
        store: Arc<dyn HasTenants<Q, L> + Send>,
        key: impl Borrow<Q> + Send + Sync + 'static,
    ) -> KeyEstimate<'static, Q, L> {
        let KeyEstimate { limiter, grant, permits, detached, .. } = self;
        let home = Home::Owned { store, key: Box::new(key) };
        KeyEstimate { home, limiter, grant, permits, detached }
    }
}
