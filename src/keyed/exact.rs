//! A limiter for each key, of any type. Idle keys are removed automatically.
//!
//! | file | |
//! |---|---|
//! | `as_key` | the forms in which a key can be given |
//! | `group_map`, `slots` | a map that can be walked a group at a time |
//! | `store` | 128 such maps, each under a lock: look at a key, change it |
//! | `store/spend` | permits of a key: find, decide, insert |
//! | `store/evict` | eviction: sweeps, the bound on keys, clocks that went back |
//! | `store/search` | the search for space in a full store: in part, or of all of it |
//! | `store/last_search` | refusals of a full store that was searched completely, and is still as it was then |
//! | `store/forget` | keys that are forgotten before they are idle |
//! | `batch` | many keys at once |
//! | `by_reading` | calls for a bucket that is asked beside another, by one reading of the clock |
//! | `store/group` | several known keys at once |
//! | `store/with` | a closure on the state of a key, under its lock |
//! | `per_key` | the interface between a store and the limiter of a key |
//! | `buckets` | token buckets: a word for each key |
//! | `each` | any limiter |
//! | `penalties` | penalties: a word for each key that has offended |
//! | `each_verbs` | the verbs of a store of any limiter |
//! | `reserve`, `buckets/book` | permits of a key that are taken for a later instant |
//! | `key_estimate` | estimates that are taken and settled by key |
//!
//! Progress: a call for a known key holds its shard's lock shared. It waits only for a call
//! that holds that lock exclusively: one that inserts, removes, resets or credits a key there,
//! sweeps, or changes a quota; and the first one after an insertion there, which takes its key for a
//! new one. Memory: 22 bytes a slot for keys of type `u64`; a table has 44 % to 88 % of its slots
//! in use, and one for more than a hundred thousand keys at least 58 %. Nothing is allocated for a known
//! key. Cost: 2 RMWs on the shard's lock; an admission 1 more on the key's state. A new key that
//! comes after another of its shard costs 2 RMWs as well, and 1 more to count it if
//! [`max_keys`](KeyedBuilder::max_keys) is set below 2^31.
//!
//! # Why a removed key has no second burst
//!
//! **Invariant.** The state with which a key is inserted allows no more than the last state
//! of that key would have allowed, had it been kept.
//!
//! *Proof.* A state is spent from only while its shard's lock is held, mostly shared, and removed
//! only while that lock is held exclusively. So no caller is left with a state that is no
//! longer in the table. The table has at most one state for a key, because a key is inserted
//! under the exclusive lock, after it was not found there.
//!
//! The *horizon* of a shard is the latest time at which an evicted key was idle. So a key is
//! evicted only if it is idle at a time no later than the horizon: its balance then is that of
//! `unknown`, the level that all unknown keys have.
//!
//! A key is inserted at the level that `unknown` has at a clock reading no earlier than the
//! horizon. That reading was made before the lock was taken if no other caller has inserted
//! the key since, and otherwise under the lock. If the horizon is later than the reading by
//! at most a second, as far as clocks may differ, the key is inserted at the level of the
//! horizon. If it is later by more, `unknown` itself first becomes what it is at the horizon,
//! and the horizon becomes the reading. A change of the quota carries over both the levels of
//! known keys and `unknown`, and also does so at a time no earlier than the horizon.
//!
//! Levels do not fall as the reading rises. So the inserted level is no lower than the
//! removed one, and the levels of a key never fall, however often it was evicted in between:
//! the theorem of `BucketCore` holds for the key. ∎
//!
//! As in `BucketCore`, a level that no call can have left, because the clock has gone back for
//! good, starts again from full, and that is counted. The same is done with the `unknown` of a
//! tier. It is also done while a full store is searched for space, and while all keys are swept, by
//! a reading made under the lock: such a state would otherwise keep its slot from others until the
//! clock is back where it was.
//!
//! A call that is decided on a known key may have read the clock long before: the theorem
//! requires only that its reading lies within the call.
//!
//! `remove` and `reset` discard a state on purpose, and the bound begins anew. `credit` lowers a
//! level by the cost of what it adds at most, and the bound is higher by that.
//!
//! # Why memory is bounded
//!
//! Each new key visits one group of eight slots of its shard, in rotation, and evicts the
//! keys that have been idle for a tenth of a second. (A key that has only just become idle
//! may be asked for again and again, and would be inserted each time.) While such visits find
//! nothing to evict, only every third new key makes one. So a shard of `n` groups has been
//! visited completely after `3n` new keys at the latest. Besides the keys that are not idle, or
//! not for long, it holds only those of the last `3n` new keys that have become idle since: at
//! most three in seven of its capacity.
//!
//! A full shard is swept as a whole before it grows, and then grows if it would still be
//! three quarters full; so it takes new keys for a quarter of its capacity before it is swept
//! as a whole again. A shard that is an eighth full shrinks.
//!
//! When [`max_keys`](KeyedBuilder::max_keys) is reached, any idle key is evicted, however
//! recently it became idle and wherever it is: a store of a thousand keys or less is searched
//! completely. In a larger one 32 groups are searched, and a key may be refused although
//! another is idle; the next refused keys continue the search where it stopped. (A store for tenants that are promised
//! a place is searched completely, however large it is: `store/search`.)
//!
//! # Why a table of our own
//!
//! The cost of a key is the cost of finding it. A map whose readers take no lock keeps its
//! entries behind pointers, or announces each reader. With eight bytes of state and a million
//! keys or more, that is a third cache miss; with a thousand keys it costs as much as the
//! lock that it saves. A map with locks either cannot be walked a piece at a time, or
//! locks a whole shard for each piece, and a shard is an eighth of the map.

