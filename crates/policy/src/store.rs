//! The store that keeps the keys of a limiter.

use std::hash::{BuildHasher, Hash};

#[cfg(doc)]
use sluicegate::Keyed;
use sluicegate::keyed::WhenFull;
use sluicegate::{Clock, ConfigError, KeyTable, Quota};

/// The store that keeps the keys of a limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Store {
    /// The kind of store, and its size.
    pub room: Room,
    /// The treatment of a key for which it has no space.
    pub when_full: WhenFull,
}

/// The kind of store, and the number of keys that it has space for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// [`Keyed`]
    Exact {
        /// The most keys at a time, if there is a bound.
        max_keys: Option<usize>,
    },
    /// [`KeyTable`]
    Table(Size),
}

/// The size of a [`KeyTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// A number of bytes.
    Memory(usize),
    /// A number of keys at a time, for which the table is made large enough.
    Keys(usize),
}

impl Default for Room {
    fn default() -> Room {
        Room::Exact { max_keys: None }
    }
}

impl Size {
    /// Returns the bytes of a table of this size, in whole lines of 64.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Size::Memory(bytes) => bytes as u64 / 64 * 64,
            // A line has 8 places, of which 17 in 25 may be in use: see `KeyTableBuilder::keys`.
            Size::Keys(keys) => {
                let lines = (keys as u128 * 25).div_ceil(17 * 8);
                u64::try_from(lines.saturating_mul(64)).unwrap_or(u64::MAX)
            }
        }
    }

    /// Creates a table of this size, with a bucket of `quota` for each key.
    ///
    /// # Errors
    ///
    /// The engine's verdict on the quota and the size. Those of a
    /// [`LimiterPolicy`](crate::LimiterPolicy) have passed it, but for [`ConfigError::Memory`] and
    /// [`ConfigError::Keys`]: whether this machine has the memory shows only here.
    pub fn table<K, S, C>(
        self,
        quota: Quota,
        when_full: WhenFull,
        hasher: S,
        clock: C,
    ) -> Result<KeyTable<K, S, C>, ConfigError>
    where
        K: Hash + ?Sized,
        S: BuildHasher + Clone,
        C: Clock + Clone,
    {
        let builder = KeyTable::builder_with(quota, hasher, clock).when_full(when_full);
        match self {
            Size::Memory(bytes) => builder.memory(bytes),
            Size::Keys(keys) => builder.keys(keys),
        }
    }
}
