//! The store that keeps the keys of a limiter.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use sluicegate::{ConfigError, KeyTable, Keyed, ManualClock, PerKey, Quota, WhenFull};

/// A hasher with a fixed seed, so that a repeated replay gives the same results.
type Hasher = BuildHasherDefault<DefaultHasher>;

/// A store that keeps each key by itself.
pub type Exact<L> = Keyed<Vec<u8>, L, Hasher>;

/// Token buckets in memory of a fixed size.
pub type Table = KeyTable<[u8], Hasher, Arc<ManualClock>>;

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
    /// Creates a table of this size, with a bucket of `quota` for each key.
    ///
    /// # Errors
    ///
    /// The engine's verdict on the quota and the size. Those of a
    /// [`Policy`](super::Policy) have passed it.
    pub fn table(
        self,
        quota: Quota,
        when_full: WhenFull,
        clock: Arc<ManualClock>,
    ) -> Result<Table, ConfigError> {
        let builder = KeyTable::builder_with(quota, Hasher::default(), clock).when_full(when_full);
        match self {
            Size::Memory(bytes) => builder.memory(bytes),
            Size::Keys(keys) => builder.keys(keys),
        }
    }
}

/// Creates a store with a `limiter` for each key.
///
/// # Errors
///
/// [`ConfigError::Keys`] if `max_keys` is 0.
pub fn exact<L>(
    limiter: L,
    max_keys: Option<usize>,
    when_full: WhenFull,
) -> Result<Exact<L>, ConfigError>
where
    L: PerKey<Vec<u8>>,
    L::Clock: Clone,
{
    let builder = Keyed::builder(limiter).hasher(Hasher::default()).when_full(when_full);
    match max_keys {
        Some(max_keys) => builder.max_keys(max_keys).build(),
        None => builder.build(),
    }
}
