//! Many keys at once: their lines are prefetched together.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
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
    pub fn try_acquire_batch_with<Q: Borrow<K>>(
        &self,
        keys: &[Q],
        permits: u64,
        mut answer: impl FnMut(usize, Result<Grant, Denied>),
    ) {
        let Ok(charge) = self.charge(permits) else {
            for (index, key) in keys.iter().enumerate() {
                answer(index, self.try_acquire(key.borrow(), permits));
            }
            return;
        };
        let table = &self.table.table;
        let mut first = 0;
        for keys in keys.chunks(GROUP) {
            let mut places = [None::<KeyHome>; GROUP];
            for (place, key) in core::iter::zip(&mut places, keys) {
                let found = self.table.place(key.borrow());
                table.lines()[found.home].fetch();
                *place = Some(found);
            }
            // Read before the loads: a processor that waits for the clock would wait for the loads
            // too, and have nothing else to do. A level that is ahead of the reading is noticed, as
            // in a single call.
            let moment = table.moment();
            let places = places.iter().flatten().copied();
            let mut words = [None; GROUP];
            for (word, place) in core::iter::zip(&mut words, places.clone()) {
                *word = table.lines()[place.home].find_any(place.fingerprint);
                if word.is_none() {
                    table.fetch_other(place);
                }
            }
            for (index, (place, word)) in core::iter::zip(places, words).enumerate() {
                // A key that occurs twice may have been new the first time.
                let word = word.or_else(|| table.lines()[place.home].find_any(place.fingerprint));
                let asked = table.ask_at(word, (place, moment), self.tier, &charge);
                answer(first + index, self.answer(keys[index].borrow(), permits, asked));
            }
            first += GROUP;
        }
    }
}
