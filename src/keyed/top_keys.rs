//! The keys that take the most, and those that are refused most.
//!
//! Each thread adds to a summary of its own place, by which it disturbs nobody; a look
//! merges them. A summary is one of Metwally, Agrawal and El Abbadi (*Efficient Computation
//! of Frequent and Top-k Elements in Data Streams*, 2005): `m` keys with a count each, and
//! a key that is not among them takes the place of the one with the least.
//!
//! Progress: a decision never waits (if its place is taken, and the next ones, it is not
//! counted); a look waits for the decisions that are being counted. Memory: `m` entries,
//! twice for each place. Cost of a decision: a hash, a lock that is free, a few steps in a
//! heap.
//!
//! # Why the bounds hold
//!
//! Of one summary with all places taken, let `min` be the least count, `n` all that was
//! added: the counts add up to `n`, so `min <= n / m`. A key that is not in it was added
//! at most `min` times, for with each departure its count was the least, and the least
//! never falls. So a newcomer starts from `min` at most too high, and that is its error.
//!
//! Of several, let `M` be the sum of their `min` (0 for one that is not full), and `N` of
//! their `n`. A key's merged count is its count in each, or the `min` where it is missing:
//! never too low, and too high by no more than its errors and those `min`. Less `M`, all
//! merged counts add up to `N - m * M`. If a key of more than `N / m` were not among the
//! first `m`, then `m + 1` keys would each have more than `N / m - M` of that, which is more
//! than all of it.

mod summary;

use core::fmt;
use core::hash::{BuildHasher, Hash};
use std::hash::RandomState;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crossbeam_utils::CachePadded;

use crate::sync::AtomicWord;
use crate::sync::Ordering::Relaxed;
use crate::thread_index::{MAX_PLACES, thread_index};

use super::observe::Observe;

use self::summary::{Merged, Summary};

/// How many places a decision tries before it is lost; and there are as many.
const TRIES: usize = 4;

/// The keys that take the most permits, and those that are refused most often: found
/// among any number of keys, in memory that does not grow.
///
/// An observer of stores with keys. It counts the permits that each key is granted, and
/// the requests that are refused, and keeps `m` keys of either kind, with the counts.
///
/// # Accuracy
///
/// Of all that was counted of a kind, say `N`:
///
/// * **every key that has more than `N / m` is among them**, which are at most `m`;
/// * a key's `count` is never too low, and `count - error` never too high;
/// * no `error` is above `N / m`.
///
/// A decision is not counted if the place of its thread and the next three are in use at
/// that moment: by threads that were interrupted there, if there are more of them than the
/// machine runs at once, or by a look. [`lost`](TopKeys::lost) says how many those were.
/// Which they are does not depend on the key.
///
/// # Fairness
///
/// No decision waits for another. A look waits for those that are being counted.
///
/// # Examples
///
/// ```
/// use sluicegate::{Observe, TopKeys};
///
/// let top = TopKeys::<str>::new(10);
/// for turn in 0..1_000 {
///     top.decided("often", 3, true);
///     top.decided(&format!("user:{turn}"), 1, turn % 2 == 0);
/// }
/// let granted = top.granted();
/// assert_eq!(granted[0].key, "often");
/// assert!(granted[0].count - granted[0].error <= 3_000 && granted[0].count >= 3_000);
/// assert_eq!(top.denied().len(), 10);
/// ```
pub struct TopKeys<K: ?Sized + ToOwned, S = RandomState> {
    places: Box<[CachePadded<Place<K::Owned>>]>,
    lost: AtomicWord<u64>,
    hasher: S,
    most: usize,
}

/// A key that is among those with the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopKey<O> {
    /// The key.
    pub key: O,
    /// What was counted of it, or more.
    pub count: u64,
    /// By how much `count` may be too high.
    pub error: u64,
}

/// What the threads of one number write, and those that find theirs in use.
type Place<O> = Mutex<Kinds<O>>;

struct Kinds<O> {
    granted: Summary<O>,
    denied: Summary<O>,
}

