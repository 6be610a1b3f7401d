//! A limiter for each key.
//!
//! | | |
//! |---|---|
//! | [`exact`](self::exact) | `Keyed`: keys of any type, under locks, none ever confused with another |
//! | [`table`](self::table) | `KeyTable`: a fingerprint for each key, in memory that is chosen once, lock-free |
//! | [`hot`](self::hot) | `HotKeys`: seats in front of either, for keys that all threads ask for |
//! | [`prepay`](self::prepay) | the permits that a seat takes from a store at once |
//! | [`space`](self::space) | answers for a key for which a store has no space |
//! | [`observe`](self::observe), [`top_keys`](self::top_keys) | who is told of decisions; the keys that take the most |

#[cfg(feature = "keyed")]
pub(crate) mod exact;
#[cfg(feature = "alloc")]
pub(crate) mod hot;
pub(crate) mod observe;
#[cfg(feature = "alloc")]
pub(crate) mod prepay;
#[cfg(feature = "alloc")]
pub(crate) mod space;
#[cfg(feature = "alloc")]
pub(crate) mod table;
#[cfg(feature = "std")]
pub(crate) mod top_keys;
