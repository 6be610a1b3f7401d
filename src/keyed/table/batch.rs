//! Many keys at once: their lines are prefetched together.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::keyed_limiter::with_space_for;
use crate::keyed::observe::Observe;
use crate::time::clock::Clock;

use super::home::KeyHome;
use super::verbs::TableTier;

/// Keys decided together: about as many as a processor can fetch lines at once.
const GROUP: usize = 16;

impl<K, S, C, O> TableTier<'_, K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    /// The same as [`try_acquire_batch_with`](super::KeyTable::try_acquire_batch_with), in this
    /// tier.
    pub fn try_acquire_batch_with<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
        permits: u64,
        mut answer: impl FnMut(usize, Result<Grant, Denied>),
    ) where
        K: 'k,
    {
        let mut keys = keys.into_iter();
        let table = &self.table.table;
        let mut first = 0;
        loop {
            let mut places = [None::<(&K, KeyHome)>; GROUP];
            let mut count = 0;
            for (place, key) in core::iter::zip(&mut places, &mut keys) {
                let found = self.table.place(key);
                table.lines()[found.home].fetch();
                *place = Some((key, found));
                count += 1;
            }
            if count == 0 {
                return;
            }
            // A batch may take long, if the keys come one by one: the quota is that of each group.
            let call = self.call();
            let places = places.iter().flatten().copied();
            let charge = match call.charge(permits) {
                Ok(charge) => charge,
                Err(denied) => {
                    for (index, (key, _)) in places.enumerate() {
                        answer(first + index, call.peek_or(key, permits, denied));
                    }
                    first += count;
                    continue;
                }
            };
            // Read before the loads: a processor that waits for the clock would wait for the loads
            // too, and have nothing else to do. A level that is ahead of the reading is noticed, as
            // in a single call.
            let moment = table.moment();
            let mut words = [None; GROUP];
            for (word, (_, place)) in core::iter::zip(&mut words, places.clone()) {
                *word = table.lines()[place.home].find_any(place.fingerprint);
                if word.is_none() {
                    table.fetch_other(place);
                }
            }
            for (index, ((key, place), word)) in core::iter::zip(places, words).enumerate() {
                // A key that occurs twice may have been new the first time.
                let word = word.or_else(|| table.lines()[place.home].find_any(place.fingerprint));
                let asked = table.ask_at(word, (place, moment), &call.tier, &charge);
                answer(first + index, call.answer(key, permits, asked));
            }
            if count < GROUP {
                return;
            }
            first += count;
        }
    }

    /// The same as [`try_acquire_batch`](super::KeyTable::try_acquire_batch), in this tier.
    #[must_use = "without the answers, nobody knows what was granted"]
    pub fn try_acquire_batch<'k>(
        &self,
        keys: impl IntoIterator<Item = &'k K>,
        permits: u64,
    ) -> Vec<Result<Grant, Denied>>
    where
        K: 'k,
    {
        let keys = keys.into_iter();
        let mut answers = with_space_for(&keys);
        self.try_acquire_batch_with(keys, permits, |_, answer| answers.push(answer));
        answers
    }
}