// The documented page has the public methods in the order of these modules.
pub(crate) mod builder;

mod verbs;

mod batch;

mod by_reading;

mod leaving;

mod buckets_verbs;
mod each_verbs;

pub(crate) mod key_estimate;

mod entries;

pub(crate) mod as_key;
pub(crate) mod buckets;
pub(crate) mod each;
mod group_map;
pub(crate) mod penalties;
pub(crate) mod per_key;
mod prepay;
#[cfg(feature = "wait")]
pub(crate) mod reserve;
mod slots;
mod store;

use core::fmt;
use core::hash::{BuildHasher, Hash};

use crate::time::clock::default::DefaultClock;

use super::when_full::Overflow;

use self::buckets::Buckets;
use self::buckets::tiers::Tiers;
#[cfg(doc)]
use self::builder::KeyedBuilder;
use self::per_key::PerKey;
use self::store::{KeyPlace, Store};

/// The default hasher of a [`Keyed`].
pub(crate) type Hasher = std::hash::RandomState;

/// A limiter for each key, of any type that can be hashed and compared.
///
/// A key becomes known when it is first granted something. It is idle once it is full again,
/// and is removed some time later: from then on it is answered like a key that was never
/// seen. So there is nothing to clean up, no background thread, and no call that visits all
/// keys. A call that inserts a key (every third, while there is nothing to evict) looks at up to
/// eight others and evicts those that have been idle for a tenth of a second. (A shard holds one
/// in 128 of the keys. When it grows, all callers for its keys wait until these are moved.)
///
/// A key is limited by [`Buckets`] (8 bytes of state; one quota for all keys, or one for each
/// of a few tiers) or, through [`Each`](crate::keyed::Each), by any limiter. Lookups accept any borrowed
/// form of the key, `&str` for a `Keyed<String>`; [`Parts`](crate::keyed::Parts) for a key that is a
/// tuple; and any type of your own that is [`AsKey`](crate::keyed::AsKey).
///
/// [`max_keys`](KeyedBuilder::max_keys) bounds the number of known keys. A key for which
/// there is no space is answered as [`WhenFull`](crate::keyed::WhenFull) says; a key that is not
/// idle is never evicted.
///
/// Code that runs under a lock must not use the same `Keyed`: the key's `Eq` and `Drop`, the
/// methods of [`AsKey`](crate::keyed::AsKey) (`ToOwned` for a borrowed form), the clock, and the
/// functions of [`Each`](crate::keyed::Each) and of tiers. (The hasher and the observer are called outside
/// of the lock.)
///
/// # Examples
///
/// ```
/// use sluicegate::{Keyed, quota};
///
/// // Each user has 100 a second, at most 20 at once.
/// let users = Keyed::<String>::new(quota!(100 / second, burst 20));
/// assert!(users.try_acquire("ada", 20).is_ok());
/// assert!(users.try_acquire("ada", 1).is_err());
/// assert!(users.try_acquire("bob", 1).is_ok());
/// ```
///
/// # Accuracy
///
/// As for the limiter, for each key: two keys never share anything. See [`Buckets`] and
/// [`Each`](crate::keyed::Each).
///
/// # Fairness
///
/// None among the callers for a key, as for the limiter.
///
/// # Memory ordering
///
/// Everything that a caller did before its grant happens before everything that a caller with a
/// later grant for the key does after that, as long as the key is known.
#[doc(alias = "DefaultKeyedRateLimiter")]
pub struct Keyed<K, L: PerKey<K> = Buckets, S = Hasher, O = ()> {
    store: Store<K, L>,
    hasher: S,
    overflow: Overflow<L::Clock>,
    observer: O,
}

/// A [`Keyed`] of token buckets with a quota for each tier of keys, whose type can be written down:
/// the tier of a key is found by a function pointer.
///
/// For fields of structs. A closure that captures nothing is such a function.
///
/// # Examples
///
/// ```
/// use sluicegate::quota;
/// use sluicegate::keyed::TieredKeyed;
///
/// struct Api {
///     limits: TieredKeyed<String>,
/// }
///
/// let quotas = [quota!(10 / second), quota!(1_000 / second)];
/// let limits = TieredKeyed::tiered(quotas, |key: &String| usize::from(key.starts_with("paid:")))?;
/// let api = Api { limits };
/// assert_eq!(api.limits.try_acquire("paid:bob", 1)?.remaining(), 999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type TieredKeyed<K, C = DefaultClock> = Keyed<K, Buckets<C, Tiers<fn(&K) -> usize>>>;

impl<K, L: PerKey<K>, S: BuildHasher, O> Keyed<K, L, S, O> {
    #[inline]
    fn place<Q: Hash + ?Sized>(&self, key: &Q) -> KeyPlace {
        KeyPlace::of_hash(self.hasher.hash_one(key))
    }
}

/// Shows how many keys are known, and how many can be. Takes no lock, so it does not
/// show the limiter, whose terms a lock protects.
impl<K, L: PerKey<K>, S, O> fmt::Debug for Keyed<K, L, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed")
            .field("len", &self.len())
            .field("max_keys", &self.max_keys())
            .finish()
    }
}
