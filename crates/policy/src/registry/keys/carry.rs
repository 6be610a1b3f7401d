//! The use of keys, carried from one store to the store that takes its place.

use std::sync::Arc;
use std::time::Duration;

use sluicegate::window::History;
use sluicegate::{Grant, KeyedLimiter};

use super::{EachKey, Keys, Seed, each_store};
use crate::LimiterPolicy;
use crate::past::{CountedOfKeys, PastOfKeys, carry};

impl Keys {
    /// Takes over what the keys of `old` have used, if its keys are known, and those of its `past`, which is then that of this
    /// store. Those of a table are not known, and the tenants of shares are not either: of these, what all have used together.
    pub(in crate::registry) fn take_over(
        &self,
        old: &Keys,
        policy: &LimiterPolicy,
        past: &mut PastOfKeys<Vec<u8>>,
        now_nanos: u64,
    ) {
        match (old, self) {
            (Keys::Common(from), Keys::Common(limiter)) => limiter.take_over(from),
            (Keys::Table(_) | Keys::Common(_), _) => {}
            (Keys::Buckets(store), Keys::Common(limiter)) => {
                limiter.charge(used_by_all(store.iter()));
            }
            (Keys::Each(from), Keys::Common(limiter)) => {
                limiter.charge(used_by_all(from.store.iter()));
            }
            (Keys::Each(from), Keys::Each(each)) => each.take_over(from, policy, past, now_nanos),
            (Keys::Buckets(store), _) => {
                let counted = store.iter().map(|(key, state)| {
                    (key, (History::new([(Duration::ZERO, used(&state))]), state.reset_after()))
                });
                self.charge(counted.collect(), past, now_nanos);
            }
            (Keys::Each(from), _) => self.charge(from.counted(), past, now_nanos),
        }
    }

    /// Charges what keys have `counted` in another store, and what is `past` there.
    fn charge(
        &self,
        counted: CountedOfKeys<Vec<u8>>,
        past: &mut PastOfKeys<Vec<u8>>,
        now_nanos: u64,
    ) {
        carry(counted, past, now_nanos, |key, all| {
            // Fewer, if there are not so many, or no space for the key.
            let _ = self.try_acquire_up_to(key, all.permits());
            each_store!(self, store => store.peek(key, 0)).map_or(0, |state| used(&state))
        });
    }
}

fn used(state: &Grant) -> u64 {
    state.limit().saturating_sub(state.remaining())
}

fn used_by_all(states: impl Iterator<Item = (Vec<u8>, Grant)>) -> u64 {
    states.fold(0, |sum: u64, (_, state)| sum.saturating_add(used(&state)))
}

impl EachKey {
    /// Takes over the keys of a store whose policy is `old`. No other call may use this store yet.
    fn take_over(
        &self,
        from: &EachKey,
        old: &LimiterPolicy,
        past: &mut PastOfKeys<Vec<u8>>,
        now_nanos: u64,
    ) {
        carry(from.counted(), past, now_nanos, |key, all| {
            let own = from.store.with_limiter(key, |own| own.limiter.clone());
            let Ok(own) = own else { return 0 };
            self.seed.store(Some(Arc::new(Seed(old.kind_of(key).clone(), own, all.clone()))));
            // Makes the limiter of the key.
            self.store.with_limiter(key, |own| own.limiter.counted().permits()).unwrap_or(0)
        });
        self.seed.store(None);
    }

    fn counted(&self) -> CountedOfKeys<Vec<u8>> {
        let counted = self.store.iter().map(|(key, state)| {
            let own = self.store.with_limiter(key.as_slice(), |own| own.limiter.counted());
            (key, (own.unwrap_or_default(), state.reset_after()))
        });
        counted.collect()
    }
}
