//! A concurrency limit for each key.
//!
//! Maps of keys to limits, in shards. A key is known as long as something holds its limit besides
//! the map: a guard, or a call that is under way. A key that nothing else holds is one of which
//! nothing is in flight, and a new one would be the same, so a shard drops such keys when it has
//! twice as many keys as were left the last time.
//!
//! **Theorem.** The bound of [`ConcurrencyLimit`] holds for each key.
//!
//! *Proof.* At any time a key has at most one limit in its map, so two limits of a key are both in
//! use only if the first was dropped from the map before. That is done under the map's lock, and
//! only if the map's is the last reference. A reference is only ever got from the map, under its
//! lock, or from another reference, so none can be got then: the first limit had no guard any more,
//! and will have none. ∎
//!
//! Progress: a call takes a lock, shared for a key that is known; an end takes none, unless callers
//! wait for its key. Memory: about 256 bytes and the key, for each that is known. Cost of an admission to a known key: two
//! hashes, the lock, the count of references, and that of a [`ConcurrencyLimit`].

mod for_each;
mod waiting;

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use crate::sync::SharedLock;

use self::for_each::ForEach;
use self::waiting::LineTerms;
use super::ConcurrencyLimit;
use super::denied::ConcurrencyDenied;
use super::in_flight::InFlight;
use super::word::Tally;

/// Number of shards, a power of two.
const SHARDS: usize = if cfg!(sluicegate_loom) { 1 } else { 32 };

/// The fewest keys of a shard that are worth a sweep.
const FEW: usize = if cfg!(sluicegate_loom) { 1 } else { 16 };

/// A limit of the permits in flight for each key: for each user, tenant or host.
///
/// All keys have one limit, except for keys that were [given one of their
/// own](KeyedConcurrency::set_limit_of). A key takes memory while something of it is in flight; it
/// needs no removal. It is no limiter of a `Keyed` store, because that gives
/// grants, which come back with time, and this guards, which come back when they are dropped.
///
/// A call may wait for another one that inserts a key of its shard. It allocates for a key that is
/// not known. The end of a guard takes no lock and allocates nothing, unless callers wait for its
/// key. No call reads a clock. The `Hash`, `Eq`, `ToOwned` and `Drop` of a key are called under a
/// lock, so they must not use this.
///
/// # Accuracy
///
/// As for a [`ConcurrencyLimit`], for each key.
///
/// # Fairness
///
/// As for a [`ConcurrencyLimit`]. Keys do not get in each other's way.
///
/// # Memory ordering
///
/// As for a [`ConcurrencyLimit`], for callers of one key.
///
/// # Examples
///
/// ```
/// use sluicegate_flow::concurrency::KeyedConcurrency;
///
/// let uploads = KeyedConcurrency::<String>::new(2);
/// let first = uploads.try_acquire("ada", 1)?;
/// let second = uploads.try_acquire("ada", 1)?;
/// assert!(uploads.try_acquire("ada", 1).is_err());
/// assert!(uploads.try_acquire("bob", 1).is_ok());
///
/// drop(first);
/// assert!(uploads.try_acquire("ada", 1).is_ok());
/// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
/// ```
#[doc(alias = "bulkhead")]
#[doc(alias = "semaphore")]
pub struct KeyedConcurrency<K, S = RandomState> {
    shards: [CachePadded<SharedLock<Shard<K, S>>>; SHARDS],
    /// Locked before any shard, and throughout a change of it, so that no shard misses it.
    terms: SharedLock<Terms>,
    hasher: S,
}

/// The terms of all keys.
#[derive(Clone, Copy)]
struct Terms {
    /// The limit of keys that have none of their own.
    limit: u64,
    line: LineTerms,
}

/// The keys that some bits of the hash assign to this shard.
struct Shard<K, S> {
    keys: HashMap<K, KeyLimit, S>,
    /// Number of keys at which keys without calls in flight are dropped.
    sweep_at: usize,
}

struct KeyLimit {
    limit: Arc<ConcurrencyLimit>,
    /// True if the limit is the key's own, which must not be forgotten.
    is_own: bool,
}

impl KeyLimit {
    /// Returns whether the limit must be kept. To be called with the lock held exclusively: then
    /// only the count of a limit that is held elsewhere can change.
    fn is_needed(&self) -> bool {
        self.is_own || Arc::strong_count(&self.limit) > 1
    }

