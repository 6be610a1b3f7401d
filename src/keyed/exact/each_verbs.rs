//! The verbs of a store of any limiter: a key's limiter in a closure.

#[cfg(target_has_atomic = "ptr")]
use alloc::sync::Arc;
use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::limiter::Limiter;
use crate::time::clock::Clock;

use super::Keyed;
use super::as_key::AsKey;
use super::each::Each;

impl<K, L, F, C, S, O> Keyed<K, Each<L, F, C>, S, O>
where
    K: Hash + Eq,
    L: Limiter + Send + Sync,
    F: Fn(&K) -> L,
    C: Clock,
    S: BuildHasher,
{
    /// Calls `call` with the limiter of the key, and returns what it returns: for operations that
    /// the store itself does not have, such as debts, leases, receipts, snapshots and changes of
    /// the quota.
    ///
    /// The key's limiter is made and inserted first if the key is not known, and removed again if
    /// it [is idle](Limiter::is_idle) afterwards. (An `Arc` that `call` has cloned is not, so it stays the
    /// limiter of the key: see [`limiter_of`](Keyed::limiter_of).) A known key's limiter is called under the shared
    /// lock of its shard, by any number of threads at a time; a new one's under the exclusive
    /// lock, so it has been called by no other thread. The observer is not told. Does not allocate
    /// if the key is known, apart from what `call` does; reads no clock but those of the limiters.
    ///
    /// `call` must be quick, because keys of the same shard can be neither inserted nor removed
    /// meanwhile; and it must not use this store, not even for another key: it could wait for a
    /// lock that its own thread holds, for ever. If it panics, the limiter stays as it is then.
    ///
    /// # Errors
    ///
    /// [`Denied::Full`] if the key is not known and there is no space for it, whatever
    /// [`WhenFull`](crate::keyed::WhenFull) says: there is no limiter to call `call` with.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{Keyed, TokenBucket, quota};
    /// use sluicegate::keyed::Each;
    ///
    /// let each = Each::new(|_: &String| TokenBucket::new(quota!(10 / hour, max_debt 5)));
    /// let keyed = Keyed::<String, _>::with(each);
    ///
    /// // Work that is already done is charged on credit.
    /// let grant = keyed.with_limiter("ada", |bucket| bucket.force(13))??;
    /// assert_eq!(grant.remaining(), 0);
    /// assert!(keyed.try_acquire("ada", 1).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_limiter<Q, T>(&self, key: &Q, call: impl FnOnce(&L) -> T) -> Result<T, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let outcome = self.store.with_state(self.place(key), key, |limiter| call(limiter));
        outcome.map_err(|retry_after| Denied::Full { retry_after })
    }

    /// Calls `call` with each key and its limiter: to change the quota of all keys, for instance.
    ///
    /// A key that is inserted meanwhile may be left out. So that it has the new quota too, let the closure of
    /// [`Each::new`] return it before this is called.
    ///
    /// Holds the shared lock of one shard after the other, so its keys can be neither inserted nor removed
    /// meanwhile; `call` must not use this store. If it panics, the limiters that it has changed stay so. Neither
    /// allocates nor reads a clock, apart from what `call` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use sluicegate::{Keyed, TokenBucket, quota};
    /// use sluicegate::bucket::Carry;
    /// use sluicegate::keyed::Each;
    ///
    /// let quota = Mutex::new(quota!(10 / hour));
    /// let each = Each::new(|_: &String| TokenBucket::new(*quota.lock().unwrap()));
    /// let users = Keyed::<String, _>::with(each);
    /// users.try_acquire("ada", 10)?;
    ///
    /// let twice = quota!(20 / hour);
    /// *quota.lock().unwrap() = twice;
    /// users.for_each_limiter(|_, bucket| bucket.reconfigure(twice, Carry::Reset));
    /// assert!(users.try_acquire("ada", 10).is_ok());
    /// assert!(users.try_acquire("bob", 20).is_ok());
    /// # Ok::<(), sluicegate::Denied>(())
    /// ```
    pub fn for_each_limiter(&self, mut call: impl FnMut(&K, &L)) {
        for shard in self.store.shards() {
            shard.read().table.iter().for_each(|entry| call(&entry.key, &entry.state));
        }
    }
}

#[cfg(target_has_atomic = "ptr")]
impl<K, L, F, C, S, O> Keyed<K, Each<Arc<L>, F, C>, S, O>
where
    K: Hash + Eq,
    L: Limiter + Send + Sync,
    F: Fn(&K) -> Arc<L>,
    C: Clock,
    S: BuildHasher,
{
    /// Returns the limiter of the key, to be used apart from the store: to wait for it, for instance.
    ///
    /// The key's limiter is made and inserted first if the key is not known. **The key is pinned while the
    /// `Arc` is held**, or a clone of it or a `Weak`: it is neither evicted nor swept, so nobody is given
    /// a second limiter for it meanwhile. A store of many keys whose `Arc`s are held may become full.
    /// ([`remove`](Keyed::remove) and [`clear`](Keyed::clear) still forget the key, and make the `Arc` that
    /// of nobody else.)
    ///
    /// Locks and allocates as [`with_limiter`](Keyed::with_limiter) does.
    ///
    /// # Errors
    ///
    /// [`Denied::Full`] if the key is not known and there is no space for it, whatever
    /// [`WhenFull`](crate::keyed::WhenFull) says.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use sluicegate::{Keyed, TokenBucket, quota};
    /// use sluicegate::keyed::Each;
    ///
    /// let each = Each::new(|_: &String| Arc::new(TokenBucket::new(quota!(10 / hour))));
    /// let users = Keyed::<String, _>::with(each);
    ///
    /// let ada = users.limiter_of("ada")?;
    /// users.sweep();
    /// ada.try_acquire(10)?;
    /// assert!(users.try_acquire("ada", 1).is_err());
    /// # Ok::<(), sluicegate::Denied>(())
    /// ```
    pub fn limiter_of<Q>(&self, key: &Q) -> Result<Arc<L>, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        self.with_limiter(key, Arc::clone)
    }
}
