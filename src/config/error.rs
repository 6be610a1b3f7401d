//! What is wrong with a set-up.

use core::fmt;
use core::time::Duration;

use super::refill::Refill;

/// A set-up that no limiter can be built from.
///
/// Each variant is one field. Its [`Display`](fmt::Display) text names the
/// field, the value that was given and the range that is allowed.
///
/// # Examples
///
/// ```
/// let error = sluicegate::Rate::per_second(0).unwrap_err();
/// assert_eq!(error.field(), "permits");
/// assert_eq!(error.to_string(), "permits is 0: must be from 1 to 2^32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// The permits of a [`Rate`](crate::Rate) are not from 1 to [`Rate::MAX_PERMITS`](crate::Rate::MAX_PERMITS).
    Permits {
        /// The value that was given.
        permits: u64,
    },
    /// The period of a [`Rate`](crate::Rate) is not from 1 ns to [`Rate::MAX_PERIOD`](crate::Rate::MAX_PERIOD).
    Period {
        /// What was given.
        period: Duration,
    },
    /// The [`Rate`](crate::Rate) is above [`Rate::MAX_PER_SECOND`](crate::Rate::MAX_PER_SECOND): the word has no bits left
    /// for a hundred years of it.
    TooFast {
        /// The permits that were given.
        permits: u64,
        /// The period that was given.
        period: Duration,
    },
    /// The burst of a [`Quota`](crate::Quota) is not from 1 to [`Quota::MAX_BURST`](crate::Quota::MAX_BURST).
    Burst {
        /// What was given.
        burst: u64,
    },
    /// A [`Quota`](crate::Quota) starts with more tokens than its burst.
    Initial {
        /// What was given.
        initial: u64,
        /// The quota's burst.
        burst: u64,
    },
    /// The debt of a [`Quota`](crate::Quota) is above [`Quota::MAX_DEBT`](crate::Quota::MAX_DEBT).
    MaxDebt {
        /// What was given.
        max_debt: u64,
    },
    /// The emission interval of a [`Gcra`](crate::Gcra) is not from 1 ns to
    /// [`Rate::MAX_PERIOD`](crate::Rate::MAX_PERIOD).
    EmissionInterval {
        /// What was given.
        interval: Duration,
    },
    /// The tolerance of a [`Gcra`](crate::Gcra) is above [`Rate::MAX_PERIOD`](crate::Rate::MAX_PERIOD), or
    /// is 2^32 emission intervals or more.
    Tolerance {
        /// What was given.
        tolerance: Duration,
        /// The emission interval it was given for.
        interval: Duration,
    },
    /// The limit of a window is not from 1 to what its word can count beside the
    /// number of the window: the shorter the window, the less.
    Limit {
        /// What was given.
        limit: u64,
        /// The most that this window can count.
        max: u64,
    },
    /// The largest limit that a window is to have room for is less than its limit, or more
    /// than it can count.
    MaxLimit {
        /// What was given.
        max_limit: u64,
        /// The limit.
        least: u64,
        /// The most there may be.
        most: u64,
    },
    /// The slots of a sliding window are not from 1 to 65,536.
    Slots {
        /// What was given.
        slots: u32,
    },
    /// A `MultiWindow` has no window at this place.
    Which {
        /// What was given.
        which: usize,
        /// How many there are.
        count: usize,
    },
    /// The longest window has too many of the shortest one's slots for a word to
    /// number them.
    Apart {
        /// The shortest slot.
        slot: Duration,
        /// The longest window.
        window: Duration,
    },
    /// The shards of a `Sharded` limiter, or the places of a `Sticky` one, are not from 1
    /// to 256.
    Shards {
        /// What was given.
        shards: usize,
    },
    /// A limiter of several has none, or more than 64.
    Count {
        /// How many were given.
        count: usize,
    },
    /// The entries of a log are too few for its limit, or more than 2^24.
    Capacity {
        /// What was given.
        capacity: u64,
        /// The least that would do.
        least: u64,
        /// The most there may be.
        most: u64,
    },
    /// The burst of a key in a `KeyTable` is above 2^25.
    KeyBurst {
        /// What was given.
        burst: u64,
    },
    /// The rate of a key in a `KeyTable` is above 2^27 permits per second.
    KeyRate {
        /// The permits that were given.
        permits: u64,
        /// The period that was given.
        period: Duration,
    },
    /// The keys of a keyed limiter start with less than the burst: one that is not asked for
    /// is forgotten once it is full, so a new key must be a full one.
    KeyInitial {
        /// What was given.
        initial: u64,
        /// The quota's burst.
        burst: u64,
    },
    /// The keys of a `KeyTable` refill in steps, which it cannot.
    KeyRefill {
        /// What was given.
        refill: Refill,
    },
    /// The rates of the tiers of a `KeyTable`, up to this one, have no unit in common that
    /// is small enough for the one and large enough for the other.
    Tier {
        /// The place of the tier.
        which: usize,
    },
    /// The bytes of a `KeyTable` are less than a line, or more than can be had.
    Memory {
        /// What was given.
        bytes: usize,
    },
    /// The keys of a keyed limiter are none, or more than memory can be had for.
    Keys {
        /// What was given.
        keys: usize,
    },
    /// The clocks of a `KeyTable`'s threads may be too far apart for the bits of a level.
    Skew {
        /// What was given.
        skew: Duration,
        /// The most there may be, with these quotas.
        most: Duration,
    },
}

