//! The stores of this project, and its limiter without keys.

use std::hash::RandomState;

use foldhash::quality::RandomState as Foldhash;
use sluicegate::clock::{CoarseClock, QuantaClock};
use sluicegate::share;
use sluicegate::{Quota, Rate};

use super::{Key, Skew, Store};
use crate::subject::clocks::STEP;
use crate::subject::{self, Limit, Op};

/// One bucket for all keys: a comparison for a key that is asked for all the time.
pub(super) struct TokenBucket(sluicegate::TokenBucket<QuantaClock>);

impl<K: Key> Store<K> for TokenBucket {
    const NAME: &'static str = "sluicegate/token_bucket";

    fn takes(op: Op, skew: Skew) -> bool {
        op == Op::Allow && skew == Skew::Hot
    }

    fn new(limit: Limit, _: u64) -> TokenBucket {
        let quota = subject::quota(limit);
        TokenBucket(sluicegate::TokenBucket::with_clock(quota, QuantaClock::new()))
    }

    #[inline]
    fn try_one(&self, _: &K) -> bool {
        self.0.try_acquire(1).is_ok()
    }
}

/// Defines a table, and a second row for batches of requests to it.
macro_rules! key_table {
    ($Table:ident, $Batch:ident, $Hasher:ty, $Clock:ty, $clock:expr, $name:literal) => {
        key_table!(@ $Table, $Hasher, $Clock, $clock, $name);

        key_table!(
            @ $Batch, $Hasher, $Clock, $clock, concat!($name, "_batch"),
            const AT_ONCE: usize = 16;,
            #[inline]
            fn try_next(&self, keys: &[K]) -> u64 {
                let mut granted = 0;
                let keys = keys.iter().map(std::borrow::Borrow::borrow);
                self.0.try_acquire_batch_with(keys, 1, |_, answer| {
                    granted += u64::from(answer.is_ok());
                });
                granted
            }
        );
    };
    (@ $Table:ident, $Hasher:ty, $Clock:ty, $clock:expr, $name:expr $(, $batch:item)*) => {
        pub(super) struct $Table<K: Key>(sluicegate::KeyTable<K::Asked, $Hasher, $Clock>);

        impl<K: Key> Store<K> for $Table<K> {
            const NAME: &'static str = $name;
            // It is told the number of keys, so it has slots for nearly all.
            const HOMELESS: u64 = 20;

            fn new(limit: Limit, keys: u64) -> Self {
                let quota = subject::quota(limit);
                let hasher = <$Hasher>::default();
                let table = sluicegate::KeyTable::builder_with(quota, hasher, $clock);
                $Table(table.keys(keys as usize).expect("the limit is in range"))
            }

            #[inline]
            fn try_one(&self, key: &K) -> bool {
                self.0.try_acquire(key.borrow(), 1).is_ok()
            }

            $($batch)*
        }
    };
}

key_table!(
    KeyTable,
    KeyTableBatch,
    RandomState,
    QuantaClock,
    QuantaClock::new(),
    "sluicegate/key_table"
);

key_table!(
    KeyTableCoarse,
    KeyTableCoarseBatch,
    RandomState,
    CoarseClock,
    CoarseClock::start(STEP).expect("a thread can be started"),
    "sluicegate/key_table_coarse"
);

key_table!(
    KeyTableFoldhash,
    KeyTableFoldhashBatch,
    Foldhash,
    QuantaClock,
    QuantaClock::new(),
    "sluicegate/key_table_foldhash"
);

key_table!(
    KeyTableFoldhashCoarse,
    KeyTableFoldhashCoarseBatch,
    Foldhash,
    CoarseClock,
    CoarseClock::start(STEP).expect("a thread can be started"),
    "sluicegate/key_table_foldhash_coarse"
);

