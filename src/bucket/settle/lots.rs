//! The arithmetic of lots: units that were given back, with their birthdays. No atomics here.
//!
//! The level's axis counts units in the order in which they are earned: unit x is *born* when the
//! accrued count is x, and *dies* when it is `capacity` more. The axis is cut into *bands* of
//! `width` units: band b has the units after `b * width`, up to `(b + 1) * width`. The free units of
//! band b are kept in lot `b mod LOTS`, as one word:
//!
//! ```text
//! lot = b * width + number of free units
//! ```
//!
//! (A word that is the end of one band and the start of the next means the band that has the lot.)
//!
//! The i-th free unit of a band is no older than the band's i-th unit: that one is its *label*. So
//! the labels of a lot are the units after the band's start, up to the lot's word; and a unit that
//! is taken as if it had been born at its label is never kept too long.
//!
//! Amounts are in quarter-units without the lowest two bits (see [`level`](super::super::level)), and
//! differences are taken modulo 2^64. Where the axis wraps, a band is cut short; all that costs is
//! some units. A lot that nobody has touched while the axis went halfway round, in 34 years at the
//! highest rate, keeps nothing for as long; after 68 years it would seem to be alive again. (Changes
//! move the axis, too, and empty the lots.)

use crate::bucket::level::UNIT;
use crate::decision::pieces::LOTS;

macro_rules! bands {
    ($(#[$doc:meta])* $Bands:ident, $word:ident, $signed:ident, $unit:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) struct $Bands {
            width: $word,
        }

        impl $Bands {
            /// Returns the start of the band that has lot `index`, whose word is `lot`.
            fn start(self, index: usize, lot: $word) -> $word {
                let start = lot / self.width * self.width;
                let is_end = start == lot && (lot / self.width) as usize % LOTS != index;
                if is_end { start.wrapping_sub(self.width) } else { start }
            }

            /// Returns the start of the band of the unit `top`.
            fn start_of(self, top: $word) -> $word {
                top.wrapping_sub($unit) / self.width * self.width
            }

            /// Returns the most units that are kept of a band: all, except of the one that is cut
            /// short.
            fn most(self, start: $word) -> $word {
                match start.wrapping_neg() {
                    to_the_end if 0 < to_the_end && to_the_end <= self.width => to_the_end - $unit,
                    _ => self.width,
                }
            }

            /// Returns the index of the lot of the unit `top`.
            pub(super) fn lot_of(self, top: $word) -> usize {
                (top.wrapping_sub($unit) / self.width) as usize % LOTS
            }

            /// Returns how many of the `units` up to `top` are in the band of `top`.
            pub(super) fn in_band(self, top: $word, units: $word) -> $word {
                units.min(top.wrapping_sub(self.start_of(top)))
            }

            /// Returns `lot`, which is that of `top`, with the `units` up to `top` in it, which are in
            /// one band. `None` if a younger band has the lot. An older one is dropped.
            pub(super) fn with(self, lot: $word, top: $word, units: $word) -> Option<$word> {
                let (start, old) = (self.start_of(top), self.start(self.lot_of(top), lot));
                let free = match start.wrapping_sub(old) as $signed {
                    0 => lot.wrapping_sub(old),
                    1.. => 0,
                    _ => return None,
                };
                let free = free.saturating_add(units).min(self.most(start));
                Some(start.wrapping_add(free))
            }

            /// Returns the labels of lot `index` that are after `dead`, and not after `level`.
            pub(super) fn alive(
                self,
                (index, lot): (usize, $word),
                dead: $word,
                level: $word,
            ) -> $word {
                let start = self.start(index, lot);
                let after = if start.wrapping_sub(dead) as $signed > 0 { start } else { dead };
                let is_before = level.wrapping_sub(lot) as $signed >= 0;
                let alive = lot.wrapping_sub(after) as $signed;
                if is_before && alive > 0 { alive as $word } else { 0 }
            }
        }
    };
}

bands!(
    /// The bands of the axis.
    Bands, u64, i64, UNIT
);

