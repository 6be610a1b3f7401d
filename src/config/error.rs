//! Errors in a configuration.

mod display;
mod rules;

use core::time::Duration;

use super::refill::Refill;

/// Invalid configuration.
///
/// Each variant is about one field. Its [`Display`](core::fmt::Display) text names the field, the value
/// that was given and the allowed range.
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
        /// The given permits.
        permits: u64,
    },
    /// The period of a [`Rate`](crate::Rate) is not from 1 ns to [`Rate::MAX_PERIOD`](crate::Rate::MAX_PERIOD).
    Period {
        /// The given period.
        period: Duration,
    },
    /// The [`Rate`](crate::Rate) is above [`Rate::MAX_PER_SECOND`](crate::Rate::MAX_PER_SECOND):
    /// the word would have too few bits for a hundred years of it.
    TooFast {
        /// The given permits.
        permits: u64,
        /// The given period.
        period: Duration,
    },
    /// The burst of a [`Quota`](crate::Quota) is not from 1 to [`Quota::MAX_BURST`](crate::Quota::MAX_BURST).
    Burst {
        /// The given burst.
        burst: u64,
    },
    /// A limiter is to start with more tokens than its burst: see
    /// [`TokenBucket::starting_with`](crate::TokenBucket::starting_with).
    Initial {
        /// The given initial tokens.
        initial: u64,
        /// The quota's burst.
        burst: u64,
    },
    /// The debt of a [`Quota`](crate::Quota) is above [`Quota::MAX_DEBT`](crate::Quota::MAX_DEBT).
    MaxDebt {
        /// The given debt.
        max_debt: u64,
    },
    /// The emission interval of a [`Gcra`](crate::Gcra) is not from 1 ns to
    /// [`Rate::MAX_PERIOD`](crate::Rate::MAX_PERIOD).
    EmissionInterval {
        /// The given interval.
        interval: Duration,
    },
    /// The tolerance of a [`Gcra`](crate::Gcra) is above [`Rate::MAX_PERIOD`](crate::Rate::MAX_PERIOD), or
    /// is 2^32 emission intervals or more.
    Tolerance {
        /// The given tolerance.
        tolerance: Duration,
        /// The emission interval.
        interval: Duration,
    },
    /// The limit of a window is not from 1 to the most that its word can count beside the number of
    /// the window: the shorter the window, the less.
    Limit {
        /// The given limit.
        limit: u64,
        /// The largest limit that this window can count.
        max: u64,
    },
    /// The new limit of a window is more than it has bits or memory for. A window from
    /// `with_max_limit` has more.
    NewLimit {
        /// The given limit.
        limit: u64,
        /// The largest limit that this window was made for.
        max: u64,
    },
    /// The largest limit that a window is to have space for is less than its limit, or more than it
    /// can count.
    MaxLimit {
        /// The given largest limit.
        max_limit: u64,
        /// The limit.
        least: u64,
        /// The largest value allowed.
        most: u64,
    },
    /// The slots of a sliding window are not from 1 to 65,536.
    Slots {
        /// The given number of slots.
        slots: u32,
    },
    /// A `MultiWindow` has no window with this index.
    Which {
        /// The given index.
        which: usize,
        /// The number of windows.
        count: usize,
    },
    /// The longest window spans too many of the shortest window's slots for a word to number them.
    Apart {
        /// The length of the shortest slot.
        slot: Duration,
        /// The length of the longest window.
        window: Duration,
    },
    /// The shards of a `Sharded` limiter are not from 1 to 256.
    Shards {
        /// The given number.
        shards: usize,
    },
    /// The places of a `HotKeys` are not from 1 to 256.
    Places {
        /// The given number.
        places: usize,
    },
    /// The limiters, windows or tiers that a limiter is made of are none, or more than 64.
    Count {
        /// The given number.
        count: usize,
    },
    /// The quotas of a change are not as many as the tiers that they are for.
    Quotas {
        /// The number of quotas.
        quotas: usize,
        /// The number of tiers.
        tiers: usize,
    },
    /// The capacity of a `WeightedLog` is 0, or more than 2^24 - 2 entries.
    Capacity {
        /// The given capacity.
        capacity: u64,
        /// The largest value allowed.
        most: u64,
    },
    /// The burst of a key in a `KeyTable` is above 2^25.
    KeyBurst {
        /// The given burst.
        burst: u64,
    },
    /// The rate of a key in a `KeyTable` is above 2^27 permits per second.
    KeyRate {
        /// The given permits.
        permits: u64,
        /// The given period.
        period: Duration,
    },
    /// The keys of a `KeyTable` have an interval refill, which it does not support.
    KeyRefill {
        /// The given refill.
        refill: Refill,
    },
    /// The rates of the tiers of a `KeyTable`, up to this one, have no common unit of time that is
    /// fine enough for one and coarse enough for another.
    Tier {
        /// The index of the tier.
        which: usize,
    },
    /// A `KeyTable` cannot change to this rate: a permit takes no whole number of its ticks, or less
    /// than 16. `KeyTable::rate_up_to` gives a rate near it, `room_for` of the builder makes a
    /// table that can.
    KeyTick {
        /// The given permits.
        permits: u64,
        /// The given period.
        period: Duration,
    },
    /// A `KeyTable` cannot change to this quota: its burst takes longer to earn than keys keep their
    /// places.
    KeyFill {
        /// The time from empty to full.
        fill: Duration,
        /// The longest that the table has room for.
        most: Duration,
    },
    /// The bytes of a `KeyTable` are less than a cache line, or more than can be allocated.
    Memory {
        /// The given number of bytes.
        bytes: usize,
    },
    /// The number of keys of a keyed limiter is 0, or more than memory can be allocated for.
    Keys {
        /// The given number of keys.
        keys: usize,
    },
    /// The clocks of a `KeyTable`'s threads may be further apart than the bits of a level allow.
    Skew {
        /// The given skew.
        skew: Duration,
        /// The largest skew allowed with these quotas.
        most: Duration,
    },
    /// The offences of a [`PenaltyRule`](crate::penalty::PenaltyRule) are more than
    /// [`PenaltyRule::MAX_OFFENCES`](crate::penalty::PenaltyRule::MAX_OFFENCES).
    Offences {
        /// The given offences.
        offences: u64,
    },
    /// The period of the offences of a [`PenaltyRule`](crate::penalty::PenaltyRule) is longer than
    /// [`PenaltyRule::MAX_TIME`](crate::penalty::PenaltyRule::MAX_TIME).
    OffencePeriod {
        /// The given period.
        period: Duration,
    },
    /// The penalty of a [`PenaltyRule`](crate::penalty::PenaltyRule) is not from 1 ns to
    /// [`PenaltyRule::MAX_TIME`](crate::penalty::PenaltyRule::MAX_TIME).
    Penalty {
        /// The given penalty.
        penalty: Duration,
    },
    /// The longest penalty of a [`PenaltyRule`](crate::penalty::PenaltyRule) is not from the first one to
    /// [`PenaltyRule::MAX_TIME`](crate::penalty::PenaltyRule::MAX_TIME).
    LongestPenalty {
        /// The given longest penalty.
        longest: Duration,
        /// The first penalty.
        penalty: Duration,
    },
    /// The time after which penalties of a [`PenaltyRule`](crate::penalty::PenaltyRule) are forgotten is not
    /// from 1 ns to [`PenaltyRule::MAX_TIME`](crate::penalty::PenaltyRule::MAX_TIME).
    ForgottenAfter {
        /// The given time.
        forgotten_after: Duration,
    },
    /// The assured rates of all tenants of a `Shares` are together above the rate for all.
    AssuredRate {
        /// The sum, in permits of the period of the rate for all, rounded up.
        sum: u64,
        /// The permits of the rate for all.
        permits: u64,
        /// The period of the rate for all.
        period: Duration,
    },
    /// The assured bursts of all tenants of a `Shares` are together above the burst for all.
    AssuredBurst {
        /// The sum.
        sum: u64,
        /// The burst for all.
        burst: u64,
    },
    /// A quota of a `Shares` has an interval refill: a share that is earned in steps is not covered by what
    /// all earn in between.
    ShareRefill {
        /// The given refill.
        refill: Refill,
    },
    /// The number of tenants of a `Share` is 0, or more than 2^32.
    Tenants {
        /// The given number.
        tenants: usize,
    },
    /// The rate of a ceiling of a `Share` is below its assured rate.
    CeilingRate {
        /// The index of the group.
        group: usize,
        /// The permits of the ceiling.
        permits: u64,
        /// The period of the ceiling.
        period: Duration,
        /// The assured permits.
        assured: u64,
        /// The period of the assured rate.
        assured_period: Duration,
    },
    /// The burst of a ceiling of a `Share` is below its assured burst.
    CeilingBurst {
        /// The index of the group.
        group: usize,
        /// The burst of the ceiling.
        burst: u64,
        /// The assured burst.
        assured: u64,
    },
    /// A change of a `Shares` has another number of tenants for a group, or adds or removes a ceiling.
    Group {
        /// The index of the group.
        group: usize,
    },
    /// A weight is 0, or too small to be worth a permit of the burst beside the others.
    Weight {
        /// The index of the group.
        group: usize,
        /// The given weight.
        weight: u64,
        /// The weights of all tenants together.
        sum: u64,
    },
    /// A weight of a line is 0.
    LineWeight {
        /// The given weight.
        weight: u32,
    },
    /// The reserve of a class of `Priorities` is all that the limiter ever holds, or more.
    Reserve {
        /// The given reserve.
        reserve: u64,
        /// The limit of the limiter.
        limit: u64,
    },
}
