//! The peers, each set up for its fastest way to ask for one permit of a key. None is told
//! the number of keys to come, except by a row that says so: `Keyed` is not told either.

use std::collections::HashMap;
use std::hash::RandomState;
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::Instant;

use foldhash::quality::RandomState as Foldhash;
use governor::clock::QuantaClock;
use governor::state::keyed::{DashMapStateStore, HashMapStateStore};

use super::{Key, Skew, Store};
use crate::subject::{Limit, Op};

/// No store: the cost of the measurement itself.
pub(super) struct Loop;

impl<K: Key> Store<K> for Loop {
    const NAME: &'static str = "loop";

    fn takes(op: Op, _: Skew) -> bool {
        op == Op::Allow
    }

    fn new(_: Limit, _: u64) -> Loop {
        Loop
    }

    #[inline]
    fn try_one(&self, key: &K) -> bool {
        // Reads the key and what it points to, because a look-up reads all of it.
        black_box(key).hash(&mut Read(0));
        true
    }
}

/// A hasher that reads its input, and does next to nothing with it.
struct Read(u8);

impl std::hash::Hasher for Read {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = black_box(bytes.first().copied().unwrap_or(0));
    }

    fn finish(&self) -> u64 {
        self.0.into()
    }
}

macro_rules! governor {
    ($Governor:ident, $Store:ty, $Clock:ty, $name:literal, |$keys:ident| $make:expr, $clock:expr) => {
        pub(super) struct $Governor<K: Key>(governor::RateLimiter<K, $Store, $Clock>);

        impl<K: Key> Store<K> for $Governor<K> {
            const NAME: &'static str = $name;

            fn new(limit: Limit, $keys: u64) -> Self {
                $Governor(governor::RateLimiter::new(quota_of(limit), $make, $clock))
            }

            #[inline]
            fn try_one(&self, key: &K) -> bool {
                self.0.check_key(key).is_ok()
            }
        }
    };
}

governor!(
    GovernorDashMap,
    DashMapStateStore<K>,
    QuantaClock,
    "governor/dashmap",
    |_keys| DashMapStateStore::default(),
    QuantaClock::default()
);
governor!(
    GovernorDashMapTold,
    DashMapStateStore<K>,
    QuantaClock,
    "governor/dashmap_told",
    |keys| DashMapStateStore::with_capacity(keys as usize),
    QuantaClock::default()
);
governor!(
    GovernorDashMapFoldhash,
    DashMapStateStore<K, Foldhash>,
    QuantaClock,
    "governor/dashmap_foldhash",
    |_keys| DashMapStateStore::with_hasher(Foldhash::default()),
    QuantaClock::default()
);
governor!(
    GovernorHashMap,
    HashMapStateStore<K>,
    QuantaClock,
    "governor/hashmap",
    |_keys| HashMapStateStore::default(),
    QuantaClock::default()
);

fn quota_of(limit: Limit) -> governor::Quota {
    let permits = u32::try_from(limit.permits).expect("rates here fit 32 bits");
    let burst = u32::try_from(limit.burst).expect("bursts here fit 32 bits");
    governor::Quota::with_period(limit.period / permits)
        .expect("no period here is 0")
        .allow_burst(NonZeroU32::new(burst).expect("no burst here is 0"))
}

pub(super) struct Quota<K: Key>(quota::QuotaPool<K>);

impl<K: Key> Store<K> for Quota<K> {
    const NAME: &'static str = "quota";

    #[expect(clippy::cast_precision_loss, reason = "its rates are floating-point")]
    fn new(limit: Limit, _: u64) -> Self {
        let per_nano = limit.permits as f64 / limit.period.as_nanos() as f64;
        let policy = quota::QuotaPolicy::new()
            .set_capacity(limit.burst as f64)
            .set_refill_rate(quota::RefillRate::per_nano(per_nano));
        Quota(quota::QuotaPool::with_key_type(policy, limit.burst))
    }

    #[inline]
    fn try_one(&self, key: &K) -> bool {
        self.0.check::<K::Asked>(key.borrow(), 1)
    }
}

/// A sketch: keys share counters, so it refuses more than it has to, and the more keys
/// there are, the more it refuses. It has no keys to insert. It counts by windows, which
/// begin at the first request in them.
pub(super) struct PingoraRate {
    rate: pingora_limits::rate::Rate,
    most: isize,
}

impl<K: Key> Store<K> for PingoraRate {
    const NAME: &'static str = "pingora-limits";

    fn takes(op: Op, _: Skew) -> bool {
        matches!(op, Op::Allow | Op::Deny)
    }

    fn new(limit: Limit, _: u64) -> PingoraRate {
        let rate = pingora_limits::rate::Rate::new(limit.period);
        PingoraRate { rate, most: limit.burst as isize }
    }

    #[inline]
    fn try_one(&self, key: &K) -> bool {
        self.rate.observe(key, 1) <= self.most
    }
}

/// The store that people write without a dependency.
pub(super) struct MutexMap<K> {
    states: Mutex<HashMap<K, (f64, Instant), RandomState>>,
    burst: f64,
    per_second: f64,
}

impl<K: Key> Store<K> for MutexMap<K> {
    const NAME: &'static str = "mutex_map";

    #[expect(clippy::cast_precision_loss, reason = "people do")]
    fn new(limit: Limit, _: u64) -> Self {
        MutexMap {
            states: Mutex::default(),
            burst: limit.burst as f64,
            per_second: limit.permits as f64 / limit.period.as_secs_f64(),
        }
    }

    #[inline]
    fn try_one(&self, key: &K) -> bool {
        let mut states = self.states.lock().expect("no holder panics");
        let now = Instant::now();
        let Some((tokens, last)) = states.get_mut(key.borrow()) else {
            states.insert(key.clone(), (self.burst - 1.0, now));
            return true;
        };
        let earned = now.duration_since(*last).as_secs_f64() * self.per_second;
        *tokens = (*tokens + earned).min(self.burst);
        *last = now;
        let is_admitted = *tokens >= 1.0;
        if is_admitted {
            *tokens -= 1.0;
        }
        is_admitted
    }
}
