//! The constructors of a table, and its builder.

use alloc::vec::Vec;
use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use core::time::Duration;

use crate::config::error::ConfigError;
use crate::config::quota::Quota;
use crate::keyed::when_full::{Overflow, WhenFull};
use crate::time::clock::Clock;
#[cfg(feature = "std")]
use crate::time::clock::default::DefaultClock;

#[cfg(feature = "std")]
use super::DefaultHasher;
use super::KeyTable;
use super::in_force::{TierInForce, TierTerms};
use super::line::{Line, PLACES};
use super::lines::LineTable;
use super::tier::TierList;

/// The part of all slots that keys may take at the rated load, in 25ths: above it some lines run
/// out of slots long before the table does.
const RATED: u128 = 17;

#[cfg(feature = "std")]
impl<K: Hash + ?Sized> KeyTable<K> {
    /// Creates a table with slots for `keys` live keys at a time: 12 bytes each.
    ///
    /// # Errors
    ///
    /// As for [`KeyTableBuilder::keys`].
    pub fn with_keys(quota: impl Into<Quota>, keys: usize) -> Result<KeyTable<K>, ConfigError> {
        KeyTable::builder(quota).keys(keys)
    }

    /// Creates a table of `bytes` bytes, in lines of 64.
    ///
    /// # Errors
    ///
    /// As for [`KeyTableBuilder::memory`].
    pub fn with_memory(quota: impl Into<Quota>, bytes: usize) -> Result<KeyTable<K>, ConfigError> {
        KeyTable::builder(quota).memory(bytes)
    }

    /// Returns a builder of a table with `quota` per key. A bare rate has a burst of one period's
    /// permits.
    pub fn builder(quota: impl Into<Quota>) -> KeyTableBuilder<K, DefaultHasher, DefaultClock> {
        KeyTable::builder_with(quota, DefaultHasher::default(), DefaultClock::default())
    }
}

impl<K: Hash + ?Sized, S: BuildHasher, C: Clock> KeyTable<K, S, C> {
    /// Returns a builder of a table with `quota` per key, and with the given hasher and clock.
    pub fn builder_with(quota: impl Into<Quota>, hasher: S, clock: C) -> KeyTableBuilder<K, S, C> {
        KeyTableBuilder::new(quota.into(), hasher, clock)
    }
}

/// A builder of a [`KeyTable`].
///
/// | part | default | |
/// |---|---|---|
/// | [`tier`](KeyTableBuilder::tier) | one, that of the quota | further quotas |
/// | [`room_for`](KeyTableBuilder::room_for) | none | quotas that may be put in force later |
/// | [`when_full`](KeyTableBuilder::when_full) | [`WhenFull::Deny`] | the answer to a key for which there is no slot |
/// | [`skew`](KeyTableBuilder::skew) | 1 ms | the usual difference between the clocks of threads |
/// | [`hasher`](KeyTableBuilder::hasher) | the standard library's, with a secret seed | |
/// | [`clock`](KeyTableBuilder::clock) | the default clock | |
/// | [`observer`](KeyTableBuilder::observer) | none | the observer of each decision, such as a `TopKeys` |
///
/// # Examples
///
/// ```
/// use sluicegate::{KeyTable, quota};
/// use sluicegate::keyed::WhenFull;
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
    /// The quotas that may be put in force later.
    pub(super) rooms: Vec<Quota>,
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
            rooms: Vec::new(),
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
    /// Adds a quota: a tier with the next number.
    ///
    /// All tiers count in one tick. A permit of each tier is a whole number of ticks, 16 at least,
    /// and a burst is at most 2^29: so fast permits and slow bursts do not always go together. 10 a
    /// second and 1,000 a day do; 1,000 a second and 100,000 a day do not, as a permit of the day
    /// takes 864 of the second. And every key keeps its slot for as long as the slowest tier takes
    /// to fill. Where that is too much, use one table for each tier.
    pub fn tier(mut self, quota: impl Into<Quota>) -> Self {
        self.quotas.push(quota.into());
        self
    }

    /// Sets the answer to a key for which there is no slot.
    pub fn when_full(self, when_full: WhenFull) -> Self {
        KeyTableBuilder { when_full, ..self }
    }

    /// Sets the skew: how far the readings of two threads at one time may differ. It is the
    /// precision of the time by which slots are reused, and if it is more than a second, also how
    /// far ahead of the clock a level may be. A slot is free again two skews later. With a smaller
    /// skew, new keys write a shared word more often, once each skew; and every call reads that
    /// word.
    pub fn skew(self, skew: Duration) -> Self {
        KeyTableBuilder { skew, ..self }
    }

    /// Hashes keys with `hasher`: a faster one, where no adversary chooses the keys.
    ///
    /// Keys whose hashes collide share a bucket. They are granted no more than one key may be, but
    /// an attacker that can find such keys can have another's refused. The default is `SipHash`
    /// with a secret seed, which withstands that.
    pub fn hasher<T>(self, hasher: T) -> KeyTableBuilder<K, T, C, O> {
        let KeyTableBuilder { quotas, rooms, when_full, skew, clock, observer, keys, .. } = self;
        KeyTableBuilder { quotas, rooms, when_full, skew, hasher, clock, observer, keys }
    }

    /// Reads the time from `clock`.
    pub fn clock<D>(self, clock: D) -> KeyTableBuilder<K, S, D, O> {
        let KeyTableBuilder { quotas, rooms, when_full, skew, hasher, observer, keys, .. } = self;
        KeyTableBuilder { quotas, rooms, when_full, skew, hasher, clock, observer, keys }
    }

    /// Reports each decision to `observer`, once it is made.
    pub fn observer<P>(self, observer: P) -> KeyTableBuilder<K, S, C, P> {
        let KeyTableBuilder { quotas, rooms, when_full, skew, hasher, clock, keys, .. } = self;
        KeyTableBuilder { quotas, rooms, when_full, skew, hasher, clock, observer, keys }
    }
}

