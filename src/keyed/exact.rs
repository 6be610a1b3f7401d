//! A limiter for each key, of any type, that forgets the keys it need not remember.
//!
//! | file | |
//! |---|---|
//! | `table` | a map that can be walked a piece at a time |
//! | `store` | 128 of them under locks: find, decide, put in |
//! | `store/room` | who leaves them: sweeps, the bound on keys, clocks that went back |
//! | `batch` | many keys at once |
//! | `store/group` | several known keys at once |
//! | `per_key` | what a store has to know of the limiter of a key |
//! | `buckets` | token buckets: a word for each key |
//! | `each` | any limiter |
//!
//! Progress: a call for a known key holds its shard's lock to read, and waits only for one
//! that puts a key in there (or sweeps, or changes a quota). Memory: for a `u64` 22 bytes a
//! place, places of a large table 58 % to 88 % full; nothing is allocated for a known key.
//! Cost: 2 RMWs on the shard's lock; an admission 1 more on the key's state.
//!
//! # Why a key that is forgotten has no second burst
//!
//! **Invariant.** The state of a key that is put in allows no more than the last state of
//! that key would have, had it been kept.
//!
//! *Proof.* A state is spent from only under the lock of its shard, shared, and taken out
//! only under that lock held alone: nobody can be left with a state that is not in the
//! table, and no two states of a key are in it, because a key is put in under the lock held
//! alone, after it was not found there. It is taken out only if it is idle at a time no later
//! than the shard's horizon: its balance then is that of `unknown`, the level that all keys
//! have that are not known. A state is put in at the level that `unknown` has at a reading
//! that is no earlier than the horizon (made before the lock if nobody has put the key in since,
//! or else under it), or at the horizon if that is later by no more than clocks differ, a second.
//! If it is later by more, `unknown` itself first becomes what it is at the
//! horizon, and the horizon the reading. A change of the quota carries both, at no earlier time
//! either. Levels do not fall as the reading rises. So the new level is no lower than the one
//! that was taken out, and the levels of a key never fall, whatever was forgotten between: the
//! theorem of the one-word core holds for the key. ∎
//!
//! As there, a level that no call can have left, because the clock has gone back for good, is
//! started again from full, and that is counted; so is `unknown`, of one tier. It is, too, where
//! a full store is searched for room and where all is swept, by a reading made under the lock: it
//! would be in the way of others until the clock is where it was.
//!
//! A call that is decided on a known key may have read the clock long before: the theorem
//! asks only that its reading lies within the call.
//!
//! `remove` and `reset` forget on purpose, and the bound begins anew.
//!
//! # Why memory is bounded
//!
//! Each new key looks at one group of eight places of its shard, in turn, and takes out the
//! keys that have been idle for a tenth of a second. (One that has only just become idle may
//! be asked for again and again; it would be put in again and again.) Where such looks find
//! nobody, only each third new key does. So a shard of `n` groups has been gone over after `3n`
//! new keys at the latest: it holds the keys that are not idle, or have not been for long, and
//! those of the last `3n` that came to be so since, at most three in seven of its room. A shard that is full is gone over as a whole before it is made larger, and is
//! then made larger if it would still be three quarters full; so a quarter of its room in new
//! keys comes before it is gone over again. One that is an eighth full is made smaller.
//!
//! Where [`max_keys`](KeyedBuilder::max_keys) is reached, a key that is idle at all is taken
//! out, wherever it is: in a store of a thousand keys or less all are looked at. In a larger one
//! 32 groups are, and a key may be refused although some other is idle; the next refused keys
//! go on looking where it stopped.
//!
//! # Why a table of our own
//!
//! A key costs what it takes to find it. A map whose readers take no lock keeps its entries
//! behind pointers, or announces each reader: with eight bytes of state, and a million keys
//! or more, that is a third cache miss, and at a thousand keys it costs as much as the lock
//! that it saves. The maps that lock cannot be walked a piece at a time without going over
//! all of it, or lock all of a shard that is an eighth of the whole.

mod batch;
pub(crate) mod buckets;
mod buckets_verbs;
pub(crate) mod builder;
pub(crate) mod each;
mod entries;
mod group_map;
pub(crate) mod per_key;
mod prepay;
mod slots;
mod store;
mod verbs;