    /// Changes the limit. Returns it if callers wait in line, and it has to be poked when no lock
    /// is held any more: woken callers may run then, and use other keys.
    fn changed(&self, limit: u64) -> Option<Arc<ConcurrencyLimit>> {
        self.limit.change_limit(limit).then(|| Arc::clone(&self.limit))
    }
}

impl Terms {
    /// Creates the limit of a key that is new, which may have its `own`.
    fn new_limit(self, own: Option<u64>) -> Arc<ConcurrencyLimit> {
        let limit = ConcurrencyLimit::new(own.unwrap_or(self.limit));
        self.line.apply_to(&limit);
        Arc::new(limit)
    }
}

impl<K: Hash + Eq> KeyedConcurrency<K> {
    /// Creates a limit of `limit` permits in flight for each key. More than
    /// [`ConcurrencyLimit::MAX`] is taken as that.
    #[must_use]
    pub fn new(limit: u64) -> KeyedConcurrency<K> {
        KeyedConcurrency::with_hasher(limit, RandomState::new())
    }
}

impl<K: Hash + Eq, S: BuildHasher + Clone> KeyedConcurrency<K, S> {
    /// Creates a limit as [`new`](KeyedConcurrency::new) does, with a hasher. Keys that others
    /// choose need one that is seeded at random, as the default is.
    #[must_use]
    pub fn with_hasher(limit: u64, hasher: S) -> KeyedConcurrency<K, S> {
        let shard = |_| {
            let keys = HashMap::with_hasher(hasher.clone());
            CachePadded::new(SharedLock::new(Shard { keys, sweep_at: FEW }))
        };
        let shards = std::array::from_fn(shard);
        let terms = Terms { limit: limit.min(ConcurrencyLimit::MAX), line: LineTerms::default() };
        KeyedConcurrency { shards, terms: SharedLock::new(terms), hasher }
    }

