//! A count of the races for the root that callers have lost recently. No atomics here.
//!
//! ```text
//!  bit 63                               8 7            0
//!     +----------------------------------+--------------+
//!     |          TICK (56 bits)          |  LOST (8)    |
//!     +----------------------------------+--------------+
//! ```
//!
//! | from         | `and(lost, now)` in the same tick | in another  |
//! |--------------|-----------------------------------|-------------|
//! | (TICK, LOST) | (TICK, LOST + lost), up to 255    | (now, lost) |

use core::fmt;

use crate::bits::Field;
use crate::sync::Word;

/// Races lost in the current tick.
const LOST: Field = Field::low(8);

/// Tick of the last lost race.
const TICK: Field = LOST.then(56);

const _: () = assert!(TICK.end() == u64::BITS, "the fields fill the word");

/// Exponent of a tick, which is 2^20 ns, about a millisecond.
const TICK_BITS: u32 = 20;

/// Lost races in one tick from which callers are better kept apart. Two threads that do nothing
/// else lose thousands; threads that make a hundred thousand calls a second lose one.
#[cfg(not(sluicegate_loom))]
const MANY: u64 = 16;
#[cfg(sluicegate_loom)]
const MANY: u64 = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Races(u64);

impl Races {
    pub(super) const NONE: Races = Races(0);

    /// Returns the count with `lost` more at `now_nanos`.
    pub(super) fn and(self, lost: u32, now_nanos: u64) -> Races {
        let tick = now_nanos >> TICK_BITS;
        let before = if TICK.get(self.0) == tick { LOST.get(self.0) } else { 0 };
        Races(TICK.put(tick) | LOST.put((before + u64::from(lost)).min(LOST.max())))
    }

    pub(super) fn are_many(self) -> bool {
        LOST.get(self.0) >= MANY
    }
}

impl Word for Races {
    fn from_bits(bits: u64) -> Races {
        Races(bits)
    }

    fn to_bits(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Races {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Races").field("lost", &LOST.get(self.0)).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(sluicegate_loom)))]
mod tests {
    use super::*;

    #[test]
    fn races_count_together_only_if_they_are_of_one_tick() {
        let mut races = Races::NONE;
        for turn in 0..1_000 {
            races = races.and(15, turn << TICK_BITS);
            assert!(!races.are_many());
        }
        assert!(races.and(1, 999 << TICK_BITS).are_many());
        assert!(Races::NONE.and(u32::MAX, u64::MAX).and(u32::MAX, u64::MAX).are_many());
    }

    #[test]
    fn more_races_than_the_word_counts_are_many() {
        for lost in [255, 256, 257, 512, u32::MAX] {
            assert!(Races::NONE.and(lost, 0).are_many(), "{lost}");
            assert!(Races::NONE.and(1, 0).and(lost, 0).are_many(), "{lost}");
        }
    }
}
