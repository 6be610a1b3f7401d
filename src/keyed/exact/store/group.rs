//! Several known keys at once.

use core::iter;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::exact::as_key::AsKey;
use crate::keyed::exact::per_key::{Answer, Engine};

use super::{KeyPlace, Store};

/// Number of keys fetched at a time: about as many as a processor can fetch lines.
pub(in crate::keyed::exact) const GROUP: usize = 16;

impl<K, L: Engine<K>> Store<K, L> {
    /// Spends by `acquire` for the first of the keys, up to one that is not known or whose lock
    /// another thread holds exclusively; their lines are fetched side by side. Returns `None`
    /// for the rest.
    ///
    /// A caller that holds a lock must not wait for another one, or two callers could wait
    /// for each other. So the locks are only tried, and all are released before the caller
    /// asks for the rest. (The rest is everything that follows, because a key may occur
    /// twice.)
    #[inline(always)]
    pub(in crate::keyed::exact) fn spend_known_group<Q>(
        &self,
        places: &[KeyPlace; GROUP],
        keys: &[Option<&Q>],
        acquire: impl Fn(&L, &L::Terms, &L::State, u64) -> Answer,
    ) -> [Option<Result<Grant, Denied>>; GROUP]
    where
        Q: AsKey<K> + ?Sized,
    {
        let mut locks = [const { None }; GROUP];
        let mut holders = [0; GROUP];
        let mut held = 0;
        for (index, place) in places.iter().enumerate().take(keys.len()) {
            // A thread must not take one lock twice.
            let holder = places[..index].iter().position(|other| other.shard == place.shard);
            let holder = holder.unwrap_or(index);
            if holder == index {
                locks[index] = self.shard_of(*place).try_read();
            }
            let Some(shard) = &locks[holder] else { break };
            shard.table.fetch_tags(place.home);
            holders[index] = holder;
            held += 1;
        }
        let shards = holders.map(|holder| locks[holder].as_deref());
        for (shard, place) in iter::zip(shards, places).take(held) {
            let Some(shard) = shard else { break };
            shard.table.fetch_entry(place.home);
        }
        // One reading for all keys. As with a single key, it need not be made under the lock.
        let now_nanos = self.limiter.now_nanos();
        let mut answers = [const { None }; GROUP];
        let asked = iter::zip(iter::zip(shards, places), keys);
        for (answer, ((shard, place), key)) in iter::zip(&mut answers, asked).take(held) {
            let Some(shard) = shard else { break };
            let Some(key) = *key else { break };
            let Some(entry) = shard.table.find(place.home, key) else { break };
            match acquire(&self.limiter, &shard.terms, &entry.state, now_nanos) {
                Answer::Said(said) => *answer = Some(said),
                Answer::Impossible(_) => break,
            }
        }
        answers
    }
}
