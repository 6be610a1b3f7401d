//! The trait that all stores of keys share.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::time::clock::Clock;

#[cfg(feature = "keyed")]
use super::exact::Keyed;
#[cfg(feature = "keyed")]
use super::exact::as_key::AsKey;
#[cfg(feature = "keyed")]
use super::exact::per_key::PerKey;
use super::hot::HotKeys;
use super::observe::Observe;
use super::prepay::KeyStore;
use super::table::KeyTable;
use super::table::verbs::TableTier;

/// The operations that every store of keys supports: `Keyed`, [`KeyTable`] and its
/// [tiers](TableTier), [`HotKeys`], and `&`, `Box` or `Arc` of one.
///
/// `K` is the form of the key in which calls name it: `str` for a `Keyed<String>` and for a
/// `KeyTable<str>`, `u64` for a `Keyed<u64>`. (A `Keyed` takes every form that is `AsKey`.) The
/// trait is dyn-compatible, so a program can choose its store when it starts:
/// `Box<dyn KeyedLimiter<str>>`.
///
/// If a store has an inherent method of the same name, both do the same, and the store's docs say
/// what it costs. Each key has its own budget, with the accuracy that the store's docs state.
///
/// # Examples
///
/// ```
/// use sluicegate::{KeyTable, KeyedLimiter, quota};
///
/// struct Login {
///     attempts: Box<dyn KeyedLimiter<str>>,
/// }
///
/// let attempts = KeyTable::<str>::with_keys(quota!(3 / minute), 10_000)?;
/// let login = Login { attempts: Box::new(attempts) };
/// assert!(login.attempts.try_acquire("ada", 3).is_ok());
/// assert!(login.attempts.try_acquire("ada", 1).is_err());
/// login.attempts.reset("ada");
/// assert!(login.attempts.try_acquire("ada", 1).is_ok());
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
pub trait KeyedLimiter<K: ?Sized>: Send + Sync {
    /// Takes all of `permits` for the key, or none if there are too few. A request for 0 permits
    /// is always granted.
    ///
    /// # Errors
    ///
    /// * [`Denied::Wait`] and [`Denied::TooLarge`] as for a limiter without keys.
    /// * [`Denied::Full`] if the store has no space for the key, and its
    ///   [`WhenFull`](crate::keyed::WhenFull) says so.
    #[doc(alias = "check", alias = "check_key", alias = "allow")]
    fn try_acquire(&self, key: &K, permits: u64) -> Result<Grant, Denied>;

    /// Takes as many of `permits` as are available for the key, at least one.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](KeyedLimiter::try_acquire) of one permit.
    fn try_acquire_up_to(&self, key: &K, permits: u64) -> Result<Grant, Denied>;

    /// Takes permits as [`try_acquire`](KeyedLimiter::try_acquire) does, and returns a [`Receipt`] that can
    /// give the permits back as long as nothing else has happened to the key.
    ///
    /// Receipts of the default implementation cannot give anything back: those of a `Keyed` and of
    /// [`HotKeys`]. Those of a table can.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](KeyedLimiter::try_acquire).
    fn try_acquire_revocable(&self, key: &K, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.try_acquire(key, permits).map(Receipt::spent)
    }

    /// Takes `permits` for each of the keys in their order, and calls `answer` with the index of
    /// each and with its outcome. A key may occur more than once.
    ///
    /// A `Keyed` and a table fetch the keys into the processor's caches side by side, sixteen at a
    /// time. Does not allocate, except for new keys of a `Keyed`.
    fn try_acquire_batch_with(
        &self,
        keys: &mut dyn Iterator<Item = &K>,
        permits: u64,
        answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
    );

