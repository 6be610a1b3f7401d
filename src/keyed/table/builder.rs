//! How a table is set up.

use alloc::vec::Vec;
use core::fmt;
use core::hash::Hash;
use core::marker::PhantomData;
use core::time::Duration;

use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::keyed::space::{Overflow, WhenFull};
use crate::time::clock::Clock;

use super::KeyTable;
use super::line::{Line, PLACES};
use super::lines::LineTable;
use super::tier::TierList;

/// Of all places, the part that keys may take at the rated load, in 25ths: above it, places
/// run short in some lines long before there are none.
const RATED: u128 = 17;

/// What a [`KeyTable`] is to be.
///
/// | part | default | |
/// |---|---|---|
/// | [`tier`](KeyTableBuilder::tier) | one, that of the quota | further quotas |
/// | [`when_full`](KeyTableBuilder::when_full) | [`WhenFull::Deny`] | the answer to a key for which there is no place |
/// | [`skew`](KeyTableBuilder::skew) | 1 ms | how far the clocks of threads are apart, as a rule |
/// | [`hasher`](KeyTableBuilder::hasher) | the standard library's, of a secret seed | |
/// | [`clock`](KeyTableBuilder::clock) | the default clock | |
/// | [`observer`](KeyTableBuilder::observer) | none | who is told of each decision, such as a `TopKeys` |
///
/// # Examples
///
/// ```
/// use sluicegate::{KeyTable, WhenFull, quota};
///
/// let table = KeyTable::<str>::builder(quota!(10 / second))
///     .tier(quota!(1_000 / second))
///     .when_full(WhenFull::Share(quota!(50_000 / second)))
///     .keys(100_000)?;
/// let paying = table.tier(1).expect("the second of the quotas");
/// assert_eq!(paying.try_acquire("ada", 1)?.remaining(), 999);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder builds nothing until it is told for how many keys"]
pub struct KeyTableBuilder<K: ?Sized, S, C, O = ()> {
    quotas: Vec<Quota>,
    when_full: WhenFull,
    skew: Duration,
    hasher: S,
    clock: C,
    observer: O,
    keys: PhantomData<fn(&K)>,
}

impl<K: ?Sized, S, C> KeyTableBuilder<K, S, C> {
    pub(super) fn new(quota: Quota, hasher: S, clock: C) -> KeyTableBuilder<K, S, C> {
        KeyTableBuilder {
            quotas: alloc::vec![quota],
            when_full: WhenFull::Deny,
            skew: Duration::from_millis(1),
            hasher,
            clock,
            observer: (),
            keys: PhantomData,
        }
    }
}

impl<K: ?Sized, S, C, O> KeyTableBuilder<K, S, C, O> {
    /// Adds a quota, for the keys that are asked for in the tier of its number.
    ///
    /// All tiers count in one tick, of which a permit of each is a whole number, 16 at least,
    /// and a burst at most 2^29: so fast permits and slow bursts do not always go together.
    /// 10 a second and 1,000 a day do; 1,000 a second and 100,000 a day do not, as a permit of
    /// the day takes 864 of the second. And every key has its place for as long as the
    /// slowest tier takes to fill. Where that is too much, take a table for each.
    pub fn tier(mut self, quota: Quota) -> Self {
        self.quotas.push(quota);
        self
    }

    /// What to do with a key for which there is no place.
    pub fn when_full(self, when_full: WhenFull) -> Self {
        KeyTableBuilder { when_full, ..self }
    }

    /// Sets how exactly the table keeps the time by which places are given away, and how far ahead
    /// of the clock a level may be, if that is more than a second: how far the readings of two
    /// threads at one time are apart. A place is free again twice so much later. Less means that
    /// new keys write a shared word more often, once each skew; and every call reads it.
    pub fn skew(self, skew: Duration) -> Self {
        KeyTableBuilder { skew, ..self }
    }

    /// Hashes keys by `hasher`: a faster one, where nobody chooses the keys to do harm.
    ///
    /// Keys whose hashes collide share a bucket. They are granted no more than one key may be, but
    /// whoever can find such keys can have another's refused. The default is `SipHash` of a
    /// secret seed, which withstands that. See the page on [keys](crate::docs::keyed).
    pub fn hasher<T>(self, hasher: T) -> KeyTableBuilder<K, T, C, O> {
        let KeyTableBuilder { quotas, when_full, skew, clock, observer, keys, .. } = self;
        KeyTableBuilder { quotas, when_full, skew, hasher, clock, observer, keys }
    }

    /// Reads the time from `clock`.
    pub fn clock<D>(self, clock: D) -> KeyTableBuilder<K, S, D, O> {
        let KeyTableBuilder { quotas, when_full, skew, hasher, observer, keys, .. } = self;
        KeyTableBuilder { quotas, when_full, skew, hasher, clock, observer, keys }
    }

    /// Tells `observer` of each decision, once it is made.
    pub fn observer<P>(self, observer: P) -> KeyTableBuilder<K, S, C, P> {
        let KeyTableBuilder { quotas, when_full, skew, hasher, clock, keys, .. } = self;
        KeyTableBuilder { quotas, when_full, skew, hasher, clock, observer, keys }
    }
}

impl<K: Hash + ?Sized, S, C: Clock + Clone, O> KeyTableBuilder<K, S, C, O> {
    /// A table with places for so many keys that are not full, all at a time: 12 bytes each.
    ///
    /// At this load three keys in a million find no place; of a table for a hundred twenty, and of
    /// one for ten a hundred and sixty (measured).
    ///
    /// # Errors
    ///
    /// [`ConfigError::Keys`] if there are none, or not the memory; else as
    /// [`memory`](KeyTableBuilder::memory).
    pub fn keys(self, keys: usize) -> Result<KeyTable<K, S, C, O>, ConfigError> {
        let error = ConfigError::Keys { keys };
        let lines = (keys as u128 * 25).div_ceil(RATED * PLACES as u128);
        self.build(usize::try_from(lines).map_err(|_| error)?, error)
    }

    /// A table of so many bytes, in lines of 64.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Memory`] if that is not a line, or not to be had;
    /// * [`ConfigError::KeyBurst`], [`ConfigError::KeyRate`], [`ConfigError::KeyInitial`] or
    ///   [`ConfigError::KeyRefill`] if a quota is none for a table;
    /// * [`ConfigError::Tier`] if the quotas have no tick in common;
    /// * [`ConfigError::Skew`] if the clocks may be too far apart.
    pub fn memory(self, bytes: usize) -> Result<KeyTable<K, S, C, O>, ConfigError> {
        self.build(bytes / size_of::<Line>(), ConfigError::Memory { bytes })
    }

    fn build(self, lines: usize, error: ConfigError) -> Result<KeyTable<K, S, C, O>, ConfigError> {
        let KeyTableBuilder { quotas, when_full, skew, hasher, clock, observer, keys } = self;
        let tiers = TierList::new(&quotas)?;
        let ticks = tiers.ticks(skew)?;
        if lines == 0 {
            return Err(error);
        }
        let overflow = Overflow::new(when_full, clock.clone());
        let table = LineTable::new(&tiers, ticks, lines, clock).ok_or(error)?;
        Ok(KeyTable { table, first: tiers.all[0], tiers, hasher, overflow, observer, keys })
    }
}

impl<K: ?Sized, S, C, O> fmt::Debug for KeyTableBuilder<K, S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyTableBuilder")
            .field("quotas", &self.quotas)
            .field("when_full", &self.when_full)
            .field("skew", &self.skew)
            .finish_non_exhaustive()
    }
}
