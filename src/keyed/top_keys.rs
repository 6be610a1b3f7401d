//! The keys that take the most permits, and those that are denied most often.
//!
//! Each thread adds to a summary in a slot of its own, so threads do not contend; a query
//! merges the summaries. They are those of Metwally, Agrawal and El Abbadi (*Efficient
//! Computation of Frequent and Top-k Elements in Data Streams*, 2005): `m` keys with a count
//! each. A key that is not among them replaces the one with the least count.
//!
//! Progress: a decision never waits (if its slot is in use, and the next ones too, it is not
//! counted); a query waits for the decisions that are being counted. Memory: `m` entries,
//! twice for each slot. Cost of a decision: a hash, an uncontended lock, a few steps in a
//! heap.
//!
//! # Why the bounds hold
//!
//! For one summary with all entries in use, let `min` be the least count, and `n` the sum of
//! all that was added. The counts add up to `n`, so `min <= n / m`. A key that is not in it
//! was added at most `min` times, because its count was the least whenever it was replaced,
//! and the least never falls. So a new entry starts from `min`, which is too high by at most
//! `min`: that is its error.
//!
//! For several summaries, let `M` be the sum of their `min` (0 for one that is not full), and
//! `N` that of their `n`. A key's merged count is the sum of its count in each, or of `min`
//! where it is missing: never too low, and too high by no more than its errors and those
//! `min`. Less `M`, all merged counts add up to `N - m * M`. If a key of more than `N / m`
//! were not among the first `m`, then `m + 1` keys would each have more than `N / m - M` of
//! that, which is more than all of it.

mod summary;

use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::hash::RandomState;

use crossbeam_utils::CachePadded;

use crate::decision::denied::Denied;
use crate::decision::grant::Grant;
use crate::sync::Ordering::Relaxed;
use crate::sync::{AtomicWord, Lock, LockGuard};
use crate::thread_index::{MAX_PLACES, thread_index};

use super::observe::Observe;

use self::summary::{Merged, Summary};

/// Number of slots that a decision tries before it is lost, and the least number of slots.
const TRIES: usize = 4;

/// The keys that take the most permits, and those that are denied most often: found among any
/// number of keys, in memory that does not grow.
///
/// An observer of stores with keys. It counts the permits that each key is granted, and the
/// requests that are denied, and keeps `m` keys of either kind, with their counts.
///
/// # Examples
///
/// ```
/// use sluicegate::{TokenBucket, quota};
/// use sluicegate::keyed::{Observe, TopKeys};
///
/// let bucket = TokenBucket::new(quota!(5 / second));
/// let (three, one, denied) = (bucket.peek(3), bucket.peek(1), bucket.peek(6));
///
/// // A store of keys with this observer calls `decided` for each of its decisions.
/// let top = TopKeys::<str>::new(10);
/// for turn in 0..1_000 {
///     top.decided("often", 3, three.as_ref());
///     let answer = if turn % 2 == 0 { &one } else { &denied };
///     top.decided(&format!("user:{turn}"), 1, answer.as_ref());
/// }
/// let granted = top.granted();
/// assert_eq!(granted[0].key, "often");
/// assert!(granted[0].count - granted[0].error <= 3_000 && granted[0].count >= 3_000);
/// assert_eq!(top.denied().len(), 10);
/// ```
///
/// # Accuracy
///
/// For each kind, with `N` the sum of all that was counted:
///
/// * **every key that has more than `N / m` is among those kept**, which are at most `m`;
/// * a key's `count` is never too low, and `count - error` never too high;
/// * no `error` is above `N / m`.
///
/// A decision is not counted if the slot of its thread and the next three are in use at that
/// moment: by threads that were interrupted there, if there are more of them than the machine
/// runs at once, or by a query. [`lost`](TopKeys::lost) returns the number of such decisions.
/// Which decisions are lost does not depend on the key.
///
/// # Fairness
///
/// No decision waits for another. A query waits for those that are being counted.
pub struct TopKeys<K: ?Sized + ToOwned, S = RandomState> {
    slots: Box<[CachePadded<Slot<K::Owned>>]>,
    lost: AtomicWord<u64>,
    hasher: S,
    most: usize,
}

/// A key that is among those with the highest counts.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use sluicegate::{KeyTable, quota};
/// use sluicegate::keyed::TopKeys;
///
/// let top = Arc::new(TopKeys::<str>::new(10));
/// let table = KeyTable::<str>::builder(quota!(10 / hour)).observer(Arc::clone(&top)).keys(1_000)?;
/// assert!(table.try_acquire("ada", 3).is_ok());
/// let first = &top.granted()[0];
/// assert_eq!((&*first.key, first.count, first.error), ("ada", 3, 0));
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TopKey<O> {
    /// The key.
    pub key: O,
    /// The count of the key, or more.
    pub count: u64,
    /// Amount by which `count` may be too high, at most.
    pub error: u64,
}

/// A slot for the threads of one number, and for those that find their own in use.
type Slot<O> = Lock<Kinds<O>>;

struct Kinds<O> {
    granted: Summary<O>,
    denied: Summary<O>,
}

