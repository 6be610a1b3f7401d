//! The level's word and its arithmetic. No atomics here.
//!
//! ```text
//!  bit 63                               2      1      0
//!     +---------------------------------+------+------+
//!     |      UNITS spent (62 bits)      | GATE | SLOT |
//!     +---------------------------------+------+------+
//! ```
//!
//! Amounts are counted in quarter-units, in the whole word, modulo 2^64: a unit is 4. Accrued
//! counts start from a base that carries the slot's bit, so that bit cancels in any difference of
//! the two. The gate's bit does not: the arithmetic is for an open level.
//!
//! | from  | `spend(cost)`                            | `successor(fell_from)`                  |
//! |-------|------------------------------------------|-----------------------------------------|
//! | level | max(level, accrued - capacity) + cost    | above both levels, names the other slot, the gate as it was |
//!
//! The units only grow, except when a grant is given back. (The word wraps modulo 2^64, after 68
//! years at the highest rate: only a call that was suspended for that long can meet a value again.)

use core::fmt;

use crate::bits::Field;
use crate::branch::guess;
use crate::sync::Word;

/// The slot that holds the terms of the level.
const SLOT: Field = Field::low(1);

/// 1 while callers wait in line: only the first of them may spend.
const GATE: Field = SLOT.then(1);

/// Units spent, modulo 2^62.
const UNITS: Field = GATE.then(62);

const _: () = assert!(UNITS.end() == u64::BITS, "the fields fill the word");

/// Quarter-units in one unit.
pub(super) const UNIT: u64 = 1 << UNITS_SHIFT;
const UNITS_SHIFT: u32 = u64::BITS - 62;

