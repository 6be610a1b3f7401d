//! A limiter for each key, in memory that is chosen once.
//!
//! | file | |
//! |---|---|
//! | `word` | the 64 bits of a key |
//! | `ticks` | levels and ages, and what they allow |
//! | `tier` | quotas, in ticks |
//! | `place` | where a key may be |
//! | `line` | a cache line of words |
//! | `pages` | the memory of the lines |
//! | `table` | the call that finds its key |
//! | `insert` | the call that does not, and why the bound holds |
//! | `forget` | removals and sweeps |
//! | `batch` | many keys at once |
//! | `draw` | hot keys, of which several permits are taken at once |
//!
//! Progress: lock-free, inserts too. Memory: 64 bytes for 8 places; nothing is allocated
//! after construction. Cost: an admission 9 loads of one line, or 17 of two, 1 of a word that all
//! share, and 1 CAS; a denial the loads; a new key 39 loads of two lines and that word, or 52 if
//! its home is nearly full, 2 CAS and a fence. (New keys write the shared word once each skew.)

mod batch;
pub(crate) mod builder;
mod home;
mod insert;
mod key_word;
mod line;
mod lines;
#[cfg(sluicegate_loom)]
mod model;
mod pages;
mod prepay;
mod remove;
pub(crate) mod statistics;
mod ticks;
mod tier;
pub(crate) mod verbs;

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use core::time::Duration;

#[cfg(feature = "std")]
use crate::config::error::ConfigError;
use crate::config::quota::Quota;
#[cfg(doc)]
use crate::decision::denied::Denied;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::space::Overflow;

use self::builder::KeyTableBuilder;
use self::home::KeyHome;
use self::lines::LineTable;
use self::statistics::{Occupancy, TableEntry};
use self::ticks::LevelTicks;
use self::tier::{TierList, TierTerms};
use self::verbs::TableTier;

/// The hasher of a [`KeyTable`] that was given none.
#[cfg(feature = "std")]
pub(crate) type DefaultHasher = std::hash::RandomState;

/// There is no hasher of a secret seed without the standard library.
#[cfg(not(feature = "std"))]
#[derive(Clone, Copy, Debug)]
pub enum DefaultHasher {}