    /// Does the same as [`try_acquire_batch_with`](KeyedLimiter::try_acquire_batch_with), and
    /// returns the answers in a vector, which it allocates.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::{KeyTable, KeyedLimiter, quota};
    ///
    /// let table = KeyTable::<u64>::with_keys(quota!(1 / hour), 1_000)?;
    /// let store: &dyn KeyedLimiter<u64> = &table;
    /// let answers = store.try_acquire_batch(&mut [7, 8, 7].iter(), 1);
    /// assert!(answers[0].is_ok() && answers[1].is_ok() && answers[2].is_err());
    /// # Ok::<(), sluicegate::ConfigError>(())
    /// ```
    #[must_use = "without the answers, nobody knows what was granted"]
    fn try_acquire_batch(
        &self,
        keys: &mut dyn Iterator<Item = &K>,
        permits: u64,
    ) -> Vec<Result<Grant, Denied>> {
        let mut answers = with_space_for(&keys);
        self.try_acquire_batch_with(keys, permits, &mut |_, answer| answers.push(answer));
        answers
    }

    /// Returns the answer that [`try_acquire`](KeyedLimiter::try_acquire) would give, if there is
    /// space for the key. Takes nothing; `peek(key, 0)` reads what is available.
    ///
    /// # Errors
    ///
    /// [`Denied::Wait`] and [`Denied::TooLarge`].
    fn peek(&self, key: &K, permits: u64) -> Result<Grant, Denied>;

    /// Makes the key full again. Permits granted to it before no longer count.
    fn reset(&self, key: &K);

    /// Forgets the key, and returns whether there was anything to forget. Afterwards it is like a
    /// key that was never seen, which is full.
    #[doc(alias = "forget")]
    fn remove(&self, key: &K) -> bool;

    /// Returns the number of keys for which the store keeps a state.
    ///
    /// A `Keyed` counts keys that have become full again until they are removed, and reads one
    /// word. A table counts the keys that are not full, and goes over all of its slots.
    fn len(&self) -> usize;

    /// Returns whether the store keeps no key's state. Costs as much as
    /// [`len`](KeyedLimiter::len).
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Removes the keys that are full again, and returns their number. Goes over the whole store.
    #[doc(alias = "retain_recent")]
    fn sweep(&self) -> usize;

    /// Returns the memory of the slots for keys, in bytes. Memory that keys and limiters hold
    /// elsewhere is not included.
    fn memory_bytes(&self) -> usize;

    /// Returns how often a state was found that no call can have left, because the clock had gone
    /// back, and was started again from full. See [`Clock`].
    fn healed(&self) -> u64;
}

/// Returns a vector with space for an answer to each of the keys, if they tell how many there are.
pub(super) fn with_space_for<'k, K: ?Sized + 'k>(
    keys: &impl Iterator<Item = &'k K>,
) -> Vec<Result<Grant, Denied>> {
    // An iterator may claim any number.
    Vec::with_capacity(keys.size_hint().0.min(1 << 16))
}

/// Writes the verbs that a store has as its own.
macro_rules! own_verbs {
    ($Key:ident) => {
        #[inline]
        fn try_acquire(&self, key: &$Key, permits: u64) -> Result<Grant, Denied> {
            self.try_acquire(key, permits)
        }

        fn try_acquire_up_to(&self, key: &$Key, permits: u64) -> Result<Grant, Denied> {
            self.try_acquire_up_to(key, permits)
        }

        fn try_acquire_batch_with(
            &self,
            keys: &mut dyn Iterator<Item = &$Key>,
            permits: u64,
            answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
        ) {
            self.try_acquire_batch_with(keys, permits, answer);
        }

        fn peek(&self, key: &$Key, permits: u64) -> Result<Grant, Denied> {
            self.peek(key, permits)
        }
    };
}

/// Writes the verb that a table has besides.
macro_rules! own_receipts {
    ($Key:ident) => {
        fn try_acquire_revocable(&self, key: &$Key, permits: u64) -> Result<Receipt<'_>, Denied> {
            self.try_acquire_revocable(key, permits)
        }
    };
}