use core::fmt;
use core::hash::{BuildHasher, Hash};

use crate::config::error::ConfigError;
use crate::config::quota::Quota;

use super::space::Overflow;

use self::buckets::Buckets;
use self::builder::KeyedBuilder;
use self::per_key::PerKey;
use self::store::{KeyPlace, Store};

/// The hasher of a [`Keyed`] that was given none.
pub(crate) type Hasher = std::hash::RandomState;

/// A limiter for each key, of any type that can be hashed and compared.
///
/// A key becomes known when it is first granted something, and is forgotten some time after
/// it is full again: from then on it would be answered as one that was never asked for. So
/// there is nothing to clean up, no thread that does it, and no call that goes over all
/// keys: a new key (where nobody leaves, each third) looks at up to eight others and forgets
/// those that have been full for a tenth of a second. (When a shard, one in 128 of the keys, grows, that takes the caller
/// and those who ask for its keys as long as it takes to move them.)
///
/// What limits a key is [`Buckets`] (8 bytes of state, all of one quota or of a few tiers)
/// or any limiter by [`Each`]. Keys are looked up by what they can be borrowed as: those of
/// a `Keyed<String>` by `&str`.
///
/// [`max_keys`](KeyedBuilder::max_keys) bounds the keys that are known. A key for which
/// there is no room is answered as [`WhenFull`](crate::WhenFull) says; none that is not full
/// is ever forgotten to make room.
///
/// What is called under a lock must not use the same `Keyed`: the key's `Eq`, `ToOwned` and
/// `Drop`, the clock, and the functions of [`Each`] and of tiers. (The hasher and the
/// observer are called outside of it.)
///
/// # Accuracy
///
/// That of the limiter, for each key: two keys never share anything. See [`Buckets`] and
/// [`Each`].
///
/// # Fairness
///
/// None among the callers for a key, as of the limiter.
///
/// # Memory ordering
///
/// What a caller did before it was granted permits happens before what the callers granted
/// after it for the same key do, as long as the key is known.
///
/// # Examples
///
/// ```
/// use sluicegate::{Keyed, quota};
///
/// // Each user has 100 a second, at most 20 at once.
/// let users = Keyed::<String>::new(quota!(100 / second, burst 20))?;
/// assert!(users.try_acquire("ada", 20).is_ok());
/// assert!(users.try_acquire("ada", 1).is_err());
/// assert!(users.try_acquire("bob", 1).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Keyed<K, L: PerKey<K> = Buckets, S = Hasher, O = ()> {
    store: Store<K, L>,
    hasher: S,
    overflow: Overflow<L::Clock>,
    observer: O,
}

impl<K: Hash + Eq> Keyed<K> {
    /// A token bucket of `quota` for each key.
    ///
    /// # Errors
    ///
    /// As [`Buckets::new`].
    pub fn new(quota: Quota) -> Result<Keyed<K>, ConfigError> {
        Keyed::with(Buckets::new(quota)?)
    }
}

impl<K: Hash + Eq, L: PerKey<K>> Keyed<K, L> {
    /// A `limiter` for each key.
    ///
    /// # Errors
    ///
    /// None; for [`KeyedBuilder::build`].
    pub fn with(limiter: L) -> Result<Keyed<K, L>, ConfigError>
    where
        L::Clock: Clone,
    {
        Keyed::builder(limiter).build()
    }

    /// What a keyed limiter is to be, of a `limiter` for each key.
    pub fn builder(limiter: L) -> KeyedBuilder<K, L> {
        KeyedBuilder::new(limiter)
    }
}

impl<K, L: PerKey<K>, S: BuildHasher, O> Keyed<K, L, S, O> {
    #[inline]
    fn place<Q: Hash + ?Sized>(&self, key: &Q) -> KeyPlace {
        KeyPlace::of_hash(self.hasher.hash_one(key))
    }
}

impl<K, L: PerKey<K>, S, O> fmt::Debug for Keyed<K, L, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed")
            .field("len", &self.len())
            .field("max_keys", &self.max_keys())
            .finish_non_exhaustive()
    }
}
