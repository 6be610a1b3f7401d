//! The verbs of a store: those of the store behind the lines, unless somebody waits for the key.

use alloc::borrow::ToOwned;
use core::hash::Hash;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;
use crate::keyed::keyed_leaving::KeyedLeaving;
use crate::keyed::keyed_limiter::KeyedLimiter;
use crate::time::clock::Clock;

use super::QueuedKeys;

/// Each call is the store's, unless somebody waits for its key. Then it serves those who are due, if
/// the lock of the line is free, and is denied if anybody is left.
impl<S, K, C> KeyedLimiter<K> for QueuedKeys<S, K, C>
where
    S: KeyedLimiter<K>,
    K: ToOwned<Owned: Hash + Eq + Send + Sync> + Hash + Eq + Sync + ?Sized,
    C: Clock + Send + Sync,
{
    #[inline]
    fn try_acquire(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.unless_gated(key, permits)?.try_acquire(key, permits)
    }

    fn try_acquire_up_to(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        // Denied as one permit would be.
        self.unless_gated(key, permits.min(1))?.try_acquire_up_to(key, permits)
    }

    /// Does as the store does. A receipt that is given back while others wait is to be given back in an
    /// [`update`](QueuedKeys::update), or they do not learn of it before they look again.
    fn try_acquire_revocable(&self, key: &K, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.unless_gated(key, permits)?.try_acquire_revocable(key, permits)
    }

    /// The store's, as long as nobody waits for any key; otherwise one key after the other.
    fn try_acquire_batch_with(
        &self,
        keys: &mut dyn Iterator<Item = &K>,
        permits: u64,
        answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
    ) {
        if self.lines.count() == 0 {
            return self.store.try_acquire_batch_with(keys, permits, answer);
        }
        for (index, key) in keys.enumerate() {
            answer(index, self.try_acquire(key, permits));
        }
    }

    fn peek(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.unless_gated(key, permits)?.peek(key, permits)
    }

    fn reset(&self, key: &K) {
        self.store.reset(key);
        self.poke(key);
    }

    fn remove(&self, key: &K) -> bool {
        let is_removed = self.store.remove(key);
        self.poke(key);
        is_removed
    }

    fn len(&self) -> usize {
        self.store.len()
    }

    fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    fn sweep(&self) -> usize {
        self.store.sweep()
    }

    /// Bytes of the store: lines are not included.
    fn memory_bytes(&self) -> usize {
        self.store.memory_bytes()
    }

    fn healed(&self) -> u64 {
        self.store.healed()
    }
}

/// Each call is the store's, as long as nobody stands in line for the key. Callers in line leave no reserve.
impl<S, K, C> KeyedLeaving<K> for QueuedKeys<S, K, C>
where
    S: KeyedLeaving<K>,
    K: ToOwned<Owned: Hash + Eq + Send + Sync> + Hash + Eq + Sync + ?Sized,
    C: Clock + Send + Sync,
{
    fn try_acquire_leaving(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.unless_gated(key, permits)?.try_acquire_leaving(key, permits, reserve)
    }

    fn peek_leaving(&self, key: &K, permits: u64, reserve: u64) -> Result<Grant, Denied> {
        self.unless_gated(key, permits)?.peek_leaving(key, permits, reserve)
    }
}