/// Writes the methods that concern the whole store, which is `self`, or `self.$store`.
macro_rules! administration {
    ($Key:ident $(, $store:ident)?) => {
        fn reset(&self, key: &$Key) {
            self$(.$store)?.reset(key);
        }

        fn remove(&self, key: &$Key) -> bool {
            self$(.$store)?.remove(key)
        }

        fn len(&self) -> usize {
            self$(.$store)?.len()
        }

        fn sweep(&self) -> usize {
            self$(.$store)?.sweep()
        }

        fn memory_bytes(&self) -> usize {
            self$(.$store)?.memory_bytes()
        }

        fn healed(&self) -> u64 {
            self$(.$store)?.healed()
        }
    };
}

#[cfg(feature = "keyed")]
impl<K, Q, L, S, O> KeyedLimiter<Q> for Keyed<K, L, S, O>
where
    K: Hash + Eq,
    Q: AsKey<K> + ?Sized,
    L: PerKey<K>,
    S: BuildHasher,
    O: Observe<Q>,
    Self: Send + Sync,
{
    own_verbs!(Q);
    administration!(Q);
}

impl<K, S, C, O> KeyedLimiter<K> for KeyTable<K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock + Sync,
    O: Observe<K>,
    Self: Send + Sync,
{
    own_verbs!(K);
    own_receipts!(K);
    administration!(K);
}

impl<K, S, C, O> KeyedLimiter<K> for TableTier<'_, K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock + Sync,
    O: Observe<K>,
    Self: Send + Sync,
{
    own_verbs!(K);
    own_receipts!(K);
    administration!(K, table);
}

impl<K: ?Sized, S: KeyStore<K> + KeyedLimiter<K>> KeyedLimiter<K> for HotKeys<S> {
    own_verbs!(K);

    fn reset(&self, key: &K) {
        self.reset(key);
    }

    fn remove(&self, key: &K) -> bool {
        self.remove(key)
    }

    fn len(&self) -> usize {
        self.store().len()
    }

    fn sweep(&self) -> usize {
        self.store().sweep()
    }

    fn memory_bytes(&self) -> usize {
        self.memory_bytes().saturating_add(self.store().memory_bytes())
    }

    fn healed(&self) -> u64 {
        self.store().healed()
    }
}

/// Forwards every method to the store behind a pointer.
macro_rules! through {
    ($(#[$attribute:meta])* $Pointer:ty) => {
        $(#[$attribute])*
        impl<K: ?Sized, S: KeyedLimiter<K> + ?Sized> KeyedLimiter<K> for $Pointer {
            #[inline]
            fn try_acquire(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
                (**self).try_acquire(key, permits)
            }

            fn try_acquire_up_to(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
                (**self).try_acquire_up_to(key, permits)
            }

            fn try_acquire_revocable(
                &self,
                key: &K,
                permits: u64,
            ) -> Result<Receipt<'_>, Denied> {
                (**self).try_acquire_revocable(key, permits)
            }

            fn try_acquire_batch_with(
                &self,
                keys: &mut dyn Iterator<Item = &K>,
                permits: u64,
                answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
            ) {
                (**self).try_acquire_batch_with(keys, permits, answer);
            }

            fn try_acquire_batch(
                &self,
                keys: &mut dyn Iterator<Item = &K>,
                permits: u64,
            ) -> Vec<Result<Grant, Denied>> {
                (**self).try_acquire_batch(keys, permits)
            }

            fn peek(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
                (**self).peek(key, permits)
            }

            fn reset(&self, key: &K) {
                (**self).reset(key);
            }

            fn remove(&self, key: &K) -> bool {
                (**self).remove(key)
            }

            fn len(&self) -> usize {
                (**self).len()
            }

            fn is_empty(&self) -> bool {
                (**self).is_empty()
            }

            fn sweep(&self) -> usize {
                (**self).sweep()
            }

            fn memory_bytes(&self) -> usize {
                (**self).memory_bytes()
            }

            fn healed(&self) -> u64 {
                (**self).healed()
            }
        }
    };
}

through!(&S);
through!(alloc::boxed::Box<S>);
through!(#[cfg(target_has_atomic = "ptr")] alloc::sync::Arc<S>);