impl<K: Hash + ?Sized, S, C: Clock + Clone, O> KeyTableBuilder<K, S, C, O> {
    /// Builds a table with slots for `keys` live keys at a time: 12 bytes each.
    ///
    /// At this load three keys in a million find no slot. It is twenty in a million in a table for
    /// a hundred keys, and a hundred and sixty in one for ten (measured).
    ///
    /// # Errors
    ///
    /// [`ConfigError::Keys`] if `keys` is 0 or the memory cannot be allocated; otherwise the same
    /// as for [`memory`](KeyTableBuilder::memory).
    pub fn keys(self, keys: usize) -> Result<KeyTable<K, S, C, O>, ConfigError> {
        let error = ConfigError::Keys { keys };
        let lines = (keys as u128 * 25).div_ceil(RATED * PLACES as u128);
        self.build(usize::try_from(lines).map_err(|_| error)?, error)
    }

    /// Builds a table of `bytes` bytes, in lines of 64.
    ///
    /// # Errors
    ///
    /// * [`ConfigError::Memory`] if that is less than a line, or cannot be allocated;
    /// * [`ConfigError::KeyBurst`], [`ConfigError::KeyRate`] or [`ConfigError::KeyRefill`] if a
    ///   table cannot keep a quota;
    /// * [`ConfigError::Tier`] if the quotas have no tick in common;
    /// * [`ConfigError::Skew`] if the skew is too large for the quotas.
    pub fn memory(self, bytes: usize) -> Result<KeyTable<K, S, C, O>, ConfigError> {
        self.build(bytes / size_of::<Line>(), ConfigError::Memory { bytes })
    }

    fn build(self, lines: usize, error: ConfigError) -> Result<KeyTable<K, S, C, O>, ConfigError> {
        let KeyTableBuilder { quotas, rooms, when_full, skew, hasher, clock, observer, keys } =
            self;
        let tiers = TierList::new(&[&*quotas, &*rooms].concat())?;
        let ticks = tiers.ticks(skew)?;
        if lines == 0 {
            return Err(error);
        }
        let overflow = Overflow::new(when_full, clock.clone());
        let table = LineTable::new(&tiers, ticks, lines, clock).ok_or(error)?;
        let tier = |(&quota, &terms): (&Quota, &TierTerms)| TierInForce::new(terms, quota.rate());
        let in_force = core::iter::zip(&quotas, &tiers.all).map(tier);
        let (first, others) = (tier((&quotas[0], &tiers.all[0])), in_force.skip(1).collect());
        let pace = tiers.pace;
        Ok(KeyTable { table, first, others, pace, hasher, overflow, observer, keys })
    }
}

impl<K: ?Sized, S, C, O> fmt::Debug for KeyTableBuilder<K, S, C, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyTableBuilder")
            .field("quotas", &self.quotas)
            .field("rooms", &self.rooms)
            .field("when_full", &self.when_full)
            .field("skew", &self.skew)
            .finish_non_exhaustive()
    }
}
