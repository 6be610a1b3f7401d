//! The constructors of a keyed limiter, and its builder.

use core::fmt;
use core::hash::Hash;
use core::marker::PhantomData;

use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::keyed::when_full::{Overflow, WhenFull};
use crate::time::clock::Clock;

use super::buckets::Buckets;
use super::per_key::PerKey;
use super::store::Store;
use super::{Hasher, Keyed, TieredKeyed};

impl<K: Hash + Eq> Keyed<K> {
    /// Creates a store with a token bucket of `quota` for each key. A bare rate has a burst of one
    /// period's permits.
    #[must_use]
    pub fn new(quota: impl Into<Quota>) -> Keyed<K> {
        Keyed::with(Buckets::new(quota))
    }
}

impl<K: Hash + Eq, C: Clock + Clone> Keyed<K, Buckets<C>> {
    /// Creates a store with a token bucket of `quota` for each key, on `clock`.
    #[must_use]
    pub fn with_clock(quota: impl Into<Quota>, clock: C) -> Keyed<K, Buckets<C>> {
        Keyed::with(Buckets::with_clock(quota, clock))
    }
}

impl<K: Hash + Eq, L: PerKey<K>> Keyed<K, L> {
    /// Creates a store in which `limiter` limits each key.
    #[must_use]
    pub fn with(limiter: L) -> Keyed<K, L>
    where
        L::Clock: Clone,
    {
        Keyed::builder(limiter).store()
    }

    /// Returns a builder of a store in which `limiter` limits each key.
    pub fn builder(limiter: L) -> KeyedBuilder<K, L> {
        KeyedBuilder::new(limiter)
    }
}

impl<K: Hash + Eq> TieredKeyed<K> {
    /// Creates a store with a token bucket for each key, of the one of `quotas` whose index, from
    /// 0, `tier` returns for the key. An index that is too large stands for the last quota.
    ///
    /// # Errors
    ///
    /// As for [`Buckets::tiered`].
    pub fn tiered(
        quotas: impl IntoIterator<Item: Into<Quota>>,
        tier: fn(&K) -> usize,
    ) -> Result<TieredKeyed<K>, ConfigError> {
        Buckets::tiered(quotas, tier).map(Keyed::with)
    }
}

impl<K: Hash + Eq, C: Clock + Clone> TieredKeyed<K, C> {
    /// Does the same as [`TieredKeyed::tiered`](Keyed::tiered), on `clock`.
    ///
    /// # Errors
    ///
    /// As for [`Buckets::tiered`].
    pub fn tiered_with_clock(
        quotas: impl IntoIterator<Item: Into<Quota>>,
        tier: fn(&K) -> usize,
        clock: C,
    ) -> Result<TieredKeyed<K, C>, ConfigError> {
        Buckets::tiered_with_clock(quotas, tier, clock).map(Keyed::with)
    }
}

/// Configuration of a [`Keyed`] limiter.
///
/// | part | default | |
/// |---|---|---|
/// | [`max_keys`](KeyedBuilder::max_keys) | 2^32 | the maximum number of keys that are known at a time |
/// | [`when_full`](KeyedBuilder::when_full) | [`WhenFull::Deny`] | the answer to one more key |
/// | [`hasher`](KeyedBuilder::hasher) | the standard library's, with a secret seed | |
/// | [`observer`](KeyedBuilder::observer) | none | is told of each decision |
///
/// # Examples
///
/// ```
/// use sluicegate::{Keyed, quota};
/// use sluicegate::keyed::{Buckets, WhenFull};
///
/// let keyed: Keyed<String> = Keyed::builder(Buckets::new(quota!(10 / second)))
///     .max_keys(100_000)
///     .when_full(WhenFull::Share(quota!(1_000 / second)))
///     .build()?;
/// assert!(keyed.try_acquire("ada", 1).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder builds nothing until it is told to"]
pub struct KeyedBuilder<K, L, S = Hasher, O = ()> {
    limiter: L,
    hasher: S,
    observer: O,
    max_keys: usize,
    searches_all: bool,
    when_full: WhenFull,
    keys: PhantomData<fn(&K)>,
}