impl ConfigError {
    /// The name of the field that is wrong.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            ConfigError::Permits { .. } => "permits",
            ConfigError::Period { .. } => "period",
            ConfigError::TooFast { .. } | ConfigError::KeyRate { .. } => "rate",
            ConfigError::Burst { .. } | ConfigError::KeyBurst { .. } => "burst",
            ConfigError::Initial { .. } | ConfigError::KeyInitial { .. } => "initial",
            ConfigError::MaxDebt { .. } => "max_debt",
            ConfigError::EmissionInterval { .. } => "interval",
            ConfigError::Tolerance { .. } => "tolerance",
            ConfigError::Limit { .. } => "limit",
            ConfigError::MaxLimit { .. } => "max_limit",
            ConfigError::Slots { .. } => "slots",
            ConfigError::Which { .. } => "which",
            ConfigError::Apart { .. } => "window",
            ConfigError::Shards { .. } => "shards",
            ConfigError::Count { .. } => "count",
            ConfigError::Capacity { .. } => "capacity",
            ConfigError::KeyRefill { .. } => "refill",
            ConfigError::Tier { .. } => "tier",
            ConfigError::Memory { .. } => "memory",
            ConfigError::Keys { .. } => "keys",
            ConfigError::Skew { .. } => "skew",
        }
    }

    /// What is wrong with a literal, for a compiler that cannot format.
    pub(crate) const fn literal(&self) -> &'static str {
        match self {
            ConfigError::Permits { .. } => "permits must be from 1 to 2^32",
            ConfigError::Period { .. } => "period must be from 1 ns to 100 years",
            ConfigError::TooFast { .. } => "rate must be at most 2^31 permits per second",
            ConfigError::Burst { .. } => "burst must be from 1 to 2^32",
            ConfigError::Initial { .. } => "initial must be from 0 to the burst",
            ConfigError::MaxDebt { .. } => "max_debt must be from 0 to 2^32 - 1",
            _ => self.rule(),
        }
    }

    /// What the field must be.
    #[must_use]
    pub const fn rule(&self) -> &'static str {
        match self {
            ConfigError::Permits { .. } | ConfigError::Burst { .. } => "must be from 1 to 2^32",
            ConfigError::Period { .. } | ConfigError::EmissionInterval { .. } => {
                "must be from 1 ns to 100 years"
            }
            ConfigError::TooFast { .. } => "must be at most 2^31 permits per second",
            ConfigError::Initial { .. } => "must be from 0 to the burst",
            ConfigError::MaxDebt { .. } => "must be from 0 to 2^32 - 1",
            ConfigError::Tolerance { .. } => {
                "must be from 0 to 100 years, and less than 2^32 emission intervals"
            }
            ConfigError::Limit { .. } => "must be from 1 to what the window can count",
            ConfigError::MaxLimit { .. } => "must be from the limit to what the window can count",
            ConfigError::Slots { .. } => "must be from 1 to 65536",
            ConfigError::Which { .. } => "must be less than the number of windows",
            ConfigError::Apart { .. } => "must be shorter, or the shortest window longer",
            ConfigError::Shards { .. } => "must be from 1 to 256",
            ConfigError::Count { .. } => "must be from 1 to 64",
            ConfigError::Capacity { .. } => "must be from the limit to what there may be",
            ConfigError::KeyBurst { .. } => "must be from 1 to 2^25 in a table",
            ConfigError::KeyRate { .. } => "must be at most 2^27 permits per second in a table",
            ConfigError::KeyInitial { .. } => "must be the burst, as a key unseen is a full one",
            ConfigError::KeyRefill { .. } => "must be smooth in a table",
            ConfigError::Tier { .. } => {
                "must share a unit of time with those before it: at least 16 of it to a token, \
                 at most 2^29 to a burst, at most 2^31 to a second"
            }
            ConfigError::Memory { .. } => "must be from 64 bytes to what can be had",
            ConfigError::Keys { .. } => "must be from 1 to what memory can be had for",
            ConfigError::Skew { .. } => "must leave the bits of a level to the burst",
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is ", self.field())?;
        match *self {
            ConfigError::Permits { permits: value }
            | ConfigError::Burst { burst: value }
            | ConfigError::KeyBurst { burst: value }
            | ConfigError::MaxDebt { max_debt: value } => write!(f, "{value}")?,
            ConfigError::Period { period: value }
            | ConfigError::EmissionInterval { interval: value } => write!(f, "{value:?}")?,
            ConfigError::TooFast { permits, period } | ConfigError::KeyRate { permits, period } => {
                write!(f, "{permits} per {period:?}")?;
            }
            ConfigError::Initial { initial, burst }
            | ConfigError::KeyInitial { initial, burst } => write!(f, "{initial} of {burst}")?,
            ConfigError::Tolerance { tolerance, interval } => {
                write!(f, "{tolerance:?} at an interval of {interval:?}")?;
            }
            ConfigError::Limit { limit, max } => {
                return write!(f, "{limit}: must be from 1 to {max} for this window");
            }
            ConfigError::Slots { slots } => write!(f, "{slots}")?,
            ConfigError::Which { which, count } => write!(f, "{which} of {count}")?,
            ConfigError::Apart { slot, window } => {
                write!(f, "{window:?} with slots of {slot:?}")?;
            }
            ConfigError::Shards { shards: count } | ConfigError::Count { count } => {
                write!(f, "{count}")?;
            }
            ConfigError::Capacity { capacity: value, least, most }
            | ConfigError::MaxLimit { max_limit: value, least, most } => {
                return write!(f, "{value}: must be from {least} to {most}");
            }
            ConfigError::KeyRefill { refill } => write!(f, "{refill:?}")?,
            ConfigError::Tier { which } => write!(f, "number {which}")?,
            ConfigError::Memory { bytes } => write!(f, "{bytes} bytes")?,
            ConfigError::Keys { keys } => write!(f, "{keys}")?,
            ConfigError::Skew { skew, most } => {
                return write!(f, "{skew:?}: must be at most {most:?} with these quotas");
            }
        }
        write!(f, ": {}", self.rule())
    }
}

impl core::error::Error for ConfigError {}
