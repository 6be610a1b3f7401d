//! A limiter for each key: users, addresses, tenants.
//!
//! | type | for |
//! |---|---|
//! | `Keyed` | keys of any type, any limiter for each; idle keys are removed |
//! | `KeyTable` | millions of keys, or attacker-chosen ones, in memory of a fixed size |
//! | `HotKeys` | around either, if a few keys get most of the traffic |
//! | `Penalties` | in a `Keyed`: keys that offend are refused for a time |
//! | `QueuedKeys` | a waiting line for each key of a store |
//! | `TopKeys` | an observer: the keys that take the most |
//!
//! The trait `KeyedLimiter` is for code that is generic over stores, and `KeyedLeaving` for requests that leave a reserve.

// One limiter per key.
//
// | | |
// |---|---|
// | [`exact`] | `Keyed`: keys of any type, under locks, none ever confused with another |
// | [`table`] | `KeyTable`: a fingerprint for each key, in memory of a fixed size, lock-free |
// | [`hot`] | `HotKeys`: per-thread seats in front of either, for contended keys |
// | `counted` | any of these, with counts of its answers |
// | [`keyed_limiter`] | the trait that all of them share |
// | [`keyed_leaving`] | the trait of those whose keys can be left a reserve: all of them, but `Keyed` only by its limiter |
// | [`prepay`] | the permits that a seat takes from a store in advance |
// | [`when_full`] | the answer for a key that a store has no space for |
// | [`queued`] | `QueuedKeys`: a line of waiting callers for each key of any of them |
// | [`observe`], [`top_keys`] | observers of decisions; the keys that take the most |

#[cfg(feature = "alloc")]
mod counted;
#[cfg(feature = "keyed")]
pub(crate) mod exact;
#[cfg(feature = "alloc")]
pub(crate) mod hot;
#[cfg(feature = "alloc")]
pub(crate) mod keyed_leaving;
#[cfg(feature = "alloc")]
pub(crate) mod keyed_limiter;
pub(crate) mod observe;
#[cfg(feature = "alloc")]
pub(crate) mod prepay;
#[cfg(feature = "wait")]
pub(crate) mod queued;
#[cfg(feature = "alloc")]
pub(crate) mod table;
#[cfg(feature = "std")]
pub(crate) mod top_keys;
#[cfg(feature = "alloc")]
pub(crate) mod when_full;

#[cfg(feature = "keyed")]
pub use self::exact::as_key::{AsKey, Parts};
#[cfg(feature = "keyed")]
pub use self::exact::buckets::Buckets;
#[cfg(feature = "keyed")]
#[doc(hidden)]
pub use self::exact::buckets::tiers::Tier;
#[cfg(feature = "keyed")]
pub use self::exact::buckets::tiers::{OneTier, Tiers};
#[cfg(feature = "keyed")]
pub use self::exact::builder::KeyedBuilder;
#[cfg(feature = "keyed")]
pub use self::exact::each::Each;
#[cfg(feature = "keyed")]
pub use self::exact::key_estimate::KeyEstimate;
#[cfg(feature = "keyed")]
pub use self::exact::penalties::Penalties;
#[cfg(feature = "keyed")]
pub use self::exact::per_key::{LeavingPerKey, PerKey};
#[cfg(feature = "keyed")]
pub use self::exact::{Keyed, TieredKeyed};
#[cfg(feature = "alloc")]
pub use self::hot::HotKeys;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub use self::hot::verbs::HotPlace;
#[cfg(feature = "alloc")]
pub use self::keyed_leaving::KeyedLeaving;
#[cfg(feature = "alloc")]
pub use self::keyed_limiter::KeyedLimiter;
pub use self::observe::Observe;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub use self::prepay::KeyStore;
#[cfg(feature = "wait")]
pub use self::queued::QueuedKeys;
#[cfg(feature = "wait")]
pub use self::queued::waiting::WaitingForKey;
#[cfg(feature = "alloc")]
pub use self::table::KeyTable;
#[cfg(feature = "alloc")]
pub use self::table::builder::KeyTableBuilder;
#[cfg(feature = "alloc")]
pub use self::table::statistics::{Occupancy, TableEntry};
#[cfg(feature = "alloc")]
pub use self::table::verbs::TableTier;
#[cfg(feature = "std")]
pub use self::top_keys::{TopKey, TopKeys};
#[cfg(feature = "alloc")]
pub use self::when_full::WhenFull;