impl<K, L: PerKey<K>> KeyedBuilder<K, L> {
    pub(super) fn new(limiter: L) -> KeyedBuilder<K, L> {
        KeyedBuilder {
            limiter,
            hasher: Hasher::default(),
            observer: (),
            max_keys: usize::try_from(1_u64 << 32).unwrap_or(usize::MAX),
            searches_all: false,
            when_full: WhenFull::Deny,
            keys: PhantomData,
        }
    }
}

impl<K, L: PerKey<K>, S, O> KeyedBuilder<K, L, S, O> {
    /// Sets the maximum number of keys that are known at a time: a hard bound under any
    /// interleaving.
    ///
    /// In a full store a new key searches a few hundred keys for one that is full again. So a
    /// refusal takes some microseconds, and locks other shards one after the other.
    ///
    /// All new keys are counted in one word, for which callers on several cores wait. A maximum of 2^31 or
    /// more, such as the default, is shared out among 128 shards instead, each with a count of its own;
    /// so a shard may be full a little before all are.
    pub fn max_keys(self, max_keys: usize) -> Self {
        KeyedBuilder { max_keys, ..self }
    }

    /// Sets the answer to a key for which there is no space.
    pub fn when_full(self, when_full: WhenFull) -> Self {
        KeyedBuilder { when_full, ..self }
    }

    /// Hashes keys by `hasher`: a faster one, if nobody chooses keys to do harm.
    ///
    /// Keys whose hashes collide have buckets of their own, but take longer to be found,
    /// under a lock. The default is `SipHash` with a secret seed, for which nobody can find
    /// such keys.
    pub fn hasher<T>(self, hasher: T) -> KeyedBuilder<K, L, T, O> {
        let KeyedBuilder { limiter, observer, max_keys, searches_all, when_full, keys, .. } = self;
        KeyedBuilder { limiter, hasher, observer, max_keys, searches_all, when_full, keys }
    }

    /// Tells `observer` of each decision, once it is made.
    pub fn observer<P>(self, observer: P) -> KeyedBuilder<K, L, S, P> {
        let KeyedBuilder { limiter, hasher, max_keys, searches_all, when_full, keys, .. } = self;
        KeyedBuilder { limiter, hasher, observer, max_keys, searches_all, when_full, keys }
    }

    /// Builds the limiter.
    ///
    /// # Errors
    ///
    /// [`ConfigError::Keys`] if `max_keys` is 0.
    pub fn build(self) -> Result<Keyed<K, L, S, O>, ConfigError>
    where
        L::Clock: Clone,
    {
        if self.max_keys == 0 {
            return Err(ConfigError::Keys { keys: self.max_keys });
        }
        Ok(self.store())
    }

    /// Builds the limiter, of which the maximum number of keys is in range.
    pub(super) fn store(self) -> Keyed<K, L, S, O>
    where
        L::Clock: Clone,
    {
        let KeyedBuilder { limiter, hasher, observer, max_keys, searches_all, when_full, .. } =
            self;
        let overflow = Overflow::new(when_full, limiter.clock().clone());
        Keyed { store: Store::new(limiter, max_keys, searches_all), hasher, overflow, observer }
    }
}

impl<K, C: Clock, S, O> KeyedBuilder<K, Buckets<C>, S, O> {
    /// Lets a full store refuse a key only after a complete search: if no known key was idle when it was looked at. It
    /// must not be used for reservations.
    pub(crate) fn searching_all(self) -> Self {
        KeyedBuilder { searches_all: true, ..self }
    }
}

/// Lets the store of a model be searched completely.
#[cfg(sluicegate_loom)]
pub fn modelled<K, C: Clock, S>(
    builder: KeyedBuilder<K, Buckets<C>, S>,
) -> KeyedBuilder<K, Buckets<C>, S> {
    builder.searching_all()
}

impl<K, L, S, O> fmt::Debug for KeyedBuilder<K, L, S, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyedBuilder")
            .field("max_keys", &self.max_keys)
            .field("when_full", &self.when_full)
            .finish_non_exhaustive()
    }
}