macro_rules! keyed {
    ($Keyed:ident, $Hasher:ty, $name:literal) => {
        /// A store that is not told the number of keys: it grows when it needs to.
        pub(super) struct $Keyed<K: Key>(sluicegate::Keyed<K, sluicegate::keyed::Buckets, $Hasher>);

        impl<K: Key> Store<K> for $Keyed<K> {
            const NAME: &'static str = $name;

            fn new(limit: Limit, _: u64) -> Self {
                let buckets = sluicegate::keyed::Buckets::new(subject::quota(limit));
                let keyed = sluicegate::Keyed::builder(buckets).hasher(<$Hasher>::default());
                $Keyed(keyed.build().expect("it may have keys"))
            }

            #[inline]
            fn try_one(&self, key: &K) -> bool {
                self.0.try_acquire::<K::Asked>(key.borrow(), 1).is_ok()
            }
        }
    };
}

keyed!(Keyed, RandomState, "sluicegate/keyed");
keyed!(KeyedFoldhash, Foldhash, "sluicegate/keyed_foldhash");

/// Shares of all keys: a large one for the key that is asked for most, and equal ones for the others, which stay within them.
/// If `BORROWS`, the large one is a single permit, so that key borrows in each call.
pub(super) struct Shares<K: Key, const BORROWS: bool> {
    shares: sluicegate::share::Shares<K, QuantaClock, Foldhash>,
    first: K,
}

impl<K: Key, const BORROWS: bool> Store<K> for Shares<K, BORROWS> {
    const NAME: &'static str =
        if BORROWS { "sluicegate/shares_foldhash_borrowed" } else { "sluicegate/shares_foldhash" };

    fn takes(op: Op, skew: Skew) -> bool {
        op == Op::Allow && skew == Skew::Hot
    }

    fn new(limit: Limit, keys: u64) -> Self {
        let share = |tenants: u64, burst: u64| {
            let rate = Rate::new(1, limit.period).expect("it is in range");
            let quota = Quota::new(rate).with_burst(burst).expect("it is in range");
            share::Share::new(quota).with_tenants(tenants as usize)
        };
        let (large, small) = (if BORROWS { 1 } else { limit.burst }, (limit.burst / keys).max(1));
        let groups = [share(1, large), share(keys, small)];
        let rate = Rate::new(keys + 1, limit.period).expect("it is in range");
        let all = Quota::new(rate).with_burst(limit.burst + keys * small).expect("it is in range");
        let shares =
            share::Shares::with_hasher(all, groups, QuantaClock::new(), Foldhash::default());
        Shares { shares: shares.expect("no more is assured than there is"), first: K::at(0) }
    }

    #[inline]
    fn try_one(&self, key: &K) -> bool {
        let group = usize::from(*key != self.first);
        self.shares.try_acquire::<K::Asked>(group, key.borrow(), 1).is_ok()
    }
}

macro_rules! hot_keys {
    ($Hot:ident, $name:literal, $homeless:literal, $Store:ty, $store:expr) => {
        /// A store with seats for the keys that are asked for most.
        pub(super) struct $Hot<K: Key>(sluicegate::keyed::HotKeys<$Store>);

        impl<K: Key> Store<K> for $Hot<K> {
            const NAME: &'static str = $name;
            const HOMELESS: u64 = $homeless;
            // An eighth may be left unused, and up to a quarter may be held in seats.
            const KEPT_BACK: f64 = 0.4;

            fn takes(op: Op, _: Skew) -> bool {
                op != Op::Insert
            }

            fn new(limit: Limit, keys: u64) -> Self {
                let store: fn(_, _) -> _ = $store;
                let store = store(subject::quota(limit), keys as usize);
                $Hot(sluicegate::keyed::HotKeys::new(store))
            }

            #[inline]
            fn try_one(&self, key: &K) -> bool {
                self.0.try_acquire::<K::Asked>(key.borrow(), 1).is_ok()
            }
        }
    };
}

hot_keys!(
    HotKeyTable,
    "sluicegate/hot_keys_of_table",
    20,
    sluicegate::KeyTable<K::Asked>,
    |quota, keys| sluicegate::KeyTable::with_keys(quota, keys).expect("the limit is in range")
);

hot_keys!(HotKeyed, "sluicegate/hot_keys_of_keyed", 0, sluicegate::Keyed<K>, |quota, _| {
    sluicegate::Keyed::new(quota)
});
