//! The stores of keys: one of four, as the policy chose.
//!
//! | store | policies |
//! |---|---|
//! | `Buckets` | a token bucket that starts full, with the same numbers for every key |
//! | `Table` | the same, with `store = "table"` |
//! | `Common` | shares, and priorities: one limiter for all keys |
//! | `Each` | any other |

mod carry;

use std::hash::RandomState;
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use sluicegate::bucket::Carry;
use sluicegate::keyed::{Buckets, Each, PerKey};
use sluicegate::settle::Receipt;
use sluicegate::window::History;
use sluicegate::{Denied, Grant, KeyTable, Keyed, KeyedLimiter, Limiter};

use super::build::Before;
use super::change::Steps;
use super::clocks::Clocks;
use super::limiter_of_kind::LimiterOfKind;
use crate::SharedClock;
use crate::{CommonGrant, CommonLimiter, Kind, LimiterPolicy, Room, Unbuildable};

const CHECKED: &str = "limiters with these numbers were built before the store was";

/// A store of keys. A clone is the same store.
#[derive(Clone, Debug)]
pub(crate) enum Keys {
    Buckets(Arc<Keyed<Vec<u8>, Buckets<SharedClock>>>),
    Table(Arc<KeyTable<[u8], RandomState, SharedClock>>),
    Common(Arc<CommonLimiter>),
    Each(Arc<EachKey>),
}

/// A store with a limiter of its own for each key.
#[derive(Debug)]
pub(crate) struct EachKey {
    pub(super) store: Keyed<Vec<u8>, EachLimiter>,
    /// True if no key is forgotten; see [`KeyLimiter`].
    are_kept: bool,
    policy: Arc<ArcSwap<LimiterPolicy>>,
    seed: Arc<ArcSwapOption<Seed>>,
}

type EachLimiter = Each<KeyLimiter, Make, SharedClock>;
type Make = Box<dyn Fn(&Vec<u8>) -> KeyLimiter + Send + Sync>;

/// The limiter that a key had in another store, its kind, and all that is to be carried over.
#[derive(Debug)]
struct Seed(Kind, LimiterOfKind, History);

/// The limiter of a key.
#[derive(Debug)]
pub(crate) struct KeyLimiter {
    limiter: LimiterOfKind,
    /// True if an idle limiter differs from a new one, so that it must not be forgotten.
    is_kept: bool,
}

impl Limiter for KeyLimiter {
    fn try_acquire(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.try_acquire(permits)
    }

    fn try_acquire_up_to(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.try_acquire_up_to(permits)
    }

    fn peek(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek(permits)
    }

    fn peek_ahead(&self, permits: u64) -> Result<Grant, Denied> {
        self.limiter.peek_ahead(permits)
    }

    fn try_acquire_revocable(&self, permits: u64) -> Result<Receipt<'_>, Denied> {
        self.limiter.try_acquire_revocable(permits)
    }

    fn reset(&self) {
        self.limiter.reset();
    }

    fn is_idle(&self) -> bool {
        !self.is_kept && self.limiter.is_idle()
    }

    fn healed(&self) -> u64 {
        self.limiter.healed()
    }
}

/// Evaluates `$body` with `$store`, whichever of the four it is.
macro_rules! each_store {
    ($keys:expr, $store:ident => $body:expr) => {
        match $keys {
            // Not the pointer, which is a store too.
            Keys::Buckets(store) => {
                let $store = &**store;
                $body
            }
            Keys::Table(store) => {
                let $store = &**store;
                $body
            }
            Keys::Common(limiter) => {
                let $store = &**limiter;
                $body
            }
            Keys::Each(each) => {
                let $store = &each.store;
                $body
            }
        }
    };
}
pub(super) use each_store;