impl<K: ?Sized + Hash + Eq + ToOwned> TopKeys<K> {
    /// Keeps `keys` keys of either kind, from 1 to 2^20: of a number beyond, the nearest.
    ///
    /// Allocates all its memory but that of the keys themselves: about 80 bytes for each
    /// key of either kind, for each thread that the machine runs at once, and for 4 at least.
    #[must_use]
    pub fn new(keys: usize) -> TopKeys<K> {
        TopKeys::with_hasher(keys, RandomState::new())
    }
}

impl<K: ?Sized + Hash + Eq + ToOwned, S: BuildHasher> TopKeys<K, S> {
    /// The most keys that can be kept.
    pub const MAX: usize = 1 << 20;

    /// As [`new`](TopKeys::new), with a `hasher` for the keys.
    #[must_use]
    pub fn with_hasher(keys: usize, hasher: S) -> TopKeys<K, S> {
        let most = keys.clamp(1, Self::MAX);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let place = |_| {
            let kinds = Kinds { granted: Summary::new(most), denied: Summary::new(most) };
            CachePadded::new(Mutex::new(kinds))
        };
        let places = threads.clamp(TRIES, MAX_PLACES).next_power_of_two();
        TopKeys { places: (0..places).map(place).collect(), lost: AtomicWord::new(0), hasher, most }
    }

    /// The keys that were granted most, the first the one with the most permits.
    ///
    /// Allocates; waits for decisions that are being counted.
    #[must_use]
    pub fn granted(&self) -> Vec<TopKey<K::Owned>> {
        self.merged(|kinds| &kinds.granted)
    }

    /// The keys that were denied most, the first the one with the most denials.
    ///
    /// Allocates; waits for decisions that are being counted.
    #[must_use]
    pub fn denied(&self) -> Vec<TopKey<K::Owned>> {
        self.merged(|kinds| &kinds.denied)
    }

    /// How many decisions were not counted, because the places for them were in use.
    #[must_use]
    pub fn lost(&self) -> u64 {
        // ORDERING: Relaxed. A statistic; nothing is decided by it.
        // MODEL: none; it is only told.
        self.lost.load(Relaxed)
    }

    /// Forgets all keys and all counts.
    pub fn clear(&self) {
        for place in &self.places {
            let mut kinds = place.lock().unwrap_or_else(PoisonError::into_inner);
            kinds.granted.clear();
            kinds.denied.clear();
        }
        // ORDERING: Relaxed, as in `lost`.
        // MODEL: none; it is only told.
        self.lost.store(0, Relaxed);
    }

    /// The place of this thread, or if that is in use one of the next: any will do.
    #[inline]
    fn free_place(&self) -> Option<MutexGuard<'_, Kinds<K::Owned>>> {
        let own = thread_index();
        for next in 0..TRIES {
            let place = &self.places[own.wrapping_add(next) & (self.places.len() - 1)];
            match place.try_lock() {
                Ok(kinds) => return Some(kinds),
                // A key of the user's may panic where it is compared or cloned. The
                // indices are in order at all times.
                Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
        }
        // ORDERING: Relaxed, as in `lost`.
        // MODEL: none; it is only told.
        self.lost.fetch_add(1, Relaxed);
        None
    }

    fn merged(&self, of: impl Fn(&Kinds<K::Owned>) -> &Summary<K::Owned>) -> Vec<TopKey<K::Owned>> {
        let mut merged = Merged::new(self.places.len() * self.most);
        for place in &self.places {
            let kinds = place.lock().unwrap_or_else(PoisonError::into_inner);
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
    /// Counts a decision. Never waits; allocates nothing for a key that is among those
    /// kept, and for another only what `clone_into` does.
    fn decided(&self, key: &K, permits: u64, is_granted: bool) {
        let hash = self.hasher.hash_one(key);
        let Some(mut kinds) = self.free_place() else { return };
        if is_granted {
            kinds.granted.add(hash, key, permits);
        } else {
            kinds.denied.add(hash, key, 1);
        }
    }
}

impl<K: ?Sized + ToOwned, S> fmt::Debug for TopKeys<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TopKeys")
            .field("keys", &self.most)
            .field("places", &self.places.len())
            .finish_non_exhaustive()
    }
}