macro_rules! level {
    ($(#[$doc:meta])* $Level:ident, $word:ident, $signed:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $Level($word);

        impl $Level {
            /// Returns the balance that may be spent, in quarter-units; negative for a debt.
            ///
            /// Never above `capacity`: units that stay unspent for longer than it takes to fill the
            /// bucket are lost.
            #[inline]
            pub(crate) fn balance(self, accrued: $word, capacity: $word) -> $signed {
                let unspent = accrued.wrapping_sub(self.0) as $signed;
                if guess(unspent <= capacity as $signed) { unspent } else { capacity as $signed }
            }

            /// Returns the level after `cost` is spent from the balance.
            ///
            /// Without a clamp this is a plain sum, so a processor that predicts that branch need
            /// not wait for `accrued`.
            #[inline]
            pub(crate) fn spend(self, cost: $signed, accrued: $word, capacity: $word) -> $Level {
                let unspent = accrued.wrapping_sub(self.0) as $signed;
                if guess(unspent <= capacity as $signed) {
                    $Level(self.0.wrapping_add(cost as $word))
                } else {
                    $Level(accrued.wrapping_sub(capacity).wrapping_add(cost as $word))
                }
            }
        }
    };
}

level!(
    /// The state word: units spent, and the slot of the terms they are counted in.
    Level, u64, i64
);

impl Level {
    /// The level with nothing spent, under the terms of slot 0.
    pub(crate) const ZERO: Level = Level(0);

    /// Returns the next value of the word, which names the other slot and is above `fell_from`, the
    /// highest level from which the word fell. The gate stays as it is.
    pub(super) const fn successor(self, fell_from: Level) -> Level {
        let behind = if fell_from.is_ahead_of(self) { fell_from.0.wrapping_sub(self.0) } else { 0 };
        // The least step above `behind` that is one more than a multiple of a unit, or one less: it
        // flips the slot, and carries nothing into the gate.
        let short = if self.slot() == 0 { UNIT - 2 } else { 0 };
        let step = ((behind + 1 + short) | (UNIT - 1)) - short;
        Level(self.0.wrapping_add(step))
    }

    /// Returns whether callers wait in line for this word.
    #[inline]
    pub(super) const fn is_gated(self) -> bool {
        GATE.get(self.0) != 0
    }

    /// Returns the same level with the gate closed or open.
    #[inline]
    pub(super) const fn with_gate(self, is_closed: bool) -> Level {
        let open = self.0 & !GATE.put(1);
        Level(if is_closed { open | GATE.put(1) } else { open })
    }

    /// Returns whether this level is above `other`, by the nearer way round.
    pub(super) const fn is_ahead_of(self, other: Level) -> bool {
        self.0.wrapping_sub(other.0) as i64 > 0
    }

    /// Returns the level that a spending smaller by `cost` would have left.
    pub(crate) const fn without(self, cost: u64) -> Level {
        Level(self.0.wrapping_sub(cost))
    }

    /// Returns the units spent alone, in quarter-units.
    pub(super) const fn units_spent(self) -> u64 {
        self.0 & !(UNIT - 1)
    }

    /// Returns the accrued count at which this level leaves `balance`.
    pub(super) const fn accrued_at(self, balance: i64) -> u64 {
        self.with_gate(false).0.wrapping_add(balance as u64)
    }

    /// Returns the level that leaves `balance` of the count `accrued`.
    pub(crate) const fn leaving(balance: i64, accrued: u64) -> Level {
        Level(accrued.wrapping_sub(balance as u64))
    }

    /// Returns the index of the slot that holds this level's terms.
    #[inline]
    pub(super) const fn slot(self) -> usize {
        SLOT.get(self.0) as usize
    }

    /// Returns whether the slot is the first and the gate is open: one comparison.
    #[inline]
    pub(super) const fn is_plain(self) -> bool {
        self.0 & (UNIT - 1) == 0
    }
}

impl Word for Level {
    #[inline]
    fn from_bits(bits: u64) -> Level {
        Level(bits)
    }

    #[inline]
    fn to_bits(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Level")
            .field("units", &UNITS.get(self.0))
            .field("gated", &self.is_gated())
            .field("slot", &self.slot())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    level!(Tiny, u8, i8);

    /// Half the circle: the largest difference of two words that has a sign.
    const HALF: i32 = 128;

    #[test]
    fn a_balance_is_the_clamped_difference_wherever_the_circle_is_cut() {
        for capacity in 0..=i8::MAX as u8 {
            for level in 0..=u8::MAX {
                for ahead in -HALF..HALF {
                    let accrued = i32::from(level) + ahead;
                    let balance = Tiny(level).balance(accrued as u8, capacity);
                    assert_eq!(i32::from(balance), ahead.min(i32::from(capacity)));
                }
            }
        }
    }

    #[test]
    fn admitting_raises_the_level_by_the_cost_or_more_and_never_past_what_is_accrued() {
        for capacity in 0..=i8::MAX as u8 {
            for level in 0..=u8::MAX {
                for ahead in 0..HALF {
                    let accrued = (i32::from(level) + ahead) as u8;
                    let balance = Tiny(level).balance(accrued, capacity);
                    for cost in 0..=balance {
                        let next = Tiny(level).spend(cost, accrued, capacity);
                        let rise = i32::from(next.0.wrapping_sub(level));
                        assert!(rise >= i32::from(cost) && rise <= ahead);
                        assert_eq!(next.balance(accrued, capacity), balance - cost);
                    }
                }
            }
        }
    }

    #[test]
    fn a_successor_is_the_other_slot_and_keeps_the_balance_it_is_given() {
        for bits in [0, 1, 2, 3, 41, u64::MAX - 1, u64::MAX] {
            let level = Level(bits);
            for fell_from in [-(1_i64 << 62), -1_000, -1, 0, 1, 2, 3, 4, 5, 999, 1_000, 1 << 62] {
                let fell_from = Level(bits.wrapping_add(fell_from as u64));
                let next = level.successor(fell_from);
                assert_ne!(level.slot(), next.slot());
                assert!(next.is_ahead_of(level) && next.is_ahead_of(fell_from));
                assert_eq!(next.is_gated(), level.is_gated());
                assert!(!fell_from.is_ahead_of(level) || next.0.wrapping_sub(fell_from.0) <= UNIT);
                for balance in [-8, 0, 4, 1_000] {
                    let open = next.with_gate(false);
                    assert_eq!(open.balance(next.accrued_at(balance), 1_000), balance);
                }
            }
        }
    }

    #[test]
    fn a_level_is_its_word_and_shows_the_fields() {
        for bits in [0, 1, 41, u64::MAX] {
            assert_eq!(Level::from_bits(bits).to_bits(), bits);
        }
        assert_eq!(std::format!("{:?}", Level(41)), "Level { units: 10, gated: false, slot: 1 }");
        assert_eq!(UNIT, 4);
    }

    #[test]
    fn a_gate_changes_neither_the_units_nor_the_slot() {
        for bits in [0, 1, 40, 41, u64::MAX - 2] {
            let level = Level(bits);
            let gated = level.with_gate(true);
            assert!(gated.is_gated() && !level.is_gated());
            assert_eq!((gated.with_gate(true), gated.with_gate(false)), (gated, level));
            assert_eq!((gated.slot(), gated.accrued_at(8)), (level.slot(), level.accrued_at(8)));
            assert_eq!((gated.is_plain(), level.is_plain()), (false, level.slot() == 0));
        }
    }

    #[test]
    fn a_level_without_a_cost_leaves_that_much_more() {
        let level = Level(41);
        assert_eq!(level.without(6).balance(50, 100), level.balance(50, 100) + 6);
    }
}