    /// Takes all of `permits` of `key` or none, until the guard is dropped. The guard keeps the key
    /// known, and does not borrow this.
    ///
    /// Asking for 0 permits is always granted.
    ///
    /// # Errors
    ///
    /// [`ConcurrencyDenied`] if fewer than `permits` of the key are left, or if others [wait in
    /// line](ConcurrencyDenied::others_wait) for it.
    pub fn try_acquire<Q>(
        &self,
        key: &Q,
        permits: u64,
    ) -> Result<InFlight<'static>, ConcurrencyDenied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.limit_for(key, permits)?.try_acquire_owned(permits)
    }

    /// Returns the limit of `key`, inserted if it is not known. A request that no new key would
    /// grant inserts none.
    fn limit_for<Q>(
        &self,
        key: &Q,
        permits: u64,
    ) -> Result<Arc<ConcurrencyLimit>, ConcurrencyDenied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let known = self.shard(key).read().keys.get(key).map(|known| Arc::clone(&known.limit));
        match known {
            Some(limit) => Ok(limit),
            None => self.inserted(key, permits),
        }
    }

    fn inserted<Q>(&self, key: &Q, permits: u64) -> Result<Arc<ConcurrencyLimit>, ConcurrencyDenied>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let terms = self.terms.read();
        let mut shard = self.shard(key).write();
        if let Some(known) = shard.keys.get(key) {
            return Ok(Arc::clone(&known.limit));
        }
        if permits > terms.limit {
            return Err(ConcurrencyDenied { permits, tally: Tally::idle(terms.limit) });
        }
        shard.sweep();
        let limit = terms.new_limit(None);
        let known = KeyLimit { limit: Arc::clone(&limit), is_own: false };
        shard.keys.insert(key.to_owned(), known);
        Ok(limit)
    }

    /// Changes the limit of all keys that have none of their own, live; see
    /// [`ConcurrencyLimit::set_limit`]. Takes time for each key that is known, and wakes waiting
    /// callers that have been granted permits, or refused.
    ///
    /// A call that begins when this has returned is decided by the new limit.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::concurrency::KeyedConcurrency;
    ///
    /// let calls = KeyedConcurrency::<u64>::new(1);
    /// let _one = calls.try_acquire(&7, 1)?;
    /// calls.set_limit(2);
    /// assert!(calls.try_acquire(&7, 1).is_ok());
    /// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
    /// ```
    pub fn set_limit(&self, limit: u64) {
        let mut terms = self.terms.write();
        terms.limit = limit.min(ConcurrencyLimit::MAX);
        let mut waited_for = Vec::new();
        for shard in &self.shards {
            let shard = shard.read();
            let known = shard.keys.values().filter(|known| !known.is_own);
            waited_for.extend(known.filter_map(|known| known.changed(limit)));
        }
        drop(terms);
        ForEach::new(waited_for, ConcurrencyLimit::tell_line).run();
    }

    /// Gives `key` a limit of its own, live. It takes memory until it is
    /// [forgotten](KeyedConcurrency::forget_limit_of). Wakes callers that wait for the key and have
    /// been granted permits, or refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate_flow::concurrency::KeyedConcurrency;
    ///
    /// let calls = KeyedConcurrency::<String>::new(1);
    /// calls.set_limit_of("ada", 10);
    /// let ten = calls.try_acquire("ada", 10)?;
    /// calls.forget_limit_of("ada");
    /// assert_eq!(calls.limit_of("ada"), 1);
    /// assert_eq!(calls.in_flight("ada"), ten.permits());
    /// # Ok::<(), sluicegate_flow::concurrency::ConcurrencyDenied>(())
    /// ```
    pub fn set_limit_of<Q>(&self, key: &Q, limit: u64)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let terms = self.terms.read();
        let mut shard = self.shard(key).write();
        let waited_for = if let Some(known) = shard.keys.get_mut(key) {
            known.is_own = true;
            known.changed(limit)
        } else {
            shard.sweep();
            let limit = terms.new_limit(Some(limit));
            shard.keys.insert(key.to_owned(), KeyLimit { limit, is_own: true });
            None
        };
        drop(shard);
        drop(terms);
        if let Some(limit) = waited_for {
            limit.tell_line();
        }
    }

    /// Takes the limit of its own from `key`, live: the limit of all keys holds for it from now on.
    /// Wakes callers that wait for the key and have been granted permits, or refused.
    pub fn forget_limit_of<Q>(&self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let terms = self.terms.read();
        let waited_for = self.shard(key).write().keys.get_mut(key).and_then(|known| {
            known.is_own = false;
            known.changed(terms.limit)
        });
        drop(terms);
        if let Some(limit) = waited_for {
            limit.tell_line();
        }
    }

    /// Returns the limit in force for `key`.
    #[must_use]
    pub fn limit_of<Q>(&self, key: &Q) -> u64
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let terms = self.terms.read();
        let shard = self.shard(key).read();
        shard.keys.get(key).map_or(terms.limit, |known| known.limit.limit())
    }

    /// Returns the number of permits of `key` that are in flight.
    #[must_use]
    pub fn in_flight<Q>(&self, key: &Q) -> u64
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shard(key).read().keys.get(key).map_or(0, |known| known.limit.in_flight())
    }

    fn shard<Q: Hash + ?Sized>(&self, key: &Q) -> &SharedLock<Shard<K, S>> {
        // The upper bits: the map uses the lower ones, and the uppermost seven.
        let hash = self.hasher.hash_one(key) >> 48;
        &self.shards[hash as usize % SHARDS]
    }
}

impl<K, S> KeyedConcurrency<K, S> {
    /// Returns the limit of keys that have none of their own.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.terms.read().limit
    }

    /// Returns the number of keys that take memory: keys with calls in flight, keys with a limit of
    /// their own, and some that have not been dropped yet.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().keys.len()).sum()
    }

    /// Returns true if no key takes memory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<K: Hash + Eq, S: BuildHasher> Shard<K, S> {
    /// Makes room for a key: drops keys that are not needed, if the shard has twice as many as were
    /// needed the last time.
    fn sweep(&mut self) {
        if self.keys.len() < self.sweep_at {
            return;
        }
        self.keys.retain(|_, known| known.is_needed());
        self.sweep_at = (2 * self.keys.len()).max(FEW);
        // The memory of a crowd that has gone.
        self.keys.shrink_to(self.sweep_at);
    }
}

impl<K, S> fmt::Debug for KeyedConcurrency<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedConcurrency")
            .field("limit", &self.limit())
            .field("keys", &self.len())
            .finish()
    }
}
