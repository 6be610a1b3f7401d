//! Operations by a reading of the clock that another bucket is asked by too.

use core::cell::Cell;
use core::hash::{BuildHasher, Hash};

use crate::bucket::charge::{Charge, in_any_case, leaving};
use crate::bucket::terms::Terms;
use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::exact::buckets::tiers::OneTier;
use crate::keyed::when_full::Request;
use crate::time::clock::Clock;

use super::Keyed;
use super::as_key::AsKey;
use super::buckets::Buckets;
use super::per_key::{Answer, Engine};
use super::store::KeyPlace;
use super::verbs::New;

impl<K, C, S> Keyed<K, Buckets<C>, S>
where
    K: Hash + Eq,
    C: Clock,
    S: BuildHasher,
{
    /// Takes all of `permits` for the key, or none. Returns the reading by which that was decided, too.
    #[inline(always)]
    pub(crate) fn try_acquire_with_reading<Q>(
        &self,
        key: &Q,
        permits: u64,
    ) -> (Result<Grant, Denied>, u64)
    where
        Q: AsKey<K> + ?Sized,
    {
        let (buckets, place) = (&self.store.limiter, self.place(key));
        let now_nanos = Engine::<K>::now_nanos(buckets);
        let mut reading_nanos = Some(now_nanos);
        if !self.store.expects_new(place) {
            // Not by `spend`: its closure would have a call site for each of this function's, and not be inlined. So
            // each call would compute and store the whole answer, used or not.
            let shard = self.store.shard_of(place).read();
            if let Some(entry) = shard.find(place, key) {
                let (terms, state) = (&shard.terms, &entry.state);
                match Engine::<K>::acquire::<true>(buckets, terms, state, permits, now_nanos) {
                    Answer::Said(answer) => return (answer, now_nanos),
                    Answer::Impossible(_) => reading_nanos = None,
                }
            }
        }
        // Taken apart here, so that the two answers do not share their memory.
        let (answer, decided_nanos) =
            self.acquire_new_with_reading(place, key, permits, reading_nanos);
        (answer.map(|New(grant)| grant), decided_nanos)
    }

    #[cold]
    #[inline(never)]
    fn acquire_new_with_reading<Q>(
        &self,
        place: KeyPlace,
        key: &Q,
        permits: u64,
        reading_nanos: Option<u64>,
    ) -> (Result<New, Denied>, u64)
    where
        Q: AsKey<K> + ?Sized,
    {
        let decided_nanos = Cell::new(0);
        let acquire = |buckets: &Buckets<C>, terms: &_, state: &_, now_nanos| {
            decided_nanos.set(now_nanos);
            Engine::<K>::acquire_alone(buckets, terms, state, permits, now_nanos)
        };
        let request = Request::All { permits, reserve: 0 };
        let answer = self.spend_new(place, key, request, reading_nanos, acquire);
        (answer, decided_nanos.get())
    }

    /// Takes all of `permits` for the key, or none if fewer than the reserve would remain. `reserve` is called
    /// under the lock of the key's shard.
    pub(crate) fn leaving_by_reading<Q>(
        &self,
        key: &Q,
        permits: u64,
        reserve: impl Fn() -> u64 + Copy,
        now_nanos: u64,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let charge = move |terms: &Terms, balance| leaving(permits, reserve(), terms, balance);
        self.charge_by_reading(key, permits, charge, now_nanos)
    }

    /// Takes all of `permits` for the key, whatever its debt. Returns false if there is no space for the key.
    pub(crate) fn take_in_any_case<Q>(&self, key: &Q, permits: u64, now_nanos: u64) -> bool
    where
        Q: AsKey<K> + ?Sized,
    {
        let charge = move |terms: &Terms, balance| Ok(in_any_case(permits, terms, balance));
        self.charge_by_reading(key, permits, charge, now_nanos).is_ok()
    }

    /// Makes space for the key: removes one that is not idle, but would be soonest of those in a shard.
    #[cold]
    #[inline(never)]
    pub(crate) fn forget_soonest<Q>(&self, key: &Q)
    where
        Q: AsKey<K> + ?Sized,
    {
        self.store.forget_soonest(self.place(key));
    }

    fn charge_by_reading<Q>(
        &self,
        key: &Q,
        permits: u64,
        charge: impl Fn(&Terms, i64) -> Charge + Copy,
        now_nanos: u64,
    ) -> Result<Grant, Denied>
    where
        Q: AsKey<K> + ?Sized,
    {
        let take = |_: &Buckets<C>, terms: &_, state: &_, now_nanos| {
            Buckets::<C, OneTier>::take::<true, _>(terms, state, now_nanos, charge)
        };
        let request = Request::All { permits, reserve: 0 };
        self.spend_by_reading(now_nanos, self.place(key), key, request, take, take)
    }
}
