//! One limiter per key, in memory of a fixed size.
//!
//! | file | |
//! |---|---|
//! | `key_word` | the 64 bits of a key |
//! | `ticks` | levels and ages, and what they allow |
//! | `in_force` | the quota of a tier that is in force: its terms, in ticks, and its word |
//! | `tier` | the quotas for which a table can be made, and the choice of the tick |
//! | `reconfigure` | changes of it, and why the bound holds then |
//! | `home` | the two lines that a key may be in |
//! | `line` | a cache line of words |
//! | `pages` | large pages for the lines |
//! | `lines` | calls that find their key |
//! | `insert` | calls that do not, and why the bound holds |
//! | `remove` | removals and sweeps |
//! | `batch` | many keys at once |
//! | `prepay` | several permits taken in advance, for hot keys |
//! | `verbs` | the public operations, of the table and of its tiers |
//! | `statistics` | iteration and occupancy |
//! | `builder` | configuration |
//!
//! Progress: lock-free, including inserts. Memory: 64 bytes for 8 slots; nothing is allocated after
//! construction. Cost: an admission takes 9 loads of one line, or 17 of two, 1 load of a shared
//! word, 1 of the quota, and 1 CAS; a denial the loads; a new key 39 loads of two lines and that
//! word, or 52 if its home, the first of the two, is nearly full, 1 of the quota, 2 CAS and a
//! fence. (New keys write the shared word once per skew, a millisecond unless it is set.)

// The documented page has the public methods in the order of these modules.
pub(crate) mod builder;

pub(crate) mod verbs;

mod batch;

mod reconfigure;

mod home;
mod in_force;
mod insert;
mod key_word;
mod leaving;
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

use alloc::boxed::Box;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use core::time::Duration;

use crate::config::quota::Quota;
#[cfg(doc)]
use crate::decision::denied::Denied;
use crate::time::clock::Clock;
use crate::time::clock::default::DefaultClock;

use super::when_full::Overflow;

#[cfg(doc)]
use self::builder::KeyTableBuilder;
use self::home::KeyHome;
use self::in_force::{Pace, TierInForce};
use self::lines::LineTable;
use self::statistics::{Occupancy, TableEntry};
use self::ticks::LevelTicks;
use self::verbs::TableTier;

/// The default hasher of a [`KeyTable`].
#[cfg(feature = "std")]
pub(crate) type DefaultHasher = std::hash::RandomState;

/// Uninhabited: without the standard library there is no hasher with a secret seed.
#[cfg(not(feature = "std"))]
#[derive(Clone, Copy, Debug)]
pub enum DefaultHasher {}

