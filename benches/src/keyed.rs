//! Limiters of many keys, as the benches see them.

mod cases;
mod fill;
mod key;
mod ours;
mod peers;
pub mod report;
mod sequence;
pub mod turn;

use std::time::Duration;

pub use self::cases::{Keyed, Wanted, all};
pub use self::key::Key;
pub use self::sequence::{Skew, each, sequence};
use crate::subject::{Limit, Op};

/// The operations that a store of keys can be asked for.
pub const OPS: &[Op] = &[Op::Allow, Op::Deny, Op::Edge, Op::Insert];

/// The limit of each key.
///
/// If all calls are admitted, a key that was asked for once takes a minute to become full
/// again: some stores keep only keys that are not full, and here all keys are to be kept.
///
/// # Panics
///
/// If `op` is not an operation for keys.
#[must_use]
pub fn limit(op: Op) -> Limit {
    match op {
        Op::Allow | Op::Insert => {
            Limit { permits: 1, period: Duration::from_secs(60), burst: 1 << 25 }
        }
        Op::Deny => op.limit(),
        // Few enough for a thousand keys to be refused, and whole nanoseconds apart.
        Op::Edge => Limit { permits: 1_000, period: Duration::from_secs(1), burst: 10 },
        Op::Full | Op::Beside => panic!("keys are never asked {op}"),
    }
}

/// A limiter of many keys, all with the same limit.
pub trait Store<K: Key>: Send + Sync + Sized {
    /// The name in reports, without the kind of key.
    const NAME: &'static str;

    /// Number of keys that one call asks for.
    const AT_ONCE: usize = 1;

    /// Most keys in a million that may find no slot, so that their requests are refused.
    const HOMELESS: u64 = 0;

    /// Share of a key's burst that it may keep back.
    const KEPT_BACK: f64 = 0.0;

    /// Returns whether it is measured for `op` with calls spread over the keys by `skew`.
    #[must_use]
    fn takes(_op: Op, _skew: Skew) -> bool {
        true
    }

    /// Creates a store without keys. Only a store that cannot be created without the number of
    /// keys to come, or has it in its name, uses `keys`.
    fn new(limit: Limit, keys: u64) -> Self;

    /// Asks for one permit of `key`, and returns true if it is granted.
    fn try_one(&self, key: &K) -> bool;

    /// Asks for one permit of each of [`AT_ONCE`](Store::AT_ONCE) `keys`, and returns the number
    /// of permits granted.
    #[inline(always)]
    fn try_next(&self, keys: &[K]) -> u64 {
        u64::from(self.try_one(&keys[0]))
    }
}

/// Returns whether `admitted` of `keys` new keys are as many as there should be. If there are
/// few keys, two may be without a slot though hardly one is expected.
#[must_use]
pub fn are_all<K: Key, S: Store<K>>(admitted: u64, keys: u64) -> bool {
    let most = if S::HOMELESS == 0 { 0 } else { 2 + (S::HOMELESS * keys).div_ceil(1_000_000) };
    keys - admitted <= most
}

/// Something to be done with every [`Store`] of one kind of key.
pub trait Visitor<K: Key> {
    /// Does it with one store.
    fn visit<S: Store<K> + 'static>(&mut self);
}

/// The store that the others are compared with.
pub const BASELINE: &str = "governor/dashmap";

/// Shows `visitor` every store, in the order of the reports.
pub fn visit_all<K: Key>(visitor: &mut impl Visitor<K>) {
    visitor.visit::<peers::Loop>();

    visitor.visit::<ours::TokenBucket>();
    visitor.visit::<ours::KeyTable<K>>();
    visitor.visit::<ours::KeyTableBatch<K>>();
    visitor.visit::<ours::KeyTableCoarse<K>>();
    visitor.visit::<ours::KeyTableCoarseBatch<K>>();
    visitor.visit::<ours::KeyTableFoldhash<K>>();
    visitor.visit::<ours::KeyTableFoldhashBatch<K>>();
    visitor.visit::<ours::KeyTableFoldhashCoarse<K>>();
    visitor.visit::<ours::KeyTableFoldhashCoarseBatch<K>>();
    visitor.visit::<ours::Keyed<K>>();
    visitor.visit::<ours::KeyedFoldhash<K>>();
    visitor.visit::<ours::Shares<K, false>>();
    visitor.visit::<ours::Shares<K, true>>();
    visitor.visit::<ours::HotKeyTable<K>>();
    visitor.visit::<ours::HotKeyed<K>>();

    visitor.visit::<peers::GovernorDashMap<K>>();
    visitor.visit::<peers::GovernorDashMapTold<K>>();
    visitor.visit::<peers::GovernorDashMapFoldhash<K>>();
    visitor.visit::<peers::GovernorHashMap<K>>();
    visitor.visit::<peers::Quota<K>>();
    visitor.visit::<peers::PingoraRate>();
    visitor.visit::<peers::MutexMap<K>>();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict;

    const KEYS: u64 = 40;

    struct OneCall;

    impl<K: Key> Visitor<K> for OneCall {
        fn visit<S: Store<K>>(&mut self) {
            let keys: Vec<K> = (0..KEYS).map(K::at).collect();
            let kind = K::NAME;
            for &op in OPS.iter().filter(|op| S::takes(**op, Skew::Uniform)) {
                // Much larger than needed: in a small store some keys find no slot by chance.
                let store = S::new(limit(op), 100 * KEYS);
                let is_full = keys.iter().all(|key| store.try_one(key));
                verdict::expect(S::NAME, is_full, format_args!("{kind} {op}: is not full"));
                let mut chunks = keys.chunks_exact(S::AT_ONCE);
                let again: u64 = chunks.by_ref().map(|chunk| store.try_next(chunk)).sum();
                let asked = KEYS - chunks.remainder().len() as u64;
                let expected = if op == Op::Deny { 0 } else { asked };
                let done = format_args!("{kind} {op}: admitted {again} of {asked} again");
                verdict::expect(S::NAME, again == expected, done);
            }
        }
    }

    #[test]
    fn every_store_does_what_the_benches_time_it_for() {
        visit_all::<u64>(&mut OneCall);
        visit_all::<String>(&mut OneCall);
    }
}
