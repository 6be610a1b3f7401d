//! The stores whose keys can be hot, as one.

use std::hash::BuildHasher;

use sluicegate::keyed::{Buckets, HotKeys, Observe, PerKey, TableTier, Tier};
use sluicegate::*;

use super::Open;
use super::chosen::Chosen;

/// A store with seats, whichever.
pub(crate) trait Hot: Sync {
    fn ask_at(&self, place: usize, key: u64, permits: u64) -> Result<Grant, Denied>;
    fn has_seat(&self, key: u64) -> bool;
    /// Full again, by way of `change`.
    fn reset_key(&self, key: u64);
    fn remove(&self, key: u64) -> bool;
    /// A change of nothing.
    fn touch(&self);
    /// Returns the permits in the store, not counting those in seats.
    fn has(&self, key: u64) -> u64;
    /// Takes all that the store has.
    fn drain(&self, key: u64) -> u64;
}

macro_rules! asks {
    ($keys:tt $(. $field:tt)*) => {
        fn ask_at(&self, place: usize, key: u64, permits: u64) -> Result<Grant, Denied> {
            self $(.$field)* .place(place).try_acquire(&key, permits)
        }

        fn has_seat(&self, key: u64) -> bool {
            self $(.$field)* .is_hot(&key)
        }

        fn touch(&self) {
            self $(.$field)* .update(|_| ());
        }

        fn has(&self, key: u64) -> u64 {
            self $(.$field)* .store().peek(&key, 0).unwrap().remaining()
        }

        fn drain(&self, key: u64) -> u64 {
            let drained = self $(.$field)* .store().try_acquire_up_to(&key, u64::MAX);
            drained.map_or(0, |grant| grant.permits())
        }
    };
}

macro_rules! changes {
    () => {
        fn reset_key(&self, key: u64) {
            self.update(|store| store.reset(&key));
        }

        fn remove(&self, key: u64) -> bool {
            self.update(|store| store.remove(&key))
        }
    };
}

impl<S, C, O> Hot for HotKeys<KeyTable<u64, S, C, O>>
where
    S: BuildHasher + Sync,
    C: Clock + Sync,
    O: Observe<u64> + Sync,
{
    asks!(self);
    changes!();
}

impl<S, C, T, O> Hot for HotKeys<Keyed<u64, Buckets<C, T>, S, O>>
where
    S: BuildHasher + Sync,
    C: Clock + Sync,
    T: Tier<u64>,
    O: Observe<u64> + Sync,
    Keyed<u64, Buckets<C, T>, S, O>: Sync,
{
    asks!(self);
    changes!();
}

/// A tier, and the table that it is of.
struct OfTable<'a, C> {
    keys: HotKeys<TableTier<'a, u64, Open, C>>,
    table: &'a KeyTable<u64, Open, C>,
}

impl<C: Clock + Sync> Hot for OfTable<'_, C> {
    asks!(self.keys);

    fn reset_key(&self, key: u64) {
        self.keys.update(|_| self.table.reset(&key));
    }

    fn remove(&self, key: u64) -> bool {
        self.keys.update(|_| self.table.remove(&key))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Table,
    Tier,
    Keyed,
    Tiered,
    /// A `Keyed` that is refilled in steps.
    Steps,
}

impl Kind {
    pub(crate) const ALL: [Kind; 5] =
        [Kind::Table, Kind::Tier, Kind::Keyed, Kind::Tiered, Kind::Steps];

    pub(crate) fn is_table(self) -> bool {
        matches!(self, Kind::Table | Kind::Tier)
    }

    /// `quota`, as the store can have it.
    pub(crate) fn quota(self, quota: Quota) -> Quota {
        match self {
            Kind::Steps => quota.with_refill(Refill::Interval),
            _ => quota,
        }
    }
}

/// Has `check` look at the keys of a store of that kind.
pub(crate) fn with<C: Clock + Sync, T>(
    kind: Kind,
    quota: Quota,
    places: usize,
    clock: &C,
    check: impl FnOnce(&dyn Hot) -> T,
) -> T {
    let quota = kind.quota(quota);
    // As large as is needed for a few keys: there are thousands of cases.
    let table = || KeyTable::builder_with(one_at_a_time(quota), Open::default(), clock);
    match kind {
        Kind::Table => {
            let table = KeyTable::builder_with(quota, Open::default(), clock).memory(1_024);
            check(&HotKeys::with_places(table.unwrap(), places).unwrap())
        }
        Kind::Tier => {
            let table = table().tier(quota).memory(1_024).unwrap();
            let keys = HotKeys::with_places(table.tier(1).unwrap(), places).unwrap();
            check(&OfTable { keys, table: &table })
        }
        Kind::Keyed | Kind::Steps => {
            let buckets = Buckets::with_clock(quota, clock);
            check(&HotKeys::with_places(keyed(buckets), places).unwrap())
        }
        Kind::Tiered => {
            let quotas = [one_at_a_time(quota), quota, one_at_a_time(quota)];
            let buckets = Buckets::tiered_with_clock(quotas, |_: &u64| 1, clock).unwrap();
            check(&HotKeys::with_places(keyed(buckets), places).unwrap())
        }
    }
}

/// Has `check` look at a store of each kind, on a clock that does not begin at 0.
pub(crate) fn with_each(quota: Quota, places: usize, check: impl Fn(Kind, &dyn Hot, &Chosen)) {
    for kind in Kind::ALL {
        let clock = Chosen::at(1_000_000_000_000);
        with(kind, quota, places, &clock, |limiter| check(kind, limiter, &clock));
    }
}

fn keyed<L>(limiter: L) -> Keyed<u64, L, Open>
where
    L: PerKey<u64>,
    L::Clock: Clone,
{
    Keyed::builder(limiter).hasher(Open::default()).build().unwrap()
}

/// Another tier, which earns as fast.
fn one_at_a_time(quota: Quota) -> Quota {
    Quota::new(quota.rate()).with_burst(1).unwrap()
}

/// Has the key get a seat at the place: asks for nothing, often.
pub(crate) fn heat(limiter: &dyn Hot, place: usize, key: u64) {
    for _ in 0..64 {
        assert!(limiter.ask_at(place, key, 0).is_ok());
    }
    assert!(limiter.has_seat(key), "{key}");
}

/// Takes single permits at each of the places in turn, until all refuse: how many.
pub(crate) fn take_all(limiter: &dyn Hot, places: &[usize], key: u64) -> u64 {
    let mut taken = 0;
    loop {
        let before = taken;
        for &place in places {
            taken += limiter.ask_at(place, key, 1).map_or(0, |grant| grant.permits());
        }
        if taken == before {
            return taken;
        }
    }
}

/// So many keys that want the same seat, beginning with `first`. Found by asking: in a table
/// too small for prepayments a key takes the seat of any other.
pub(crate) fn rivals<S: BuildHasher + Clone + Sync>(
    hasher: &S,
    first: u64,
    count: usize,
) -> Vec<u64> {
    let clock = Chosen::at(0);
    let quota = quota!(1 / hour);
    let is_rival = |key: &u64| {
        let table = KeyTable::builder_with(quota, hasher.clone(), &clock).memory(64).unwrap();
        let limiter = HotKeys::with_places(table, 1).unwrap();
        heat(&limiter, 0, first);
        heat(&limiter, 0, *key);
        !limiter.has_seat(first)
    };
    let others = (1..).filter(|&key| key != first).filter(is_rival);
    [first].into_iter().chain(others).take(count).collect()
}
