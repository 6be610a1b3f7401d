//! The stores that a replay builds for the keys of a limiter.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

use sluicegate::keyed::{PerKey, WhenFull};
use sluicegate::{ConfigError, KeyTable, Keyed, ManualClock, Quota};
use sluicegate_policy::Size;

/// A hasher with a fixed seed, so that a repeated replay gives the same results.
type Hasher = BuildHasherDefault<DefaultHasher>;

/// A store that keeps each key by itself.
pub type Exact<L> = Keyed<Vec<u8>, L, Hasher>;

/// Token buckets in memory of a fixed size.
pub type Table = KeyTable<[u8], Hasher, Arc<ManualClock>>;

/// Creates a table of this size, with a bucket of `quota` for each key.
///
/// # Errors
///
/// The engine's verdict on the quota and the size. Those of a [`Policy`](super::Policy) have passed
/// it.
pub fn table(
    size: Size,
    quota: Quota,
    when_full: WhenFull,
    clock: Arc<ManualClock>,
) -> Result<Table, ConfigError> {
    size.table(quota, when_full, Hasher::default(), clock)
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