/// A token bucket for each of millions of keys, in memory of a fixed size.
///
/// The table does not store the key. It stores 24 bits of the key's hash and a level of 39 bits, in
/// one 64-bit word: 12 bytes for each key at the rated load, whatever its type. Hits and new keys
/// are lock-free, and nothing is allocated after construction. No cleanup is needed: a key whose
/// bucket is full again is *idle*, to the table as if it was never seen, and its slot is reused on
/// demand.
///
/// [`try_acquire_batch_with`](KeyTable::try_acquire_batch_with) decides many keys at once. Tiers
/// ([`KeyTableBuilder::tier`]) are several quotas in one table. Quotas can be changed live, within
/// limits: [`reconfigure`](KeyTable::reconfigure).
///
/// A key needs its slot until it is idle, and two *skews* longer (1 ms each, unless set: see
/// [`KeyTableBuilder::skew`]); in a table of several tiers, or with
/// [room](KeyTableBuilder::room_for) for other quotas, until it would be idle under the slowest.
/// If other keys need all slots of the two lines that a key may be in, there is no slot for it, and
/// it is answered as [`WhenFull`](crate::keyed::WhenFull) says. A *live* key, one that is not idle, is
/// never evicted: it would come back with a fresh burst.
///
/// A table has no `force`. A debt would be a level that is ahead of the clock, and a level further
/// ahead than a second is how a table notices that the clock has gone back. It would have to let
/// levels be ahead by the largest debt too: then keys start again only after a step back by that much
/// more, and are refused until the clock is where it was; and the ticks of the debt would have to fit
/// beside those of the burst, which would be smaller. Use a `Keyed` for debts.
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
/// for answer in names.try_acquire_batch(["ada", "bob", "ada"], 6) {
///     println!("{answer:?}");
/// }
/// # Ok::<(), sluicegate::ConfigError>(())
/// ```
///
/// # Accuracy
///
/// In any span of time a key is admitted at most its burst and its earnings in the span. That is
/// exact in *ticks*: a tick is about a 2^18th of a *fill*, the time that the slowest quota takes
/// from empty to full (4 us for a second). Rounding errors do not add up.
/// [`retry_after`](Denied::retry_after) is up to a tick late. The small word has a price:
///
/// * **Two keys may share a budget.** They do if they share 24 bits and a line, as long as
///   both are live: at the rated load, fewer than one in a million new keys collides with another.
///   Together they are then admitted as much as one key: never more, but each gets less. (Removing
///   one removes both.)
/// * **Levels wrap**, after the [`wrap_period`](KeyTable::wrap_period): 2^21 fills for bursts up to
///   2^14 (24 days, if a fill is a second), 2^10 for the largest, and four minutes at least. A
///   key that comes back a wrap later, to within a fill and a second, may be taken for a live one
///   if its slot was neither reused nor swept; it is then refused for a fill and a second at most.
///   The odds of that are a fill and a second in a wrap, which for a fill of a second is one in a
///   million.
/// * **The bound has three conditions**: no call is held up for a quarter of a wrap between two of
///   its steps; the clock does not jump forward by a whole wrap, to the tick, between the load and
///   the CAS of one call; and each line is swept once in a quarter of a wrap, by
///   [`sweep`](KeyTable::sweep) or by new keys (every 16th sweeps a line). Without sweeps a call
///   that is held up for a millisecond may, with odds of 5 in 10^10 for a key that comes back after
///   a wrap or more, admit one more burst, once. A receipt should not be kept for a quarter of a
///   wrap either.
/// * **A clock that jumps forward** during a call, however far, adds the earnings of the jump: a
///   call whose reading is from before such a jump reads the clock again. The exception is the
///   whole wrap above: each call under way that meets it may grant a burst twice, at most, and that
///   is not counted.
/// * **A clock that steps back**, by up to a second (or the skew, if that is more), grants nothing
///   anew: a key is refused until the clock is where it was, and a key that had lost its slot does
///   not earn the same time twice. This holds for every quota: a second is at most one 256th of a
///   wrap. After a step back by more, if only by a tick, the keys that are ahead of the clock start
///   again from full, and [`healed`](KeyTable::healed) counts it. Times before the table was made
///   are no exception: they are counted like any other. The count comes round after 146 years, of
///   which 73 at least are after the instant at which the table was made and 36 before; a key
///   starts again there.
/// * **Threads' clocks** may differ by a second too. The table's own time is accurate to one skew,
///   so a key's slot becomes free for other keys two skews after the key is idle.
///
/// A table takes no debts, so it has neither `force` nor reservations: a level ahead of the clock is how it
/// notices that the clock has gone back. A `Keyed` of buckets has both.
///
/// # Fairness
///
/// None among the callers for a key. A caller that is held up while it inserts a key blocks nobody:
/// other callers for this key go on in its slot, and other keys may take the slot after a
/// millisecond, or a fill if that is shorter.
///
/// # Memory ordering
///
/// Everything that a caller did before its grant happens before everything that a caller with a
/// later grant for this key does after that, as long as the key keeps its slot. A denial does not
/// synchronize.
///
/// The algorithm is original to this crate; the two lines of a key come from cuckoo filters (Fan,
/// Andersen, Kaminsky and Mitzenmacher, `CoNEXT` 2014), without their moves.
pub struct KeyTable<K: ?Sized, S = DefaultHasher, C = DefaultClock, O = ()> {
    table: LineTable<C>,
    /// The first tier, which is here so that no pointer has to be followed.
    first: TierInForce,
    others: Box<[TierInForce]>,
    pace: Pace,
    hasher: S,
    overflow: Overflow<C>,
    observer: O,
    keys: PhantomData<fn(&K)>,
}

