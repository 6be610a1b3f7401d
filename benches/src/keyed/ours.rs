//! The stores of this project, and its limiter without keys.

use sluicegate::QuantaClock;

use super::{Key, Skew, Store};
use crate::subject::{self, Limit, Op};

/// One bucket for all: what a key that is asked for all the time can come to.
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

macro_rules! key_table {
    ($Table:ident, $name:literal $(, $batch:item)*) => {
        pub(super) struct $Table<K: Key>(sluicegate::KeyTable<K::Asked>);

        impl<K: Key> Store<K> for $Table<K> {
            const NAME: &'static str = $name;
            // Told how many keys there will be, it has places for nearly all.
            const HOMELESS: u64 = 20;

            fn new(limit: Limit, keys: u64) -> Self {
                let table = sluicegate::KeyTable::with_keys(subject::quota(limit), keys as usize);
                $Table(table.expect("the limit is in range"))
            }

            #[inline]
            fn try_one(&self, key: &K) -> bool {
                self.0.try_acquire(key.borrow(), 1).is_ok()
            }

            $($batch)*
        }
    };
}

key_table!(KeyTable, "sluicegate/key_table");

key_table!(
    KeyTableBatch,
    "sluicegate/key_table_batch",
    const AT_ONCE: usize = 16;,
    #[inline]
    fn try_next(&self, keys: &[K]) -> u64 {
        let mut granted = 0;
        self.0.try_acquire_batch_with(keys, 1, |_, answer| granted += u64::from(answer.is_ok()));
        granted
    }
);

/// It takes the keys as they come: room is made when it is needed.
pub(super) struct Keyed<K: Key>(sluicegate::Keyed<K>);

impl<K: Key> Store<K> for Keyed<K> {
    const NAME: &'static str = "sluicegate/keyed";

    fn new(limit: Limit, _: u64) -> Self {
        let keyed = sluicegate::Keyed::new(subject::quota(limit));
        Keyed(keyed.expect("the limit is in range"))
    }

    #[inline]
    fn try_one(&self, key: &K) -> bool {
        self.0.try_acquire::<K::Asked>(key.borrow(), 1).is_ok()
    }
}

macro_rules! hot_keys {
    ($Hot:ident, $name:literal, $homeless:literal, $Store:ty, $store:expr) => {
        /// With seats for the keys that are asked for most.
        pub(super) struct $Hot<K: Key>(sluicegate::HotKeys<$Store>);

        impl<K: Key> Store<K> for $Hot<K> {
            const NAME: &'static str = $name;
            const HOMELESS: u64 = $homeless;
            // An eighth that is passed over, and up to a quarter in seats.
            const KEPT_BACK: f64 = 0.4;

            fn takes(op: Op, _: Skew) -> bool {
                op != Op::Insert
            }

            fn new(limit: Limit, keys: u64) -> Self {
                let store: fn(_, _) -> _ = $store;
                let store = store(subject::quota(limit), keys as usize);
                $Hot(sluicegate::HotKeys::new(store.expect("the limit is in range")))
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
    sluicegate::KeyTable::with_keys
);

hot_keys!(HotKeyed, "sluicegate/hot_keys_of_keyed", 0, sluicegate::Keyed<K>, |quota, _| {
    sluicegate::Keyed::new(quota)
});