impl Bands {
    /// Returns bands for a bucket of `capacity`: together, the lots have at least that many units.
    pub(super) fn of(capacity: u64) -> Bands {
        let width = (capacity / UNIT).div_ceil(LOTS as u64).max(2);
        Bands { width: width * UNIT }
    }

    /// Returns the word of a lot that nobody has put anything into: that of its first band.
    pub(super) fn empty(self, index: usize) -> u64 {
        index as u64 * self.width
    }

    /// Returns the words of empty lots whose bands are the last up to `level`.
    pub(super) fn empty_at(self, level: u64) -> [u64; LOTS] {
        let last = level / self.width;
        core::array::from_fn(|index| {
            let back = (last % LOTS as u64 + LOTS as u64 - index as u64) % LOTS as u64;
            last.checked_sub(back).map_or(self.empty(index), |band| band * self.width)
        })
    }
}

/// The state of a bucket that the lots are judged by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Units spent.
    pub(super) level: u64,
    /// Units earned.
    pub(super) accrued: u64,
    pub(super) capacity: u64,
    /// Units up to this are void.
    pub(super) void: u64,
}

impl Seen {
    /// Returns the last unit that is dead or void.
    fn dead(self) -> u64 {
        later(self.accrued.wrapping_sub(self.capacity), self.void)
    }
}

/// The lots as they were seen, the oldest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lots {
    bands: Bands,
    /// Index and word of each.
    words: [(usize, u64); LOTS],
    seen: Seen,
}

impl Lots {
    pub(super) fn new(bands: Bands, words: [u64; LOTS], seen: Seen) -> Lots {
        let mut words: [(usize, u64); LOTS] = core::array::from_fn(|index| (index, words[index]));
        words.sort_unstable_by_key(|&(_, word)| word.wrapping_sub(seen.level) as i64);
        Lots { bands, words, seen }
    }

    /// Index, word and units of each lot, in so far as they may be taken now, the oldest first.
    /// None may be taken in debt: they would pay it, and the word would get units that others hold.
    pub(super) fn alive(&self) -> impl Iterator<Item = (usize, u64, u64)> {
        let is_in_debt = is_later(self.seen.level, self.seen.accrued);
        self.alive_after(self.seen.dead()).filter(move |_| !is_in_debt)
    }

    fn alive_after(&self, dead: u64) -> impl Iterator<Item = (usize, u64, u64)> {
        self.words.iter().filter_map(move |&(index, word)| {
            let units = self.bands.alive((index, word), dead, self.seen.level);
            (units > 0).then_some((index, word, units))
        })
    }

    /// Returns the units of all lots that may be taken now: with the balance, no more than the
    /// capacity.
    pub(super) fn units(&self) -> u64 {
        self.alive().map(|(_, _, units)| units).sum()
    }

    /// Returns the units that must be earned until there are `wanted`, in the word and the lots
    /// together, if nobody takes or gives any.
    ///
    /// The first units to be earned may replace units that die: at any time at most one lot is
    /// dying, so the sum never falls.
    pub(super) fn lacking(&self, wanted: u64) -> u64 {
        let born = later(self.seen.accrued, self.seen.level);
        let (paid, balance) =
            (born.wrapping_sub(self.seen.accrued), born.wrapping_sub(self.seen.level));
        let expired = born.wrapping_sub(self.seen.capacity);
        let dead = later(expired, self.seen.void);
        let units: u64 = self.alive_after(dead).map(|(_, _, units)| units).sum();
        let mut lacking = wanted.saturating_sub(balance.saturating_add(units));
        for (_, word, units) in self.alive_after(dead) {
            // So much is earned before the lot begins to die.
            let spare = word.wrapping_sub(units).wrapping_sub(expired);
            if lacking > spare {
                lacking = lacking.saturating_add(units);
            }
        }
        paid.saturating_add(lacking)
    }
}

fn is_later(one: u64, other: u64) -> bool {
    one.wrapping_sub(other) as i64 > 0
}

fn later(one: u64, other: u64) -> u64 {
    if is_later(one, other) { one } else { other }
}

#[cfg(test)]
mod tests;
