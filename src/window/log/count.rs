//! The permits that entries tell of.

use crate::bits::Field;

use super::entry_ring::LAP;

/// The count of the permits up to an entry.
pub(crate) trait Count: Copy {
    /// True if each entry is one permit.
    const IS_OF_PERMITS: bool;

    /// Number of places in addition to those of the requests that count.
    const MORE_PLACES: u64;

    /// Creates counts for limits up to `max_limit`.
    fn up_to_limit(max_limit: u64) -> Self;

    /// Returns the field of an entry that is left for its date.
    fn dates(self) -> Field;

    /// Returns the largest number of permits that can be counted.
    fn max_difference(self) -> u64;

    /// Returns the count up to the entry `number`, which `entry` loads.
    fn up_to(self, number: u64, entry: impl FnOnce() -> u64) -> u64;

    /// Returns the part of an entry that tells the count.
    fn part(self, count: u64) -> u64;

    /// Returns the number of permits after the count `from`, up to the count `to`.
    fn difference(self, to: u64, from: u64) -> u64;

    /// Returns the first entry after which no more than `room` permits are up to the count `to`. It is after the first
    /// entry of `span`, and no later than the other one.
    fn first_within(self, room: u64, to: u64, span: (u64, u64), entry: impl Fn(u64) -> u64) -> u64;
}

/// Each entry is one permit, so its number is the count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByNumber;

impl Count for ByNumber {
    const IS_OF_PERMITS: bool = true;
    const MORE_PLACES: u64 = 0;

    fn up_to_limit(_: u64) -> ByNumber {
        ByNumber
    }

    #[inline]
    fn dates(self) -> Field {
        LAP.then(u64::BITS - LAP.end())
    }

    fn max_difference(self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn up_to(self, number: u64, _: impl FnOnce() -> u64) -> u64 {
        number
    }

    #[inline]
    fn part(self, _: u64) -> u64 {
        0
    }

    #[inline]
    fn difference(self, to: u64, from: u64) -> u64 {
        to - from
    }

    fn first_within(
        self,
        room: u64,
        to: u64,
        (gone, last): (u64, u64),
        _: impl Fn(u64) -> u64,
    ) -> u64 {
        to.saturating_sub(room).clamp((gone + 1).min(last), last)
    }
}

/// The entry carries the count, modulo the size of a field, which has one bit more than the limit: so
/// differences are right although counts wrap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InEntry(Field);

impl Count for InEntry {
    const IS_OF_PERMITS: bool = false;
    // One for the newest that does not count, whose count is read, and one at the head.
    const MORE_PLACES: u64 = 2;

    fn up_to_limit(max_limit: u64) -> InEntry {
        InEntry(LAP.then(u64::BITS - max_limit.leading_zeros() + 1))
    }

    #[inline]
    fn dates(self) -> Field {
        self.0.then(u64::BITS - self.0.end())
    }

    fn max_difference(self) -> u64 {
        self.0.max() >> 1
    }

    #[inline]
    fn up_to(self, _: u64, entry: impl FnOnce() -> u64) -> u64 {
        self.0.get(entry())
    }

    #[inline]
    fn part(self, count: u64) -> u64 {
        self.0.wrap(count)
    }

    #[inline]
    fn difference(self, to: u64, from: u64) -> u64 {
        to.wrapping_sub(from) & self.0.max()
    }

    fn first_within(
        self,
        room: u64,
        to: u64,
        (gone, last): (u64, u64),
        entry: impl Fn(u64) -> u64,
    ) -> u64 {
        // Among entries that are gone the counts may have wrapped.
        let (mut too_few, mut enough) = (gone, last);
        while enough.saturating_sub(too_few) > 1 {
            let middle = too_few.midpoint(enough);
            let is_within = self.difference(to, self.0.get(entry(middle))) <= room;
            if is_within { enough = middle } else { too_few = middle }
        }
        enough
    }
}
