//! Many keys at once: their lines are fetched side by side.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use crate::{Clock, Denied, Grant, Observe};

use super::TableTier;
use super::place::Place;

/// How many keys are on their way at a time: about as many as a processor can fetch lines.
const GROUP: usize = 16;

impl<K, S, C, O> TableTier<'_, K, S, C, O>
where
    K: Hash + ?Sized,
    S: BuildHasher,
    C: Clock,
    O: Observe<K>,
{
    /// As [`try_acquire_batch_with`](super::KeyTable::try_acquire_batch_with), of the table.
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
            let mut places = [None::<Place>; GROUP];
            for (place, key) in core::iter::zip(&mut places, keys) {
                let found = self.table.place(key.borrow());
                table.lines()[found.home].fetch();
                *place = Some(found);
            }
            let places = places.iter().flatten().copied();
            let mut states = [None; GROUP];
            for (state, place) in core::iter::zip(&mut states, places.clone()) {
                *state = table.lines()[place.home].find(place.print);
                if state.is_none() {
                    table.fetch_other(place);
                }
            }
            // After all words are there, so that no level is ahead of it.
            let moment = table.moment();
            for (index, (place, state)) in core::iter::zip(places, states).enumerate() {
                // A key that comes twice has moved on the second time, and is asked alone.
                let asked = state
                    .and_then(|(word, seen)| {
                        table.hit((word, seen, place.print), moment, self.tier, &charge).ok()
                    })
                    .unwrap_or_else(|| table.ask_both(place, self.tier, &charge));
                answer(first + index, self.answer(keys[index].borrow(), permits, asked));
            }
            first += GROUP;
        }
    }
}
