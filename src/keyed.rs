//! One limiter per key.
//!
//! | | |
//! |---|---|
//! | [`exact`] | `Keyed`: keys of any type, under locks, none ever confused with another |
//! | [`table`] | `KeyTable`: a fingerprint for each key, in memory of a fixed size, lock-free |
//! | [`hot`] | `HotKeys`: per-thread seats in front of either, for contended keys |
//! | `counted` | any of these, with counts of its answers |
//! | [`keyed_limiter`] | the trait that all of them share |
//! | [`prepay`] | the permits that a seat takes from a store in advance |
//! | [`when_full`] | the answer for a key that a store has no space for |
//! | [`queued`] | `QueuedKeys`: a line of waiting callers for each key of any of them |
//! | [`observe`], [`top_keys`] | observers of decisions; the keys that take the most |

#[cfg(feature = "alloc")]
mod counted;
#[cfg(feature = "keyed")]
pub(crate) mod exact;
#[cfg(feature = "alloc")]
pub(crate) mod hot;
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
