//! Batches of keys, whose cache lines are fetched side by side.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};
use core::iter;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::exact::store::group::GROUP;
use crate::keyed::keyed_limiter::with_space_for;
use crate::keyed::observe::Observe;
use crate::keyed::when_full::Request;

use super::Keyed;
use super::as_key::AsKey;
use super::per_key::PerKey;
use super::store::KeyPlace;

impl<K, L, S, O> Keyed<K, L, S, O>
where
    K: Hash + Eq,
    L: PerKey<K>,
    S: BuildHasher,
{
    /// Takes `permits` for each of the keys, one after the other; `answer` is given the index
    /// of a key and the result that [`try_acquire`](Keyed::try_acquire) would have returned
    /// for it.
    ///
    /// Known keys are fetched into the processor's caches sixteen at a time, with one clock
    /// reading for each sixteen (`keys` is asked for sixteen before the first of them is decided,
    /// without a lock); this is three times as fast if there are more keys than the
    /// caches hold. A key may occur more than once. Allocates where `try_acquire` does.
    ///
    /// Holds up to sixteen shared locks at a time, so a caller that inserts a key waits a
    /// little longer. No lock is held while `answer` or the observer is called. Up to sixteen
    /// keys are charged before `answer` is called for the first of them: if it panics, up to
    /// fifteen grants are not reported, and not given back.
    ///
    /// # Examples
    ///
    /// ```
    /// use sluicegate::*;
    ///
    /// let keyed = Keyed::<String>::new(quota!(10 / hour, burst 1));
    /// let mut granted = Vec::new();
    /// keyed.try_acquire_batch_with(["ada", "bob", "ada"], 1, |index, answer| {
    ///     if answer.is_ok() {
    ///         granted.push(index);
    ///     }
    /// });
    /// assert_eq!(granted, [0, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn try_acquire_batch_with<'k, Q>(
        &self,
        keys: impl IntoIterator<Item = &'k Q>,
        permits: u64,
        mut answer: impl FnMut(usize, Result<Grant, Denied>),
    ) where
        Q: AsKey<K> + ?Sized + 'k,
        O: Observe<Q>,
    {
        let acquire = move |limiter: &L, terms: &L::Terms, state: &L::State, now_nanos| {
            limiter.acquire::<true>(terms, state, permits, now_nanos)
        };
        let alone = move |limiter: &L, terms: &L::Terms, state: &L::State, now_nanos| {
            limiter.acquire_alone(terms, state, permits, now_nanos)
        };
        let mut keys = keys.into_iter();
        let mut index = 0;
        loop {
            let mut group = [None; GROUP];
            let mut places = [KeyPlace::of_hash(0); GROUP];
            let mut count = 0;
            for ((slot, place), key) in iter::zip(iter::zip(&mut group, &mut places), &mut keys) {
                (*slot, *place) = (Some(key), self.place(key));
                count += 1;
            }
            if count == 0 {
                return;
            }
            let keys = &group[..count];
            let known = self.store.spend_known_group(&places, keys, acquire);
            let keys = keys.iter().flatten().copied();
            for ((key, place), known) in iter::zip(iter::zip(keys, places), known) {
                let said = known.unwrap_or_else(|| {
                    self.spend_at(place, key, Request::All { permits, reserve: 0 }, acquire, alone)
                });
                self.observer.decided(key, permits, said.as_ref());
                answer(index, said);
                index += 1;
            }
            if count < GROUP {
                return;
            }
        }
    }

    /// Does the same as [`try_acquire_batch_with`](Keyed::try_acquire_batch_with), and
    /// returns the answers in a vector, which it allocates.
    #[must_use = "without the answers, nobody knows what was granted"]
    pub fn try_acquire_batch<'k, Q>(
        &self,
        keys: impl IntoIterator<Item = &'k Q>,
        permits: u64,
    ) -> Vec<Result<Grant, Denied>>
    where
        Q: AsKey<K> + ?Sized + 'k,
        O: Observe<Q>,
    {
        let keys = keys.into_iter();
        let mut answers = with_space_for(&keys);
        self.try_acquire_batch_with(keys, permits, |_, answer| answers.push(answer));
        answers
    }
}