impl<K: Hash + ?Sized, S: BuildHasher, C: Clock, O> KeyTable<K, S, C, O> {
    #[inline]
    fn first_tier(&self) -> TableTier<'_, K, S, C, O> {
        TableTier { table: self, tier: &self.first }
    }

    #[inline]
    fn place(&self, key: &K) -> KeyHome {
        self.table.place(self.hasher.hash_one(key))
    }

    /// Returns the number of live keys: keys that have been granted something and are not full
    /// again. (Two keys that share a budget count as one.)
    ///
    /// Goes over all slots; reads the clock once for each line; writes nothing. See
    /// [`occupancy`](KeyTable::occupancy).
    #[must_use]
    pub fn len(&self) -> usize {
        self.occupancy().live
    }

    /// Returns whether no key is live. Costs as much as [`len`](KeyTable::len).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Clears the slots of idle keys, and returns how many keys it cleared.
    ///
    /// No call waits for a sweep, and no new key needs one: an idle key's slot is reused without
    /// it. But each line has to be swept once in a quarter of the
    /// [`wrap_period`](KeyTable::wrap_period). New keys do that if enough of them come in that
    /// time: every 16th sweeps one of the lines, of which there is one for about five keys.
    /// Lock-free; does not allocate; reads the clock once for each line.
    #[doc(alias = "retain_recent")]
    pub fn sweep(&self) -> usize {
        self.table.lines().iter().map(|line| self.table.sweep(line, 0)).sum()
    }

    /// Returns the time after which levels wrap around.
    #[must_use]
    pub fn wrap_period(&self) -> Duration {
        self.pace.time(LevelTicks::<{ key_word::LEVEL_BITS }>::WRAP as u64)
    }

    /// Returns the memory of the lines, in bytes. The `KeyTable` value itself takes a few hundred
    /// more, wherever it is kept.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of_val(self.table.lines())
    }

    /// Counts the slots by their contents. Goes over all slots; reads the clock once for each line;
    /// writes nothing.
    #[must_use]
    pub fn occupancy(&self) -> Occupancy {
        self.table.occupancy()
    }

    /// Returns how often there was no slot for a key.
    #[must_use]
    pub fn full_events(&self) -> u64 {
        self.table.full()
    }

    /// Returns how often a call found a state that no call can have left, because the clock had
    /// gone back by more than a second (or the skew, if that is more), and started it again: the
    /// level of a key, from full, or the table's own time, by which keys without a slot start. See
    /// [`Clock`].
    ///
    /// A key that was neither used nor swept in half a [`wrap_period`](KeyTable::wrap_period)
    /// cannot be told from that, and counts too. A key that is ahead by more than half of one,
    /// after a step back of so much, looks like one from long ago: it starts again, and does not
    /// count. (The table's time does.)
    #[must_use]
    pub fn healed(&self) -> u64 {
        self.table.healed()
    }

    /// Returns an iterator over the entries of live keys; the table does not keep the keys
    /// themselves.
    ///
    /// Runs concurrently with other calls: a key that moves meanwhile may be missed, or come twice.
    /// Reads the clock once for each line; writes nothing; does not allocate.
    pub fn iter(&self) -> impl Iterator<Item = TableEntry> + '_ {
        self.table.live().map(|(fingerprint, balance)| {
            let missing = (self.table.ticks.span - balance).max(0) as u64;
            TableEntry { fingerprint, full_after: self.pace.time(missing) }
        })
    }

    /// Returns the quota in force, of the first tier if there are several.
    ///
    /// After a change to another rate it may be given by other numbers: 2,000 an hour for 500 in 15
    /// minutes.
    #[must_use]
    pub fn quota(&self) -> Quota {
        self.first.quota()
    }

    /// Returns the clock that the table reads.
    #[must_use]
    pub fn clock(&self) -> &C {
        self.table.clock()
    }
}

/// Shows the quota, or all tiers' quotas, and the number of slots.
/// ([`occupancy`](KeyTable::occupancy) goes over all slots, and tells the number of keys.) Reads no
/// key and no clock; does not allocate.
impl<K: ?Sized, S, C, O> fmt::Debug for KeyTable<K, S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_long = f.alternate();
        let mut shown = f.debug_struct("KeyTable");
        if self.others.is_empty() {
            shown.field("quota", &self.first.quota());
        } else {
            shown.field("quotas", &ShownQuotas(&self.first, &self.others));
        }
        shown.field("slots", &(self.table.slots()));
        if is_long {
            shown.field("table", &self.table);
        }
        shown.finish()
    }
}

/// The quotas of several tiers, in the syntax of their literals.
struct ShownQuotas<'a>(&'a TierInForce, &'a [TierInForce]);

impl fmt::Debug for ShownQuotas<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ShownQuotas(first, others) = *self;
        let tiers = core::iter::once(first).chain(others);
        f.debug_list().entries(tiers.map(TierInForce::quota)).finish()
    }
}
