//! A store of buckets, from which the seats of [hot keys](crate::keyed::HotKeys) are prepaid.

use core::cell::Cell;
use core::hash::{BuildHasher, Hash};

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::keyed::exact::buckets::tiers::Tier;
use crate::keyed::observe::Observe;
use crate::keyed::prepay::{Prepaid, Prepay, PrepayRequest};
use crate::keyed::when_full::Request;
use crate::time::clock::Clock;

use super::Keyed;
use super::as_key::AsKey;
use super::buckets::Buckets;
use super::per_key::Engine;
use super::store::KeyPlace;

impl<K, Q, C, T, S, O> Prepay<Q> for Keyed<K, Buckets<C, T>, S, O>
where
    K: Hash + Eq,
    Q: AsKey<K> + ?Sized,
    C: Clock,
    T: Tier<K>,
    S: BuildHasher,
    O: Observe<Q>,
{
    type Clock = C;

    #[inline(always)]
    fn clock(&self) -> &C {
        self.store.limiter.clock()
    }

    #[inline(always)]
    fn hash(&self, key: &Q) -> u64 {
        self.hasher.hash_one(key)
    }

    #[inline(always)]
    fn acquire(&self, hash: u64, key: &Q, permits: u64) -> Result<Grant, Denied> {
        // Two closures, as in `try_acquire`.
        self.spend_at(
            KeyPlace::of_hash(hash),
            key,
            Request::All { permits, reserve: 0 },
            move |limiter, terms, state, now_nanos| {
                limiter.acquire::<true>(terms, state, permits, now_nanos)
            },
            move |limiter, terms, state, now_nanos| {
                limiter.acquire_alone(terms, state, permits, now_nanos)
            },
        )
    }

    fn acquire_up_to(&self, hash: u64, key: &Q, permits: u64) -> Result<Grant, Denied> {
        let acquire = move |limiter: &Buckets<C, T>, terms: &_, state: &_, now_nanos| {
            limiter.acquire_up_to(terms, state, permits, now_nanos)
        };
        self.spend_at(KeyPlace::of_hash(hash), key, Request::UpTo(permits), acquire, acquire)
    }

    fn look(&self, key: &Q, permits: u64) -> Result<Grant, Denied> {
        self.peek(key, permits)
    }

    fn fill(&self, key: &Q) {
        self.reset(key);
    }

    fn forget(&self, key: &Q) -> bool {
        self.remove(key)
    }

    fn draw(&self, hash: u64, key: &Q, want: PrepayRequest) -> Option<Prepaid> {
        let at_nanos = Cell::new(0);
        let drawn =
            self.store.spend_known(KeyPlace::of_hash(hash), key, |_, terms, state, now_nanos| {
                at_nanos.set(now_nanos);
                Buckets::<C, T>::draw(terms, state, want, now_nanos)
            });
        let grant = drawn.ok()?.ok().filter(|grant| grant.permits() > 0)?;
        Some(Prepaid { grant, at_nanos: at_nanos.get() })
    }

    #[inline(always)]
    fn notify(&self, key: &Q, permits: u64, answer: Result<&Grant, &Denied>) {
        self.observer.decided(key, permits, answer);
    }
}