/// A token bucket for each of millions of keys, in memory that is chosen once.
///
/// A key is not kept, but 24 bits of its hash and a level of 39 bits, in one 64-bit word: 12
/// bytes for each key at the rated load, whatever its type. Hits and new keys are lock-free,
/// and nothing is allocated after construction. There is nothing to clean up: a key that is
/// full again is to the table as one that was never seen, and its place is taken when it is
/// needed.
///
/// [`try_acquire_batch_with`](KeyTable::try_acquire_batch_with) asks for many keys at once.
/// Tiers ([`KeyTableBuilder::tier`]) are several quotas in one table.
///
/// A key needs its place until it is full and two skews (of 1 ms) longer; in a table of
/// several tiers, until it would be full in the slowest. If there is no place for a key,
/// because the two lines that it may be in are full of live ones, it is answered as
/// [`WhenFull`](crate::WhenFull) says. No live key is ever dropped to make room: it would
/// come back with a fresh burst.
///
/// # Accuracy
///
/// What a key is admitted in any span of time is at most its burst and what the span earns:
/// exactly, in *ticks* of about a 2^18th of the time that the slowest tier takes to fill (4
/// us for a second). No rounding adds up. [`retry_after`](Denied::retry_after) is up to a
/// tick late. The price of the small word:
///
/// * **Two keys may share a budget.** They do if they have the same 24 bits and a line in
///   common, as long as both are live: at the rated load, of a million new keys less than one
///   meets such another. Together they are then admitted what one may be: never more, less
///   each. (To remove one is to remove both.)
/// * **Levels wrap**, after the [`wrap_period`](KeyTable::wrap_period): 2^21 fills for bursts
///   up to 2^14 (24 days, if a key fills in a second), 2^10 for the largest, and four minutes
///   at least. A key that comes back after just so long, when nobody has taken or swept its
///   place, may be held for a live one, and be refused for a fill and a second at most: with odds
///   of so much in a wrap, which for a fill of a second is one in a million.
/// * **The bound asks that no call is held up for a quarter of a wrap** between two of its
///   steps, that the clock does not jump forward by a whole wrap, to the tick, between the load
///   and the CAS of one call, and that each line is swept once in a quarter of a wrap, by
///   [`sweep`](KeyTable::sweep) or by new keys (each 16th sweeps a line). Without sweeps a
///   call that is held up for a millisecond may, with odds of 5 in 10^10 for a key that comes
///   back after a wrap or more, admit one more burst, once. A receipt should not be kept for
///   that long either.
/// * **A clock that jumps forward** during a call, however far, is worth what it earns: a call
///   whose reading is from before such a jump reads it again. What is left is the whole wrap above:
///   for each call under way that meets it, a burst at most may be granted twice, and that is not
///   counted.
/// * **A clock that steps back**, by up to a second (or the skew, if that is more), grants nothing
///   anew: a key is refused until the clock is where it was, and one that had lost its place does
///   not earn the same time twice. So it is for every quota: a second is at most one 256th of a
///   wrap. After a step back by more, a tick included, the keys that are ahead of the clock start
///   again from full, and [`healed`](KeyTable::healed) counts it. It is the same before the
///   instant at which the table was made: time goes on there as anywhere. It comes round after
///   146 years, of which 73 at least are after that instant and 36 before; a key starts again
///   there.
/// * **Clocks** of threads may be apart by a second too. By how much they are is kept to the skew
///   ([`KeyTableBuilder::skew`], 1 ms): a key's place is free for others later by two skews.
///
/// # Fairness
///
/// None among the callers for a key. A caller that is held up while it puts in a key keeps
/// no other waiting: those for the same key go on in its place, and others may take the
/// place after a millisecond, or a fill if that is shorter.
///
/// # Memory ordering
///
/// What a caller did before it was granted permits for a key happens before what the callers
/// granted after it for the same key do, as long as the key has its place. A denial orders
/// nothing.
///
/// # Examples
///
/// ```
/// use sluicegate::{KeyTable, quota};
///
/// // 100 a second for each address, at most 20 at once, for a million of them.
/// let table = KeyTable::<[u8; 4]>::with_keys(quota!(100 / second, burst 20), 1_000_000)?;
/// assert!(table.try_acquire(&[192, 0, 2, 1], 20).is_ok());
/// assert!(table.try_acquire(&[192, 0, 2, 1], 1).is_err());
/// assert!(table.try_acquire(&[192, 0, 2, 2], 1).is_ok());
/// assert!(table.memory_bytes() <= 12_000_000);
///
/// let names = KeyTable::<str>::with_memory(quota!(10 / minute), 64 << 20)?;
/// for answer in names.try_acquire_batch(&["ada", "bob", "ada"], 6) {
///     println!("{answer:?}");
/// }
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
///
/// The algorithm is of this crate; the two lines of a key are those of a cuckoo filter (Fan,
/// Andersen, Kaminsky and Mitzenmacher, `CoNEXT` 2014), without its moves.
pub struct KeyTable<K: ?Sized, S = DefaultHasher, C = DefaultClock, O = ()> {
    table: LineTable<C>,
    /// The first of the tiers, at hand.
    first: TierTerms,
    tiers: TierList,
    hasher: S,
    overflow: Overflow<C>,
    observer: O,
    keys: PhantomData<fn(&K)>,
}

#[cfg(feature = "std")]
impl<K: Hash + ?Sized> KeyTable<K> {
    /// A table with places for so many keys that are not full, all at a time: 12 bytes each.
    ///
    /// # Errors
    ///
    /// As [`KeyTableBuilder::keys`].
    pub fn with_keys(quota: Quota, keys: usize) -> Result<KeyTable<K>, ConfigError> {
        KeyTable::builder(quota).keys(keys)
    }

    /// A table of so many bytes, in lines of 64.
    ///
    /// # Errors
    ///
    /// As [`KeyTableBuilder::memory`].
    pub fn with_memory(quota: Quota, bytes: usize) -> Result<KeyTable<K>, ConfigError> {
        KeyTable::builder(quota).memory(bytes)
    }

    /// What a table is to be, key by key of `quota`.
    pub fn builder(quota: Quota) -> KeyTableBuilder<K, DefaultHasher, DefaultClock> {
        KeyTable::builder_with(quota, DefaultHasher::default(), DefaultClock::default())
    }
}