impl Keys {
    /// Creates the store of `policy`, without keys. Its limiters can be built.
    pub(super) fn new(policy: &Arc<LimiterPolicy>, clocks: &Clocks) -> Result<Keys, Unbuildable> {
        let (store, clock) = (policy.store, clocks.elapsed.clone());
        if let Some(common) = CommonLimiter::new(&policy.kind, clock.clone())? {
            return Ok(Keys::Common(Arc::new(common)));
        }
        let max_keys = match (&policy.kind, store.room) {
            (Kind::TokenBucket { quota, .. }, Room::Table(size)) => {
                let table = size.table(*quota, store.when_full, RandomState::new(), clock)?;
                return Ok(Keys::Table(Arc::new(table)));
            }
            (_, Room::Exact { max_keys }) => max_keys,
            // A policy has tables of token buckets only. Any other gets a limiter for each key.
            (_, Room::Table(_)) => None,
        };
        if let Some(Kind::TokenBucket { quota, .. }) = of_buckets(policy) {
            let buckets = Buckets::with_clock(*quota, clock);
            return Ok(Keys::Buckets(Arc::new(exact(buckets, max_keys, policy)?)));
        }
        let in_force = Arc::new(ArcSwap::new(Arc::clone(policy)));
        let seed = Arc::new(ArcSwapOption::empty());
        let make = make(clocks.clone(), Arc::clone(&in_force), Arc::clone(&seed));
        let store = exact(Each::with_clock(make, clock), max_keys, policy)?;
        let are_kept = is_kept(policy);
        Ok(Keys::Each(Arc::new(EachKey { store, are_kept, policy: in_force, seed })))
    }

    /// Takes all of `permits` or none, and returns what `then` makes of the answer. The stores of buckets are
    /// inlined into the caller, for the reason that [`LimiterOfKind::try_acquire_then`] gives.
    #[inline(always)]
    pub(super) fn try_acquire_then<T>(
        &self,
        key: &[u8],
        permits: u64,
        then: impl Fn(Result<Grant, Denied>) -> T,
    ) -> T {
        match self {
            Keys::Buckets(store) => then(Keyed::try_acquire(store, key, permits)),
            Keys::Table(table) => then(KeyTable::try_acquire(table, key, permits)),
            Keys::Common(_) | Keys::Each(_) => then(self.try_acquire(key, permits)),
        }
    }

    #[inline(never)]
    pub(super) fn try_acquire(&self, key: &[u8], permits: u64) -> Result<Grant, Denied> {
        match self {
            Keys::Buckets(store) => Keyed::try_acquire(store, key, permits),
            Keys::Table(table) => KeyTable::try_acquire(table, key, permits),
            Keys::Common(limiter) => limiter.try_acquire(key, permits),
            Keys::Each(each) => each.decide(
                key,
                || each.store.try_acquire(key, permits),
                |own| own.try_acquire(permits),
            ),
        }
    }

    pub(super) fn try_acquire_up_to(&self, key: &[u8], permits: u64) -> Result<Grant, Denied> {
        match self {
            Keys::Buckets(store) => store.try_acquire_up_to(key, permits),
            Keys::Table(table) => table.try_acquire_up_to(key, permits),
            Keys::Common(limiter) => limiter.try_acquire_up_to(key, permits),
            Keys::Each(each) => each.decide(
                key,
                || each.store.try_acquire_up_to(key, permits),
                |own| own.try_acquire_up_to(permits),
            ),
        }
    }

    /// Returns the answer to a request for `permits` of each key.
    pub(super) fn try_acquire_batch(
        &self,
        batch: &[&[u8]],
        permits: u64,
    ) -> Vec<Result<Grant, Denied>> {
        if let Keys::Each(each) = self
            && each.are_kept
        {
            return batch.iter().map(|key| self.try_acquire(key, permits)).collect();
        }
        let mut answers = Vec::with_capacity(batch.len());
        each_store!(self, store => {
            store.try_acquire_batch_with(batch.iter().copied(), permits, |_, answer| answers.push(answer));
        });
        answers
    }

    /// Changes the numbers of every key from those of `old` to those of `new`, and returns true if it
    /// could. Each key changes in one step.
    ///
    /// If it returns false, some keys may have changed, and the store is to be replaced.
    pub(super) fn change(
        &self,
        old: &LimiterPolicy,
        new: &Arc<LimiterPolicy>,
        steps: Steps,
    ) -> bool {
        if old.key != new.key || old.store != new.store {
            return false;
        }
        match (self, &new.kind) {
            (Keys::Buckets(store), Kind::TokenBucket { quota, .. }) => {
                let is_still_of_buckets = of_buckets(new).is_some();
                if is_still_of_buckets {
                    store.reconfigure(*quota, Carry::Keep);
                }
                is_still_of_buckets
            }
            (Keys::Table(table), Kind::TokenBucket { quota, .. }) => {
                table.reconfigure(*quota).is_ok()
            }
            // Its numbers change one after the other.
            (Keys::Common(limiter), kind) => {
                steps == Steps::Several && limiter.change(&old.kind, kind)
            }
            (Keys::Each(each), _) => each.change(old, new, steps),
            _ => false,
        }
    }