impl<K: ?Sized + Hash + Eq + ToOwned> TopKeys<K> {
    /// Creates an observer that keeps `keys` keys of either kind, from 1 to 2^20; a number
    /// out of that range is clamped.
    ///
    /// Allocates all its memory but that of the keys themselves: about 80 bytes for each key
    /// of either kind, for each thread that the machine runs at once, and for at least 4.
    #[must_use]
    pub fn new(keys: usize) -> TopKeys<K> {
        TopKeys::with_hasher(keys, RandomState::new())
    }
}

impl<K: ?Sized + Hash + Eq + ToOwned, S: BuildHasher> TopKeys<K, S> {
    /// Maximum number of keys that can be kept.
    pub const MAX: usize = 1 << 20;

    /// Does the same as [`new`](TopKeys::new), with a `hasher` for the keys.
    #[must_use]
    pub fn with_hasher(keys: usize, hasher: S) -> TopKeys<K, S> {
        let most = keys.clamp(1, Self::MAX);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let slot = |_| {
            let kinds = Kinds { granted: Summary::new(most), denied: Summary::new(most) };
            CachePadded::new(Lock::new(kinds))
        };
        let slots = threads.clamp(TRIES, MAX_PLACES).next_power_of_two();
        TopKeys { slots: (0..slots).map(slot).collect(), lost: AtomicWord::new(0), hasher, most }
    }

    /// Returns the keys that were granted most permits, in descending order.
    ///
    /// Allocates; waits for decisions that are being counted.
    #[must_use]
    pub fn granted(&self) -> Vec<TopKey<K::Owned>> {
        self.merged(|kinds| &kinds.granted)
    }

    /// Returns the keys that were denied most often, in descending order.
    ///
    /// Allocates; waits for decisions that are being counted.
    #[must_use]
    pub fn denied(&self) -> Vec<TopKey<K::Owned>> {
        self.merged(|kinds| &kinds.denied)
    }

    /// Returns the number of decisions that were not counted, because the slots for them were
    /// in use.
    #[must_use]
    pub fn lost(&self) -> u64 {
        // ORDERING: Relaxed. A statistic; no decision depends on it.
        // MODEL: none; the value is only reported.
        self.lost.load(Relaxed)
    }

    /// Removes all keys and all counts.
    pub fn clear(&self) {
        for slot in &self.slots {
            let mut kinds = slot.lock();
            kinds.granted.clear();
            kinds.denied.clear();
        }
        // ORDERING: Relaxed, as in `lost`.
        // MODEL: none; the value is only reported.
        self.lost.store(0, Relaxed);
    }

    /// Locks the slot of this thread, or one of the next if that is in use: any will do.
    #[inline]
    fn free_slot(&self) -> Option<LockGuard<'_, Kinds<K::Owned>>> {
        let own = thread_index();
        for next in 0..TRIES {
            let slot = &self.slots[own.wrapping_add(next) & (self.slots.len() - 1)];
            if let Some(kinds) = slot.try_lock() {
                return Some(kinds);
            }
        }
        // ORDERING: Relaxed, as in `lost`.
        // MODEL: none; the value is only reported.
        self.lost.fetch_add(1, Relaxed);
        None
    }

    fn merged(&self, of: impl Fn(&Kinds<K::Owned>) -> &Summary<K::Owned>) -> Vec<TopKey<K::Owned>> {
        let mut merged = Merged::new(self.slots.len() * self.most);
        for slot in &self.slots {
            let kinds = slot.lock();
            merged.add::<K>(of(&kinds));
        }
        merged.top(self.most)
    }
}

impl<K, S> Observe<K> for TopKeys<K, S>
where
    K: ?Sized + Hash + Eq + ToOwned,
    K::Owned: Send,
    S: BuildHasher + Send + Sync,
{
    /// Counts a decision. Never waits; allocates nothing for a key that is among those kept,
    /// and for another only what `clone_into` allocates.
    fn decided(&self, key: &K, _permits: u64, answer: Result<&Grant, &Denied>) {
        let hash = self.hasher.hash_one(key);
        let Some(mut kinds) = self.free_slot() else { return };
        match answer {
            Ok(grant) => kinds.granted.add(hash, key, grant.permits()),
            Err(_) => kinds.denied.add(hash, key, 1),
        }
    }
}

impl<K: ?Sized + ToOwned, S> fmt::Debug for TopKeys<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopKeys")
            .field("keys", &self.most)
            .field("slots", &self.slots.len())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use super::*;
    use crate::bucket::token_bucket::TokenBucket;
    use crate::quota;
    use crate::time::clock::manual::ManualClock;

    #[test]
    fn a_count_stops_at_the_largest_number() {
        let bucket = TokenBucket::with_clock(quota!(1 / second), ManualClock::new());
        let grant = Grant { permits: u64::MAX, ..bucket.peek(0).unwrap() };
        let top = TopKeys::<str>::new(0);
        (0..2).for_each(|_| top.decided("c", u64::MAX, Ok(&grant)));
        assert_eq!(top.granted()[0].count, u64::MAX);
    }
}