impl<K: Hash + ?Sized, S: BuildHasher, C: Clock> KeyTable<K, S, C> {
    /// What a table is to be, key by key of `quota`, on a hasher and a clock of one's own.
    pub fn builder_with(quota: Quota, hasher: S, clock: C) -> KeyTableBuilder<K, S, C> {
        KeyTableBuilder::new(quota, hasher, clock)
    }
}

impl<K: Hash + ?Sized, S: BuildHasher, C: Clock, O> KeyTable<K, S, C, O> {
    /// The tier of the given number, in the order of the builder; `None` if there are not so
    /// many.
    #[must_use]
    pub fn tier(&self, number: usize) -> Option<TableTier<'_, K, S, C, O>> {
        self.tiers.all.get(number).map(|tier| TableTier { table: self, tier })
    }

    #[inline]
    fn first_tier(&self) -> TableTier<'_, K, S, C, O> {
        TableTier { table: self, tier: &self.first }
    }

    #[inline]
    fn place(&self, key: &K) -> KeyHome {
        self.table.place(self.hasher.hash_one(key))
    }

    /// Forgets what the key has spent, and says whether there was anything to forget: the next
    /// time that it is asked for it is full. What it was granted before does not count any more.
    ///
    /// Lock-free; does not allocate; reads the clock.
    pub fn remove(&self, key: &K) -> bool {
        self.table.remove(self.place(key))
    }

    /// Makes the key full again: the same, as a full key and a forgotten one are one to the
    /// table.
    pub fn reset(&self, key: &K) {
        self.remove(key);
    }

    /// Goes over all places, and clears those that hold no key but a full one; says how many.
    ///
    /// Nobody waits for it. Not needed for room: an expired place is taken as it is. It is
    /// needed once in a quarter of the [`wrap_period`](KeyTable::wrap_period), and new keys
    /// see to that if so many come in that time: each 16th sweeps one of the lines, of which
    /// there is one for about five keys. Lock-free; does not allocate; reads the clock once for
    /// each line.
    pub fn sweep(&self) -> usize {
        self.table.lines().iter().map(|line| self.table.sweep(line, 0)).sum()
    }

    /// How long it takes until the levels of the table come again.
    #[must_use]
    pub fn wrap_period(&self) -> Duration {
        self.tiers.time(LevelTicks::<{ key_word::LEVEL_BITS }>::WRAP as u64)
    }

    /// The memory of the places, in bytes. The table itself is a few hundred more, on the
    /// stack or wherever it is kept.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.table.lines())
    }

    /// How many keys there are, of what kind. Goes over all places; reads the clock once for each
    /// line; writes nothing.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        self.table.occupancy()
    }

    /// How often a key found no place.
    #[must_use]
    pub fn full_events(&self) -> u64 {
        self.table.full()
    }

    /// How often a state was found that no call can have left, because the clock had gone back by
    /// more than a second (or the skew, if that is more), and was started again from full: that of
    /// a key, or the one of all keys that have no place. See [`Clock`].
    ///
    /// A key that was neither asked for nor swept in half a [`wrap_period`](KeyTable::wrap_period)
    /// cannot be told from that, and counts too. A key that is ahead by more than half of one, after
    /// a step back of so much, looks like one from long ago: it starts again, and does not count.
    /// (That of the keys without a place does.)
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.table.healed()
    }

    /// The keys that are not full, as far as the table knows them: not the keys themselves,
    /// but what it keeps of each.
    ///
    /// Goes on beside other calls: a key that moves meanwhile may be missed, or come twice.
    /// Reads the clock once for each line; writes nothing; does not allocate.
    pub fn iter(&self) -> impl Iterator<Item = TableEntry> + '_ {
        self.table.live().map(|(print, balance)| {
            let missing = (self.table.ticks.span - balance).max(0) as u64;
            TableEntry { print, full_after: self.tiers.time(missing) }
        })
    }

    /// The quota of the first tier.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.first.quota()
    }

    /// The clock that the table reads.
    #[must_use]
    pub fn clock(&self) -> &C {
        self.table.clock()
    }
}

impl<K: ?Sized, S, C, O> fmt::Debug for KeyTable<K, S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyTable")
            .field("table", &self.table)
            .field("tiers", &self.tiers.all)
            .finish_non_exhaustive()
    }
}
