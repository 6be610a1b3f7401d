//! Memory that a limiter of a kind takes.

use std::sync::Arc;

use sluicegate::compose::All;
use sluicegate::{ManualClock, Rate};

use super::small::with_permits;
use super::{BoxedLimiter, Kind};

/// Bytes of each of several windows, without the boundaries of its slots.
const WINDOW_BYTES: u64 = 96;

/// Bytes of the boundary of a slot, and of an entry of a log.
const WORD_BYTES: u64 = size_of::<u64>() as u64;

impl Kind {
    /// Returns the bytes that logs take for each key: 0 for all other kinds, which take little.
    #[must_use]
    pub fn log_bytes(&self) -> u64 {
        match self {
            Kind::SlidingLog(limit) => 8 * limit.permits().next_power_of_two(),
            Kind::WeightedLog { capacity, .. } => capacity
                .checked_add(2)
                .and_then(u64::checked_next_power_of_two)
                .map_or(u64::MAX, |places| places.saturating_mul(8)),
            Kind::All(parts) => parts.iter().map(Kind::log_bytes).fold(0, u64::saturating_add),
            _ => 0,
        }
    }

    /// Returns about how many bytes a store takes for each key, without the key itself: the limiter,
    /// its slots and its log, and a slot of the store. Allocates little, however much that is.
    #[must_use]
    pub fn key_bytes(&self) -> u64 {
        /// Bytes of a bucket in a store of these, with its part of the hash table.
        const BUCKET: u64 = 61;
        match self {
            Kind::TokenBucket { .. } if self.is_new_when_full() => BUCKET,
            Kind::Shares { .. } => BUCKET,
            // All keys have one bucket.
            Kind::Priorities { .. } => 0,
            _ => self.limiter_bytes(),
        }
    }

    /// Returns the same for a store with a limiter for each key, which has no smaller buckets.
    pub(crate) fn limiter_bytes(&self) -> u64 {
        /// A pointer to the limiter, and its part of the store's hash table.
        const SLOT: u64 = 80;
        self.own_bytes().saturating_add(self.counters_bytes()).saturating_add(SLOT)
    }

    /// Returns the bytes of the reference counts of a limiter and its parts, in whole cache lines where
    /// the limiter is on a line of its own.
    fn counters_bytes(&self) -> u64 {
        /// Two counts, of pointers and of weak ones.
        const COUNTS: usize = 2 * size_of::<usize>();
        let limiter = self.smallest().limiter(Arc::new(ManualClock::new()));
        let own = limiter.map_or(0, |limiter| align_of_val(&*limiter)).max(COUNTS) as u64;
        let parts = match self {
            Kind::All(parts) => parts.iter().map(Kind::counters_bytes).sum(),
            _ => 0,
        };
        own.saturating_add(parts)
    }

    /// Returns the bytes of a limiter of this kind, and of what it has allocated: exact, but for the
    /// tables of a time zone; 0 if no key has one of its own. Allocates little, however much that is.
    #[must_use]
    pub fn own_bytes(&self) -> u64 {
        /// A pointer to a part, and its table of methods.
        const BOX: u64 = size_of::<BoxedLimiter>() as u64;
        if let Kind::All(parts) = self {
            let parts = parts.iter().map(|part| BOX.saturating_add(part.own_bytes()));
            return parts.fold(size_of::<All<BoxedLimiter>>() as u64, u64::saturating_add);
        }
        let limiter = self.smallest().limiter(Arc::new(ManualClock::new()));
        let bytes = limiter.map_or(0, |limiter| size_of_val(&*limiter)) as u64;
        bytes.saturating_add(self.slot_bytes()).saturating_add(self.log_bytes())
    }

    /// Returns a limiter of the same type with as little memory as there can be.
    fn smallest(&self) -> Kind {
        match self {
            Kind::SlidingLog(limit) => Kind::SlidingLog(with_permits(*limit, 1)),
            Kind::WeightedLog { limit, .. } => Kind::WeightedLog { limit: *limit, capacity: 1 },
            Kind::SlidingWindow { limit, .. } => {
                Kind::SlidingWindow { limit: with_permits(*limit, 1), slots: 1 }
            }
            Kind::MultiWindow { limits, .. } => Kind::MultiWindow {
                limits: limits.iter().take(1).map(|limit| with_permits(*limit, 1)).collect(),
                slots: 1,
            },
            other => other.clone(),
        }
    }

    /// Returns the bytes of the slots of sliding windows.
    fn slot_bytes(&self) -> u64 {
        let boundaries = |slots: u64| WORD_BYTES.saturating_mul(slots.next_power_of_two());
        match self {
            Kind::SlidingWindow { limit, slots } => {
                let length = limit.period().as_nanos();
                boundaries(covering(length, slot_nanos(length, *slots)))
            }
            Kind::MultiWindow { limits, slots } => slots_of_several(limits, *slots)
                .map(|(limit, slot)| {
                    let covering = covering(limit.period().as_nanos(), slot);
                    WINDOW_BYTES.saturating_add(boundaries(covering))
                })
                .fold(0, u64::saturating_add),
            _ => 0,
        }
    }
}

/// Returns the length of a slot, rounded up so that the slots cover the window.
pub(super) fn slot_nanos(length_nanos: u128, slots: u32) -> u128 {
    length_nanos.div_ceil(u128::from(slots.max(1))).max(1)
}

/// Returns the most slots that a window touches, which are those that count.
pub(super) fn covering(length_nanos: u128, slot_nanos: u128) -> u64 {
    u64::try_from(length_nanos.div_ceil(slot_nanos.max(1))).unwrap_or(u64::MAX).saturating_add(1)
}

/// Returns each limit of several windows, with the nanoseconds of its slots: a power of two of the
/// shortest ones, and no longer than was asked for.
pub(super) fn slots_of_several(
    limits: &[Rate],
    slots: u32,
) -> impl Iterator<Item = (Rate, u128)> + '_ {
    let asked = move |limit: &Rate| slot_nanos(limit.period().as_nanos(), slots);
    let shortest = limits.iter().map(asked).min().unwrap_or(1);
    limits.iter().map(move |limit| (*limit, shortest << (asked(limit) / shortest).ilog2()))
}