    /// Takes permits as [`try_acquire`](Keys::try_acquire) does, and tells their source.
    pub(super) fn try_acquire_told(&self, key: &[u8], permits: u64) -> Result<CommonGrant, Denied> {
        match self {
            Keys::Common(limiter) => limiter.decide(key, permits),
            _ => self.try_acquire(key, permits).map(|grant| (grant, None)),
        }
    }

    /// Returns the answer that [`try_acquire_told`](Keys::try_acquire_told) would give.
    pub(super) fn peek_told(&self, key: &[u8], permits: u64) -> Result<CommonGrant, Denied> {
        match self {
            Keys::Common(limiter) => limiter.look(key, permits),
            _ => each_store!(self, store => store.peek(key, permits)).map(|grant| (grant, None)),
        }
    }

    /// Returns the limiter that all keys have in common, if they are tenants or tell classes.
    pub(super) fn common(&self) -> Option<&CommonLimiter> {
        match self {
            Keys::Common(limiter) => Some(limiter),
            _ => None,
        }
    }
}

impl EachKey {
    /// Makes a decision in the way of the store, or by the limiter of a key that is kept.
    ///
    /// A store does not remember a new key that it refuses. A bucket that starts with too little
    /// would never fill.
    fn decide(
        &self,
        key: &[u8],
        by_store: impl FnOnce() -> Result<Grant, Denied>,
        by_limiter: impl FnOnce(&KeyLimiter) -> Result<Grant, Denied>,
    ) -> Result<Grant, Denied> {
        if self.are_kept { self.store.with_limiter(key, by_limiter)? } else { by_store() }
    }

    fn change(&self, old: &LimiterPolicy, new: &Arc<LimiterPolicy>, steps: Steps) -> bool {
        if of_buckets(new).is_some() || self.are_kept != is_kept(new) {
            return false;
        }
        // New keys first. A key that is made by the old policy is in the store before the walk comes
        // to its shard, because the policy is loaded under the lock of the shard.
        self.policy.store(Arc::clone(new));
        self.store.iter().all(|(key, _)| {
            let (before, after) = (old.kind_of(&key), new.kind_of(&key));
            let change = |own: &KeyLimiter| own.limiter.change(before, after, steps);
            // There may be no space for a key that was forgotten meanwhile.
            self.store.with_limiter(key.as_slice(), change).unwrap_or(true)
        })
    }
}

/// Returns a function that makes the limiter of a key.
fn make(
    clocks: Clocks,
    policy: Arc<ArcSwap<LimiterPolicy>>,
    seed: Arc<ArcSwapOption<Seed>>,
) -> Make {
    Box::new(move |key| {
        let policy = policy.load();
        let seed = seed.load();
        let from = seed.as_deref();
        let from = from.map(|Seed(kind, own, all)| Before::new(kind, own).with(all.clone()));
        let limiter = clocks.limiter(policy.kind_of(key), true, from.as_ref()).expect(CHECKED);
        KeyLimiter { limiter, is_kept: is_kept(&policy) }
    })
}

fn exact<L: PerKey<Vec<u8>>>(
    limiter: L,
    max_keys: Option<usize>,
    policy: &LimiterPolicy,
) -> Result<Keyed<Vec<u8>, L>, Unbuildable>
where
    L::Clock: Clone,
{
    let builder = Keyed::builder(limiter).when_full(policy.store.when_full);
    let builder = match max_keys {
        Some(max_keys) => builder.max_keys(max_keys),
        None => builder,
    };
    Ok(builder.build()?)
}

/// Returns the kind, if all keys have buckets of the same numbers that start full.
fn of_buckets(policy: &LimiterPolicy) -> Option<&Kind> {
    let is_bucket = matches!(policy.kind, Kind::TokenBucket { .. });
    let are_buckets = is_bucket && policy.overrides.is_empty() && policy.kind.is_new_when_full();
    are_buckets.then_some(&policy.kind)
}

fn is_kept(policy: &LimiterPolicy) -> bool {
    let mut own = policy.overrides.values();
    !policy.kind.is_new_when_full() || own.any(|kind| !kind.is_new_when_full())
}
