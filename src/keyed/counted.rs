//! Stores of keys with counts of their answers.

use crate::compose::counted::Counted;
use crate::compose::counted::answers::AnswerCounters;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::decision::receipt::Receipt;

use super::keyed_limiter::KeyedLimiter;
use super::observe::Observe;

/// Counts each decision of a store.
impl<K: ?Sized> Observe<K> for AnswerCounters {
    #[inline]
    fn decided(&self, _key: &K, permits: u64, answer: Result<&Grant, &Denied>) {
        self.count(permits, answer);
    }
}

/// Counts the answers of all keys together.
impl<K: ?Sized, S: KeyedLimiter<K>> KeyedLimiter<K> for Counted<S> {
    #[inline]
    fn try_acquire(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        let answer = self.limiter().try_acquire(key, permits);
        self.answers().count_whole(permits, answer.as_ref().err());
        answer
    }

    fn try_acquire_up_to(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        let answer = self.limiter().try_acquire_up_to(key, permits);
        self.answers().count(permits, answer.as_ref());
        answer
    }

    fn try_acquire_revocable(&self, key: &K, permits: u64) -> Result<Receipt<'_>, Denied> {
        let answer = self.limiter().try_acquire_revocable(key, permits);
        self.answers().count_whole(permits, answer.as_ref().err());
        answer
    }

    fn try_acquire_batch_with(
        &self,
        keys: &mut dyn Iterator<Item = &K>,
        permits: u64,
        answer: &mut dyn FnMut(usize, Result<Grant, Denied>),
    ) {
        self.limiter().try_acquire_batch_with(keys, permits, &mut |index, own| {
            self.answers().count(permits, own.as_ref());
            answer(index, own);
        });
    }

    fn peek(&self, key: &K, permits: u64) -> Result<Grant, Denied> {
        self.limiter().peek(key, permits)
    }

    fn reset(&self, key: &K) {
        self.limiter().reset(key);
    }

    fn remove(&self, key: &K) -> bool {
        self.limiter().remove(key)
    }

    fn len(&self) -> usize {
        self.limiter().len()
    }

    fn is_empty(&self) -> bool {
        self.limiter().is_empty()
    }

    fn sweep(&self) -> usize {
        self.limiter().sweep()
    }

    fn memory_bytes(&self) -> usize {
        self.limiter().memory_bytes()
    }

    fn healed(&self) -> u64 {
        self.limiter().healed()
    }
}
