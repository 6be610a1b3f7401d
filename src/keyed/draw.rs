//! A store of buckets as what [hot keys](crate::HotKeys) draw from.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::cell::Cell;
use core::hash::{BuildHasher, Hash};

use crate::full::Request;
use crate::hot_keys::{Drawn, Source, Want};
use crate::{Clock, Denied, Grant, Observe};

use super::buckets::Tier;
use super::per_key::Engine;
use super::store::Place;
use super::{Buckets, Keyed};

impl<K, Q, C, T, S, O> Source<Q> for Keyed<K, Buckets<C, T>, S, O>
where
    K: Hash + Eq + Borrow<Q>,
    Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
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
    fn ask(&self, hash: u64, key: &Q, permits: u64) -> Result<Grant, Denied> {
        // Two of them, as in `try_acquire`.
        self.spend_at(
            Place::of_hash(hash),
            key,
            Request::All(permits),
            move |limiter, terms, state, now_nanos| {
                limiter.ask::<true>(terms, state, permits, now_nanos)
            },
            move |limiter, terms, state, now_nanos| {
                limiter.ask_alone(terms, state, permits, now_nanos)
            },
        )
    }

    fn draw(&self, hash: u64, key: &Q, want: Want) -> Option<Drawn> {
        let at_nanos = Cell::new(0);
        let drawn =
            self.store.spend_known(Place::of_hash(hash), key, |_, terms, state, now_nanos| {
                at_nanos.set(now_nanos);
                Buckets::<C, T>::draw(terms, state, want, now_nanos)
            });
        let grant = drawn.ok()?.ok().filter(|grant| grant.permits() > 0)?;
        Some(Drawn { grant, at_nanos: at_nanos.get() })
    }

    #[inline(always)]
    fn tell(&self, key: &Q, permits: u64, is_granted: bool) {
        self.observer.decided(key, permits, is_granted);
    }
}
