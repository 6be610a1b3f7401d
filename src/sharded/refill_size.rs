//! The number of permits that a shard draws from the root at once.

use super::shards::Shards;

/// Largest refill. Its cost, divided by that many permits, is a small part of a nanosecond each;
/// more tokens would only be missing elsewhere.
const MAX_REFILL: u64 = 1_024;

/// First refill of a shard; each later one is twice as large. So a shard that is seldom used keeps
/// little from the others.
const FIRST_REFILL: u64 = 16;

/// Smallest refill. Less is not worth the four read-modify-writes of a refill, one of them on the
/// root's line; reserving capacity adds one more on that line.
const MIN_REFILL: u64 = 4;

/// Divisor of the permits in the root: if every shard refills once, they take at most one part in
/// `SHARE` together.
const SHARE: u64 = 4;

impl Shards {
    /// Returns the refill that a shard may take from a root that holds `permits`: large far from
    /// the limit, 0 near it.
    pub(super) fn refill_of(&self, permits: u64) -> u64 {
        match permits / (SHARE * self.count() as u64) {
            ..MIN_REFILL => 0,
            share => share.min(MAX_REFILL),
        }
    }

    /// Returns the same for a shard that has capacity `room` and a request of `asked`.
    pub(super) fn next_refill_of(&self, permits: u64, room: u64, asked: u64) -> u64 {
        self.refill_of(permits).min(2 * room.max(asked).max(FIRST_REFILL / 2))
    }
}
