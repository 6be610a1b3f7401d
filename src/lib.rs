#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

mod accrual;
mod bits;
#[cfg(feature = "calendar")]
mod calendar;
mod clock;
mod contention;
mod decision;
#[cfg(doc)]
pub mod docs;
mod error;
#[cfg(feature = "alloc")]
mod full;
mod hint;
#[cfg(feature = "alloc")]
mod hot_keys;
#[cfg(feature = "alloc")]
mod key_table;
#[cfg(feature = "keyed")]
mod keyed;
mod lease;
mod limiter;
#[doc(hidden)]
pub mod literal;
#[cfg(feature = "alloc")]
mod log;
#[cfg(feature = "alloc")]
mod memory;
mod observe;
mod one_word;
#[cfg(feature = "alloc")]
mod prefetch;
mod quota;
mod rate;
mod receipt;
mod refill;
#[cfg(feature = "alloc")]
mod ring;
#[cfg(feature = "alloc")]
mod sharded;
mod snapshot;
#[cfg(feature = "alloc")]
mod sticky;
mod sync;
mod tally;
mod text;
#[cfg(feature = "alloc")]
mod thread_number;
mod time;
#[cfg(feature = "std")]
mod top_keys;
mod window;

#[cfg(feature = "calendar")]
pub use self::calendar::{Calendar, CalendarError, CalendarUnit, Weekday};
pub use self::clock::*;
pub use self::decision::{Denied, Grant, Shortfall};
pub use self::error::ConfigError;
#[cfg(feature = "alloc")]
pub use self::full::WhenFull;
#[cfg(feature = "alloc")]
pub use self::hot_keys::{HotKeys, HotPlace, KeyStore};
#[cfg(feature = "alloc")]
pub use self::key_table::{KeyTable, KeyTableBuilder, Occupancy, TableEntry, TableTier};
#[cfg(feature = "keyed")]
pub use self::keyed::{Buckets, Each, Keyed, KeyedBuilder, OneTier, PerKey, Tier, Tiers};
pub use self::lease::Lease;
pub use self::limiter::*;
pub use self::observe::Observe;
pub use self::one_word::Carry;
pub use self::quota::Quota;
pub use self::rate::Rate;
pub use self::receipt::Receipt;
pub use self::refill::Refill;
#[cfg(feature = "alloc")]
pub use self::sharded::{Shard, Sharded};
pub use self::snapshot::{Snapshot, SnapshotError};
#[cfg(feature = "alloc")]
pub use self::sticky::Sticky;
#[cfg(feature = "alloc")]
pub use self::text::ParseError;
#[cfg(feature = "std")]
pub use self::top_keys::{TopKey, TopKeys};
#[cfg(feature = "alloc")]
pub use self::window::History;

/// For the `costs` report only: how many atomic operations a thread has done.
#[cfg(feature = "count-atomics")]
#[doc(hidden)]
pub use self::sync::count;

/// For `loom-tests` only: the atomics that this build is really using.
#[cfg(sluicegate_loom)]
#[doc(hidden)]
pub mod model {
    pub use crate::sync::model::Atomic;
}
