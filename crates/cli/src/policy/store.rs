//! Where the keys of a limiter are kept.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use sluicegate::{ConfigError, KeyTable, Keyed, ManualClock, PerKey, Quota, WhenFull};

/// Of no secret seed, so that a replay that is repeated says the same.
type Hasher = BuildHasherDefault<DefaultHasher>;

/// Each key by itself.
pub type Exact<L> = Keyed<Vec<u8>, L, Hasher>;

/// Token buckets in memory that is chosen once.
pub type Table = KeyTable<[u8], Hasher, Arc<ManualClock>>;

/// What keeps the keys of a limiter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Store {
    /// Which store, and how many keys it has room for.
    pub room: Room,
    /// What becomes of a key for which there is none.
    pub when_full: WhenFull,
}

/// Which store, and how many keys it has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// [`Keyed`]
    Exact {
        /// The most keys at a time, if there is to be a bound.
        max_keys: Option<usize>,
    },
    /// [`KeyTable`]
    Table(Size),
}

/// How large a [`KeyTable`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// So many bytes.
    Memory(usize),
    /// As large as so many keys at a time need.
    Keys(usize),
}

impl Default for Room {
    fn default() -> Room {
        Room::Exact { max_keys: None }
    }
}

impl Size {
    /// A table of this size, of a bucket of `quota` for each key.
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

/// A store of a `limiter` for each key.
///
/// # Errors
///
/// [`ConfigError::Keys`] if it is to have room for none.
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
