//! The permits that entries tell of.

use crate::bits::Field;

use super::entry_ring::LAP;

/// The count of the permits up to an entry, by its number or in the entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Count {
    /// Each entry is one permit, so its number is the count.
    ByNumber,
    /// The entry carries the count, modulo the size of this field, which has one bit more than the limit: so
    /// differences are right although counts wrap.
    InEntry(Field),
}

impl Count {
    /// Creates counts for limits up to `max_limit`, in entries.
    pub(super) fn in_entry(max_limit: u64) -> Count {
        Count::InEntry(LAP.then(u64::BITS - max_limit.leading_zeros() + 1))
    }

    /// Returns the field that is left for the dates of entries.
    pub(super) fn dates(self) -> Field {
        let below = match self {
            Count::ByNumber => LAP,
            Count::InEntry(field) => field,
        };
        below.then(u64::BITS - below.end())
    }

    /// Returns the largest number of permits that can be counted.
    pub(super) fn max_difference(self) -> u64 {
        match self {
            Count::ByNumber => u64::MAX,
            Count::InEntry(field) => field.max() >> 1,
        }
    }

    /// Returns the number of places in addition to those of the requests that count: an entry that carries its count
    /// needs one for the newest that does not count, whose count is read, and one at the head.
    pub(super) fn more_places(self) -> u64 {
        match self {
            Count::ByNumber => 0,
            Count::InEntry(_) => 2,
        }
    }

    /// Returns the largest request.
    #[inline]
    pub(super) fn max_request(self) -> u64 {
        match self {
            Count::ByNumber => 1,
            Count::InEntry(_) => u64::MAX,
        }
    }

    /// Returns the count up to the entry `number`. `entry` loads it.
    #[inline]
    pub(super) fn up_to(self, number: u64, entry: impl FnOnce() -> u64) -> u64 {
        match self {
            Count::ByNumber => number,
            Count::InEntry(field) => field.get(entry()),
        }
    }

    /// Returns the part of an entry that tells the count.
    #[inline]
    pub(super) fn part(self, count: u64) -> u64 {
        match self {
            Count::ByNumber => 0,
            Count::InEntry(field) => field.wrap(count),
        }
    }

    /// Returns the number of permits after the count `from`, up to the count `to`.
    #[inline]
    pub(super) fn difference(self, to: u64, from: u64) -> u64 {
        match self {
            Count::ByNumber => to - from,
            Count::InEntry(field) => to.wrapping_sub(from) & field.max(),
        }
    }
}
